"""Several recognizers on the same images: differences between groups side by side (Singh et al. 2021, Fig. 7), paired
by identity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.effects.multiplicity import holm
from transect.effects.paired_models import Gap, gap_of_recognizers
from transect.errors import BadInput
from transect.jobs.recognition.numbers import NOT_SHARED, Difference, GroupDistances, distances_on, gap_names, in_common
from transect.jobs.recognition.page import TITLES
from transect.jobs.recognition.run import RecognitionResult
from transect.records import Estimate
from transect.reports import builder
from transect.reports.blocks import Answer, Block, DotPlot, Page, Paragraph, Part, Row, TextTable, summary
from transect.reports.columns import Column, Table, decimals, probability
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Tick, covering, tick_text
from transect.runs.folder import slug
from transect.runs.result import JobResult

ALPHA: Final = 0.05
NO_INTERVAL: Final = "no interval: a group has one identity with two images, or both have the same relative distances"
UNKNOWN: Final = "a gap of one of the recognizers is not known"


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


_COLUMNS: Final[tuple[Column[RecognizerGap], ...]] = (
    Column("recognizer", "recognizer"),
    Column("images", lambda gap: TITLES[gap.sample]),
    Column("difference", "gap"),
    Column("of mean distance", lambda gap: decimals(gap.estimate)),
    Column("95 % interval", lambda gap: ends_in_words(gap.low, gap.high, gap.reason)),
    Column("relative, %", lambda gap: decimals(100 * gap.relative, 1)),
    Column("p, corrected", "p_adjusted", "p"),
)


def ends_in_words(low: float, high: float, reason: str) -> str:
    """The ends of an interval, or why there is none."""
    return f"{decimals(low)} to {decimals(high)}" if math.isfinite(low) else reason


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


_FIELDS: Final = (
    "recognizer", "sample", "gap", "estimate", "low", "high", "relative", "relative_low", "relative_high", "p",
    "p_adjusted", "reason",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class RecognizersResult(JobResult[RecognizersNumbers]):
    """The comparison. table: a row per recognizer, sample and gap."""

    JOB: ClassVar[str] = "recognizers"

    @property
    def table(self) -> pa.Table:
        """recognizer, sample, gap, estimate, low, high, relative and its ends, p, p_adjusted, reason."""
        rows = [{name: getattr(gap, name) for name in _FIELDS} for gap in self.numbers.gaps]
        return pa.Table.from_pylist(rows)

    def headline(self) -> str:
        """Whose gaps are smaller than the first recognizer's, then in how many recognizers each gap has which sign."""
        return " ".join([*sentences(self.numbers.comparisons), f"{self.signs()}."])

    def signs(self) -> str:
        """In how many recognizers each gap has which sign."""
        texts = []
        for sample, name in dict.fromkeys((gap.sample, gap.gap) for gap in self.numbers.gaps):
            all_gaps = [gap for gap in self.numbers.gaps if (gap.sample, gap.gap) == (sample, name)]
            known = [gap for gap in all_gaps if np.isfinite(gap.estimate)]
            if not known:
                texts.append(f"{TITLES[sample]}, {name}: not estimable")
                continue
            higher = sum(gap.estimate > 0 for gap in known)
            sure = sum(gap.p_adjusted < 0.05 for gap in known)
            texts.append(f"{TITLES[sample]}, {name}: above 0 in {higher} of {len(known)}, {sure} with p below 0.05")
        return "; ".join([*texts, self.compared()])

    def compared(self) -> str:
        """On how many images."""
        numbers = self.numbers
        if not numbers.left_out:
            return f"on the same {numbers.images:,} images"
        lost = ", ".join(f"{name} {count:,}" for name, count in numbers.lost.items())
        return (
            f"on the same {numbers.images:,} images; {numbers.left_out:,} left out, which not every recognizer could "
            f"use ({lost})"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per recognizer, sample and gap."""
        return Table("Differences by recognizer", self.numbers.gaps, _COLUMNS).texts()

    def report(self, path: str | Path) -> Path:
        """Write recognizers.html and recognizers.json into the folder `path`; returns the page's path."""
        return builder.write(_page(self), Path(path) / "recognizers.html", self.numbers)


def compare_recognizers(results: Mapping[str, RecognitionResult]) -> RecognizersResult:
    """Differences between groups in the mean distance of one person's images, recognizer by recognizer.

    results: those of `recognition` by the name of the recognizer, of the same images, identities and groups. Every
    recognizer is measured on the images that all of them embedded; its own page shows all that it embedded. Each
    difference is also relative to the groups' mean distance, without a unit, and p is corrected over all of a sample
    (Holm); a gap is NaN with the reason where no such images are left of a group, or a recognizer cannot tell it.

    Returns a RecognizersResult. Source: Singh et al. 2021, arXiv:2103.13455, section 4.5 and Fig. 7. Raises BadInput
    for fewer than two, or for results of other images or groups.

    >>> from transect.jobs.recognition.run import recognition
    >>> people = {"who": list("ppqqrrss"), "tone": list("aaaabbbb")}
    >>> near = np.array([0.0, 1.0, 4.0, 5.0, 8.0, 10.0, 12.0, 14.0])[:, None]
    >>> two = {"one": near, "twice": 2 * near}
    >>> alone = {name: recognition(people, "who", "tone", embeddings=x, thresholds=[1.0]) for name, x in two.items()}
    >>> [(gap.recognizer, gap.estimate, round(gap.relative, 3)) for gap in compare_recognizers(alone).numbers.gaps]
    [('one', 1.0, 0.667), ('twice', 2.0, 0.667)]
    """
    if len(results) < 2:
        raise BadInput(f"recognizers: expected two or more, got {len(results)}")
    first, rows = next(iter(results.values())).numbers, in_common(results)
    gaps: list[RecognizerGap] = []
    paired: list[GapComparison] = []
    for sample in first.samples:
        measured = {name: distances_on(result, sample, rows) for name, result in results.items()}
        expected = gap_names(results, sample)
        gaps += _gaps(measured, sample, expected)
        paired += compared_with_first(measured, sample, expected)
    lost = {name: int((~result.benchmark.usable).sum()) for name, result in results.items()}
    counts = int(rows.sum()), int((~rows).sum())
    numbers = RecognizersNumbers(first.group, tuple(results), tuple(gaps), corrected(paired), *counts, lost)
    return RecognizersResult(numbers)


def measure(
    names: Sequence[str], measured: Callable[[int, Path], RecognitionResult], out: Path
) -> dict[str, RecognitionResult]:
    """Measure each recognizer, and write its page below `out`. Raises BadInput for two of one name."""
    folders = [out / slug(name) for name in names]
    if len(set(folders)) < len(names):
        raise BadInput("expected recognizers of different names, got one twice; rename one, or leave it out")
    results = {}
    for place, (name, folder) in enumerate(zip(names, folders, strict=True)):
        results[name] = measured(place, folder)
        results[name].report(folder)
    return results


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


def _page(result: RecognizersResult) -> Page:
    numbers = result.numbers
    note = (
        "Mean distance of two images of one person, and its difference between groups, by recognizer. A larger "
        "distance means that a group is harder to recognize at a threshold that all share. On the axis each difference "
        "is divided by the mean of the two groups' distances, taken as known, because recognizers measure in units of "
        "their own. "
        "Intervals are by identity; p is corrected over all recognizers and gaps of a sample (Holm). Recognizers "
        "look at the same people, so that those that agree are no independent confirmation. All are measured on the "
        "images that every recognizer embedded; the page of each shows all that it embedded itself."
    )
    return Page(
        f"Recognizers by {numbers.group}",
        (
            summary(Answer((*sentences(numbers.comparisons), f"{result.signs()}.")), Paragraph(note, "note")),
            Part("gaps", "Differences by recognizer", tuple(_plots(numbers))),
            Part("paired", "Against the first recognizer", (paired_table(numbers.comparisons),)),
            Part("table", "All numbers", (TextTable("Differences by recognizer", *result.rows()),)),
        ),
        question=f"Which groups of {numbers.group} are harder to recognize, for which recognizer?",
    )


def _plots(numbers: RecognizersNumbers) -> Iterator[Block]:
    """A dot plot per gap; hollow for all images, filled for the matched ones."""
    ends = [end for gap in numbers.gaps for end in (gap.relative, gap.relative_low, gap.relative_high)]
    scale = covering([end for end in ends if np.isfinite(end)])
    ticks = [Tick(100 * scale.fraction(at), tick_text(scale, at, True), at) for at in scale.ticks]
    for place, name in enumerate(dict.fromkeys(gap.gap for gap in numbers.gaps)):
        rows = []
        for number, gap in enumerate(gap for gap in numbers.gaps if gap.gap == name):
            at, low, high = (
                100 * scale.fraction(end) if np.isfinite(end) else None
                for end in (gap.relative, gap.relative_low, gap.relative_high)
            )
            marks = [] if at is None else [Interval(at, low, high, filled=gap.sample != "all")]
            grid = [(tick.at, tick.value) for tick in ticks]
            words = f"{gap.recognizer}, {TITLES[gap.sample]}"
            track = svg.track(f"gap-{place}-{number}", words, "", grid, marks)
            rows.append(Row(words, track, f"{decimals(100 * gap.relative, 1)} %"))
        yield DotPlot(name, ticks, rows, "% of the mean distance")
