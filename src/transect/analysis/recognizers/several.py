"""Several recognizers on the same images: differences between groups side by side (Singh et al. 2021, Fig. 7), paired
by identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Int

from transect.analysis.recognizers.benchmark import Benchmark, Difference, RecognitionNumbers, differences_of
from transect.analysis.recognizers.curves import TITLES, dot_plot
from transect.effects.multiplicity import holm
from transect.effects.paired_models import Gap, gap_of_recognizers
from transect.effects.recognition import GroupErrors, recognition_verification
from transect.errors import BadInput
from transect.records import Estimate
from transect.reports.blocks import DotPlot
from transect.reports.columns import Column, Table, decimals, decimals_for

ALPHA: Final = 0.05
NOT_SHARED: Final = "no images of both groups that every recognizer embedded"
NO_INTERVAL: Final = "no interval: a group has one identity with two images, or both have the same relative distances"
UNKNOWN: Final = "a gap of one of the recognizers is not known"


@final
@dataclass(frozen=True, slots=True)
class GroupDistances:
    """One sample: mean distance of one person's images by group, its differences between groups, and the groups."""

    means: Mapping[str, float]
    differences: tuple[Difference, ...]
    groups: tuple[GroupErrors, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GapComparison(Estimate):
    """The size of one recognizer's relative gap less that of the first recognizer, on the same images.

    first, second: the sizes, as shares of the groups' mean distance. low, high: 95 % interval by identity, conservative
    (see `effects.paired_models`). p_adjusted: Holm's over all recognizers, gaps and samples.
    """

    recognizer: str
    reference: str
    sample: str
    gap: str
    first: float = math.nan
    second: float = math.nan
    p: float = math.nan
    p_adjusted: float = math.nan


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
    return GapComparison(reason=reason, recognizer=name, reference=reference, sample=sample, gap=called)


def _compared(name: str, reference: str, sample: str, called: str, gap: Gap | None) -> GapComparison:
    if gap is None:
        return _unknown(name, reference, sample, called, UNKNOWN)
    reason = "" if math.isfinite(gap.p) else NO_INTERVAL
    return GapComparison(
        gap.estimate, *gap.interval(0.95), reason, recognizer=name, reference=reference, sample=sample, gap=called,
        first=gap.first, second=gap.second, p=gap.p,
    )  # fmt: skip


def corrected(found: Sequence[GapComparison]) -> tuple[GapComparison, ...]:
    """The comparisons with p corrected over all of them (Holm)."""
    adjusted = holm(np.array([each.p for each in found], dtype=np.float64)).tolist()
    return tuple(replace(each, p_adjusted=p) for each, p in zip(found, adjusted, strict=True))


SOURCE: Final = "Singh et al. 2021, arXiv:2103.13455, section 4.5 and Fig. 7"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecognizerGap(Estimate):
    """One recognizer's difference between two groups in the mean distance of one person's images, in one sample.

    estimate, low, high: in the recognizer's own distance. relative: the same divided by the mean of the two groups'
    mean distances, so that recognizers can stand on one axis; that mean is taken as known. p_adjusted: corrected over
    all recognizers and gaps of the sample (Holm).
    """

    recognizer: str
    sample: str
    gap: str
    relative: float = math.nan
    relative_low: float = math.nan
    relative_high: float = math.nan
    p: float = math.nan
    p_adjusted: float = math.nan


@final
@dataclass(frozen=True, slots=True)
class RecognizersNumbers:
    """Recognizers side by side, on the same images. gaps: by sample, gap and recognizer. comparisons: of each gap and
    recognizer with the first recognizer, paired.

    images: those that every recognizer embedded and that have a person and a group; left_out: the other images of the
    table; lost: by recognizer the images without a usable embedding, person or group.
    """

    group: str
    recognizers: tuple[str, ...]
    gaps: tuple[RecognizerGap, ...]
    comparisons: tuple[GapComparison, ...]
    images: int
    left_out: int
    lost: Mapping[str, int]
    source: str = SOURCE


def compared(results: Mapping[str, RecognitionNumbers]) -> RecognizersNumbers:
    """The recognizers by name, on the images that all of them embedded. Raises BadInput for fewer than two."""
    if len(results) < 2:
        raise BadInput(f"recognizers: expected two or more, got {len(results)}")
    first, rows = next(iter(results.values())), _in_common(results)
    gaps: list[RecognizerGap] = []
    paired: list[GapComparison] = []
    for sample in first.samples:
        measured = {name: _distances_on(result, sample, rows) for name, result in results.items()}
        own = [each.name for result in results.values() for each in result.samples[sample].differences]
        expected = list(dict.fromkeys(own))
        gaps += _gaps(measured, sample, expected)
        paired += compared_with_first(measured, sample, expected)
    lost = {name: int((~result.benchmark.usable).sum()) for name, result in results.items()}
    counts = int(rows.sum()), int((~rows).sum())
    return RecognizersNumbers(first.group, tuple(results), tuple(gaps), corrected(paired), *counts, lost)


def _in_common(results: Mapping[str, RecognitionNumbers]) -> Bool[np.ndarray, " n"]:
    """Rows usable for every recognizer. Raises BadInput for results of other images, people, groups or pairs."""
    first, *others = results.values()
    for name, other in zip([*results][1:], others, strict=True):
        if not _same(first, other):
            raise BadInput(f"{name}: expected a result on the same images and groups; run it again")
    return np.asarray(np.logical_and.reduce([result.benchmark.usable for result in results.values()]), dtype=bool)


def _same(first: RecognitionNumbers, other: RecognitionNumbers) -> bool:
    one, two = first.benchmark, other.benchmark
    return (
        first.group == other.group
        and one.samples.keys() == two.samples.keys()
        and np.array_equal(one.people, two.people)
        and np.array_equal(one.groups, two.groups)
        and all(np.array_equal(_rows(one, name), _rows(two, name)) for name in one.samples)
    )


def _rows(benchmark: Benchmark, sample: str) -> Int[np.ndarray, " m"]:
    rows = benchmark.samples[sample]
    return np.arange(len(benchmark.people)) if rows is None else rows


def _distances_on(result: RecognitionNumbers, sample: str, rows: Bool[np.ndarray, " n"]) -> GroupDistances:
    """The distances of one recognizer in one sample, on these rows alone."""
    benchmark = result.benchmark
    if np.array_equal(rows, benchmark.usable):
        errors = result.errors[sample]
    else:
        sampled = benchmark.samples[sample]
        common = np.flatnonzero(rows)
        errors = recognition_verification(
            benchmark.embeddings,
            benchmark.people,
            benchmark.groups,
            [result.thresholds[0].threshold],  # any: distances do not depend on it
            rows=common if sampled is None else np.intersect1d(sampled, common),
            metric=benchmark.metric,
        )
    means = {str(group.group): group.mean_genuine for group in errors}
    return GroupDistances(means, differences_of(errors, result.group), tuple(errors))


def _gaps(measured: Mapping[str, GroupDistances], sample: str, expected: Sequence[str]) -> list[RecognizerGap]:
    """By gap, then recognizer; p corrected over all of them. expected: gaps that have a row in any case."""
    gaps = [_gap(name, sample, each, numbers) for name, numbers in measured.items() for each in numbers.differences]
    known = {gap.gap for gap in gaps}
    gaps += [
        RecognizerGap(reason=NOT_SHARED, recognizer=name, sample=sample, gap=gap)
        for gap in expected
        for name in measured
        if gap not in known
    ]
    corrected = holm(np.array([gap.p for gap in gaps], dtype=np.float64)).tolist()
    order = list(dict.fromkeys(gap.gap for gap in gaps))
    adjusted = [replace(gap, p_adjusted=p) for gap, p in zip(gaps, corrected, strict=True)]
    return sorted(adjusted, key=lambda gap: order.index(gap.gap))


def _gap(name: str, sample: str, gap: Difference, numbers: GroupDistances) -> RecognizerGap:
    scale = float(np.mean([numbers.means[gap.group], numbers.means[gap.other]]))
    return RecognizerGap(
        gap.estimate, gap.low, gap.high, gap.reason, recognizer=name, sample=sample, gap=gap.name, p=gap.p,
        relative=gap.estimate / scale, relative_low=gap.low / scale, relative_high=gap.high / scale,
    )  # fmt: skip


_GAP: Final = (
    *("recognizer", "sample", "gap", "estimate", "low", "high", "relative", "relative_low", "relative_high"),
    *("p", "p_adjusted", "reason"),
)
PAIRED_CAPTION: Final = (
    "Sizes of relative gaps, in percent of the mean distance; paired by identity, p corrected over all rows"
)
_INTERVAL: Final = "95 % interval"


def _tenths(share: float) -> str:
    return decimals(100 * share, 1)


PAIRED: Final[Sequence[Column[GapComparison]]] = (
    Column("recognizer", "recognizer"),
    Column("images", lambda row: TITLES[row.sample]),
    Column("gap", "gap"),
    Column("first's size, %", lambda row: _tenths(row.first), "figure"),
    Column("its size, %", lambda row: _tenths(row.second), "figure"),
    Column("difference", lambda row: _tenths(row.estimate), "figure"),
    Column(_INTERVAL, lambda row: row.reason or f"{_tenths(row.low)} to {_tenths(row.high)}", "figure"),
    Column("p", "p_adjusted", "p"),
)
GAPS: Final[Sequence[Column[RecognizerGap]]] = (
    Column("recognizer", "recognizer"),
    Column("images", lambda gap: TITLES[gap.sample]),
    Column("difference", "gap"),
    Column("of mean distance", lambda gap: decimals(gap.estimate), "figure"),
    Column(
        _INTERVAL,
        lambda gap: f"{decimals(gap.low)} to {decimals(gap.high)}" if math.isfinite(gap.low) else gap.reason,
        "figure",
    ),
    Column("relative, %", lambda gap: _tenths(gap.relative), "figure"),
    Column("p, corrected", "p_adjusted", "p"),
)


def sentences(numbers: RecognizersNumbers) -> list[str]:
    """Whose gaps are smaller than the first recognizer's, then in how many recognizers each gap has which sign."""
    return [*map(_compared_in_words, numbers.comparisons), f"{_signs(numbers)}."]


def rows(numbers: RecognizersNumbers) -> Table[RecognizerGap]:
    """The same with all numbers as they are."""
    return Table("All numbers", numbers.gaps, [Column(name, name) for name in _GAP])


def _compared_in_words(row: GapComparison) -> str:
    """Whether a recognizer's gap is smaller or larger than the first's, or why there is no answer."""
    where = f"gap {row.gap} ({TITLES[row.sample].lower()})"
    if row.reason:
        return f"{row.recognizer} and {row.reference} cannot be compared on the {where}: {row.reason}."
    numbers, digits = (row.estimate, row.low, row.high, row.second, row.first), decimals_for(row.low, row.high)
    estimate, low, high, second, first = (decimals(100 * number, digits) for number in numbers)
    sized = f"{estimate} % of the mean distance, 95 % interval {low} to {high}"
    if not row.p_adjusted <= ALPHA:
        return f"{row.recognizer} against {row.reference}, {where}: inconclusive, it differs by {sized}."
    word = "smaller" if row.estimate < 0 else "larger"
    return f"{row.recognizer} has a {word} {where} than {row.reference}: {second} % against {first} % ({sized})."


def _signs(numbers: RecognizersNumbers) -> str:
    """In how many recognizers each gap has which sign, and on how many images."""
    texts = []
    for sample, name in dict.fromkeys((gap.sample, gap.gap) for gap in numbers.gaps):
        mine = [gap for gap in numbers.gaps if (gap.sample, gap.gap) == (sample, name) and math.isfinite(gap.estimate)]
        if not mine:
            texts.append(f"{TITLES[sample]}, {name}: not estimable")
            continue
        higher, sure = sum(gap.estimate > 0 for gap in mine), sum(gap.p_adjusted < ALPHA for gap in mine)
        texts.append(f"{TITLES[sample]}, {name}: above 0 in {higher} of {len(mine)}, {sure} with p below 0.05")
    texts.append(f"on the same {numbers.images:,} images")
    if numbers.left_out:
        lost = ", ".join(f"{name} {count:,}" for name, count in numbers.lost.items())
        texts.append(f"{numbers.left_out:,} left out, since not every recognizer could use them ({lost})")
    return "; ".join(texts)


def gap_plots(numbers: RecognizersNumbers) -> Iterator[DotPlot]:
    """A dot plot per gap, all on one axis; hollow for all images, filled for the matched ones."""
    relative = [(gap, Estimate(gap.relative, gap.relative_low, gap.relative_high)) for gap in numbers.gaps]
    axis = [found for _, found in relative]
    for place, name in enumerate(dict.fromkeys(gap.gap for gap in numbers.gaps)):
        mine = [(gap, found) for gap, found in relative if gap.gap == name]
        rows = [(f"{gap.recognizer}, {TITLES[gap.sample]}", found, gap.sample != "all") for gap, found in mine]
        yield dot_plot(
            name, f"gap-{place}", rows, lambda each: f"{_tenths(each.estimate)} %", axis, "% of the mean distance"
        )
