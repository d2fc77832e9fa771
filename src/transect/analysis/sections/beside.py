"""Every effect of all images beside that of the images that gates and rules leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from transect.analysis.sections.answers import table, words
from transect.records import Effect
from transect.reports.records import Section, Table
from transect.runs.wording import counted

_TEXT: Final = (
    "Gates of raters' validation and rules on ratings leave images out of every other estimate on this page. Here each "
    "effect is estimated from all images, and from the images that remain. Where the two differ much, the result rests "
    "on the exclusions. In an experiment, an exclusion by what the manipulation changes selects on its consequence."
)


def section(study: str, left_out: int, all_images: Sequence[Effect], remaining: Sequence[Effect]) -> Section:
    """The section of one study. all_images, remaining: its effects, in one order."""
    pairs = list(zip(all_images, remaining, strict=True))
    points = [pair for pair in pairs if pair[0].unit == "proportion"]
    numbers = [pair for pair in pairs if pair[0].unit != "proportion"]
    return Section(
        key="beside",
        study=study,
        title=f"Effects with and without the images left out: {words(study)}",
        text=[f"{counted(left_out, 'image')} {'is' if left_out == 1 else 'are'} left out. {_TEXT}"],
        warnings=[],
        figures=[],
        tables=[_table(rows, unit) for rows, unit in ((points, "points"), (numbers, "number")) if rows],
        sources=[],
    )


def _table(pairs: Sequence[tuple[Effect, Effect]], unit: str) -> Table:
    heads = [("effect", "text")]
    for which in ("all images", "remaining"):
        heads += [(which, unit), (f"{which}: low", unit), (f"{which}: high", unit), (f"{which}: images", "count")]
    heads += [("change of the estimate", unit), ("note", "text")]
    rows: list[list[object]] = []
    for pair in pairs:
        cells: list[object] = []
        for effect in pair:
            cells += [effect.estimate, effect.low, effect.high, effect.n_images]
        title = f"{words(pair[0].name)}, {pair[0].outcome} of {pair[0].target}"
        rows.append([title, *cells, pair[1].estimate - pair[0].estimate, pair[1].reason or pair[0].reason])
    return table(f"Effects, {'percentage points' if unit == 'points' else 'in their units'}", heads, rows)
