"""`transect list WHAT`: what can be set, audited, drawn and read; and what is done with data sets and generators."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from transect.cli.declared import GROUPS
from transect.console.options import Json
from transect.console.results import table
from transect.errors import BadInput, UnknownName
from transect.runs.json_records import dumps
from transect.runs.wording import counted, spaced
from transect.texts import say

listing = typer.Typer(name="list", help=GROUPS["list"], no_args_is_help=True)
datasets = typer.Typer(name="datasets", help=GROUPS["datasets"], no_args_is_help=True)
train = typer.Typer(name="train", help=GROUPS["train"], no_args_is_help=True)

_WORLDS: Final = ("faceworld", "photographs")


@listing.command()
def attributes(
    generator: Annotated[str, typer.Option(help="faceworld, or photographs: the edits of your own pictures.")] = (
        "faceworld"
    ),
    json: Json = False,
) -> None:
    """List attributes and nuisances of FaceWorld, or of photographs: meaning, unit, range, source."""
    name = generator.partition(":")[0]
    if name not in _WORLDS:
        raise UnknownName("generator", generator, _WORLDS, "for other generators: transect directions show FILE")
    listed = importlib.import_module(f"transect.generators.{name}.attributes").ATTRIBUTES
    if json:
        fields = ("name", "role", "kind", "meaning", "unit", "low", "high", "levels", "source")
        say(dumps([{f: getattr(a, f) for f in fields} for a in listed]))
        return
    rows = []
    for a in listed:
        span = ", ".join(a.levels) if a.discrete else f"{a.low:g} to {a.high:g}"
        rows.append([a.name, a.role, a.kind, span, a.unit, a.meaning, a.source])
    table(["attribute", "role", "kind", "range or levels", "unit", "meaning", "source"], rows)


@listing.command("targets")
def list_targets(json: Json = False) -> None:
    """List the targets that can be audited, and the extra that each needs."""
    from transect.targets.kinds import available

    rows = [
        [t.name, t.task, t.meaning, "" if t.installed else f"pip install 'transect[{t.extra}]'"] for t in available()
    ]
    table(["target", "task", "what it is", "to install"], rows, json)


@listing.command("generators")
def list_generators(json: Json = False) -> None:
    """List image generators."""
    from transect.generators import available

    table(["generator", "what it is"], [list(row) for row in available().items()], json)


@train.command()
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="An official StyleGAN2 pickle, a community .pt, or safetensors.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The safetensors file to write.")],
    json: Json = False,
) -> None:
    """Write a StyleGAN2 checkpoint's averaged generator as safetensors. Nothing that the checkpoint names is run."""
    from transect.generators.stylegan2.generator import convert as convert_file

    facts = convert_file(source, out)
    if json:
        say(dumps(facts))
    else:
        table(["what", "found"], [[spaced(name), str(value)] for name, value in facts.items()])


@train.command()
def measure(
    file: Annotated[str, typer.Argument(metavar="GENERATOR", help="A generator's safetensors file, or its name.")],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Its training data: faceworld.")] = "faceworld",
    population: Annotated[str, typer.Option(help="FaceWorld: a built-in population or a TOML file.")] = "balanced",
    images: Annotated[int, typer.Option(help="Images per set.")] = 5000,
    device: Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1 and so on.")] = "cpu",
    json: Json = False,
) -> None:
    """Measure how close a generator's images are to FaceWorld's: FID, KID, precision, recall."""
    from transect.generators import load
    from transect.perceptual.judging import judge

    if source != "faceworld":
        raise BadInput(f"source: expected faceworld, got {source!r}; the features were learned on it")
    generator = load(file, device=device)
    real = load(source, image_size=generator.image_size, population=population, device=device)
    distances = judge(real, generator, images, device=device)
    if json:
        say(dumps(distances))
        return
    names = {
        "fid": "FID",
        "kid": "KID",
        "kid_error": "standard error of KID",
        "precision": "precision",
        "recall": "recall",
    }
    rows = [
        [label, f"{getattr(distances, name):.4g}", f"{getattr(distances.floor, name):.4g}"]
        for name, label in names.items()
    ]
    table(["figure", f"of {images} pictures", "of a second real sample"], rows)


@listing.command("datasets")
def list_datasets(json: Json = False) -> None:
    """List the readers of --dataset READER:PATH, the layout that each expects, and its parts."""
    from transect.datasets import READERS

    rows = [[name, reader.layout, reader.parts] for name, reader in READERS.items()]
    table(["reader", "layout", "split"], rows, json)


@datasets.command()
def show(
    dataset: Annotated[
        str,
        typer.Argument(metavar="READER:PATH", help="A data set, such as celeba:data?split=test&crop=148&limit=2000."),
    ],
    size: Annotated[int | None, typer.Option(help="Width and height that its images are fitted into.")] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Count people and images at each level of this; repeat for combinations.")
    ] = None,
    json: Json = False,
) -> None:
    """Describe a data set: images, subjects, attributes with their counts, excluded images and why."""
    from transect.cli.dataset_table import people_by_cell
    from transect.datasets import open_dataset

    found = open_dataset(dataset, image_size=size, labelled=False, strict=False)
    seen = [_counted_labels(attribute, found.values[attribute.name]) for attribute in found.attributes]
    cells = people_by_cell(found, by) if by else []
    if json:
        say(dumps({**found.describe(), "attributes": seen, **({"cells": cells} if by else {})}))
        return
    facts = {
        "images": f"{len(found)}, {found.framing()}",
        "subjects": str(len(set(found.subjects))),
        **{f"left out: {reason}": str(count) for reason, count in found.left_out.items()},
        **{f"no attribute: {name}": why for name, why in found.skipped.items()},
    }
    table(["what", "found"], [list(row) for row in facts.items()])
    rows = []
    for column in seen:
        values = ", ".join(f"{level} {count}" for level, count in column["levels"].items())
        span = f"{column['low']:g} to {column['high']:g}" if "low" in column else "none"
        rows.append([column["name"], column["kind"], str(column["known"]), values or span])
    table(["attribute", "kind", "known", "values"], rows)
    if cells:
        table(list(cells[0]), [[str(value) for value in cell.values()] for cell in cells])


def _counted_labels(attribute: Any, values: Any) -> dict[str, Any]:
    """How many labels are known, and how many images each level has, or the range."""
    known = values[values == values]
    counts = {level: int((known == place).sum()) for place, level in enumerate(attribute.levels)}
    span = {} if attribute.discrete or not len(known) else {"low": float(known.min()), "high": float(known.max())}
    return {"name": attribute.name, "kind": attribute.kind, "known": len(known), "levels": counts, **span}


@datasets.command(name="table")
def label_table(
    dataset: Annotated[str, typer.Argument(metavar="READER:PATH", help="A data set, such as celeba:data?split=test.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write: .csv or .parquet.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="An attribute, or one compared with a value, such as 'smile>0.5' or 'male=face_shape>0.5', which "
            "names the column; repeatable. Default: every attribute."
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
    from transect.runs.folder import write_atomically, write_batches, write_table
    from transect.runs.table_inputs import csv_of

    suffix = out.suffix.lower()
    if suffix not in (".csv", ".parquet") or (pictures and suffix == ".csv"):
        raise BadInput(f"{out}: expected a name that ends in .parquet{'' if pictures else ' or .csv'}")
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
