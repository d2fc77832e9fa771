"""Two runs or two levels side by side: which image stands beside which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput, UnknownName
from transect.jobs.view.columns import RunColumns
from transect.jobs.view.index import Index
from transect.jobs.view.selection import Wanted, measure, select

RUNS: Final = "run"
"""Two runs are compared; else the name of an attribute."""


@final
@dataclass(frozen=True, slots=True)
class Sides:
    """What stands side by side. by: `run` or an attribute; left, right: names of runs, or values of the attribute.

    target: whose answers stand on the right; "" for the same as on the left, or, in a run without it, its first.
    """

    by: str
    left: str | float
    right: str | float
    target: str = ""


@final
@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the left and right images [m], and how many images of the left side have no partner.

    targets: whose answers stand on the left and on the right; "" where a run has no target.
    """

    left: Int[np.ndarray, " m"]
    right: Int[np.ndarray, " m"]
    alone: int
    targets: tuple[str, str]


def pair(index: Index, sides: Sides, wanted: Wanted) -> Pairs:
    """The pairs whose left image passes the filters, in the order that is asked for.

    Two levels: images of one subject that differ in the attribute alone. Two runs: images of one subject with the
    same settings; of photographs those with one id. An order by score is one by the difference right less left.
    """
    partners = _of_runs(index, sides) if sides.by == RUNS else _of_levels(index, sides)
    by_score = wanted.sort == "score"
    rows = select(index, replace(wanted, sort="order", descending=False) if by_score else wanted)
    rows = rows[_on_left(index, sides)[rows]]
    there = rows[partners[rows] >= 0]
    pairs = Pairs(there, partners[there], len(rows) - len(there), _targets(index, sides, wanted))
    return _by_difference(index, pairs, wanted) if by_score else pairs


def difference(index: Index, pairs: Pairs) -> Float[np.ndarray, " m"]:
    """The measure of the right image less that of the left; NaN where one has none, or is not asked about."""
    left, right = pairs.targets
    if not (left and right):
        return np.full(len(pairs.left), np.nan)
    return np.asarray(measure(index.target(right))[pairs.right] - measure(index.target(left))[pairs.left])


def _targets(index: Index, sides: Sides, wanted: Wanted) -> tuple[str, str]:
    """Whose answers stand on each side: of two runs each side's own."""
    if sides.by != RUNS:
        return wanted.target, sides.target or wanted.target
    left, right = (tuple(index.runs[index.named(str(name))].targets) for name in (sides.left, sides.right))
    first = wanted.target if wanted.target in left else next(iter(left), "")
    other = sides.target or wanted.target
    return first, other if other in right else next(iter(right), "")


def _by_difference(index: Index, pairs: Pairs, wanted: Wanted) -> Pairs:
    """The pairs by the difference, its sign included."""
    keys = difference(index, pairs)
    order = np.argsort(-keys if wanted.descending else keys, kind="stable")
    return replace(pairs, left=pairs.left[order], right=pairs.right[order])


def _on_left(index: Index, sides: Sides) -> np.ndarray:
    if sides.by == RUNS:
        return np.asarray(index.run == index.named(str(sides.left)))
    set_here = np.array([sides.by in run.design.levels for run in index.runs])
    return np.asarray((index.values[sides.by] == sides.left) & set_here[index.run])


def _of_levels(index: Index, sides: Sides) -> Int[np.ndarray, " n"]:
    """For each row the row of the same subject at the other level; -1 where there is none."""
    levels = {name: values for run in index.runs for name, values in run.design.levels.items()}
    if sides.by not in levels:
        raise UnknownName("attribute that was set", sides.by, levels)
    known = sorted({value for run in index.runs for value in run.design.levels.get(sides.by, ())})
    for value in (sides.left, sides.right):
        if value not in known:
            listed = ", ".join(f"{each:g}" for each in known)
            raise BadInput(f"{sides.by}: expected one of its levels ({listed}), got {value}; choose one")
    starts = index.starts.tolist()
    return np.concatenate([_within(run, sides, start) for run, start in zip(index.runs, starts, strict=False)])


def _within(run: RunColumns, sides: Sides, start: int) -> Int[np.ndarray, " n"]:
    partners = np.full(len(run), -1, dtype=np.int64)
    levels = run.design.levels.get(sides.by, ())
    if sides.left not in levels or sides.right not in levels:
        return partners
    axis = list(run.design.levels).index(sides.by)
    stride = int(np.prod(run.design.shape[axis + 1 :], dtype=np.int64))
    step = (levels.index(float(sides.right)) - levels.index(float(sides.left))) * stride
    rows = np.flatnonzero(run.values[sides.by] == sides.left)
    partners[rows] = start + rows + step
    return partners


def _of_runs(index: Index, sides: Sides) -> Int[np.ndarray, " n"]:
    left, right = (index.named(str(name)) for name in (sides.left, sides.right))
    places = {key: row for row, key in enumerate(_keys(index.runs[right]))}
    partners = np.full(len(index), -1, dtype=np.int64)
    found = np.array([places.get(key, -1) for key in _keys(index.runs[left])], dtype=np.int64)
    start = int(index.starts[left])
    partners[start : start + len(found)] = np.where(found >= 0, found + int(index.starts[right]), -1)
    return partners


def _keys(run: RunColumns) -> list[object]:
    """What two images must share to stand side by side: the subject and every setting, or the id of a photograph."""
    cells = run.design.cells()
    if not run.design.levels:
        return list(run.ids.to_pylist())
    settings = [tuple(sorted(cell.items())) for cell in cells]
    return [(subject, settings[cell]) for subject, cell in zip(run.subjects.tolist(), run.cells.tolist(), strict=True)]
