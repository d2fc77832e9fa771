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
        typer.Option(help="NAME=SPEC: where the model is that an audit calls NAME; repeat it. See: transect targets."),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Open this model, which the run names; repeat it. Without your word only data and models that come "
            "with Transect are opened: a run can be a stranger's, and a model's code runs with your rights.",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Most calls to each target that counts them; without, such a target is not asked."),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=PATH: where a file lies that the run read, by its option, as generator=net.safetensors or "
            "dataset=folder:faces; repeat it. Files of another command than audit are also known by their own names, "
            "and are looked for here and beside RUN."
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
        files=file or (),
        trust=trust or (),
        budget=budget,
        exact=exact,
        quiet=json,
    )
    page = result.report(result.numbers.again)
    columns = result.columns()
    show(result, json, result.headline(), result.rows(), *([columns] if columns[1] else []), page=page)
    if not result.numbers.reproduced:
        raise typer.Exit(1)
