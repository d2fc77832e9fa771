"""The command `transect reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import show


def reproduce(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A finished audit, or what another command wrote.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the rerun; default: RUN-again.")] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=SPEC: where the model is that the run calls NAME; repeat it. Code (a Python module or "
            "TorchScript) runs only if given here. See: transect targets."
        ),
    ] = None,
    generator: Annotated[str | None, typer.Option(help="The network's file that the images came from.")] = None,
    population: Annotated[str | None, typer.Option(help="The TOML file of the population.")] = None,
    directions: Annotated[Path | None, typer.Option(help="The file of the fitted directions.")] = None,
    latents: Annotated[Path | None, typer.Option(help="The file of the inverted photographs.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The labelled photographs: READER:PATH, as in audit.")] = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Most calls to each target that counts them; without, such a target is not asked."),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=PATH: where a file lies that another command than audit read, by its own name or by its option, "
            "as table=people.csv; repeat it. Without, it is looked for here and beside RUN."
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Allow no difference, also in the last bit.")] = False,
    json: Json = False,
) -> None:
    """Make a run again, into another folder, and compare every image, answer and number.

    Exit code 0: the same bytes, or within the tolerances; 1: something differs by more.
    """
    from transect.jobs.reproduce import run

    result = run.reproduce(
        folder,
        out=out,
        targets=target or (),
        generator=generator,
        population=population,
        directions=directions,
        latents=latents,
        dataset=dataset,
        budget=budget,
        exact=exact,
        quiet=json,
        files=file or (),
    )
    page = result.report(result.numbers.again)
    columns = result.columns()
    show(result, json, result.headline(), result.rows(), *([columns] if columns[1] else []), page=page)
    if not result.numbers.reproduced:
        raise typer.Exit(1)
