"""Controls: how an attribute is set where the generator was learned: hyperplanes and directions in its latent space."""
