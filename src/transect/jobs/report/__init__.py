"""`transect report`: the report of a finished run, built again."""
