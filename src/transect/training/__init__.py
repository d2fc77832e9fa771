"""Fits what has to be fitted: generative adversarial networks, encoders, classifiers. See `transect train`."""
