"""`transect audit`: set attributes, ask the target, estimate what each attribute causes."""
