"""The command `transect report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import (
    AtThreshold,
    Bins,
    Boundary,
    By,
    Covariates,
    Json,
    Margin,
    Perceived,
    Prune,
    Ratings,
    RequireValidation,
)
from transect.console.results import show


def report(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A finished run, or a folder of studies; also an address as s3://….")
    ],
    shares: Annotated[
        list[Path] | None, typer.Option(help="A population's shares (CSV or TOML) to project the rates to; repeatable.")
    ] = None,
    perceived: Perceived = None,
    ratings: Ratings = None,
    prune: Prune = None,
    by: By = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="For a run without a truth: take it from the raters' mean or majority, as 'gender>=0.5'; stored with "
            "the run."
        ),
    ] = None,
    bins: Bins = None,
    covariates: Covariates = None,
    margin: Margin = None,
    boundary: Boundary = None,
    at_thresholds: AtThreshold = None,
    require_validation: RequireValidation = None,
    json: Json = False,
) -> None:
    """Analyse a finished run again from its tables, with other populations, and write its report."""
    from transect.jobs.report import run
    from transect.runs.report_options import ReportSettings

    result = run.report(
        folder,
        shares=shares or (),
        perceived=perceived,
        ratings=ratings,
        prune=prune or (),
        reference=reference,
        settings=ReportSettings(
            by=by or (),
            bins=bins or (),
            boundary=boundary,
            covariates=covariates or (),
            margin=margin or (),
            at_thresholds=at_thresholds or (),
        ),
        require_validation=require_validation,
        quiet=json,
    )
    show(result, json, *result.blocks(), page=result.page)
