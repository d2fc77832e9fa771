"""Embeddings of a table's pictures by a target, in parts, in this process or by workers: what face recognition sees of
each row, and why it sees nothing.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.datasets import features
from transect.datasets.files import Encoded, check_size, fitted_points, of_lists, pixels_of, size_of
from transect.datasets.parquet import encoded_of
from transect.engines import settings as engines
from transect.engines.protocol import HERE, Ahead, Engine, Ready, Work, check_same
from transect.engines.settings import EngineSettings
from transect.errors import BadInput, TooManyFailures
from transect.experiment import costs
from transect.experiment.recipes import EmbeddingRecipe, embedding_target, recipe_of_embedding
from transect.experiment.study import facts_of_targets
from transect.protocols import Target, TargetLike
from transect.records import Images, Task
from transect.runs.folder import RunFolder
from transect.runs.parts import fill_table
from transect.runs.pictures import content_of
from transect.targets.capabilities import wants_landmarks
from transect.targets.guard import Counted, FailureLog, Limits, counted_rows
from transect.texts import say, words_of

if TYPE_CHECKING:
    from transect.targets.guard import FailureBudget


COLUMNS = {"row": pa.int64(), "reason": pa.string(), "embedding": pa.list_(pa.float64())}


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """The pictures of one part by row, as bytes of files; landmarks in pixels, or None. first: no part comes before."""

    pictures: Mapping[int, bytes]
    first: bool
    points: Mapping[int, Float[np.ndarray, "k 2"]] | None = None


@final
@dataclass(frozen=True, slots=True)
class Embedded:
    """The rows of one part, None where the target failed too often; and what is still to be counted of it, in order."""

    rows: pa.Table | None
    counted: Sequence[Counted] = ()


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
    budget: FailureBudget | None = None

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

    def _rows(self, shown: Shown, budget: FailureBudget) -> pa.Table:
        from transect.targets.guard import guarded

        answers: dict[int, tuple[Float[np.ndarray, " d"], str]] = {}
        limits = self.limits
        for rows, images in self._batches(shown):
            predictions = guarded(self.target, images, timeout=limits.timeout, batch=limits.batch, budget=budget)
            answers |= dict(zip(rows, zip(predictions.scores, predictions.failures, strict=True), strict=True))
        known = [answers[row] for row in shown.pictures]
        columns = list(shown.pictures), [why for _, why in known], [vector.tolist() for vector, _ in known]
        arrays = [pa.array(values, kind) for values, kind in zip(columns, COLUMNS.values(), strict=True)]
        return pa.table(arrays, names=list(COLUMNS))

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


NO_PICTURE: Final = "no picture"
ROWS_OF_A_PART: Final = 64
TABLE: Final = "embeddings"


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A target; how a worker opens it, None where this process must ask it; and where it is to be asked."""

    target: Target
    recipe: EmbeddingRecipe | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)

    @classmethod
    def of(cls, given: TargetLike, preprocess: object, engine: EngineSettings) -> Asked:
        """The target of a spec or object. Raises as `embedding_target`."""
        target = embedding_target(given, preprocess)
        return cls(target, recipe_of_embedding(given, target, preprocess), engine)


@final
@dataclass(frozen=True)
class Asking:
    """stored: each row's picture, None where there is none. size: pixels that each is fitted into, None as they are.

    points: each row's landmarks in pixels of its picture, NaN where there are none; None without.
    """

    stored: Sequence[Encoded | None]
    column: str
    target: Target
    limits: Limits
    size: int | None = None
    points: Float[np.ndarray, "n k 2"] | None = None

    def spec(self) -> dict[str, Any]:
        """What the answers depend on; batch size and the share of failures that is allowed do not count."""
        from transect.targets.capabilities import describe

        pictures: dict[str, object] = {"column": self.column, "rows": len(self.stored), "sha256": _digest(self.stored)}
        target = describe(self.target)
        if self.points is not None:
            pictures["landmarks_sha256"] = hashlib.sha256(np.ascontiguousarray(self.points).tobytes()).hexdigest()
        return {"pictures": pictures, "size": self.size, "timeout": self.limits.timeout, "target": target}

    def parts(self) -> list[list[int]]:
        """The rows of each part, of those that have a picture."""
        rows = [row for row, picture in enumerate(self.stored) if picture is not None]
        return [rows[start : start + ROWS_OF_A_PART] for start in range(0, len(rows), ROWS_OF_A_PART)]

    def shown(self, rows: Sequence[int], *, first: bool) -> Shown:
        """The pictures of these rows, files as their bytes, so that any worker can open them."""
        pictures = [(row, self.stored[row]) for row in rows]
        points = None if self.points is None else {row: self.points[row] for row in rows}
        return Shown({row: _content(row, picture) for row, picture in pictures if picture is not None}, first, points)


def stored_in(table: pa.Table, column: str, root: Path) -> list[Encoded | None]:
    """The pictures of a column, as bytes or paths below `root`. Raises BadInput where no row has one."""
    cells = features.column(table, column, "picture").to_pylist()
    stored = [encoded_of({"path": cell} if isinstance(cell, str) else cell, root) for cell in cells]
    if all(picture is None for picture in stored):
        raise BadInput(
            f"pictures {column!r}: expected bytes, or paths below {root}, in at least one row, got none; "
            "choose another column with --pictures"
        )
    return stored


def embed(
    table: pa.Table,
    column: str,
    root: Path,
    asked: Asked,
    limits: Limits,
    size: int | None = None,
    *,
    folder: Path | None,
    quiet: bool,
    landmarks: str | None = None,
) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    """The embedding of each row's picture, NaN where there is none, and the reasons ("" where there is one).

    column: pictures as bytes, as Hugging Face's struct {bytes, path}, or paths below `root`. size: pixels that each is
    fitted into, None as they are. folder: where answers are kept, and read from where they exist; None to keep none.
    landmarks: the column of landmarks, None for none. Raises as `transect.recognition`.
    """
    target = asked.target
    if Task(target.task) is not Task.EMBEDDING:
        raise BadInput(f"{target.name}: expected a target with embeddings, got {target.task}; give --task embedding")
    check_size(size)
    stored = stored_in(table, column, root)
    points = (
        None if landmarks is None else of_lists(features.column(table, landmarks, "landmarks").to_pylist(), landmarks)
    )
    if points is None and wants_landmarks(target):
        raise BadInput(
            f"{target.name}: no landmarks to align faces by; give their column with "
            "--landmarks, or set landmarks = FILE in the preprocessing"
        )
    asking = Asking(stored, column, target, limits, size, points)
    with ExitStack() as stack:
        out = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="transect-"))) / "answers"
        return _side_by_side(_answers(asking, asked, out, quiet), len(stored))


def _answers(asking: Asking, asked: Asked, out: Path, quiet: bool) -> pa.Table:
    """The rows that have a picture, each with its embedding and reason."""
    from transect.targets.guard import FailureBudget

    parts = asking.parts()
    budget = FailureBudget(asking.target.name, len(asking.stored), limit_share=asking.limits.max_failures)
    with engines.opened(asked.engine, quiet=quiet) as engine, RunFolder(out, asking.spec()) as folder:
        missing = [part for part in range(len(parts)) if not folder.has_part(TABLE, part)]
        made_by, work = _work(asking, asked, engine, budget, quiet)
        with Ahead(made_by, work, missing, lambda part: asking.shown(parts[part], first=part == 0)) as ahead:

            def make(part: int) -> pa.Table:
                embedded = ahead(part)
                return counted_rows(embedded.rows, embedded.counted, budget)

            fill_table(
                folder, TABLE, [len(part) for part in parts], make, title=asking.target.name, quiet=quiet,
                stored=lambda part: budget.add(part["reason"].to_pylist()),
            )  # fmt: skip
        return pa.concat_tables([folder.read_part(TABLE, part) for part in range(len(parts))])


def _work(
    asking: Asking, asked: Asked, engine: Engine, budget: FailureBudget, quiet: bool
) -> tuple[Engine, Work[Shown, Embedded]]:
    """The engine that asks, and what: this process where a worker cannot open the target, and a line says so."""
    target, limits, size, planned = asking.target, asking.limits, asking.size, len(asking.stored)
    if engine.apart and asked.recipe is not None:
        return engine, EmbeddingWork(asked.recipe, limits, size, planned, facts_of_targets([target]))
    if engine.apart and not quiet:
        say(f"this process asks {target.name}, since workers cannot open it", error=True)
    return HERE, Ready(lambda: EmbeddingParts(target, limits, size, planned, budget))


def _digest(stored: Sequence[Encoded | None]) -> str:
    """SHA-256 of the pictures in their order. Raises BadInput for a file that cannot be read."""
    whole = hashlib.sha256()
    for row, picture in enumerate(stored):
        whole.update(b"-" if picture is None else hashlib.sha256(_content(row, picture)).digest())
    return whole.hexdigest()


def _content(row: int, picture: Encoded) -> bytes:
    try:
        return content_of(picture, f"picture of row {row}")
    except OSError as error:
        message = (
            f"picture of row {row}: expected a file that can be read, got {words_of(error)}; fix it or drop its row"
        )
        raise BadInput(message) from None


def _side_by_side(answers: pa.Table, n: int) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    """Embeddings of one width, that of most answers; an answer of another width is a failure."""
    rows, reasons = answers["row"].to_pylist(), answers["reason"].to_pylist()
    scores = [np.asarray(vector) for vector in answers["embedding"].to_pylist()]
    widths = [len(vector) for vector, reason in zip(scores, reasons, strict=True) if not reason]
    width = max(set(widths), key=widths.count, default=1)
    embeddings, failures = np.full((n, width), np.nan), [NO_PICTURE] * n
    for row, vector, reason in zip(rows, scores, reasons, strict=True):
        failures[row] = reason or ("" if len(vector) == width else f"wrong shape: expected {width} numbers per image")
        if not failures[row]:
            embeddings[row] = vector
    return embeddings, tuple(failures)
