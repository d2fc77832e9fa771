"""Marks of faces on photographs: where the features lie, and which pixels show which part."""

from __future__ import annotations

from transect.marks.finding import FINDERS, Finder, open_marks
from transect.marks.records import MASKS, Marks, five_points

__all__ = ["FINDERS", "MASKS", "Finder", "Marks", "five_points", "open_marks"]
