"""The first screen of a recognition benchmark: whom it fails to match, whom it matches falsely, how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from markupsafe import Markup, escape

from transect.effects.recognition import RATES, RateGap, RateName
from transect.effects.verdicts import largest, subjects_by_interval
from transect.jobs.recognition.numbers import GroupNumbers, RecognitionNumbers, Threshold
from transect.reports.blocks import Answer, Block, Facts, Folded, Paragraph, TextTable
from transect.reports.builder import significant
from transect.reports.wording import ATTRIBUTE_NOTE

TITLES: Final = {"all": "All images", "matched": "Matched images"}
MOST_ROWS: Final = 8
"""Groups of the table on the first screen."""
_WORDS: Final[dict[RateName, tuple[str, str]]] = {
    "fnmr": ("Not matched (FNMR)", "of comparisons of one person’s images do not match"),
    "fmr": ("Falsely matched (FMR)", "of comparisons of two people of the group match"),
}
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
    """A number and its interval as data; "unknown" where it is NaN.

    >>> with_ends(0.5, 0.25, 0.75, 100).striptags()
    '50 25 to 75'
    """
    if not math.isfinite(value):
        return escape("unknown")
    shown, low_shown, high_shown = (_datum(scale * end) for end in (value, low, high))
    if not math.isfinite(low):
        return shown
    return Markup('{} <span class="range">{} to {}</span>').format(shown, low_shown, high_shown)


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
