"""`transect train`: generators, encoders and classifiers."""
