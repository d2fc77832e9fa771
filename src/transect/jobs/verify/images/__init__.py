"""The proving ground with images: a model's true causal effects, and what other methods estimate."""
