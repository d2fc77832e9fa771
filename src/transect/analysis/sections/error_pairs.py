"""Error rates of pairs of groups that differ in one attribute alone (Balakrishnan et al. 2020, Fig. 14)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from transect.analysis.sections.answers import point, words
from transect.effects.interrogation import Condition, ErrorRate, crossed, crossing
from transect.reports.records import Figure, Panel, Series

_CAPTION: Final = (
    "(each dot compares two groups that differ in this attribute alone; on the line both have equal errors; the table "
    "of errors has the intervals)"
)
_EQUAL: Final = "equal errors"


def figures(by: Sequence[str], conditions: Mapping[str, Condition], rates: Sequence[ErrorRate]) -> list[Figure]:
    """A scatter per attribute of several: its last group's error against its first's."""
    whole = [rate for rate in rates if rate.by == crossing(by) and rate.group and not rate.uniform]
    if len(by) < 2 or not whole:
        return []
    of_group = {rate.group: rate for rate in whole if rate.measure == whole[0].measure}
    panels = [_panel(by, name, conditions, of_group) for name in by if len(conditions[name].groups) > 1]
    title = f"Do errors depend on one attribute, the others equal? ({whole[0].measure})"
    return [Figure(kind="scatter", title=title, caption=_CAPTION, panels=panels)] if panels else []


def _panel(
    by: Sequence[str], name: str, conditions: Mapping[str, Condition], of_group: Mapping[str, ErrorRate]
) -> Panel:
    first, last = conditions[name].groups[0], conditions[name].groups[-1]
    others = [other for other in by if other != name]
    series = [_line(of_group)]
    for groups in itertools.product(*(conditions[other].groups for other in others)):
        chosen = dict(zip(others, groups, strict=True))
        x, y = (of_group.get(_called(by, {**chosen, name: end})) for end in (first, last))
        called = ", ".join(f"{words(other)} {group}" for other, group in chosen.items())
        dots = [point(y.rate, x=100 * x.rate, n=y.images)] if x and y and x.images and y.images else []
        series.append(Series(name=called, points=dots))
    return Panel(
        heading=words(name),
        x_words=f"error rate, {words(name)} {first}, %",
        y_words=f"error rate, {last}",
        unit="proportion",
        series=series,
    )


def _called(by: Sequence[str], groups: Mapping[str, str]) -> str:
    """What the combination is called among the rates."""
    none = np.empty(0, dtype=np.int64)
    return crossed({name: Condition((groups[name],), none) for name in by}).groups[0]


def _line(of_group: Mapping[str, ErrorRate]) -> Series:
    most = max((rate.rate for rate in of_group.values() if rate.images), default=1.0) or 1.0
    return Series(name=_EQUAL, points=[point(end, x=100 * end) for end in (0.0, most)], drawn="line")
