"""`transect encode`: photographs into latents by an encoder, without a search."""
