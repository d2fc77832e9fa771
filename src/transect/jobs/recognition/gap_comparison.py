"""Each recognizer's gaps against those of the first, paired by identity: records, numbers, sentences and a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from transect.effects.multiplicity import holm
from transect.effects.paired_models import Gap, gap_of_recognizers
from transect.jobs.recognition.common import NOT_SHARED, GroupDistances
from transect.jobs.recognition.first_screen import TITLES
from transect.reports.blocks import TextTable
from transect.reports.builder import decimals, probability

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
    measured: Mapping[str, GroupDistances], sample: str, expected: Sequence[str]
) -> Iterator[GapComparison]:
    """Each recognizer but the first, gap by gap; p is not corrected yet.

    measured: of each recognizer in the sample, on the same rows. expected: gaps that have a row in any case, with the
    reason where no images are shared.
    """
    (reference, first), *others = measured.items()
    for name, each in others:
        found = [difference.name for difference in each.differences]
        for place, called in enumerate(found, start=1):
            both = [(one.groups[place], one.groups[0]) for one in (first, each)]
            yield _compared(name, reference, sample, called, gap_of_recognizers(both[0], both[1]))
        yield from (_unknown(name, reference, sample, called, NOT_SHARED) for called in expected if called not in found)


def _unknown(name: str, reference: str, sample: str, called: str, reason: str) -> GapComparison:
    return GapComparison(name, reference, sample, called, *(math.nan,) * 7, reason)


def _compared(name: str, reference: str, sample: str, called: str, gap: Gap | None) -> GapComparison:
    if gap is None:
        return _unknown(name, reference, sample, called, UNKNOWN)
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
