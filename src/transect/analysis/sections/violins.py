"""Violins of attributes by group, nine panels a figure; the page folds all but the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import point, words
from transect.analysis.sections.conditions import texts
from transect.analysis.sections.regrouped import Grouping
from transect.effects.distributions import Distribution, distributions
from transect.reports.records import Figure, Panel, Series

PANELS: Final = 9
"""Panels of one figure."""
_CAPTION: Final = (
    "(each shape is scaled to its widest place; dot and bar: median and quartiles; the numbers are images)"
)


def violin_figures(
    study: str, values: Mapping[str, Float[np.ndarray, " n"]], groups: Grouping, *, folded: bool = False
) -> list[Figure]:
    """Violins of every attribute but those that group the images. folded: also the first figure."""
    short = {group: without_names(group, groups.names) for group in groups.condition.groups}
    named = [short.get(group, "") for group in texts(groups.condition).tolist()]
    panels = [
        panel(name, distributions({name: column}, named), list(short.values()))
        for name, column in values.items()
        if name not in groups.names
    ]
    return figures(f"{study}: distributions by {words(groups.name)}", panels, folded=folded)


def without_names(group: str, names: Sequence[str]) -> str:
    """A combination without the names of its attributes, which the title has in the same order."""
    for name in names if len(names) > 1 else ():
        group = group.replace(f"{words(name)} ", "", 1)
    return group


def figures(title: str, panels: Sequence[Panel], *, folded: bool = False) -> list[Figure]:
    """All panels, in figures of nine; each after the first is folded."""
    pages = [panels[first : first + PANELS] for first in range(0, len(panels), PANELS)]
    return [
        Figure(
            kind="violins",
            title=title + (f", {k + 1} of {len(pages)}" if len(pages) > 1 else ""),
            caption=_CAPTION,
            same_axis=False,
            folded=folded or k > 0,
            panels=list(page),
        )
        for k, page in enumerate(pages)
    ]


def panel(name: str, shapes: Sequence[Distribution], order: Sequence[str] = ()) -> Panel:
    """A shape per group, in this order, else as they come."""
    places = {group: place for place, group in enumerate(order)}
    points = [
        point(
            shape.quartiles[1],
            low=shape.quartiles[0],
            high=shape.quartiles[2],
            label=shape.group,
            n=shape.n,
            counts=[int(count) for count in shape.counts],
            reason="" if shape.n else "no image",
        )
        for shape in sorted(shapes, key=lambda shape: places.get(shape.group, 0))
    ]
    series = [Series(name="", points=points)]
    return Panel(heading=words(name), y_words=words(name), unit="number", edges=shapes[0].edges.tolist(), series=series)
