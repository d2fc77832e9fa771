"""The command `transect runs`."""

from __future__ import annotations

from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import show


def runs(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder of your runs; also an address as s3://….")
    ] = "runs",
    json: Json = False,
) -> None:
    """List the runs in a folder: model, question, verdict and date of each, the newest first."""
    from transect.jobs.list_runs import run

    result = run.list_runs(folder)
    show(result, json, result.headline(), result.rows())
