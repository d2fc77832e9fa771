"""The command `transect sample-data`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json, Seed
from transect.console.results import show


def sample_data(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    people: Annotated[
        int, typer.Option(help="Rendered people, each on one picture; a tenth as many are on three, for recognition.")
    ] = 600,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Render small data to try matching, recognition, leakage and audits of photographs on. Takes under a minute.

    DIR/README.md says what each file holds. Nothing in it is a photograph.
    """
    from transect.jobs.sample_data import run

    result = run.sample_data(out, people=people, seed=seed, quiet=json)
    show(result, json, result.headline(), result.rows())
