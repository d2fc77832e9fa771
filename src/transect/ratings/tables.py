"""Tables of ratings as they are read from files: what is checked, and which rows are of which image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.effects.samples import read_columns
from transect.errors import BadInput
from transect.records import Annotations, Question
from transect.runs.inputs import TableLike, as_table

PERCEIVED: Final = "perceived.parquet"
PEOPLE: Final = "ratings.parquet"
ID: Final = "id"
STUDY: Final = "study"
RATER: Final = "rater"
Columns = dict[str, Float[np.ndarray, " n"]]
"""Values by attribute, in the order of a run's images."""


def read_table(source: TableLike, role: str, kept_as: str) -> tuple[pa.Table, str]:
    """A table of ratings, and what messages call it: a file's path, or its role.

    Raises BadInput for another source, and for a table without ids or columns, or with a name twice.
    """
    where = str(source) if isinstance(source, str | Path) else role
    return _checked(as_table(source, role, text=(ID, STUDY, RATER)), where, kept_as), where


def _checked(table: pa.Table, path: str, kept_as: str) -> pa.Table:
    names = table.column_names
    beside = {ID, STUDY} if kept_as == PERCEIVED else {ID, STUDY, RATER}
    if ID not in names or not set(names) - beside or len(set(names)) < len(names):
        columns = "id" if kept_as == PERCEIVED else "id, if you like one named rater,"
        raise BadInput(
            f"{path}: expected a column {columns} and one per attribute, each once, got {', '.join(names) or 'none'}"
        )
    return table


def aligned(table: pa.Table, path: str, ids: Sequence[str]) -> tuple[Columns, tuple[str, ...]]:
    """Columns of the table in the order of the ids, NaN for an image that has no row; ids of no image."""
    named = [str(image) for image in table[ID].to_pylist()]
    if len(set(named)) < len(named):
        raise BadInput(
            f"{path}: expected every id once, got some twice; average an image's ratings, or give single answers as "
            "--ratings"
        )
    rows, unknown = _images_of(named, ids, path)
    attributes, values = read_columns(table.drop_columns([ID]))
    ratings = np.full((len(ids), len(attributes)), np.nan)
    ratings[rows[rows >= 0]] = np.where(np.isfinite(values), values, np.nan)[rows >= 0]
    return {name: ratings[:, column] for column, name in enumerate(attributes)}, unknown


def single_answers(table: pa.Table, path: str, ids: Sequence[str]) -> tuple[dict[str, Annotations], tuple[str, ...]]:
    """People's answers by attribute, of the places of their images among the ids; ids of no image."""
    named = [str(image) for image in table[ID].to_pylist()]
    image, unknown = _images_of(named, ids, path)
    raters = [str(rater) for rater in (table[RATER].to_pylist() if RATER in table.column_names else range(len(table)))]
    of = image >= 0
    chosen = tuple(rater for rater, known in zip(raters, of, strict=True) if known)
    if len(set(zip(image[of].tolist(), chosen, strict=True))) < len(chosen):
        raise BadInput(f"{path}: expected one row per image and rater, got several of one rater; keep one")
    names, values = read_columns(
        table.select([column_name for column_name in table.column_names if column_name not in (ID, RATER)])
    )
    answers = {
        name: Annotations(Question(name, name), image[of], chosen, values[of, column])
        for column, name in enumerate(names)
    }
    return answers, unknown


def _images_of(named: Sequence[str], ids: Sequence[str], path: str) -> tuple[Int[np.ndarray, " r"], tuple[str, ...]]:
    """The place of each row's image among the ids, -1 for one of another run; ids of those rows."""
    places = {image: place for place, image in enumerate(ids)}
    rows = np.array([places.get(image, -1) for image in named], dtype=np.int64)
    if (rows < 0).all():
        examples = ", ".join(named[:3]) or "no row"
        raise BadInput(
            f"{path}: expected ratings of this run's images, such as {ids[0]}, got {examples}; check the ids"
        )
    return rows, tuple(image for image, place in zip(named, rows, strict=True) if place < 0)
