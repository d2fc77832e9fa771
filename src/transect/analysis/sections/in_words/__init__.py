"""Sections of a report on a model that answers in words."""
