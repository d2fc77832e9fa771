"""The command `transect replicate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import Rerun, keep, show

Margin = Annotated[
    list[str] | None,
    typer.Option(
        help="Largest difference between worlds that does not matter, for all rates (0.05) or one outcome (miss=0.02); "
        "repeat it. By default that of the first run."
    ),
]

RERUN = Rerun(
    values="margin combine",
    argument="data",
)


def replicate(
    context: typer.Context,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Finished runs that audit one model in several worlds: audits of rendered or edited images, of images "
            "as they are, or matched pairs; one audit with several studies counts as several worlds.",
        ),
    ],
    margin: Margin = None,
    combine: Annotated[
        bool,
        typer.Option(
            "--combine",
            help="Of two runs, rendered images first: also the effects on the photographs of the second, with the help "
            "of the renderings; needs subjects that are in both, as one of the generators states.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for replicate.html and replicate.json; default: that of the last run."),
    ] = None,
    json: Json = False,
) -> None:
    """The same effects in several worlds: which replicate, which differ and by how much, and what is open."""
    from transect.jobs.replicate import run
    from transect.runs.layout import is_run

    result = run.replicate(runs, margin=margin or (), combine=combine)
    page = result.report(out or runs[-1])
    if out is not None and not is_run(out):
        keep(context, out, RERUN)
    show(result, json, *result.numbers.answer, result.rows(), page=page)
