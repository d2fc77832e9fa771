"""`transect recognition`: errors of face recognition by group."""
