"""`transect neighbours`: what nearest neighbours under several distances have in common."""
