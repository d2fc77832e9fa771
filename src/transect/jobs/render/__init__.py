"""`transect render`: contact sheets and data sets of images."""
