"""`transect attributes`: what can be read and set in FaceWorld."""

from __future__ import annotations

from typing import Any

from transect.console.common_options import Json
from transect.console.printing import table
from transect.runs.plain_json import dumps
from transect.texts import say


def attributes(json: Json = False) -> None:
    """List FaceWorld's attributes and nuisances: meaning, unit, range, source."""
    from transect.generators.faceworld.attributes import ATTRIBUTES

    def span(a: Any) -> str:
        return ", ".join(a.levels) if a.discrete else f"{a.low:g} to {a.high:g}"

    if json:
        fields = ("name", "role", "kind", "meaning", "unit", "low", "high", "levels", "source")
        say(dumps([{f: getattr(a, f) for f in fields} for a in ATTRIBUTES]))
        return
    rows = [[a.name, a.role, a.kind, span(a), a.unit, a.meaning, a.source] for a in ATTRIBUTES]
    table(["attribute", "role", "kind", "range or levels", "unit", "meaning", "source"], rows, json)
