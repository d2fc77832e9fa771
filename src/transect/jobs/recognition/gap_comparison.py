"""Each recognizer's gaps against those of the first, paired by identity: records, numbers, sentences and a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Bool

from transect.effects.multiplicity import holm
from transect.effects.paired_models import Gap
from transect.effects.paired_recognizers import gap_of_recognizers
from transect.jobs.recognition.common import distances_on
from transect.jobs.recognition.first_screen import TITLES
from transect.reports.blocks import TextTable
from transect.reports.environment import decimals, probability

if TYPE_CHECKING:
    from transect.jobs.recognition.run import RecognitionResult

ALPHA: Final = 0.05
NO_INTERVAL: Final = "no interval: a group has one identity with two images, or both have the same relative distances"
UNKNOWN: Final = "a gap of one of the recognizers is not known"


@final
@dataclass(frozen=True, slots=True)
class GapComparison:
    """The size of one recognizer's relative gap less that of the first recognizer, on the same images.

    first, second: the sizes, as shares of the groups' mean distance. low, high: 95 % interval by identity, conservative
    (see `effects.paired_models`). p_adjusted: Holm's over all recognizers, gaps and samples.
    """

    recognizer: str
    reference: str
    sample: str
    gap: str
    first: float
    second: float
    estimate: float
    low: float
    high: float
    p: float
    p_adjusted: float
    reason: str


def compared_with_first(
    results: Mapping[str, RecognitionResult], sample: str, rows: Bool[np.ndarray, " n"]
) -> Iterator[GapComparison]:
    """Each recognizer but the first, gap by gap, on these rows; p is not corrected yet."""
    (reference, first), *others = [(name, distances_on(result, sample, rows)) for name, result in results.items()]
    for name, measured in others:
        for place, difference in enumerate(measured.differences, start=1):
            both = [(each.groups[place], each.groups[0]) for each in (first, measured)]
            gap = gap_of_recognizers(both[0], both[1])
            yield _compared(name, reference, sample, difference.name, gap)


def _compared(name: str, reference: str, sample: str, called: str, gap: Gap | None) -> GapComparison:
    if gap is None:
        return GapComparison(name, reference, sample, called, *(math.nan,) * 7, UNKNOWN)
    numbers = gap.first, gap.second, gap.estimate, *gap.interval(0.95), gap.p
    reason = "" if math.isfinite(gap.p) else NO_INTERVAL
    return GapComparison(name, reference, sample, called, *numbers, math.nan, reason)


def corrected(found: Sequence[GapComparison]) -> tuple[GapComparison, ...]:
    """The comparisons with p corrected over all of them (Holm)."""
    adjusted = holm(np.array([each.p for each in found], dtype=np.float64)).tolist()
    return tuple(replace(each, p_adjusted=p) for each, p in zip(found, adjusted, strict=True))


def sentences(found: Sequence[GapComparison]) -> tuple[str, ...]:
    """Whose gap is smaller or larger than the first recognizer's, and where that cannot be told, each in a sentence."""
    return tuple(map(_sentence, found))


def _sentence(row: GapComparison) -> str:
    where = f"gap {row.gap} ({TITLES[row.sample].lower()})"
    if row.reason:
        return f"{row.recognizer} and {row.reference} cannot be compared on the {where}: {row.reason}."
    sized = (
        f"{decimals(100 * row.estimate, 1)} % of the mean distance, 95 % interval {decimals(100 * row.low, 1)} to "
        f"{decimals(100 * row.high, 1)}"
    )
    if not row.p_adjusted <= ALPHA:
        return f"Whether {row.recognizer} has a smaller {where} than {row.reference} is open: it differs by {sized}."
    word = "smaller" if row.estimate < 0 else "larger"
    sizes = f"{decimals(100 * row.second, 1)} % against {decimals(100 * row.first, 1)} %"
    return f"{row.recognizer} has a {word} {where} than {row.reference}: {sizes} ({sized})."


def paired_table(found: Sequence[GapComparison]) -> TextTable:
    """All comparisons with their numbers."""
    headings = ["recognizer", "images", "gap", "first's size, %", "its size, %", "difference", "95 % interval", "p"]
    rows = [
        [
            row.recognizer, TITLES[row.sample], row.gap, decimals(100 * row.first, 1), decimals(100 * row.second, 1),
            decimals(100 * row.estimate, 1),
            row.reason or f"{decimals(100 * row.low, 1)} to {decimals(100 * row.high, 1)}", probability(row.p_adjusted),
        ]
        for row in found
    ]  # fmt: skip
    caption = "Sizes of relative gaps, in percent of the mean distance; paired by identity, p corrected over all rows"
    return TextTable("Recognizers against the first", headings, rows, caption, numbers=(3, 4, 5, 6, 7))
