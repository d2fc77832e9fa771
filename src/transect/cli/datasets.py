"""`transect datasets`: which data sets of photographs can be read, and what one holds before it is audited."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from transect.console.common_options import Json
from transect.console.printing import table
from transect.runs.plain_json import dumps
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
