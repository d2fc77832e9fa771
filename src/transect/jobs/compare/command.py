"""The command `transect compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import show

Margin = Annotated[
    list[str] | None,
    typer.Option(
        help="Smallest difference that matters, for all rates (0.02) or one outcome (miss=0.01); repeat it. By default "
        "that of the first run."
    ),
]


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Finished runs of an audit on the same images, the baseline first, or addresses as s3://…; one with "
            "several targets.",
        ),
    ],
    target: Annotated[
        list[str] | None, typer.Option(help="Compare only this target of the runs; repeat it. By default all of them.")
    ] = None,
    margin: Margin = None,
    out: Annotated[
        str | None, typer.Option(help="Folder for compare.html and compare.json; default: that of the last run.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare models on the same images: who is better on what, by how much, and on which images they differ."""
    from transect.jobs.compare import run

    result = run.compare(runs, targets=target or (), margin=margin or ())
    page = result.report(out or runs[-1])
    show(result, json, *result.numbers.answer, result.rows(), page=page)
