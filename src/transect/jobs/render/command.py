"""The command `transect render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import (
    Device,
    Directions,
    Engine,
    FaceMask,
    InvertedLatents,
    InvertedSources,
    Json,
    Population,
    Seed,
    Workers,
)
from transect.console.results import Rerun, keep, show

RERUN = Rerun(
    values="subjects seed size vary hold plain device columns data-set",
    data="population directions latents photographs mask",
    models="generator",
)


def render(
    context: typer.Context,
    subjects: Annotated[int, typer.Option(help="Number of subjects.")] = 32,
    seed: Seed = 0,
    size: Annotated[
        int | None, typer.Option(help="Width and height of each image in pixels; default 128, or that of the network.")
    ] = None,
    population: Population = "balanced",
    generator: Annotated[
        str, typer.Option(help="The image generator: a name, or a network's FILE.safetensors.")
    ] = "faceworld",
    directions: Directions = None,
    latents: InvertedLatents = None,
    photographs: InvertedSources = None,
    mask: FaceMask = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Show each subject at these levels, of two attributes in a grid; see: transect audit."),
    ] = None,
    hold: Annotated[
        list[str] | None,
        typer.Option(help="Keep a downstream attribute at the subject's own value; see: transect audit."),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="With --directions: beside them the same levels without keeping the other fitted attributes.",
        ),
    ] = False,
    device: Device = "cpu",
    columns: Annotated[int, typer.Option(help="Images in a row if no attribute varies.")] = 8,
    data_set: Annotated[
        bool,
        typer.Option(
            "--data-set",
            help="Write pictures, and attributes, landmarks and masks where they are known, as Parquet into --out.",
        ),
    ] = False,
    engine: Engine = "local",
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="The picture (default sheet.png) or folder (default data_set) to write.")
    ] = None,
    json: Json = False,
) -> None:
    """Render subjects as a contact sheet, with --vary a row of levels per subject; or as a data set of any size.

    Rerun the command to resume a data set.
    """
    from transect.engines.settings import EngineSettings
    from transect.experiment.worlds import WorldSettings
    from transect.jobs.render import run

    path = out or Path("data_set" if data_set else "sheet.png")
    world = WorldSettings(generator, population, size, device, directions, latents, photographs, mask)
    result = run.render(
        path,
        subjects=subjects,
        seed=seed,
        vary=vary or (),
        hold=hold or (),
        world=world,
        sheet=run.SheetSettings(columns, plain),
        data_set=data_set,
        quiet=json,
        engine=EngineSettings(engine, workers),
    )
    if data_set:
        keep(context, path, RERUN)
    show(result, json, f"wrote {result.numbers.out}")
