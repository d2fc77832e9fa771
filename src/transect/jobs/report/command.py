"""The command `transect report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transect.console.audit_options import (
    Boundary,
    By,
    Perceived,
    Prune,
    Ratings,
    RequireValidation,
)
from transect.console.common_options import Json
from transect.console.results import show


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A finished run folder, or a folder of studies.")],
    shares: Annotated[
        list[Path] | None,
        typer.Option(help="A population's shares (CSV or TOML) to project the rates to; repeat for more."),
    ] = None,
    correction: Annotated[str, typer.Option(help="For many tests: holm, benjamini-hochberg or max-t.")] = "holm",
    model: Annotated[
        list[str] | None,
        typer.Option(help="Adjust errors by this model too: ols, logit, poisson, gee or fractional; repeat for more."),
    ] = None,
    perceived: Perceived = None,
    ratings: Ratings = None,
    prune: Prune = None,
    by: By = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Where the run has no truth: what raters' mean or majority decides, as 'gender>=0.5'; kept."),
    ] = None,
    boundary: Boundary = None,
    require_validation: RequireValidation = None,
    json: Json = False,
) -> None:
    """Build the report of a finished run again from its tables, with other corrections or populations if you like."""
    from transect.analysis import rater_report, reporting, sections
    from transect.ratings import gates
    from transect.runs.progress import announcing_stages

    models = sections.check(model or ())
    reporting.rate(folder, perceived, prune or (), ratings)
    if reference is not None:
        rater_report.judge(folder, reference)
    if require_validation is not None:
        gates.attach(folder, gates.read(require_validation))
    asked: dict[str, Any] = {"shares": shares or (), "correction": correction, "near": boundary, "by": by or ()}
    with announcing_stages(quiet=json):
        result = reporting.report(folder, models=models, **asked)
    show(result, json, result.page)
