"""The command `transect check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import show

Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write the requirements as JUnit XML.")]
Summary = Annotated[Path | None, typer.Option("--summary", metavar="FILE", help="Write a summary in Markdown.")]
Badge = Annotated[Path | None, typer.Option("--badge", metavar="FILE", help="Write an SVG badge.")]


def check(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help="A finished run of an audit, or the folder of a recognition or leakage analysis; also an address as "
            "s3://….",
        ),
    ],
    requirements: Annotated[
        Path, typer.Option(metavar="FILE", help="A TOML file of requirements, such as the study file.")
    ],
    junit: Junit = None,
    summary: Summary = None,
    badge: Badge = None,
    json: Json = False,
) -> None:
    """Judge a finished run by requirements. Exit code 0: all are met; 1: one is violated; 4: one is not shown."""
    from transect.jobs.check import run

    result = run.check(folder, requirements, junit=junit, summary=summary, badge=badge)
    show(result, json, result.headline(), result.rows())
    raise typer.Exit(result.exit_code)
