"""Which images, pairs and subjects a visitor wants to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.contrasts import known_means
from transect.errors import BadInput, UnknownName
from transect.jobs.view.index import Answers, Index, RunColumns, asked
from transect.records import Design

EFFECT: Final = "effect:"
"""Begins an order by the effect of an attribute on each subject."""
SORTS: Final = ("order", "score", "disagreement")


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for. Each filter that is empty lets every image pass; all of them together must let it pass.

    ranges: low and high, both included, NaN for no bound. answers, verdicts: of `target`; "none" is asked and not
    answered, "unknown" answered with no stated truth. subject: the number of the person. sort: order, score,
    disagreement, or `effect:` and an attribute; images without a number come last either way.
    """

    runs: tuple[str, ...] = ()
    levels: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    target: str = ""
    answers: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    subject: int | None = None
    sort: str = "order"
    descending: bool = False


def select(index: Index, wanted: Wanted) -> Int[np.ndarray, " m"]:
    """The rows that pass every filter, in the order that is asked for; equal ones in the order of the runs."""
    rows = np.flatnonzero(_passing(index, wanted))
    if wanted.sort == "order":
        return rows[::-1] if wanted.descending else rows
    keys = sort_key(index, wanted)[rows]
    keys = -keys if wanted.descending else keys
    return np.asarray(rows[np.argsort(keys, kind="stable")])  # NaN last, whichever the direction


def sort_key(index: Index, wanted: Wanted) -> Float[np.ndarray, " n"]:
    """The number that each image is sorted by; NaN where it has none. Raises UnknownName."""
    if wanted.sort == "score":
        return measure(index.target(wanted.target))
    if wanted.sort == "disagreement":
        return disagreement([index.target(name) for name in index.asks_same(wanted.target)])
    name = wanted.sort.removeprefix(EFFECT)
    if wanted.sort == name or not any(name in run.design.levels for run in index.runs):
        known = [f"{EFFECT}{each}" for run in index.runs for each in run.design.levels]
        raise UnknownName("order", wanted.sort, (*SORTS, *dict.fromkeys(known)))
    return effects(index, name, wanted.target)


def measure(answers: Answers) -> Float[np.ndarray, " n"]:
    """The score, or, of a target that gives none, the answer."""
    return answers.score if np.isfinite(answers.score).any() else answers.answer


def disagreement(answers: list[Answers]) -> Float[np.ndarray, " n"]:
    """Per image the share of targets that answer otherwise than most do, 0 to .5; NaN where fewer than two answer."""
    said = np.stack([each.answer for each in answers])
    known = np.isfinite(said)
    count = known.sum(axis=0)
    share = np.divide(np.where(known, said, 0).sum(axis=0), count, out=np.full(len(count), np.nan), where=count > 1)
    return np.asarray(np.minimum(share, 1 - share))


def effects(index: Index, attribute: str, target: str) -> Float[np.ndarray, " n"]:
    """The effect of an attribute on the subject of each image, as `subject_effects` has it, run by run."""
    values = measure(index.target(target))
    parts = [
        _of_run(run, values[start : start + len(run)], attribute)
        for run, start in zip(index.runs, index.starts.tolist(), strict=False)
    ]
    return np.concatenate(parts)


def _of_run(run: RunColumns, values: Float[np.ndarray, " n"], attribute: str) -> Float[np.ndarray, " n"]:
    if attribute not in run.design.levels:
        return np.full(len(run), np.nan)
    ordered = not run.attributes[attribute].nominal
    return np.repeat(subject_effects(values, run.design, attribute, ordered=ordered), run.design.n_cells)


def subject_effects(
    values: Float[np.ndarray, " n"], design: Design, attribute: str, *, ordered: bool = True
) -> Float[np.ndarray, " s"]:
    """Per subject: the value at the highest level less that at the lowest, all else equal, averaged over all else.

    values: of whole subjects, in the order of the design. ordered: without an order the effect is the largest mean of a
    level less the smallest, over what has a value at every level. NaN where there is nothing to compare.
    """
    axis = list(design.levels).index(attribute)
    levels = np.moveaxis(values.reshape(design.subjects, *design.shape), axis + 1, -1)
    levels = levels.reshape(design.subjects, -1, design.shape[axis])
    if not ordered:
        complete = np.isfinite(levels).all(axis=-1, keepdims=True)
        means = known_means(np.where(complete, levels, np.nan), axis=1)
        return np.asarray(means.max(axis=1) - means.min(axis=1))
    order = np.argsort(design.levels[attribute])
    return known_means(levels[..., order[-1]] - levels[..., order[0]], axis=1)


def _passing(index: Index, wanted: Wanted) -> Bool[np.ndarray, " n"]:
    passing = np.ones(len(index), dtype=bool)
    if wanted.runs:
        passing &= np.isin(index.run, [index.named(name) for name in wanted.runs])
    for name, levels in wanted.levels.items():
        passing &= np.isin(_values(index, name), levels)
    for name, (low, high) in wanted.ranges.items():
        values = _values(index, name)
        bounds = (np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf))
        passing &= (values >= bounds[0]) & (values <= bounds[1])
    if wanted.subject is not None:
        passing &= index.people == wanted.subject
    return np.asarray(passing & _answering(index, wanted))


def _values(index: Index, name: str) -> Float[np.ndarray, " n"]:
    if name not in index.values:
        raise UnknownName("attribute", name, index.values)
    return index.values[name]


def _answering(index: Index, wanted: Wanted) -> Bool[np.ndarray, " n"]:
    """Which images have one of the answers and one of the verdicts that are looked for."""
    passing = np.ones(len(index), dtype=bool)
    if not (wanted.answers or wanted.verdicts):
        return passing
    by_answer, by_verdict = kinds_of(index.target(wanted.target))
    for what, given, kinds in (("answer", wanted.answers, by_answer), ("verdict", wanted.verdicts, by_verdict)):
        for name in given:
            if name not in kinds:
                raise BadInput(f"{what}: expected {', '.join(kinds)}, got {name!r}; choose one of them")
        if given:
            passing &= np.logical_or.reduce([kinds[name] for name in given])
    return passing


def kinds_of(said: Answers) -> tuple[dict[str, Bool[np.ndarray, " n"]], dict[str, Bool[np.ndarray, " n"]]]:
    """Which images have each answer, and each verdict."""
    by_answer = {"yes": said.answer == 1, "no": said.answer == 0, "none": asked(said) & ~said.answered}
    by_verdict = {"right": said.right == 1, "wrong": said.right == 0, "unknown": said.answered & np.isnan(said.right)}
    return by_answer, by_verdict


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
    """Rows of the left and right images [m], left ones that are alone, and whose answers stand on each side, or ""."""

    left: Int[np.ndarray, " m"]
    right: Int[np.ndarray, " m"]
    alone: int
    targets: tuple[str, str]


def pair(index: Index, sides: Sides, wanted: Wanted) -> Pairs:
    """The pairs whose left image passes the filters, in the order that is asked for; by score: by right less left.

    Two levels: images of one subject that differ in the attribute alone. Two runs: images of one subject with the
    same settings; of photographs those with one id.
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
            raise BadInput(f"{sides.by}: expected one of its levels ({listed}), got {value}")
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
