"""Training and scored rows of an attacker: splits, cross-fitting folds, draws with equal classes, permutations.

Where a subject is on several items, folds and permutations move whole subjects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int, UInt64

from transect.attacks.chance import uniforms
from transect.attacks.records import LabelledData
from transect.errors import BadInput

FOLDS: Final = 5
_FOLD_SALT: Final = 11
_DRAW_SALT: Final = 12

Rows = Int[np.ndarray, " _"]


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """Training rows, rows on which a snapshot may be chosen, and scored rows."""

    train: Rows
    development: Rows
    test: Rows


def folds(data: LabelledData, seed: int = 0, n_folds: int = FOLDS) -> list[Fold]:
    """One fold where the data have splits, otherwise `n_folds` that score every item once, with equal shares of
    protected classes. All items of a subject are in the same fold; the fold is dealt by its most frequent class.

    Raises BadInput where there are no training or test rows, or a fold lacks a class of the protected attribute.
    """
    if data.split is not None:
        parts = [Fold(data.rows_of("train"), data.rows_of("development"), data.rows_of("test"))]
    else:
        number = _fold_numbers(data, seed, n_folds)
        everything, none = np.arange(len(data)), np.array([], dtype=np.int64)
        parts = [Fold(everything[number != fold], none, everything[number == fold]) for fold in range(n_folds)]
    _check_parts(data)
    for fold in parts:
        _check_classes(data, fold)
    return parts


def balanced_draw(
    rows: Rows, protected: Int[np.ndarray, " n"], keys: UInt64[np.ndarray, " n"], seed: int, per_class: int = 0
) -> Rows:
    """As many rows of each class, drawn without replacement: `per_class`, or as many as the smallest class has."""
    classes, counts = np.unique(protected[rows], return_counts=True)
    size = per_class or int(counts.min(initial=len(rows)))
    if len(counts) and counts.min() < size:
        raise BadInput(f"expected at least {size} items of each class, got {counts.min()} of one; ask for fewer")
    order = rows[np.argsort(uniforms(keys[rows], _DRAW_SALT, seed), kind="stable")]
    chosen = [order[protected[order] == group][:size] for group in classes]
    return np.sort(np.concatenate(chosen)) if chosen else rows


def stratified_draw(
    rows: Rows,
    protected: Int[np.ndarray, " n"],
    keys: UInt64[np.ndarray, " n"],
    seed: int,
    share: float,
    subjects: UInt64[np.ndarray, " n"] | None = None,
) -> Rows:
    """The same share of the rows of each class, drawn without replacement; at least one of each.

    With subjects, the share of the subjects of each class, each with all its rows: more rows of the same people teach
    an attacker less than those of others. A subject with several classes counts as one of its most frequent class.

    >>> from transect.attacks.chance import item_keys
    >>> groups = np.array([0] * 8 + [1] * 2)
    >>> np.bincount(groups[stratified_draw(np.arange(10), groups, item_keys(range(10)), seed=0, share=0.5)]).tolist()
    [4, 1]
    >>> people = item_keys("aaaabbbbcc")
    >>> stratified_draw(np.arange(10), groups, item_keys(range(10)), 0, 0.5, people).tolist()[-2:]  # a or b, and c
    [8, 9]
    """
    if not len(rows):
        return rows
    if subjects is None:
        units, where, groups = keys[rows], np.arange(len(rows)), protected[rows]
    else:
        units, where = np.unique(subjects[rows], return_inverse=True)
        groups = _most_frequent(where, protected[rows], len(units))
    order = np.argsort(uniforms(units, _DRAW_SALT, seed), kind="stable")
    members = [order[groups[order] == group] for group in np.unique(groups)]
    chosen = np.concatenate([part[: max(1, round(share * len(part)))] for part in members])
    return np.sort(rows[np.isin(where, chosen)])


def subject_folds(
    subjects: UInt64[np.ndarray, " n"], protected: Int[np.ndarray, " n"], n_folds: int, seed: int = 0
) -> Int[np.ndarray, " n"]:
    """A fold for each item: subjects of a class in random order are dealt out in turn.

    A subject with several classes counts as one of its most frequent class.

    >>> from transect.attacks.chance import item_keys
    >>> number = subject_folds(item_keys("aabb"), np.array([0, 0, 1, 1]), 2)
    >>> bool(number[0] == number[1] and number[2] == number[3])
    True
    """
    units, where = np.unique(subjects, return_inverse=True)
    groups = _most_frequent(where, protected, len(units))
    return _dealt(groups, uniforms(units, _FOLD_SALT, seed), n_folds)[where]


def _most_frequent(
    where: Int[np.ndarray, " n"], protected: Int[np.ndarray, " n"], n_units: int
) -> Int[np.ndarray, " u"]:
    """The most frequent class of each unit's items; where: the unit of each."""
    n_classes = int(protected.max(initial=0)) + 1
    counts = np.bincount(where * n_classes + protected, minlength=n_units * n_classes)
    return np.asarray(counts.reshape(n_units, n_classes).argmax(axis=1))


def exchanged(
    protected: Int[np.ndarray, " n"], subjects: UInt64[np.ndarray, " n"], rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """The protected attribute after a permutation of the subjects: each gets another's class for all its items.

    A subject whose items have several classes passes them on in the same proportions, as far as the number of items
    of the other subject allows.

    >>> from transect.attacks.chance import item_keys
    >>> out = exchanged(np.array([0, 0, 1, 1, 1]), item_keys("aabbb"), np.random.default_rng(1))
    >>> len(set(out[:2].tolist())), len(set(out[2:].tolist()))
    (1, 1)
    """
    _, where, sizes = np.unique(subjects, return_inverse=True, return_counts=True)
    order = np.lexsort((rng.random(len(protected)), where))  # by subject, and in random order within each
    starts, donor = np.cumsum(sizes) - sizes, rng.permutation(len(sizes))
    subject = where[order]
    place = np.arange(len(protected)) - starts[subject]
    out = np.empty_like(protected)
    out[order] = protected[order][starts[donor][subject] + place * sizes[donor][subject] // sizes[subject]]
    return out


def _fold_numbers(data: LabelledData, seed: int, n_folds: int) -> Int[np.ndarray, " n"]:
    """A fold for each item: items of a class in random order are dealt out in turn, or whole subjects."""
    if data.subjects is not None:
        return subject_folds(data.subjects, data.protected, n_folds, seed)
    return _dealt(data.protected, uniforms(data.keys, _FOLD_SALT, seed), n_folds)


def _dealt(groups: Int[np.ndarray, " n"], draws: Float[np.ndarray, " n"], n_folds: int) -> Int[np.ndarray, " n"]:
    """A fold for each: those of a class are dealt out in turn in the order of their draws."""
    number = np.empty(len(groups), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        number[rows[np.argsort(draws[rows], kind="stable")]] = np.arange(len(rows)) % n_folds
    return number


def _check_parts(data: LabelledData) -> None:
    """Raise BadInput where the column of splits names no training or no test rows."""
    if data.split is None:
        return
    counts = {str(name): int((data.split == name).sum()) for name in np.unique(data.split)}
    for name in ("train", "test"):
        if name not in counts:
            got = ", ".join(f"{count} {part}" for part, count in counts.items()) or "no rows"
            raise BadInput(
                f"splits: expected train and test rows, got no {name} rows ({got}); leave out --split to cross-fit, or "
                "read all parts of the data set"
            )


def _check_classes(data: LabelledData, fold: Fold) -> None:
    for name, rows in (("train", fold.train), ("test", fold.test)):
        counts = np.bincount(data.protected[rows], minlength=data.n_classes)
        if (counts == 0).any():
            lacking = data.classes[int(np.argmin(counts))]
            raise BadInput(
                f"{name} rows: expected items of every class of {data.attribute}, got none of {lacking!r} in "
                f"{len(rows)}; check --split and --where, or give more data"
            )
