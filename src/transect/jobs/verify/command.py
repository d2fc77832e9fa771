"""`transect verify …`: checks of Transect itself against what is known of the outside world."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

verify = typer.Typer(
    name="verify",
    help="Check Transect itself: the world that ships against photographs, the estimators against planted truth.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]


@verify.callback()
def options() -> None:
    """Check Transect itself: the world that ships against photographs, the estimators against planted truth."""


@verify.command()
def world(
    subjects: Annotated[
        int, typer.Option(help="Subjects of the photometry; all other samples are in proportion. 5000: the full check.")
    ] = 5000,
    only: Annotated[
        str, typer.Option(help="Parts, separated by commas: photometry, targets, attributes, identity, groups.")
    ] = "photometry,targets,attributes,identity,groups",
    size: Annotated[int, typer.Option(help="Width and height of the images, in pixels.")] = 128,
    epochs: Annotated[int, typer.Option(help="Passes over the training images.")] = 14,
    device: Annotated[str, typer.Option(help="Where networks are trained: cpu, cuda or cuda:N.")] = "cpu",
    landmark_model: Annotated[
        Path | None, typer.Option(help="dlib's shape_predictor_68_face_landmarks.dat, to compare landmarks with.")
    ] = None,
    recognition_model: Annotated[
        Path | None,
        typer.Option(
            help="dlib's dlib_face_recognition_resnet_model_v1.dat, beside the identity.",
            envvar="TRANSECT_RECOGNITION_MODEL",
        ),
    ] = None,
    publish: Annotated[
        Path | None, typer.Option(help="Also write the figures that ship with FaceWorld to this file (maintainers).")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder that keeps what is computed.")] = Path("runs/verify-world"),
    json: Json = False,
) -> None:
    """Measure FaceWorld: photometry beside photographs, what detectors find, what networks read, who is told apart.

    What is finished is kept in --out, and the same command goes on.
    """
    from transect.jobs.verify.settings import Settings
    from transect.jobs.verify.validation import validate_world

    settings = Settings(
        subjects=subjects,
        image_size=size,
        parts=tuple(part.strip() for part in only.split(",") if part.strip()),
        epochs=epochs,
        device=device,
        landmark_model=landmark_model,
        recognition_model=recognition_model,
    )
    found = validate_world(settings, out)
    if publish is not None:
        from transect.jobs.verify.publication import publish_facts

        publish_facts(found, publish)
    if json:
        print(json_format.dumps(found, indent=1, allow_nan=False))
        return
    _show(found)


@verify.command()
def estimators(
    seeds: Annotated[int, typer.Option(help="Tables per world; 500 tell a coverage of 93 % from one of 95 %.")] = 500,
    json: Json = False,
) -> None:
    """Put every estimator into worlds of planted truth: bias, RMSE, coverage, type I error, power; minutes."""
    from transect.console.printing import table
    from transect.jobs.verify.estimators import as_rows, prove

    made = prove(seeds, progress=lambda world: print(f"estimators: {world}", file=sys.stderr, flush=True))
    if json:
        print(json_format.dumps([row.entry() for row in made], indent=1, allow_nan=False))
        return
    table(
        ["method", "world", "bias", "RMSE", "covers %", "type I %", "power %", "expected", "shown"],
        as_rows(made),
        False,
    )


@verify.command()
def images(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few hundred small pictures: shows that it works, the figures mean nothing."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the model's training and of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder that keeps what is computed.")] = Path("runs/verify-images"),
    json: Json = False,
) -> None:
    """Train a model on a confounded population; set its true effects beside what observation and experiment say.

    A quarter of an hour on two cores. What is finished is kept in --out, and the same command goes on.
    """
    from dataclasses import replace

    from transect.jobs.verify.images.sizes import QUICK, Sizes
    from transect.jobs.verify.images.study import compare_methods
    from transect.jobs.verify.images.tables import tables_of

    found = compare_methods(replace(QUICK if quick else Sizes(), seed=seed), out)
    if json:
        print(json_format.dumps(found, indent=1, allow_nan=False))
        return
    _print_tables(tables_of(found))


def _show(found: dict[str, Any]) -> None:
    from transect.jobs.verify.tables import tables_of

    _print_tables(tables_of(found))


def _print_tables(tables: Iterable[tuple[str, list[str], list[list[str]]]]) -> None:
    from transect.console.printing import table

    for title, headings, rows in tables:
        print(title)
        table(headings, rows, False)
