"""Trains networks: generative adversarial networks, encoders, classifiers. See `transect train`."""
