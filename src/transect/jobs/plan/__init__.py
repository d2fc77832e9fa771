"""`transect plan`: how many subjects a study needs."""
