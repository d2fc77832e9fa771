"""`transect view`: look through the images of runs, and through what targets answered."""
