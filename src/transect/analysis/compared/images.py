"""The images on which two models differ: how many, and some to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from transect.analysis.compared.pairing import PairedOutcome
from transect.analysis.compared.records import DifferingImage, Disagreement
from transect.analysis.finished_run import Run
from transect.effects.outcomes import OF_TRUTH

EACH: Final = 4
"""Images shown of either kind: those on which the reference's outcome is larger, and the model's."""


def disagreement(pair: PairedOutcome) -> Disagreement:
    """How many images differ, and which way."""
    more, less = _which(pair)
    both = int(np.isfinite(pair.first).sum())
    return Disagreement(pair.study, pair.model, pair.reference, pair.outcome, both, int(less.sum()), int(more.sum()))


def shown_outcomes(pairs: Sequence[PairedOutcome]) -> list[PairedOutcome]:
    """Of each model and study the outcome whose images are shown: an error where one is counted, else yes or no."""
    best: dict[tuple[str, str], PairedOutcome] = {}
    for pair in sorted(pairs, key=lambda pair: (not pair.is_binary, pair.outcome not in OF_TRUTH)):
        best.setdefault((pair.study, pair.model), pair)
    return list(best.values())


def differing_images(pair: PairedOutcome) -> list[DifferingImage]:
    """Up to four images of either kind, of different people where possible, spread over all of them."""
    more, less = _which(pair)
    rows = [*_spread(less, pair.run), *_spread(more, pair.run)]
    ids = pair.run.images["id"]
    return [
        DifferingImage(
            pair.study, pair.model, pair.reference, pair.outcome, str(ids[row].as_py()), row, _settings(pair.run, row),
            float(pair.first[row]), float(pair.second[row]),
        )
        for row in rows
    ]  # fmt: skip


def _which(pair: PairedOutcome) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Images on which the model's outcome is the larger, and the reference's."""
    return pair.second > pair.first, pair.first > pair.second


def _spread(chosen: Bool[np.ndarray, " n"], run: Run) -> list[int]:
    rows = np.flatnonzero(chosen)
    people: Int[np.ndarray, " n"] = run.people[rows]
    first = rows[np.sort(np.unique(people, return_index=True)[1])]
    pool = first if len(first) >= EACH else rows
    if not len(pool):
        return []
    return [int(row) for row in pool[np.unique(np.linspace(0, len(pool) - 1, EACH).round().astype(np.int64))]]


def _settings(run: Run, row: int) -> tuple[tuple[str, str], ...]:
    """What was set on an image, or of an observed one its values of the compared attributes."""
    if run.design.levels:
        cell = run.design.cells()[row % run.design.n_cells]
        return tuple((name, run.attributes[name].label(value)) for name, value in cell.items())
    values = {name: float(run.true[name][row]) for name in run.attributes}
    return tuple((name, run.attributes[name].label(each)) for name, each in values.items() if np.isfinite(each))


def pictures_of(run: Run, rows: Sequence[int]) -> dict[int, bytes]:
    """The pictures of some rows, as PNG or JPEG, by row; without those of which the run keeps none."""
    found: dict[int, bytes] = {}
    start = 0
    for part in range(run.parts):
        table = run.folder.read_part("images", part)
        inside = [row for row in rows if start <= row < start + len(table)]
        for row in inside:
            if picture := table["image"][row - start].as_py():
                found[row] = picture
        start += len(table)
    return found
