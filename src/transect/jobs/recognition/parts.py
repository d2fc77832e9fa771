"""The parts of a target's embeddings: pictures ► rows, in this process or by a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.datasets.files import fitted_points, pixels_of, size_of
from transect.engines.protocol import check_same
from transect.errors import TooManyFailures
from transect.experiment import costs
from transect.experiment.recipes import EmbeddingRecipe
from transect.experiment.study import facts_of_targets
from transect.protocols import Target
from transect.records import Images
from transect.targets.guard import Counted, FailureLog, Limits

if TYPE_CHECKING:
    from transect.targets.guard import Counting

COLUMNS = {"row": pa.int64(), "reason": pa.string(), "embedding": pa.list_(pa.float64())}


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """The pictures of one part by row, as the bytes of their files. first: whether no part comes before.

    points: landmarks by row, in pixels of the picture; None without.
    """

    pictures: Mapping[int, bytes]
    first: bool
    points: Mapping[int, Float[np.ndarray, "k 2"]] | None = None


@final
@dataclass(frozen=True, slots=True)
class Embedded:
    """The rows of one part, None where the target failed too often; and what is still to be counted of it, in order."""

    rows: pa.Table | None
    counted: tuple[Counted, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class EmbeddingParts:
    """What asks the target. planned: pictures of all parts. size: pixels that each is fitted into, None as they are.

    budget: counts failures at once; None to note them, for the process of the command to count.
    """

    target: Target
    limits: Limits
    size: int | None
    planned: int
    budget: Counting | None = None

    def make(self, shown: Shown) -> Embedded:
        """The rows of these pictures."""
        if self.budget is not None:
            return Embedded(self._rows(shown, self.budget))
        tally = FailureLog(self.target.name, self.planned, limit_share=self.limits.max_failures, first=shown.first)
        try:
            return Embedded(self._rows(shown, tally), tally.counted)
        except TooManyFailures:
            return Embedded(None, tally.counted)

    def close(self) -> None:
        """Close the target of a worker."""
        if self.budget is None:
            costs.close([self.target])

    def _rows(self, shown: Shown, budget: Counting) -> pa.Table:
        from transect.targets.guard import guarded

        answers: dict[int, tuple[Float[np.ndarray, " d"], str]] = {}
        limits = self.limits
        for rows, images in self._batches(shown):
            predictions = guarded(self.target, images, timeout=limits.timeout, batch=limits.batch, budget=budget)
            answers |= dict(zip(rows, zip(predictions.scores, predictions.failures, strict=True), strict=True))
        return _table({row: answers[row] for row in shown.pictures})

    def _batches(self, shown: Shown) -> Iterator[tuple[list[int], Images]]:
        """Runs of rows whose pictures are of one size, no more than a batch at a time."""
        rows = list(shown.pictures)
        for start in range(0, len(rows), self.limits.batch):
            read: list[tuple[int, UInt8[np.ndarray, "h w 3"]]] = []
            for row in rows[start : start + self.limits.batch]:
                read.append((row, pixels_of(shown.pictures[row], f"picture of row {row}", self.size)))
            for _, run in groupby(read, key=lambda pair: pair[1].shape):
                numbers, pixels = zip(*run, strict=True)
                yield list(numbers), Images(np.stack(pixels), landmarks=self._points(shown, numbers))

    def _points(self, shown: Shown, rows: Sequence[int]) -> Float[np.ndarray, "n k 2"] | None:
        """Landmarks of these rows, in pixels of the pictures as they are fitted."""
        if shown.points is None:
            return None
        sizes = [size_of(shown.pictures[row], f"picture of row {row}") for row in rows]
        known = [shown.points[row] for row in rows]
        return np.stack([fitted_points(one, *size, self.size) for one, size in zip(known, sizes, strict=True)])


@final
@dataclass(frozen=True, slots=True)
class EmbeddingWork:
    """The same for a worker. facts: `facts_of_targets` of the command's, which must be the same there."""

    recipe: EmbeddingRecipe
    limits: Limits
    size: int | None
    planned: int
    facts: str

    @property
    def gpus(self) -> int:
        """None: nothing says where the target computes."""
        return 0

    def open(self) -> EmbeddingParts:
        """Open the target. Raises TargetChanged where it is not that of the command, and what opening it raises."""
        target = self.recipe.open()
        check_same(self.facts, facts_of_targets([target]))
        return EmbeddingParts(target, self.limits, self.size, self.planned)


def _table(answers: Mapping[int, tuple[Float[np.ndarray, " d"], str]]) -> pa.Table:
    columns = list(answers), [why for _, why in answers.values()], [vector.tolist() for vector, _ in answers.values()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, COLUMNS.values(), strict=True)]
    return pa.table(arrays, names=list(COLUMNS))
