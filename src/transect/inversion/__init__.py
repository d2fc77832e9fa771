"""Inversion: images ► latents of a generator, by optimisation and by regression."""
