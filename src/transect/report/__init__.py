"""The page that a reader of an audit sees, and the numbers behind it.

`build` makes the HTML, `write` puts `report.html` and `results.json` into a folder; `schema` is its JSON Schema.
Nothing is printed that does not stand in `results.json`.
"""

from __future__ import annotations

import importlib
from typing import Any

from transect.report.records import Box, Example, Gallery, Strip

__all__ = ["Box", "Example", "Gallery", "Strip", "build", "contact_sheet", "headline", "schema", "write"]

_HOME = {"build": "page", "write": "page", "headline": "page", "schema": "results", "contact_sheet": "sheets"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'transect.report' has no attribute {name!r}")
    return getattr(importlib.import_module(f"transect.report.{_HOME[name]}"), name)
