"""Options that several commands about audits share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

IMAGES: Final = "Images"
MODEL: Final = "Model"
CHECKS: Final = "Checks of edits"
VERIFICATION: Final = "Face verification"
RATINGS: Final = "Ratings"
REPORT: Final = "Report"
"""Panels of the help."""

Threshold = Annotated[
    float | None,
    typer.Option(
        help="Score from which the answer is yes; for embeddings, cosine distance from which images do not match.",
        rich_help_panel=MODEL,
    ),
]
Boundary = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="With --steps: a subject is near the decision boundary if its own score lies in this band; default 0.3 "
        "0.7.",
        rich_help_panel=REPORT,
    ),
]
Perceived = Annotated[
    Path | None,
    typer.Option(
        help="CSV or Parquet of perceived attributes, a row per image: id, a column per attribute (and study, for "
        "several); stored with the run.",
        rich_help_panel=RATINGS,
    ),
]
Ratings = Annotated[
    Path | None,
    typer.Option(
        help="CSV or Parquet of people's ratings, a row per image and rater: id, rater, a column per attribute (and "
        "study, for several); stored with the run.",
        rich_help_panel=RATINGS,
    ),
]
Prune = Annotated[
    list[str] | None,
    typer.Option(
        help="Leave out images by their ratings, e.g. 'fakeness>=0.75', or as-published; repeatable; stored with the "
        "run.",
        rich_help_panel=RATINGS,
    ),
]
RequireValidation = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A validation.json of transect annotate validate, whose gates the generator and every level must pass; "
        "stored with the run.",
        rich_help_panel=RATINGS,
    ),
]
Directions = Annotated[
    Path | None,
    typer.Option(
        help="Fitted directions that set the attributes of a learned generator; see: transect directions fit.",
        rich_help_panel=IMAGES,
    ),
]
InvertedLatents = Annotated[
    Path | None,
    typer.Option(
        "--latents",
        help="Inverted photographs as subjects, edited along --directions; see: transect invert.",
        rich_help_panel=IMAGES,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="Count errors by this attribute; repeat for the combinations of two or three; stored with the run.",
        rich_help_panel=REPORT,
    ),
]
