"""The command `transect render`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from transect.console.audit_options import (
    Directions,
    InvertedLatents,
)
from transect.console.common_options import Device, Json, Population, Seed


def render(
    subjects: Annotated[int, typer.Option(help="How many subjects.")] = 32,
    seed: Seed = 0,
    size: Annotated[
        int | None, typer.Option(help="Width and height of each image, in pixels; default 128, or a network's own.")
    ] = None,
    population: Population = "balanced",
    generator: Annotated[str, typer.Option(help="What makes the images.")] = "faceworld",
    directions: Directions = None,
    latents: InvertedLatents = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="Show each subject at these levels, a row each; as in audit.")
    ] = None,
    hold: Annotated[list[str] | None, typer.Option(help="Keep a downstream attribute; as in audit.")] = None,
    device: Device = "cpu",
    columns: Annotated[int, typer.Option(help="Images in a row, where no attribute varies.")] = 8,
    data_set: Annotated[
        bool, typer.Option("--data-set", help="Write pictures, attributes, masks as Parquet into the folder --out.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The picture (default sheet.png) or data set to write.")] = None,
    json: Json = False,
) -> None:
    """Render subjects as a contact sheet, with --vary a strip per subject; or as a data set of any size, resumable."""
    from transect.jobs.render import run

    asked: dict[str, Any] = {
        "subjects": subjects,
        "seed": seed,
        "image_size": size,
        "population": population,
        "generator": generator,
        "vary": vary or (),
        "hold": hold or (),
        "device": device,
        "directions": directions,
        "latents": latents,
    }
    if data_set:
        path = run.render_data_set(out or Path("data_set"), **asked, quiet=json)
    else:
        path = run.render_sheet(out or Path("sheet.png"), **asked, columns=columns)
    print(json_format.dumps({"out": str(path)}) if json else f"wrote {path}")
