"""A selection as a table, or as a contact sheet."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from transect.errors import BadInput
from transect.jobs.view.index import Index
from transect.jobs.view.pictures import Pictures, reduced
from transect.reports.sheets import contact_sheet
from transect.texts import one_line

MOST_ON_A_SHEET: Final = 400
_SIDE: Final = 128
_COLUMNS: Final = 10


def table_of(index: Index, rows: Int[np.ndarray, " m"]) -> pa.Table:
    """The rows with run, id, subject, cell, SHA-256, every attribute, and answer, score, right and reason by target."""
    columns: dict[str, object] = {
        "run": pa.array([index.runs[number].name for number in index.run[rows].tolist()], pa.string()),
        "id": index.ids.take(pa.array(rows)),
        "subject": pa.array(index.people[rows]),
        "cell": pa.array(np.concatenate([run.cells for run in index.runs])[rows]),
        "sha256": pa.chunked_array([c for run in index.runs for c in run.digests.chunks]).take(pa.array(rows)),
    }
    columns |= {name: _numbers(values[rows]) for name, values in index.values.items()}
    for name, said in index.answers.items():
        columns |= {
            f"{name}: answer": _numbers(said.answer[rows]),
            f"{name}: score": _numbers(said.score[rows]),
            f"{name}: right": _numbers(said.right[rows]),
            f"{name}: no answer because": pa.array(
                [one_line(str(why)) or None for why in said.reasons[rows]], pa.string()
            ),
        }
    return pa.table(columns)


def parquet_of(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def sheet_of(pictures: Pictures, rows: Int[np.ndarray, " m"], labels: list[str]) -> bytes:
    """The first images of a selection on one PNG, at most 400, each 128 pixels at most, with its label."""
    if not len(rows):
        raise BadInput("contact sheet: expected at least one image, got none; choose fewer filters")
    shown = [_squared(reduced(pictures.pixels(row), _SIDE)) for row in rows[:MOST_ON_A_SHEET].tolist()]
    sink = io.BytesIO()
    contact_sheet(np.stack(shown), _COLUMNS, labels[: len(shown)]).save(sink, "PNG")
    return sink.getvalue()


def _squared(pixels: np.ndarray) -> np.ndarray:
    """The picture in the middle of a white square."""
    square = np.full((_SIDE, _SIDE, 3), 255, dtype=np.uint8)
    height, width = pixels.shape[:2]
    top, left = (_SIDE - height) // 2, (_SIDE - width) // 2
    square[top : top + height, left : left + width] = pixels
    return square


def _numbers(values: np.ndarray) -> pa.Array:
    """Numbers with null for NaN."""
    return pa.array(values, from_pandas=True)
