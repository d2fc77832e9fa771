"""`transect directions`: fit directions of attributes in a latent space."""
