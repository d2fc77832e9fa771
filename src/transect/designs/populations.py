"""Observation: each subject once, with the attributes that a population gave it."""

from __future__ import annotations

from transect.designs.transects import check_counts
from transect.records import Design


def population_design(population: str, *, images: int, seed: int = 0) -> Design:
    """A design of `images` subjects, one image each. Raises BadInput for none or a bad seed."""
    check_counts("images", images, seed)
    return Design({}, images, seed, population)
