"""`transect annotate`: have people rate images."""
