"""`transect reproduce`: run again what a run describes, and compare."""
