"""Finished runs of several worlds side by side: the same effect of the same target, and whether it replicates."""
