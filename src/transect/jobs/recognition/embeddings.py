"""Embeddings of a table's pictures by a target: what face recognition sees of each row, and why it sees nothing.

Answers are kept part by part in a separate folder, so that a run that was interrupted, or that needs other thresholds,
does not ask for them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.datasets import features
from transect.datasets.parquet import encoded_of
from transect.datasets.pictures import Encoded, check_size, pixels_of
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Images, Task
from transect.runs.folder import RunFolder
from transect.runs.parts import fill_table
from transect.targets.limits import Limits
from transect.texts import words_of

if TYPE_CHECKING:
    from transect.targets.guard import FailureBudget

NO_PICTURE: Final = "no picture"
ROWS_OF_A_PART: Final = 64
TABLE: Final = "embeddings"


@final
@dataclass(frozen=True)
class Asking:
    """stored: each row's picture, None where there is none. size: pixels that each is fitted into, None as they are."""

    stored: Sequence[Encoded | None]
    column: str
    target: Target
    limits: Limits
    size: int | None = None

    def spec(self) -> dict[str, Any]:
        """What the answers depend on; batch size and the share of failures that is allowed do not count."""
        from transect.targets.description import describe

        pictures = {"column": self.column, "rows": len(self.stored), "sha256": _digest(self.stored)}
        target = describe(self.target)
        return {"pictures": pictures, "size": self.size, "timeout": self.limits.timeout, "target": target}


def embed(
    table: pa.Table,
    column: str,
    root: Path,
    target: Target,
    limits: Limits,
    size: int | None = None,
    *,
    folder: Path,
    quiet: bool,
) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    """The embedding of each row's picture, NaN where there is none, and the reasons ("" where there is one).

    column: pictures as bytes, as Hugging Face's struct {bytes, path}, or paths below `root`. size: pixels that each is
    fitted into, None as they are. folder: where answers are kept, and read from where they exist.

    Raises BadInput for a target of another task, no picture at all, or one that is damaged; TooManyFailures where the
    target fails too often (an image without a face is no failure); Interrupted; what RunFolder raises for a folder with
    answers about other pictures, or of another target.
    """
    if Task(target.task) is not Task.EMBEDDING:
        raise BadInput(f"{target.name}: expected a target with embeddings, got {target.task}; give --task embedding")
    check_size(size)
    cells = features.column(table, column, "picture").to_pylist()
    stored = [encoded_of({"path": cell} if isinstance(cell, str) else cell, root) for cell in cells]
    if all(picture is None for picture in stored):
        raise BadInput(
            f"pictures {column!r}: expected bytes, or paths below {root}, in at least one row, got none; name another "
            "column with --pictures"
        )
    return _side_by_side(_answers(Asking(stored, column, target, limits, size), folder, quiet), len(stored))


def _answers(asking: Asking, out: Path, quiet: bool) -> pa.Table:
    """The rows that have a picture, each with its embedding and reason."""
    from transect.targets.guard import FailureBudget

    rows = [row for row, picture in enumerate(asking.stored) if picture is not None]
    parts = [rows[start : start + ROWS_OF_A_PART] for start in range(0, len(rows), ROWS_OF_A_PART)]
    budget = FailureBudget(asking.target.name, len(asking.stored), limit_share=asking.limits.max_failures)
    with RunFolder(out, asking.spec()) as folder:
        fill_table(
            folder, TABLE, [len(part) for part in parts], lambda part: _part(asking, parts[part], budget),
            title=asking.target.name, quiet=quiet, stored=lambda part: budget.add(part["reason"].to_pylist()),
        )  # fmt: skip
        return pa.concat_tables([folder.read_part(TABLE, part) for part in range(len(parts))])


def _part(asking: Asking, rows: Sequence[int], budget: FailureBudget) -> pa.Table:
    from transect.targets.guard import guarded

    answers: dict[int, tuple[Float[np.ndarray, " d"], str]] = {}
    limits = asking.limits
    for numbers, images in _batches(asking, rows):
        predictions = guarded(asking.target, images, timeout=limits.timeout, batch=limits.batch, budget=budget)
        answers |= dict(zip(numbers, zip(predictions.scores, predictions.failures, strict=True), strict=True))
    scores = [answers[row][0].tolist() for row in rows]
    columns = [pa.array(rows, pa.int64()), pa.array([answers[row][1] for row in rows])]
    return pa.table([*columns, pa.array(scores, pa.list_(pa.float64()))], names=["row", "reason", "embedding"])


def _batches(asking: Asking, rows: Sequence[int]) -> Iterator[tuple[list[int], Images]]:
    """Runs of rows whose pictures are of one size, no more than a batch at a time."""
    for start in range(0, len(rows), asking.limits.batch):
        read: list[tuple[int, UInt8[np.ndarray, "h w 3"]]] = []
        for row in rows[start : start + asking.limits.batch]:
            picture = asking.stored[row]
            if picture is not None:
                read.append((row, pixels_of(picture, f"picture of row {row}", asking.size)))
        for _, run in groupby(read, key=lambda pair: pair[1].shape):
            numbers, pixels = zip(*run, strict=True)
            yield list(numbers), Images(np.stack(pixels))


def _digest(stored: Sequence[Encoded | None]) -> str:
    """SHA-256 of the pictures in their order. Raises BadInput for a file that cannot be read."""
    whole = hashlib.sha256()
    for row, picture in enumerate(stored):
        try:
            content = picture.read_bytes() if isinstance(picture, Path) else picture
        except OSError as error:
            message = (
                f"picture of row {row}: expected a file that can be read, got {words_of(error)}; fix it or drop its row"
            )
            raise BadInput(message) from None
        whole.update(b"-" if content is None else hashlib.sha256(content).digest())
    return whole.hexdigest()


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
