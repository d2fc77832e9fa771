"""`transect attributes`: what can be read and set in FaceWorld, and on photographs."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from transect.console.common_options import Json
from transect.console.printing import table
from transect.errors import UnknownName
from transect.runs.plain_json import dumps
from transect.texts import say

_WORLDS: Final = ("faceworld", "photographs")


def attributes(
    generator: Annotated[str, typer.Option(help="faceworld, or photographs: what is set on pictures of yours.")] = (
        "faceworld"
    ),
    json: Json = False,
) -> None:
    """List attributes and nuisances of FaceWorld, or of photographs: meaning, unit, range, source."""
    rows_of = _listed(generator)

    def span(a: Any) -> str:
        return ", ".join(a.levels) if a.discrete else f"{a.low:g} to {a.high:g}"

    if json:
        fields = ("name", "role", "kind", "meaning", "unit", "low", "high", "levels", "source")
        say(dumps([{f: getattr(a, f) for f in fields} for a in rows_of]))
        return
    rows = [[a.name, a.role, a.kind, span(a), a.unit, a.meaning, a.source] for a in rows_of]
    table(["attribute", "role", "kind", "range or levels", "unit", "meaning", "source"], rows, json)


def _listed(generator: str) -> Any:
    name = generator.partition(":")[0]
    if name not in _WORLDS:
        raise UnknownName("generator", generator, _WORLDS, "of others: transect directions show FILE")
    if name == "photographs":
        from transect.generators.photographs.attributes import ATTRIBUTES as EDITS

        return EDITS
    from transect.generators.faceworld.attributes import ATTRIBUTES

    return ATTRIBUTES
