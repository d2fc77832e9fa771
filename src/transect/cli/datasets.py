"""`transect datasets`: which data sets of photographs can be read, and what one holds before it is audited."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transect.console.common_options import Json
from transect.console.printing import table
from transect.errors import BadInput
from transect.runs.plain_json import dumps
from transect.runs.wording import counted
from transect.texts import say

datasets = typer.Typer(name="datasets", help="List the data sets that can be read; show what one holds.")


@datasets.callback(invoke_without_command=True)
def options(context: typer.Context, json: Json = False) -> None:
    """List the readers of --dataset READER:PATH, the layout that each expects, and its parts."""
    if context.invoked_subcommand:
        return
    from transect.datasets import READERS

    rows = [[name, reader.layout, reader.parts] for name, reader in READERS.items()]
    table(["reader", "layout", "split"], rows, json)


@datasets.command()
def show(
    dataset: Annotated[
        str, typer.Argument(metavar="READER:PATH", help="A data set, as celeba:data?split=test&crop=148&limit=2000.")
    ],
    size: Annotated[int | None, typer.Option(help="Width and height that its images are fitted into.")] = None,
    json: Json = False,
) -> None:
    """Describe a data set: images, subjects, attributes with their counts, excluded images and why."""
    from transect.datasets import open_dataset

    found = open_dataset(dataset, image_size=size, labelled=False)
    seen = [_attribute(attribute, found.values[attribute.name]) for attribute in found.attributes]
    if json:
        say(dumps({**found.describe(), "attributes": seen}))
        return
    facts = {
        "images": f"{len(found)}, {found.framing()}",
        "subjects": str(len(set(found.subjects))),
        **{f"left out: {reason}": str(count) for reason, count in found.left_out.items()},
        **{f"no attribute: {name}": why for name, why in found.skipped.items()},
    }
    table(["what", "found"], [list(row) for row in facts.items()], as_json=False)
    rows = [[column["name"], column["kind"], str(column["known"]), _values(column)] for column in seen]
    table(["attribute", "kind", "known", "values"], rows, as_json=False)


def _attribute(attribute: Any, values: Any) -> dict[str, Any]:
    """How many labels are known, and how many images each level has, or the range."""
    known = values[values == values]
    counts = {level: int((known == place).sum()) for place, level in enumerate(attribute.levels)}
    span = {} if attribute.discrete or not len(known) else {"low": float(known.min()), "high": float(known.max())}
    return {"name": attribute.name, "kind": attribute.kind, "known": len(known), "levels": counts, **span}


def _values(column: dict[str, Any]) -> str:
    if column["levels"]:
        return ", ".join(f"{level} {count}" for level, count in column["levels"].items())
    return f"{column['low']:g} to {column['high']:g}" if "low" in column else "none"


@datasets.command(name="table")
def label_table(
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
    import pyarrow as pa

    from transect.cli.dataset_table import PICTURE, rows_of, with_pictures
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
        schema = rows.schema.append(pa.field(PICTURE, pa.binary()))
        write_batches(out, schema, with_pictures(images, rows))
    else:
        write_table(out, rows)
    facts: dict[str, Any] = {
        "out": str(out),
        "images": rows.num_rows,
        "subjects": len(set(images.subjects)),
        "columns": [*rows.column_names, *([PICTURE] if pictures else [])],
    }
    say(dumps(facts) if json else f"{out}: {counted(rows.num_rows, 'image')}, {', '.join(facts['columns'])}")
