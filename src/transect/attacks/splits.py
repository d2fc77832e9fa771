"""Training and scored rows of an attacker: splits, cross-fitting folds, draws with equal classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Int, UInt64

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
    protected classes.

    Raises BadInput where a split or a fold lacks a class of the protected attribute.
    """
    if data.split is not None:
        parts = [Fold(data.rows_of("train"), data.rows_of("development"), data.rows_of("test"))]
    else:
        number = _fold_numbers(data, seed, n_folds)
        everything, none = np.arange(len(data)), np.array([], dtype=np.int64)
        parts = [Fold(everything[number != fold], none, everything[number == fold]) for fold in range(n_folds)]
    for fold in parts:
        _check_classes(data, fold)
    return parts


def balanced_draw(
    rows: Rows, protected: Int[np.ndarray, " n"], keys: UInt64[np.ndarray, " n"], seed: int, per_class: int = 0
) -> Rows:
    """As many rows of each class, drawn without replacement: `per_class`, or as many as the smallest class has.

    Raises BadInput where a class has fewer rows than asked for.

    >>> from transect.attacks.chance import item_keys
    >>> groups = np.array([0, 0, 0, 1])
    >>> drawn = balanced_draw(np.arange(4), groups, item_keys(range(4)), seed=0)
    >>> np.bincount(groups[drawn]).tolist()
    [1, 1]
    """
    classes, counts = np.unique(protected[rows], return_counts=True)
    size = per_class or int(counts.min(initial=len(rows)))
    if len(counts) and counts.min() < size:
        raise BadInput(f"expected at least {size} items of each class, got {counts.min()} of one; ask for fewer")
    order = rows[np.argsort(uniforms(keys[rows], _DRAW_SALT, seed), kind="stable")]
    chosen = [order[protected[order] == group][:size] for group in classes]
    return np.sort(np.concatenate(chosen)) if chosen else rows


def stratified_draw(
    rows: Rows, protected: Int[np.ndarray, " n"], keys: UInt64[np.ndarray, " n"], seed: int, share: float
) -> Rows:
    """The same share of the rows of each class, drawn without replacement; at least one of each.

    >>> from transect.attacks.chance import item_keys
    >>> groups = np.array([0] * 8 + [1] * 2)
    >>> np.bincount(groups[stratified_draw(np.arange(10), groups, item_keys(range(10)), seed=0, share=0.5)]).tolist()
    [4, 1]
    """
    order = rows[np.argsort(uniforms(keys[rows], _DRAW_SALT, seed), kind="stable")]
    groups = [order[protected[order] == group] for group in np.unique(protected[rows])]
    return (
        np.sort(np.concatenate([members[: max(1, round(share * len(members)))] for members in groups]))
        if groups
        else rows
    )


def _fold_numbers(data: LabelledData, seed: int, n_folds: int) -> Int[np.ndarray, " n"]:
    """A fold for each item: items of a class in random order are dealt out in turn."""
    number = np.empty(len(data), dtype=np.int64)
    draws = uniforms(data.keys, _FOLD_SALT, seed)
    for group in range(data.n_classes):
        rows = np.flatnonzero(data.protected == group)
        number[rows[np.argsort(draws[rows], kind="stable")]] = np.arange(len(rows)) % n_folds
    return number


def _check_classes(data: LabelledData, fold: Fold) -> None:
    for name, rows in (("train", fold.train), ("test", fold.test)):
        counts = np.bincount(data.protected[rows], minlength=data.n_classes)
        if (counts == 0).any():
            lacking = data.classes[int(np.argmin(counts))]
            raise BadInput(
                f"{name} rows: expected items of every class of {data.attribute}, got none of {lacking!r} in "
                f"{len(rows)}; check --split and --where, or give more data"
            )
