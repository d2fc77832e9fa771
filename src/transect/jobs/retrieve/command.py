"""The command `transect retrieve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import AllowDownload, Dtype, Json, ModelDevice
from transect.console.results import Rerun, keep, show

RERUN = Rerun(
    values="first seed dtype model-device allow-download",
    data="queries",
    models="model",
    argument="data",
)


def retrieve(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder of an audit that varies attributes.")],
    model: Annotated[str, typer.Option(help="A network of images and texts: hf:FOLDER or hf:ID of a CLIP or SigLIP.")],
    queries: Annotated[Path, typer.Option(help="A text file with a query in each line, as: a photo of a doctor.")],
    first: Annotated[
        list[int] | None, typer.Option(help="Look at the first K images; repeatable. Default 10, 50 and 100.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the permutations by which chance is measured.")] = 0,
    dtype: Dtype = None,
    model_device: ModelDevice = None,
    allow_download: AllowDownload = None,
    out: Annotated[Path, typer.Option(help="Folder for the page and its numbers.")] = Path("retrieve"),
    json: Json = False,
) -> None:
    """Search the images of a run by words: which levels of an attribute are found first, with intervals by subject."""
    from transect.effects.retrieval import FIRST
    from transect.jobs.retrieve import run as job

    result = job.retrieve(
        run,
        model,
        queries,
        first=first or FIRST,
        seed=seed,
        device=model_device or "cpu",
        dtype=dtype or "float32",
        allow_download=bool(allow_download),
        quiet=json,
    )
    page = result.report(out)
    keep(context, out, RERUN)
    show(result, json, result.headline(), result.rows(), page=page)
