"""Which model is better, and on what? Finished runs compared on the same images."""
