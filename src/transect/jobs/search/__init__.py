"""`transect search`: find where a target fails, with few calls."""
