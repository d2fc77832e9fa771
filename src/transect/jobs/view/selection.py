"""Which images are shown, and in which order: pure functions of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput, UnknownName
from transect.jobs.view.columns import Answers, RunColumns
from transect.jobs.view.index import Index, asked
from transect.records import Design

ANSWERS: Final = ("yes", "no", "none")
VERDICTS: Final = ("right", "wrong", "unknown")
EFFECT: Final = "effect:"
"""Begins an order by the effect of an attribute on each subject."""
SORTS: Final = ("order", "score", "disagreement")


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for. Each filter that is empty lets every image pass; all of them together must let it pass.

    levels: values by attribute; ranges: low and high by attribute, both included, NaN for no bound. answers, verdicts:
    of `target`; "none" is asked and not answered, "unknown" answered with no stated truth. subject: the number of the
    person on the image. sort: order, score, disagreement, or `effect:` and an attribute. descending: largest first;
    images without a number come last either way.
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

    values: of whole subjects, in the order of the design. ordered: whether the levels have an order; without one the
    effect is the largest mean of a level less the smallest, over what has a value at every level. NaN where there is
    nothing to compare.
    """
    axis = list(design.levels).index(attribute)
    levels = np.moveaxis(values.reshape(design.subjects, *design.shape), axis + 1, -1)
    levels = levels.reshape(design.subjects, -1, design.shape[axis])
    if not ordered:
        complete = np.isfinite(levels).all(axis=-1, keepdims=True)
        means = _mean(np.where(complete, levels, np.nan), axis=1)
        return np.asarray(means.max(axis=1) - means.min(axis=1))
    order = np.argsort(design.levels[attribute])
    return _mean(levels[..., order[-1]] - levels[..., order[0]], axis=1)


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """The mean of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0).sum(axis=axis)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))


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
    everything = np.ones(len(index), dtype=bool)
    _check("answer", wanted.answers, ANSWERS)
    _check("verdict", wanted.verdicts, VERDICTS)
    if not (wanted.answers or wanted.verdicts):
        return everything
    by_answer, by_verdict = kinds_of(index.target(wanted.target))
    return np.asarray(_any(by_answer, wanted.answers, everything) & _any(by_verdict, wanted.verdicts, everything))


def kinds_of(said: Answers) -> tuple[dict[str, Bool[np.ndarray, " n"]], dict[str, Bool[np.ndarray, " n"]]]:
    """Which images have each answer, and each verdict."""
    by_answer = {"yes": said.answer == 1, "no": said.answer == 0, "none": asked(said) & ~said.answered}
    by_verdict = {"right": said.right == 1, "wrong": said.right == 0, "unknown": said.answered & np.isnan(said.right)}
    return by_answer, by_verdict


def _any(
    kinds: Mapping[str, Bool[np.ndarray, " n"]], chosen: tuple[str, ...], everything: Bool[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    return np.logical_or.reduce([kinds[name] for name in chosen]) if chosen else everything


def _check(what: str, given: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise BadInput(f"{what}: expected {', '.join(known)}, got {name!r}; choose one of them")
