"""Inversion: images ► latents of a generator, by optimisation, by regression, and without derivatives."""
