"""How many subjects change each way behind each net effect of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import table, words
from transect.effects.changes import SOURCES, Changes, Share, changes
from transect.effects.samples import Measure
from transect.records import Attribute, Design
from transect.reports.records import Section, Table

_TEXT: Final = (
    "A net effect is the share that changes from no to yes minus the share that changes from yes to no. For "
    "errors, misses and false alarms, yes is a wrong answer. The test of an effect asks whether the changes balance: "
    "p is 1 where equally many change each way, however many they are.",
)
_PAIRS: Final = (
    "Each subject is seen at both levels in several pairs of images. Shares are of these pairs of "
    "images, each subject with equal weight; subjects are counted that have at least one such pair."
)
_PEOPLE: Final = (
    "Several photographs show one person. Shares are means over photographs, each of which counts once, as in the "
    "effects; intervals treat the photographs of one person as one cluster. Subjects are people, counted where at "
    "least one pair of images of theirs changes that way."
)


def sections(
    study: str,
    design: Design,
    attributes: Mapping[str, Attribute],
    answered: Sequence[tuple[Measure, Float[np.ndarray, ...]]],
    who: Int[np.ndarray, " n"] | None = None,
) -> list[Section]:
    """The section of one experiment; none where no outcome is a yes or no that is tested."""
    several = any(design.n_cells > len(levels) for levels in design.levels.values())
    what = "photographs" if who is not None else "pairs" if several else "subjects"
    more = [_PEOPLE] if who is not None else [_PAIRS] if several else []
    tables = []
    for measure, values in answered:
        rows = (
            [_row(row) for row in changes(values, design, attributes, who=who)]
            if measure.is_binary and measure.tested
            else []
        )
        if rows:
            tables.append(_table(rows, f"{measure.outcome} of {measure.target}", what))
    if not tables:
        return []
    return [
        Section(
            key="changes",
            study=study,
            target="",
            title=f"Changes in each direction behind each net effect: {words(study)}",
            text=[*_TEXT, *more],
            warnings=[],
            figures=[],
            tables=tables,
            sources=list(SOURCES),
        )
    ]


def _table(rows: Sequence[Sequence[object]], measure: str, what: str) -> Table:
    heads = [("effect", "text"), ("net, points", "points")]
    for way in ("no to yes", "yes to no"):
        heads += [(way, "proportion"), (f"{way}: low", "proportion"), (f"{way}: high", "proportion")]
        heads += [(f"{way}: pairs", "count"), (f"{way}: subjects", "count")]
    heads += [("all pairs", "count"), ("all subjects", "count"), ("note", "text")]
    return table(f"Share of {what} that change each way: {measure}, with 95 % intervals", heads, rows)


def _row(row: Changes) -> list[object]:
    return [words(row.name), row.net, *_cells(row.up), *_cells(row.down), row.n_pairs, row.n_subjects, row.reason]


def _cells(share: Share) -> list[object]:
    return [share.share, share.low, share.high, share.pairs, share.subjects]
