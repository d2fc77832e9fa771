"""Embeddings of a table's pictures by a target: what face recognition sees of each row, and why it sees nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect import match_files
from transect.datasets.parquet import encoded_of
from transect.datasets.pictures import check_size, pixels_of
from transect.errors import BadInput
from transect.limits import Limits
from transect.progress import Progress
from transect.protocols import Target
from transect.records import Images, Task

NO_PICTURE = "no picture"


def embed(
    table: pa.Table, column: str, root: Path, target: Target, limits: Limits, size: int | None = None, *, quiet: bool
) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    """The embedding of each row's picture, NaN where there is none, and the reasons ("" where there is one).

    column: pictures as bytes, as Hugging Face's struct {bytes, path}, or paths below `root`. size: pixels that each is
    fitted into, None as they are.

    Raises BadInput for a target of another task, no picture at all, or one that is damaged; TooManyFailures where the
    target fails too often (an image without a face is no failure).
    """
    from transect.targets.guard import FailureBudget, guarded

    if Task(target.task) is not Task.EMBEDDING:
        raise BadInput(f"{target.name}: expected a target with embeddings, got {target.task}; give --task embedding")
    check_size(size)
    cells = match_files.column(table, column, "picture").to_pylist()
    budget = FailureBudget(target.name, len(cells), limit_share=limits.max_failures)
    found: dict[int, Float[np.ndarray, " d"]] = {}
    reasons = [NO_PICTURE] * len(cells)
    with Progress(f"embeddings of {target.name}", len(cells), quiet=quiet) as progress:
        for rows, images in _batches(cells, column, root, size, limits.batch):
            made = guarded(target, images, timeout=limits.timeout, batch=limits.batch, budget=budget)
            for row, scores, reason in zip(rows, made.scores, made.failures, strict=True):
                found[row], reasons[row] = scores, reason
            progress.advance(len(rows))
    return _side_by_side(found, reasons)


def _batches(
    cells: Sequence[object], column: str, root: Path, size: int | None, batch: int
) -> Iterator[tuple[list[int], Images]]:
    """Runs of rows whose pictures are of one size, no more than a batch at a time; rows without a picture are skipped.

    Raises BadInput where no row has one.
    """
    stored = [encoded_of({"path": cell} if isinstance(cell, str) else cell, root) for cell in cells]
    rows = [row for row, one in enumerate(stored) if one is not None]
    if not rows:
        raise BadInput(
            f"pictures {column!r}: expected bytes, or paths below {root}, in at least one row, got none; name another "
            "column with --pictures"
        )
    for start in range(0, len(rows), batch):
        read: list[tuple[int, UInt8[np.ndarray, "h w 3"]]] = []
        for row in rows[start : start + batch]:
            one = stored[row]
            if one is not None:
                read.append((row, pixels_of(one, f"picture of row {row}", size)))
        for _, run in groupby(read, key=lambda pair: pair[1].shape):
            numbers, pixels = zip(*run, strict=True)
            yield list(numbers), Images(np.stack(pixels))


def _side_by_side(
    found: dict[int, Float[np.ndarray, " d"]], reasons: Sequence[str]
) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    """One width for all, that of most answers; an answer of another width is a failure."""
    widths = [len(found[row]) for row, reason in enumerate(reasons) if not reason]
    width = max(set(widths), key=widths.count, default=1)
    made, said = np.full((len(reasons), width), np.nan), list(reasons)
    for row, scores in found.items():
        if not said[row] and len(scores) != width:
            said[row] = f"wrong shape: expected {width} numbers per image"
        if not said[row]:
            made[row] = scores
    return made, tuple(said)
