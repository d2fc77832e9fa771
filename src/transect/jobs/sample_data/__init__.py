"""`transect sample-data`: small rendered data on which matching, recognition and leakage can be tried."""
