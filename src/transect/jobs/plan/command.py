"""The command `transect plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import show


def plan(
    effect: Annotated[
        float | None,
        typer.Option(help="The smallest difference worth detecting: of rates, or in the unit of the pilot's outcome."),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="In place of --effect: plan to show that no difference is larger, as a requirement asks."),
    ] = None,
    base: Annotated[float | None, typer.Option(help="The rate at the first level; not with --pilot.")] = None,
    power: Annotated[float, typer.Option(help="The chance to detect the effect.")] = 0.9,
    alpha: Annotated[float, typer.Option(help="The significance level of all tests together.")] = 0.05,
    family: Annotated[
        int | None, typer.Option(help="Tests that share alpha; default 1, or the tests of the pilot.")
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(help="Correlation of a subject's answers, 0 to below 1; default 0.5; not with --pilot."),
    ] = None,
    cells: Annotated[
        int | None,
        typer.Option(
            help="Combinations of other attributes at which each subject is shown; default 1; not with --pilot."
        ),
    ] = None,
    targets: Annotated[int, typer.Option(help="Models that see each image; not with --pilot.")] = 1,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A finished run that shows how much subjects differ, instead of --base."),
    ] = None,
    json: Json = False,
) -> None:
    """Plan a study: how many subjects, images and calls an effect needs, and what a transect saves."""
    from transect.jobs.plan import run

    assumed = {"family": family, "cells": cells}
    result = run.plan(
        effect,
        base,
        margin=margin,
        power=power,
        alpha=alpha,
        correlation=correlation,
        targets=targets,
        pilot=pilot,
        **assumed,
    )
    show(result, json)
