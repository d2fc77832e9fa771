"""The page of a recognition benchmark: whom it fails to match and whom it matches falsely, errors by group before and
after matching, DET and ROC curves, differentials.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup, escape

from transect.effects.recognition import RATES, GapChange, GroupErrors, RateGap, RateName
from transect.effects.verdicts import largest, subjects_by_interval
from transect.jobs.recognition.numbers import (
    DifferentialNumbers,
    GroupNumbers,
    RecognitionNumbers,
    Threshold,
    enrolment_table,
)
from transect.jobs.recognition.text import missing_intervals, origin
from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Block,
    Bullets,
    DotPlot,
    Facts,
    Folded,
    Heading,
    Page,
    Paragraph,
    Part,
    Plot,
    Plots,
    Row,
    TextTable,
)
from transect.reports.columns import probability, significant
from transect.reports.drawing import svg
from transect.reports.drawing.svg import SERIES, Interval, Scale, Tick, covering, tag, tick_text
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.folder import write_atomically
from transect.runs.json_records import dumps

if TYPE_CHECKING:
    from transect.jobs.recognition.run import RecognitionResult


TITLES: Final = {"all": "All images", "matched": "Matched images"}
MOST_ROWS: Final = 8
"""Groups of the table on the first screen."""
_WORDS: Final[dict[RateName, tuple[str, str]]] = {
    "fnmr": ("Not matched (FNMR)", "of comparisons of one person’s images do not match"),
    "fmr": ("Falsely matched (FMR)", "of comparisons of two people of the group match"),
}
_ENROLMENT: Final = (
    "A picture fails to enrol where the recognizer finds no face, or no landmarks by which the face could be aligned. "
    "It is in no comparison, so that the error rates say nothing about it. Pictures on which the model fails otherwise "
    "are not counted here. Intervals are 95 %, by identity."
)
_LIMITS: Final = (
    "The groups may also differ in other ways, such as the quality of their images: this compares groups, it does not "
    "show what causes a difference."
)


@final
@dataclass(frozen=True, slots=True)
class Rate:
    """One rate of a group in per cent with its 95 % interval; NaN ends where it has none."""

    group: str
    value: float
    low: float
    high: float

    @property
    def words(self) -> Markup:
        """The rate and its interval."""
        shown = [significant(end) for end in (self.value, self.low, self.high)]
        ends = Markup(' <span class="range">({} to {})</span>').format(*shown[1:]) if math.isfinite(self.low) else ""
        return Markup("{} %{}").format(shown[0], ends)


def with_ends(value: float, low: float, high: float, scale: float = 1) -> Markup:
    """A number and its interval as data; "unknown" where it is NaN."""
    if not math.isfinite(value):
        return escape("unknown")
    shown, low_shown, high_shown = (_datum(scale * end) for end in (value, low, high))
    if not math.isfinite(low):
        return shown
    return Markup('{} <span class="range">({} to {})</span>').format(shown, low_shown, high_shown)


def _datum(value: float) -> Markup:
    return Markup('<data value="{}">{}</data>').format(value, significant(value))


def first_screen(numbers: RecognitionNumbers) -> Iterator[Block]:
    """The blocks of the summary: the answer by group with intervals, what it cannot show, then counts and notes."""
    yield Answer(tuple(_sentences(numbers)), tuple(_remarks(numbers)))
    yield _table(numbers.samples["all"].groups, numbers.group)
    yield Paragraph(f"{_LIMITS} {ATTRIBUTE_NOTE}", "note")
    yield from (Paragraph(note, "note") for note in numbers.notes)
    for left in numbers.left_out:
        yield Paragraph(f"Left out: {left.images:,} of {left.group} ({left.reason}).", "note")
    yield Folded("Images, distance and thresholds", (_facts(numbers),))


def _facts(numbers: RecognitionNumbers) -> Facts:
    compared = {name: sum(group.images for group in sample.groups) for name, sample in numbers.samples.items()}
    facts = [("images", f"{numbers.images:,}")]
    if len(compared) > 1:
        facts += [(f"{TITLES[name].lower()} compared", f"{count:,}") for name, count in compared.items()]
    limits = [significant(limit.threshold, 4) for limit in numbers.thresholds]
    facts += [("distance", numbers.metric), ("threshold" if len(limits) == 1 else "thresholds", ", ".join(limits))]
    return Facts(facts)


def _sentences(numbers: RecognitionNumbers) -> Iterator[Markup]:
    at = numbers.thresholds[0].threshold
    for rate in RATES:
        for name, sample in numbers.samples.items():
            gap = next((gap for gap in sample.largest_gaps if (gap.rate, gap.threshold) == (rate, at)), None)
            people = sum(group.identities for group in sample.groups if gap and group.group in (gap.group, gap.other))
            yield compared(rates(sample.groups, rate), rate, gap, people, matched=name == "matched")


def rates(groups: Sequence[GroupNumbers], rate: RateName) -> list[Rate]:
    """The rate of each group at the first threshold, where it is known."""
    found = [
        (group.group, *(getattr(group.rates[0], f"{rate}{end}") for end in ("", "_low", "_high"))) for group in groups
    ]
    return [Rate(name, *(100 * end for end in numbers)) for name, *numbers in found if math.isfinite(numbers[0])]


def compared(
    known: Sequence[Rate], rate: RateName, gap: RateGap | None, people: int = 0, *, matched: bool = False
) -> Markup:
    """Whether the groups with the highest and the lowest rate differ, then both rates.

    gap: of these two groups; None where fewer than two have the rate. people: in these two groups.
    """
    title, words = _WORDS[rate]
    head = Markup("<b>{}{}: {{}}</b> ").format(title, " among matched images" if matched else "")
    if not known:
        return head.format("not measured.") + "No group has the comparisons that this needs."
    if gap is None:
        only = known[0]
        alone = Markup("{} {} in {}, the only group that can be measured.").format(only.words, words, only.group)
        return head.format("no groups to compare.") + alone
    by_name = {one.group: one for one in known}
    most, least = by_name[gap.group], by_name[gap.other]
    if most.value == least.value:
        same = Markup("{} % {} in each of {} groups.").format(significant(most.value), words, len(known))
        return head.format("no difference between the groups is shown.") + same
    both = Markup("{} {} in {}, {} in {}{}").format(
        most.words, words, most.group, least.words, least.group, _sized(gap, people)
    )
    return head.format(_claim(gap)) + both


def _claim(gap: RateGap) -> str:
    """Whether the two differ, by an interval that holds for all pairs of groups at once."""
    if gap.low > 0:
        return f"more often in {gap.group} than in {gap.other}."
    two = "the groups" if gap.pairs == 1 else f"{gap.group} (highest) and {gap.other} (lowest)"
    return f"a difference between {two} is not shown."


def _sized(gap: RateGap, people: int) -> str:
    """The difference, its interval and, where it is not shown, with how many people it would be."""
    if gap.reason:
        return "; one of them has no interval."
    estimate, low, high = (significant(100 * end, 2) for end in (gap.estimate, gap.low, gap.high))
    text = f"; difference {estimate} points, 95 % interval {low} to {high}."
    level = 1 - 0.05 / gap.pairs
    needed = largest([subjects_by_interval(gap.estimate, people, gap.low, gap.high, confidence=level)])
    if gap.low > 0 or needed is None:
        return text
    return (
        f"{text} If it is as large as here, about {needed:,} people of these two groups would show it (now {people})."
    )


def _threshold(limit: Threshold) -> str:
    """The threshold, and that one rate over all groups may be exceeded in one of them."""
    at = f"Two images match where their distance is below {significant(limit.threshold, 4)}"
    if limit.false_match_rate is None:
        return f"{at}, the same in all groups."
    share = significant(100 * limit.false_match_rate)
    return (
        f"{at}. That was set so that at most {share} % of comparisons of two people match, over all groups together; "
        f"one group may lie above {share} %."
    )


def _remarks(numbers: RecognitionNumbers) -> Iterator[str]:
    limit, others = numbers.thresholds[0], len(numbers.thresholds) - 1
    more = f" {others} more below." if others else ""
    yield f"{_threshold(limit)} Intervals are 95 %, each of its group alone.{more}"
    if limit.low is not None and limit.high is not None:
        ends = f"{significant(limit.low, 3)} to {significant(limit.high, 3)}"
        yield (
            f"The threshold was found from these images; its own 95 % interval is {ends}. Intervals of FNMR allow for "
            "that: where no comparison fails at its upper end, they begin at 0."
        )
    pairs = max((gap.pairs for sample in numbers.samples.values() for gap in sample.largest_gaps), default=1)
    if pairs > 1:
        yield (
            f"The highest and the lowest were picked from {len(numbers.samples['all'].groups)} groups: the interval of "
            "their difference is wider, so that it holds for every pair of groups at once (Bonferroni)."
        )


def _table(groups: Sequence[GroupNumbers], name: str) -> TextTable:
    known = sorted(groups, key=lambda one: -math.inf if math.isnan(one.rates[0].fnmr) else one.rates[0].fnmr)[::-1]
    rows = [
        (
            group.group,
            f"{group.images:,}",
            f"{group.identities:,}",
            with_ends(at.fnmr, at.fnmr_low, at.fnmr_high, 100),
            with_ends(at.fmr, at.fmr_low, at.fmr_high, 100),
        )
        for group in known[:MOST_ROWS]
        for at in group.rates[:1]
    ]
    left = len(known) - len(rows)
    caption = "Errors by group, %" + (f" ({left} more groups below)" if left else "")
    headings = (name, "images", "people", "not matched (FNMR)", "falsely matched (FMR)")
    return TextTable("Errors by group on the first screen", headings, rows, caption)


CURVES: Final = "recognition-curves.json"
_RATES: Final = {
    "fnmr": "False non-matches (FNMR), % of comparisons of one person",
    "fmr": "False matches (FMR), % of comparisons of two people",
}
MEASURES: Final = {"mean distance": "mean distance", "fnmr": "FNMR, points", "fmr": "FMR, points"}
_FEWEST_DECADES, _MOST_DECADES = 2, 6
SAVED: Final = 100
"""Points of a line among the numbers that the page saves."""
HEIGHT: Final = 256
"""Pixels of a plot's height."""


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """One group's line: its name, its number among the colors, and points in a box of 100 x 100."""

    name: str
    number: int
    points: str


@final
@dataclass(frozen=True, slots=True)
class Panel:
    """Both plots of one sample, ticks in per cent along the axis. without: groups that have no line in the DET plot."""

    title: str
    det: tuple[Curve, ...]
    roc: tuple[Curve, ...]
    x_ticks: tuple[Tick, ...]
    det_ticks: tuple[Tick, ...]
    roc_ticks: tuple[Tick, ...]
    without: tuple[str, ...]


def write(result: RecognitionResult, folder: Path) -> Path:
    """Writes the page, `recognition.json` (as `--json`) and the curves; returns the page's path."""
    page = builder.write(page_of(result), folder / "recognition.html", result.to_json())
    curves = {name: [_curve_entry(group) for group in groups] for name, groups in result.errors.items()}
    write_atomically(folder / CURVES, dumps(curves, indent=1) + "\n")
    return page


def page_of(result: RecognitionResult) -> Page:
    """What the page shows."""
    numbers = result.numbers
    still = ", and does that remain so among matched images" if len(numbers.samples) > 1 else ""
    question = f"By {numbers.embeddings}: whose faces fail to match, whose match falsely{still}?"
    lost = (Paragraph(_ENROLMENT), enrolment_table(numbers.enrolment, numbers.group))
    parts = (
        Part("summary", "Summary", tuple(first_screen(numbers))),
        Part("errors", "Errors by group", tuple(_errors(numbers))),
        *([Part("enrolment", "Failures to enrol", lost)] if numbers.enrolment else []),
        Part("curves", "Curves", tuple(_curves(result))),
        Part("differentials", "Differentials", tuple(_differentials(numbers))),
        Part("distances", "Distances of one person’s images", tuple(_distances(numbers)), "Distances"),
        *([Part("changes", "Change by matching", tuple(_changes(numbers)))] if numbers.changes else []),
        Part("sources", "Sources", (Bullets(numbers.sources),)),
    )
    return Page(f"Face recognition by {numbers.group}", parts, question=question)


def _errors(numbers: RecognitionNumbers) -> Iterator[Block]:
    yield Paragraph(
        Markup(
            "Two images match if their distance is below the threshold. <b>FNMR</b>: the share of comparisons of one "
            "person’s images that do not match. <b>FMR</b>: the share of comparisons of two people of one group that "
            "match. One threshold holds for all groups and for both samples. Bars are 95 % intervals, clustered by "
            "identity for FNMR and by both identities of a comparison for FMR. Where a false match rate sets the "
            "threshold, the interval of FNMR includes the threshold’s."
        )
    )
    for place, limit in enumerate(numbers.thresholds):
        words = Markup('Threshold {} <span class="fine">{}</span>')
        yield Heading(words.format(significant(limit.threshold, 4), origin(numbers, limit)))
        for rate, title in _RATES.items():
            yield _rates(numbers, place, rate, title)
    yield from (Paragraph(reason, "note") for reason in missing_intervals(numbers))
    yield Folded("Table of errors", (error_table(numbers),))


def tables(numbers: RecognitionNumbers) -> list[TextTable]:
    """The tables that the terminal shows, too."""
    changes = [_change_table(numbers)] if numbers.changes else []
    lost = [enrolment_table(numbers.enrolment, numbers.group)] if numbers.enrolment else []
    return [error_table(numbers), _differential_table(numbers), _distance_table(numbers), *changes, *lost]


def _rates(numbers: RecognitionNumbers, place: int, rate: str, title: str) -> DotPlot:
    """One rate at one threshold, the samples of a group one below the other; filled for matched images."""
    rows = [
        (group, name, tuple(getattr(group.rates[place], f"{rate}{end}") for end in ("", "_low", "_high")))
        for first in numbers.samples["all"].groups
        for name, sample in numbers.samples.items()
        for group in sample.groups
        if group.group == first.group
    ]
    scale = covering([value for _, _, ends in rows for value in ends if math.isfinite(value)])
    ticks = [Tick(100 * scale.fraction(t), tick_text(scale, t, hundredfold=True), t) for t in scale.ticks]
    grid = [(tick.at, tick.value) for tick in ticks]
    drawn = []
    for number, (group, name, ends) in enumerate(rows):
        label = Markup('{} <span class="change">{}</span>').format(group.group, TITLES[name])
        words = f"{title}: {group.group}, {TITLES[name]}"
        track = svg.track(f"rate-{place}-{rate}-{number}", words, "", grid, _marks(ends, scale, name == "matched"))
        drawn.append(Row(label, track, with_ends(ends[0], ends[1], ends[2], 100)))
    return DotPlot(tag("strong", title), ticks, drawn)


def _marks(ends: tuple[float, ...], scale: Scale, filled: bool) -> list[Interval]:
    """The interval of a row; none where the rate is unknown."""
    at, low, high = (100 * scale.fraction(end) if math.isfinite(end) else None for end in ends)
    return [] if at is None else [Interval(at, low, high, filled=filled)]


def error_table(numbers: RecognitionNumbers) -> TextTable:
    """Both rates of each group, in each sample and at each threshold."""
    rows = [
        (
            group.group,
            TITLES[name].lower(),
            significant(at.threshold, 4),
            with_ends(at.fnmr, at.fnmr_low, at.fnmr_high, 100),
            f"{group.genuine:,}",
            with_ends(at.fmr, at.fmr_low, at.fmr_high, 100),
            f"{group.impostor:,}",
        )
        for name, sample in numbers.samples.items()
        for group in sample.groups
        for at in group.rates
    ]
    headings = (numbers.group, "images", "threshold", "FNMR, %", "of comparisons", "FMR, %", "of comparisons")
    return TextTable("Errors by group", headings, rows)


def _curves(result: RecognitionResult) -> Iterator[Block]:
    errors = result.errors
    shown = drawn_groups(errors["all"])
    low = [decades([group for groups in errors.values() for group in groups], rate) for rate in ("fmr", "fnmr")]
    panels = [
        panel(TITLES[name], [group for group in groups if group.group in shown], *low)
        for name, groups in errors.items()
    ]
    left = f" Curves of the {len(shown)} groups with most images are drawn; {CURVES} has the others."
    yield Paragraph(
        "Each point of a line is a threshold. Lower and further left is better in the first row (DET, both axes "
        "logarithmic), higher and further left in the second (ROC). A rate of 0 has no place on a logarithmic axis."
        + (left if len(errors["all"]) > len(shown) else "")
    )
    key = svg.legend([(escape(curve.name), curve.number) for curve in panels[0].roc])
    drawn = _curve_numbers(errors, shown)
    yield Heading("DET: what a lower rate of one error costs in the other")
    yield Plots([_plot(panel, "det", number) for number, panel in enumerate(panels)], "panels two", drawn, key)
    yield Heading("ROC: images of one person that match")
    yield Plots([_plot(panel, "roc", number) for number, panel in enumerate(panels)], "panels two", drawn, key)


def _curve_numbers(errors: Mapping[str, Sequence[GroupErrors]], shown: Collection[str]) -> TextTable:
    """Rates of the drawn groups at thresholds in equal steps of the curves; the JSON file has every threshold."""
    rows = [
        (
            TITLES[name],
            str(group.group),
            *(f"{curve[place]:.6g}" for curve in (group.curve, group.fmr_curve, group.fnmr_curve)),
        )
        for name, groups in errors.items()
        for group in groups
        if group.group in shown
        for place in np.linspace(0, len(group.curve) - 1, min(SAVED, len(group.curve))).round().astype(int).tolist()
    ]
    return TextTable("Curves", ("images", "group", "threshold", "FMR", "FNMR"), rows)


def _plot(panel: Panel, kind: str, number: int) -> Plot:
    curves, ticks, up = (
        (panel.det, panel.det_ticks, "FNMR, %") if kind == "det" else (panel.roc, panel.roc_ticks, "1 − FNMR, %")
    )
    drawing = draw(f"{kind}-{number}", f"{kind.upper()}, {panel.title}", curves, panel.x_ticks, ticks)
    caption = Markup('<strong>{}</strong> <span class="fine">{}</span>').format(panel.title, up)
    missing = "no threshold has both rates above 0, so there is no line"
    without = f" ({', '.join(panel.without)}: {missing})" if kind == "det" and panel.without else ""
    return Plot(caption, drawing, f"FMR, %{without}")


def _differentials(numbers: RecognitionNumbers) -> Iterator[Block]:
    yield Paragraph(
        "As NIST reports them (IR 8429): each group’s rate over the geometric mean of all groups’, 1 where none "
        "differs, with its 95 % interval at this threshold."
    )
    yield _differential_table(numbers)


def _differential_table(numbers: RecognitionNumbers) -> TextTable:
    rows = [
        (TITLES[name], gap.rate.upper(), significant(gap.threshold, 4), _ratios(gap))
        for name, sample in numbers.samples.items()
        for gap in sample.differentials
    ]
    return TextTable("Differentials", ("images", "rate", "threshold", "ratio to the geometric mean"), rows)


def _ratios(differential: DifferentialNumbers) -> str:
    if not math.isfinite(differential.largest_ratio):
        return f"not estimable: {differential.reason}"
    ratios = [Markup("{} {}").format(row.group, with_ends(row.ratio, row.low, row.high)) for row in differential.ratios]
    return Markup("; ").join([*ratios, *([escape(differential.reason)] if differential.reason else [])])


def _changes(numbers: RecognitionNumbers) -> Iterator[Block]:
    yield Paragraph(
        "A gap is a group’s number minus that of the first group. The change is the gap among matched images minus the "
        "gap among all, with its 95 % interval and p clustered by identity, since both rest on the same people; p is "
        "corrected over all changes (Holm). The interval says how much the gap can have changed."
    )
    yield _change_table(numbers)


def _change_table(numbers: RecognitionNumbers) -> TextTable:
    rows = [
        (
            f"{change.group} - {change.reference}",
            MEASURES[change.measure],
            "" if math.isnan(change.threshold) else significant(change.threshold, 4),
            significant(_scale(change) * change.before),
            significant(_scale(change) * change.after),
            with_ends(change.change, change.low, change.high, _scale(change)),
            probability(change.p_adjusted) if math.isfinite(change.p_adjusted) else change.reason,
        )
        for change in numbers.changes
    ]
    headings = ("groups", "gap of", "threshold", "all images", "matched images", "change", "p (Holm)")
    return TextTable("Change of each gap by matching", headings, rows)


def _scale(change: GapChange) -> float:
    return 1.0 if change.measure == "mean distance" else 100.0


def _distances(numbers: RecognitionNumbers) -> Iterator[Block]:
    yield Paragraph(
        "The mean distance of two images of one person, and its difference between groups (section 4.5 of Singh et al. "
        "2021), with 95 % intervals by identity and p corrected over groups (Holm). The paper compares this distance; "
        "it says nothing about errors without a threshold."
    )
    yield _distance_table(numbers)


def _distance_table(numbers: RecognitionNumbers) -> TextTable:
    rows: list[tuple[str, ...]] = []
    for name, sample in numbers.samples.items():
        for group in sample.groups:
            mean = with_ends(group.mean_distance, group.mean_distance_low, group.mean_distance_high)
            rows.append((TITLES[name], group.group, f"{group.identities:,}", f"{group.genuine:,}", mean))
        for gap in sample.differences:
            shown = gap.p_adjusted
            p = f", p {'' if shown < 5e-5 else '= '}{probability(shown)}" if math.isfinite(shown) else ""
            rows.append((TITLES[name], gap.name, "", "", with_ends(gap.estimate, gap.low, gap.high) + p))
    headings = ("images", numbers.group, "identities", "comparisons", "mean distance")
    return TextTable("Distances of one person’s images", headings, rows)


def drawn_groups(groups: Sequence[GroupErrors]) -> tuple[str, ...]:
    """The groups whose curves are drawn: as many as colors can tell apart, those with most images."""
    largest = sorted(groups, key=lambda group: -group.images)[:SERIES]
    return tuple(group.group for group in groups if group in largest)


def decades(groups: Sequence[GroupErrors], rate: str) -> int:
    """The lowest power of ten of an axis: that of the smallest rate above 0 that a curve has, -2 to -6."""
    curves = [getattr(group, f"{rate}_curve") for group in groups]
    some = [float(curve[curve > 0].min()) for curve in curves if (curve > 0).any()]
    lowest = math.floor(math.log10(min(some, default=1.0)))
    return min(max(lowest, -_MOST_DECADES), -_FEWEST_DECADES)


def panel(title: str, groups: Sequence[GroupErrors], low_fmr: int, low_fnmr: int) -> Panel:
    """Curves of one sample: FMR on a logarithmic axis from 10^low_fmr, FNMR likewise (DET) or 1 - FNMR (ROC)."""
    det, roc = [], []
    for number, group in enumerate(groups):
        known = (group.fmr_curve > 0) & np.isfinite(group.fnmr_curve)
        x = _along(group.fmr_curve[known], low_fmr)
        missed = group.fnmr_curve[known]
        some = missed > 0
        det.append(Curve(group.group, number, _points(x[some], _along(missed[some], low_fnmr))))
        roc.append(Curve(group.group, number, _points(x, 100 * (1 - missed))))
    linear = tuple(Tick(20.0 * k, f"{20 * k}", 0.2 * k) for k in range(6))
    without = tuple(group.name for group in det if not group.points)
    return Panel(title, tuple(det), tuple(roc), _log_ticks(low_fmr), _log_ticks(low_fnmr), linear, without)


def _along(values: Float[np.ndarray, " p"], low: int) -> Float[np.ndarray, " p"]:
    """Per cent along a logarithmic axis from 10^low to 1."""
    return np.asarray(np.clip(100 * (1 - np.log10(values) / low), 0, 100))


def _points(x: Float[np.ndarray, " p"], y: Float[np.ndarray, " p"]) -> str:
    """Points of a polyline, the origin below on the left; of several at one place the first."""
    pairs = dict.fromkeys(f"{a:.2f},{100 - b:.2f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return " ".join(pairs)


def _log_ticks(low: int) -> tuple[Tick, ...]:
    """Powers of ten in per cent: 100, 10, 1, 0.1."""
    return tuple(
        Tick(100 * (1 - k / low), f"{10.0 ** (k + 2):.10f}".rstrip("0").rstrip("."), 10.0**k) for k in range(low, 1)
    )


def draw(name: str, title: str, curves: Sequence[Curve], across: Sequence[Tick], up: Sequence[Tick]) -> Markup:
    """The plot of some curves; both axes' ticks are in per cent."""
    lines = svg.joined(
        svg.tag("g", svg.course(curve.points, height=100), class_=f"series s{curve.number}")
        for curve in curves
        if curve.points
    )
    heights = [Tick(HEIGHT * (1 - tick.at / 100), tick.text, tick.value) for tick in up]
    words = "One line per group; each point is a threshold."
    return svg.plot(name, title, words, lines, up=heights, across=across, css="section-plot", height=HEIGHT)


def _curve_entry(group: GroupErrors) -> dict[str, Any]:
    curves = {"distance": group.curve, "fmr": group.fmr_curve, "fnmr": group.fnmr_curve}
    return {"group": group.group, **{name: values.round(8) for name, values in curves.items()}}
