"""What is the answer, in one look? One dot with its interval for each effect, colored and shaped by its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from markupsafe import Markup

from transect.records import Estimate
from transect.reports.blocks import Block, DotPlot, Folded, Row
from transect.reports.columns import decimals_for
from transect.reports.document import NOT_ESTIMABLE, finite, rounded
from transect.reports.drawing import estimates, svg
from transect.reports.drawing.estimates import Mark
from transect.reports.drawing.svg import tag
from transect.reports.wording import effect_style, unit_words, verdict_words

MOST: Final = 8
"""Effects of the picture; the others are folded below it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An effect and its verdict. about: the attribute or model; detail: levels and outcome.

    value: size and interval, by default those of the mark with their signs. margin: differences up to it count as none;
    None where none is stated. said: the row in words, by default where it lies. sized: whether it is a size, which is
    never below 0.
    """

    verdict: str
    about: str
    detail: str
    mark: Mark
    value: str = ""
    unit: str = "proportion"
    margin: float | None = None
    said: str = ""
    sized: bool = False

    @property
    def excludes_zero(self) -> bool:
        """Whether it has an interval without zero."""
        low, high = self.mark.low, self.mark.high
        return low is not None and high is not None and not low <= 0 <= high


def valued(estimate: str, ends: str) -> Markup:
    """The value of a row: size over interval."""
    return Markup('<span class="estimate">{}</span> <span class="range">{}</span>').format(estimate, ends)


def _difference(mark: Mark, unit: str) -> Markup:
    """The value of a difference."""
    if mark.value is None:
        return valued(NOT_ESTIMABLE, "")
    style = effect_style(unit)
    digits = decimals_for(mark.low, mark.high)
    size = rounded(mark.value, style, digits, signed=True)
    points = (" point" if size[1:] in ("1", "1.0") else " points") if style == "points" else ""
    ends = [rounded(end, style, digits, signed=True) for end in (mark.low, mark.high) if end is not None]
    return valued(size + points, " to ".join(ends) or "no interval")


def mark_of(found: Estimate) -> Mark:
    """The mark of an estimate; what is NaN is not drawn."""
    value, low, high = (end if math.isfinite(end) else None for end in (found.estimate, found.low, found.high))
    return Mark(x=0.0, value=value, low=low, high=high)


def picture(
    rows: Sequence[Judged], meanings: Mapping[str, str], change: str, band: str = "up to the margin"
) -> list[Block]:
    """The picture of some effects, the most important first, on one axis for each unit, and the rest folded below.

    meanings: of the verdicts, in words. change: what the axis shows, as "Change of the outcome with its 95 % interval".
    band: what the margin means.
    """
    first, rest = rows[:MOST], rows[MOST:]
    if not first:
        return []
    words = {verdict: meanings[verdict] for verdict in estimates.VERDICTS if any(verdict == r.verdict for r in first)}
    key = estimates.verdict_key(words, band if any(row.margin is not None for row in first) else "")
    more = [Folded("More effects", list(_plots(rest, change, "further", key)))] if rest else []
    return [*_plots(first, change, "answer", key), *more]


def _plots(rows: Sequence[Judged], change: str, name: str, key: Markup) -> Iterator[DotPlot]:
    for number, unit in enumerate(dict.fromkeys(row.unit for row in rows)):
        members = [row for row in rows if row.unit == unit]
        yield _plot(
            members, Markup("{}, {}").format(change, unit_words(unit)), f"{name}-{number}", Markup() if number else key
        )


def _plot(rows: Sequence[Judged], change: str, name: str, key: Markup) -> DotPlot:
    margins = [sign * (row.margin or 0.0) for row in rows for sign in ((0, 1) if row.sized else (-1, 1))]
    scale = svg.covering(finite([*margins, *(end for r in rows for end in (r.mark.value, r.mark.low, r.mark.high))]))
    ticks = svg.ticks_across(scale, effect_style(rows[0].unit) == "points")
    drawn = []
    for place, row in enumerate(rows):
        told = row.said or estimates.told(row.mark, f"{_crosses(row)}: {verdict_words(row.verdict)}")
        title = Markup("{}, {}").format(row.about, row.detail).striptags()
        track = estimates.judged_row(f"{name}-{place}", title, told, row.mark, row.verdict, scale, ticks, row.margin)
        label = Markup('<b>{}</b> <span class="change">{}</span>').format(row.about, row.detail)
        value = row.value or _difference(row.mark, row.unit)
        drawn.append(Row(label, track, value, row.verdict in ("found", "worse", "differs", "violated")))
    return DotPlot(tag("span", change, class_="fine"), ticks, drawn, style="picture", key=key)


def _crosses(row: Judged) -> str:
    if row.mark.low is None or row.mark.high is None:
        return ", without an interval"
    return f", the interval {'excludes' if row.excludes_zero else 'includes'} zero"
