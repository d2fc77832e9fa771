"""A full factorial: every subject at every combination of levels, and what each subject adds to each cell's mean.

Cell means over the subjects that have a valid image there; a subject's influence on a mean says how far it moves it, so
that sums of cells have their variance between subjects also where images are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.effects import bootstrap, repeated
from transect.errors import BadInput, UnknownName
from transect.runs.wording import counted


def empty_cells(n: int) -> str:
    """The reason where n cells are empty."""
    return f"{counted(n, 'cell')} without a valid image"


@final
@dataclass(frozen=True, slots=True)
class Factorial:
    """Outcomes of a full factorial: values float64 [n, *shape] (NaN: no valid image), and each attribute's levels."""

    values: Float[np.ndarray, "n ..."]
    levels: Mapping[str, tuple[float, ...]]


def factorial_of_table(
    table: pa.Table, *, outcome: str, attributes: Sequence[str], subject: str = "subject"
) -> Factorial:
    """The array of a long table: one row per image, with columns of subject, attributes and outcome (null: no answer).

    Levels are the distinct values, in increasing order; an image that the table lacks is NaN.

    Raises UnknownName for a column that is not there, BadInput where a subject has a cell twice or an attribute lacks a
    value.

    >>> rows = pa.table({"subject": [1, 1, 2], "glasses": [0, 1, 1], "miss": [0.0, 1.0, 0.0]})
    >>> result = factorial_of_table(rows, outcome="miss", attributes=["glasses"])
    >>> result.values, dict(result.levels)
    (array([[ 0.,  1.],
           [nan,  0.]]), {'glasses': (0.0, 1.0)})
    """
    for name in (subject, outcome, *attributes):
        if name not in table.column_names:
            raise UnknownName("column", name, table.column_names)
    subjects = np.unique(np.asarray(table[subject]), return_inverse=True)
    columns = {name: _level_column(table, name) for name in attributes}
    axes = {name: np.unique(column, return_inverse=True) for name, column in columns.items()}
    shape = (len(subjects[0]), *(len(levels) for levels, _ in axes.values()))
    place = np.ravel_multi_index((subjects[1].ravel(), *(index.ravel() for _, index in axes.values())), shape)
    if len(np.unique(place)) < len(place):
        twice = len(place) - len(np.unique(place))
        raise BadInput(
            f"expected each subject once in each cell, got {twice} rows twice; give a row per image and cell"
        )
    values = np.full(int(np.prod(shape)), np.nan)
    values[place] = np.asarray(table[outcome].to_numpy(), dtype=np.float64)
    levels = {name: tuple(float(level) for level in unique) for name, (unique, _) in axes.items()}
    return Factorial(values.reshape(shape), levels)


def _level_column(table: pa.Table, name: str) -> Float[np.ndarray, " rows"]:
    column = np.asarray(table[name].to_numpy(), dtype=np.float64)
    if not np.isfinite(column).all():
        missing = int((~np.isfinite(column)).sum())
        raise BadInput(f"{name}: expected a level in every row, got {missing} without; leave these rows out and say so")
    return column


@final
@dataclass(frozen=True, slots=True)
class CellMeans:
    """Means of the cells of a factorial, and the subjects' influences on them.

    means: float64 [cells], NaN where no image is valid. influence: [n, cells]; a weighted sum of means has the variance
    of the same sum of influences between subjects, over n. values, valid: [n, cells], sums and numbers of images.
    """

    means: Float[np.ndarray, " cells"]
    influence: Float[np.ndarray, "n cells"]
    values: Float[np.ndarray, "n cells"]
    valid: Float[np.ndarray, "n cells"]

    @classmethod
    def of(cls, values: Float[np.ndarray, "n ..."], people: Int[np.ndarray, " n"] | None = None) -> CellMeans:
        """Cell means of outcomes [n, *shape], NaN where there is no valid image."""
        flat = values.reshape(len(values), -1)
        who = repeated.clusters_of(people)
        if who is None:
            valid = np.isfinite(flat).astype(np.float64)
            filled = np.where(valid > 0, flat, 0.0)
        else:
            filled, valid = repeated.by_person(flat, who)
        images = valid.sum(axis=0)
        means, residual = bootstrap.ratio(filled, valid)
        return cls(means, residual * len(filled) / np.maximum(images, 1.0), filled, valid)

    @property
    def empty(self) -> int:
        """Cells without any valid image."""
        return int((~np.isfinite(self.means)).sum())

    def resampled(
        self, resamples: int, seed: int
    ) -> Iterator[tuple[Float[np.ndarray, "b n"], Float[np.ndarray, "b c"]]]:
        """Blocks of bootstrap resamples of subjects: how often each is drawn, and the cell means (NaN: no image)."""
        for counts in bootstrap.resample_counts(len(self.values), resamples, seed):
            above, below = counts @ self.values, counts @ self.valid
            yield counts, np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)

    def pseudo_values(self, weights: Float[np.ndarray, "cells k"]) -> Float[np.ndarray, "n k"]:
        """For each weighted sum of cell means, a value per subject whose mean is the sum and whose spread its error."""
        empty = ~np.isfinite(self.means)
        sums = np.where(empty, 0.0, self.means) @ weights + self.influence @ weights
        return np.where((weights[empty] != 0).any(axis=0), np.nan, sums)
