"""Options that several commands about audits share: what was seen on images, how they are checked and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CheckAttribute = Annotated[
    list[str] | None,
    typer.Option(help="NAME=TARGET: a model that reads an attribute off images, to see what was set; repeat."),
]
CheckIdentity = Annotated[str | None, typer.Option(help="A TARGET with embeddings: does an edit stay the person?")]
CheckRealism = Annotated[str | None, typer.Option(help="A TARGET with a score of realism, higher for more real.")]
Redraw = Annotated[
    int, typer.Option(help="Draw a subject with images that fail a check so many times again; 0: count them alone.")
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Score from which the answer is yes; of embeddings, cosine distance from which none match."),
]
FalseMatchRate = Annotated[
    float | None,
    typer.Option(help="Embeddings: use the threshold that accepts this share of different subjects' reference images."),
]
Within = Annotated[
    list[str] | None,
    typer.Option(help="Embeddings: a varied attribute that is no edit but says who is shown, as skin_tone; repeat."),
]
Boundary = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="With --steps: a subject is near the decision boundary where its own score lies between; default 0.3 0.7.",
    ),
]
Perceived = Annotated[
    Path | None,
    typer.Option(
        help="CSV or Parquet of what was seen, a row per image: id, a column per attribute (study, for several); kept."
    ),
]
Ratings = Annotated[
    Path | None,
    typer.Option(
        help="CSV or Parquet of people's single answers on some images: id, rater, a column per attribute (study, for "
        "several); kept."
    ),
]
Prune = Annotated[
    list[str] | None,
    typer.Option(help="Leave out images by their ratings, e.g. 'fakeness>=0.75', or as-published; repeat; kept."),
]
RequireValidation = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The validation.json of transect annotate validate: raters' gates that the generator and every level set "
        "must meet; kept.",
    ),
]
Directions = Annotated[
    Path | None,
    typer.Option(help="Fitted directions that set the attributes of a learned generator: transect directions fit."),
]
InvertedLatents = Annotated[
    Path | None,
    typer.Option(
        "--latents",
        help="Inverted photographs as subjects, moved along --directions: latents.safetensors of transect invert.",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="Count errors by this attribute; repeat for all combinations of two or three, as their table by race and "
        "gender; kept."
    ),
]
