"""Requirements that a model must meet: files of them, how a run is judged by them, and outputs for other programs."""
