"""The labels of a data set as one table, for the commands that take a table: `transect datasets table`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import pyarrow as pa
import typer

from transect.console.common_options import Json
from transect.errors import BadInput
from transect.runs.plain_json import dumps
from transect.runs.wording import counted
from transect.texts import say

if TYPE_CHECKING:
    from transect.datasets import LabelledImages

_COLUMN: Final = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)\s*=(?!=))?(?P<truth>.+)")
_PICTURE: Final = "image"
_TAKEN: Final = ("id", "subject", _PICTURE)
_AT_ONCE: Final = 64
"""Pictures in memory at a time."""


def table(
    dataset: Annotated[str, typer.Argument(metavar="READER:PATH", help="A data set, as celeba:data?split=test.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write: .csv or .parquet.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="An attribute, or one compared with a value (0 or 1), as 'smile>0.5' or 'male=face_shape>0.5', which "
            "names the column; repeat. Default: every attribute."
        ),
    ] = None,
    pictures: Annotated[bool, typer.Option("--pictures", help="Also a column image with each picture as PNG.")] = False,
    size: Annotated[int | None, typer.Option(help="Width and height that pictures are fitted into.")] = None,
    json: Json = False,
) -> None:
    """Write a row per image: id, subject, and a column per attribute; for --table and --labels of other commands."""
    from transect.datasets import open_dataset
    from transect.runs.csv_files import csv_of
    from transect.runs.folder import write_atomically, write_batches, write_table

    suffix = out.suffix.lower()
    if suffix not in (".csv", ".parquet") or (pictures and suffix == ".csv"):
        raise BadInput(f"{out}: expected a name that ends in .parquet{'' if pictures else ' or .csv'}; choose one")
    images = open_dataset(dataset, image_size=size)
    rows = rows_of(images, column or [attribute.name for attribute in images.attributes])
    if suffix == ".csv":
        write_atomically(out, csv_of(rows))
    elif pictures:
        schema = rows.schema.append(pa.field(_PICTURE, pa.binary()))
        write_batches(out, schema, _with_pictures(images, rows))
    else:
        write_table(out, rows)
    facts: dict[str, Any] = {
        "out": str(out),
        "images": rows.num_rows,
        "subjects": len(set(images.subjects)),
        "columns": [*rows.column_names, *([_PICTURE] if pictures else [])],
    }
    say(dumps(facts) if json else f"{out}: {counted(rows.num_rows, 'image')}, {', '.join(facts['columns'])}")


def rows_of(images: LabelledImages, columns: Sequence[str]) -> pa.Table:
    """The rows of a data set: id, subject, and the columns named. Levels by name where there are more than two.

    Raises BadInput for a name twice or one that is taken, UnknownName for an attribute that there is not.
    """
    from transect.effects.truth import Truth

    attributes = {attribute.name: attribute for attribute in images.attributes}
    named: dict[str, Any] = {}
    for text in columns:
        match = _COLUMN.fullmatch(text)
        if match is None:
            raise BadInput(f"--column {text!r}: expected an attribute, or NAME=ATTRIBUTE>VALUE; fix it")
        truth = Truth.parse(match["truth"], attributes)
        name = match["name"] or truth.attribute
        if name in named or name in _TAKEN:
            raise BadInput(f"--column {text}: expected a name that no other column has, got {name}; write NAME={text}")
        values = truth.of(images.values)
        levels = attributes[truth.attribute].levels if match["truth"].strip() == truth.attribute else ()
        named[name] = images.level_names(truth.attribute) if len(levels) > 2 else _numbers(values)
    return pa.table({"id": list(images.ids), "subject": list(images.subjects), **named})


def _numbers(values: np.ndarray) -> pa.Array:
    """Whole numbers where all are."""
    known = values[np.isfinite(values)]
    whole = bool((known == np.round(known)).all())
    return pa.array(values, from_pandas=True).cast(pa.int64()) if whole else pa.array(values, from_pandas=True)


def _with_pictures(images: LabelledImages, rows: pa.Table) -> Iterator[pa.Table]:
    """The rows with the picture of each, a few at a time."""
    from transect.runs.png import packed, png

    for start in range(0, len(images), _AT_ONCE):
        some = rows.slice(start, _AT_ONCE)
        pictures = [packed(png(images.pixels([start + row])[0])) for row in range(len(some))]
        yield some.append_column(_PICTURE, pa.array(pictures, pa.binary()))
