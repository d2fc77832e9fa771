"""Hands the numbers of a run to other tools."""
