"""`transect invert`: photographs into latents."""
