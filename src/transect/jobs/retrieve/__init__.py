"""`transect retrieve`: whose images a search by words finds first."""
