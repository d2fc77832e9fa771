"""Margins of equivalence by outcome: differences up to a margin count as none."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from transect.effects.outcomes import kind_of
from transect.errors import BadInput, UnknownName
from transect.runs import report_options

DEFAULT_MARGIN: Final = 0.02
"""The margin of a rate where the user states none: two percentage points."""
_RATES: Final = ""
_MARGIN_EXAMPLE: Final = "write for example --margin 0.02, or --margin miss=0.01"


def parse_margins(texts: Sequence[str], outcomes: Collection[str] | None = None) -> dict[str, float]:
    """Margins by outcome from texts such as "0.02" (of all rates) and "score=0.1" (of one outcome, in its unit).

    outcomes: those that are counted, of which the texts name some; without, their names are not checked.
    """
    margins: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if name in margins:
            raise BadInput(f"--margin {text}: expected one margin for {name or 'all rates'}, got two; leave one out")
        if name and outcomes is not None and name not in outcomes:
            raise UnknownName("outcome", name, sorted(outcomes), hint="--margin takes outcomes that are counted")
        try:
            margin = float(value)
        except ValueError:
            raise BadInput(f"--margin {text!r}: expected a number or OUTCOME=NUMBER; {_MARGIN_EXAMPLE}") from None
        if not (math.isfinite(margin) and margin > 0):
            raise BadInput(f"--margin {text}: expected a difference above 0, got {margin:g}; {_MARGIN_EXAMPLE}")
        margins[name] = margin
        if margins[name] >= 1 and (not name or kind_of(name) != "number"):
            raise BadInput(f"--margin {text}: expected a share below 1, got {margins[name]:g}; two points are 0.02")
    return margins


def margins_of(stated: Sequence[str], outcomes: Collection[str], folder: Path) -> dict[str, float]:
    """The margins that are stated, else those that a run keeps, also of outcomes that are not counted here."""
    return (
        parse_margins(stated, outcomes)
        if stated
        else parse_margins(report_options.listed_margins(report_options.read(folder).margin))
    )


def margin_of(margins: Mapping[str, float], outcome: str, unit: str) -> float:
    """The margin of an outcome: its own, else that of all rates; NaN for an outcome in another unit without its own."""
    if outcome in margins:
        return margins[outcome]
    return margins.get(_RATES, DEFAULT_MARGIN) if unit == "proportion" else math.nan
