"""The run folder: its tables, its spec and its parts, as they stand on the disk."""
