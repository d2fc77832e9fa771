"""From what was measured to conclusions: corrected p, better or worse, no difference above the margin, cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import numpy as np

from transect.analysis.compared.measuring import CONFIDENCE, Measured
from transect.analysis.compared.records import Conclusion, Row
from transect.effects.multiplicity import holm
from transect.effects.paired_models import Quantity, Standing, stand
from transect.effects.selection import confidence_of
from transect.effects.verdicts import EQUIVALENCE, largest, subjects_for
from transect.runs.margins import margin_of

ALPHA: Final = 0.05
JUDGED: Final = ("rate", "gap")
_Whose: TypeAlias = tuple[str, str, str, str]
"""Study, model, outcome, attribute."""


@final
@dataclass(frozen=True, slots=True)
class _Found:
    """Rows of one conclusion by their places, and what is known of them."""

    places: list[int]
    verdict: Standing
    lead: int


def corrected(found: Sequence[Measured]) -> tuple[Row, ...]:
    """The rows with p corrected by Holm's method: over all rates and gaps, and over all details."""
    rows = [each.row for each in found]
    for judged in (True, False):
        chosen = [place for place, row in enumerate(rows) if (row.kind in JUDGED) == judged]
        adjusted = holm(np.array([rows[place].p for place in chosen], dtype=np.float64))
        for place, p in zip(chosen, adjusted.tolist(), strict=True):
            rows[place] = replace(rows[place], p_adjusted=p)
    return tuple(rows)


def conclude(found: Sequence[Measured], rows: Sequence[Row], margins: Mapping[str, float]) -> tuple[Conclusion, ...]:
    """A conclusion on the rate, and on the gap of each attribute, of every model and outcome; found: of the rows."""
    groups: dict[_Whose, list[int]] = {}
    for place, row in enumerate(rows):
        if row.kind in JUDGED:
            groups.setdefault((row.study, row.model, row.outcome, row.attribute), []).append(place)
    family = sum(math.isfinite(rows[place].p) for places in groups.values() for place in places)
    made = [_concluded(places, found, rows, margins, family) for places in groups.values()]
    level = _level(made, rows)
    return tuple(_listed(conclusion, found, level) for conclusion in made)


def _level(made: Sequence[Conclusion], rows: Sequence[Row]) -> float:
    """Of the intervals of the differences that are listed, which were picked of all rates and gaps."""
    listed = sum(conclusion.verdict in ("better", "worse", "differs") for conclusion in made)
    candidates = sum(row.kind in JUDGED and math.isfinite(row.estimate) for row in rows)
    return confidence_of(listed, candidates) if listed else CONFIDENCE


def _listed(conclusion: Conclusion, found: Sequence[Measured], level: float) -> Conclusion:
    if conclusion.verdict not in ("better", "worse", "differs"):
        return conclusion
    low, high = found[conclusion.row].quantity.interval(level)
    return replace(conclusion, low=low, high=high, confidence=level)


def _concluded(
    places: Sequence[int], found: Sequence[Measured], rows: Sequence[Row], margins: Mapping[str, float], family: int
) -> Conclusion:
    lead = _lead(places, rows)
    row, measured = rows[lead], found[lead]
    margin = margin_of(margins, row.outcome, row.unit)
    least, most = _outermost(measured.others)
    verdict = _verdict(places, lead, found, rows, (least, most), margin)
    needed = _needed(measured.others, margin, family) if verdict == "cannot tell" else None
    directed = measured.smaller_is_better
    levels = row.name if len(places) > 1 else ""
    return Conclusion(
        row.study, row.model, row.reference, row.outcome, row.attribute, verdict, lead, levels, row.low, row.high,
        CONFIDENCE, least, most, margin, bool(most < margin) if directed else None, needed,
    )  # fmt: skip


def _lead(places: Sequence[int], rows: Sequence[Row]) -> int:
    """The largest significant difference, else the largest."""
    return min(places, key=lambda place: (not rows[place].p_adjusted <= ALPHA, -_size(rows[place].estimate)))


def _size(estimate: float) -> float:
    return abs(estimate) if math.isfinite(estimate) else -1.0


def _verdict(
    places: Sequence[int],
    lead: int,
    found: Sequence[Measured],
    rows: Sequence[Row],
    ends: tuple[float, float],
    margin: float,
) -> Standing:
    signs = {rows[place].estimate > 0 for place in places if rows[place].p_adjusted <= ALPHA}
    directed = found[lead].smaller_is_better and len(signs) < 2  # better at one level and worse at another: differs
    significant = rows[lead].p_adjusted <= ALPHA
    return stand(rows[lead].estimate, significant, *ends, margin, smaller_is_better=directed)


def _outermost(others: Sequence[Quantity]) -> tuple[float, float]:
    ends = [other.cautious(EQUIVALENCE) for other in others] or [(math.nan, math.nan)]
    return float(np.min([low for low, _ in ends])), float(np.max([high for _, high in ends]))


def _needed(others: Sequence[Quantity], margin: float, family: int) -> int | None:
    """Subjects for the pair of levels that needs the most."""
    return largest([
        subjects_for(
            margin, other.n_subjects, *other.interval(CONFIDENCE), spread=other.spread, averaged=other.averaged,
            alpha=ALPHA, family=family,
        )
        for other in others
    ])  # fmt: skip
