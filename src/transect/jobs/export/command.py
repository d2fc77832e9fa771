"""The command `transect export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import show


def export(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="The folder of a finished audit; for figures of any job, or a page; for iso-19795-10 also of "
            "`transect recognition`.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            help="The format: csv, parquet, latex, model-card, iso-19795-10, mlflow, wandb or figures (SVG, PNG, CSV)."
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to write; default RUN/export.")] = None,
    model: Annotated[str, typer.Option(help="The model's name on a model card; default the target's.")] = "",
    project: Annotated[
        str, typer.Option(help="The experiment of MLflow, or the project of Weights & Biases, to log to.")
    ] = "transect",
    json: Json = False,
) -> None:
    """Hand a finished run to other tools: tables, a paper, a model card, MLflow, Weights & Biases, figures."""
    from transect.jobs.export import run as exporting

    result = exporting.export(run, to, out, model=model, project=project)  # type: ignore[arg-type]
    show(result, json, result.headline())
