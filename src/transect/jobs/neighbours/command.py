"""The command `transect neighbours`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import Rerun, keep, show

RERUN = Rerun(
    values="attribute categorical identity k layers second-threshold queries pictures seed",
    data="features table second",
    writes={"report": ""},
)


def neighbours(
    context: typer.Context,
    features: Annotated[
        list[str], typer.Option(help="A distance to compare: latents or embeddings, .npy or a table; repeatable.")
    ],
    table: Annotated[Path, typer.Option(help="Table with a row per image: its attributes.")],
    attribute: Annotated[
        list[str] | None, typer.Option(help="Column that near images should share; default all numeric columns.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Numeric attribute whose values are classes; texts and 0/1 always are.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option(help="Column of identities: is the nearest image of the same person?")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Number of nearest images to look at.")] = 10,
    layers: Annotated[
        list[str] | None,
        typer.Option(help="Latents of several layers (w+): flatten or average; repeat for both; default flatten."),
    ] = None,
    second: Annotated[
        Path | None, typer.Option(help="An embedding in which neighbours must also be near; adds a row per distance.")
    ] = None,
    second_threshold: Annotated[
        float | None, typer.Option(help="Neighbours are below this distance in --second.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="Look up the neighbours of N random images instead of all.")
    ] = None,
    pictures: Annotated[
        str | None, typer.Option(help="Column of the table with pictures (bytes or paths) for the report.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Folder for the report.")] = None,
    json: Json = False,
) -> None:
    """Compare distances: how much attributes and identity differ among the nearest images, with standard errors."""
    from transect.jobs.neighbours import run
    from transect.jobs.neighbours.page import notes
    from transect.runs.table_inputs import choice

    result = run.neighbours(
        features,
        table,
        attributes=attribute or (),
        categorical=categorical or (),
        identity=identity,
        k=k,
        layers=[choice("layers", way, run.LAYERS) for way in layers or ("flatten",)],
        second=second,
        second_threshold=second_threshold,
        queries=queries,
        pictures=pictures,
        seed=seed,
    )
    page = None if report is None else result.report(report)
    if report is not None:
        keep(context, report, RERUN)
    show(result, json, result.rows(), result.headline(), *notes(result), page=page)
