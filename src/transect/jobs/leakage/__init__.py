"""`transect leakage`: what a data set and a model give away of a protected attribute."""
