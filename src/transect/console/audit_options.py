"""Options that several commands about audits share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer


def option_of(panel: str) -> Callable[..., Any]:
    """`typer.Option` for options of one panel of the help."""
    return functools.partial(typer.Option, rich_help_panel=panel)


images_option, model_option, checks_option = map(option_of, ("Images", "Model", "Checks of edits"))
verification_option, ratings_option, report_option = map(option_of, ("Face verification", "Ratings", "Report"))

Threshold = Annotated[
    float | None,
    model_option(
        help="Score from which the answer is yes; for embeddings, cosine distance from which images do not match."
    ),
]
Boundary = Annotated[
    tuple[float, float] | None,
    report_option(
        metavar="LOW HIGH",
        help="With --steps: a subject is near the decision boundary if its own score lies in this band; default 0.3 "
        "0.7.",
    ),
]
Perceived = Annotated[
    Path | None,
    ratings_option(
        help="CSV or Parquet of perceived attributes, a row per image: id, a column per attribute (and study, for "
        "several); stored with the run."
    ),
]
Ratings = Annotated[
    Path | None,
    ratings_option(
        help="CSV or Parquet of people's ratings, a row per image and rater: id, rater, a column per attribute (and "
        "study, for several); stored with the run."
    ),
]
Prune = Annotated[
    list[str] | None,
    ratings_option(
        help="Leave out images by their ratings, e.g. 'fakeness>=0.75', or as-published; repeatable; stored with the "
        "run."
    ),
]
RequireValidation = Annotated[
    Path | None,
    ratings_option(
        metavar="FILE",
        help="A validation.json of transect annotate validate, whose gates the generator and every level must pass; "
        "stored with the run.",
    ),
]
Directions = Annotated[
    Path | None,
    images_option(
        help="Fitted directions that set the attributes of a learned generator; see: transect directions fit."
    ),
]
InvertedLatents = Annotated[
    Path | None,
    images_option(
        "--latents", help="Inverted photographs as subjects, edited along --directions; see: transect invert."
    ),
]
InvertedSources = Annotated[
    str | None,
    images_option(
        "--photographs", help="Of --latents: the folder or READER:PATH that was inverted, kept outside --mask, bitwise."
    ),
]
FaceMask = Annotated[
    str | None,
    images_option(
        "--mask",
        metavar="MASK",
        help="Of --photographs: where the generator's image stands, as face@dataset, ellipse:X,Y,RX,RY or folder:PATH.",
    ),
]
By = Annotated[
    list[str] | None,
    report_option(
        help="Count errors by this attribute, or as raters saw it; repeat for combinations of two or three; stored "
        "with the run."
    ),
]
Bins = Annotated[
    list[str] | None,
    report_option(
        help="Cut points of an observed or rated attribute, as age=30,50; repeatable; default: terciles; stored with "
        "the run."
    ),
]
Margin = Annotated[
    list[str] | None,
    report_option(
        "--margin",
        help="Differences up to this count as none, as 0.02 (of rates; the default) or score=0.1 (of one outcome); "
        "repeatable; stored with the run.",
    ),
]
Covariates = Annotated[
    list[str] | None,
    report_option(
        "--covariate",
        help="Adjust errors for this rating or observed attribute; repeatable; default: all but fakeness and quality; "
        "stored with the run.",
    ),
]
