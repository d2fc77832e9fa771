"""`transect verify …`: checks of Transect itself against photographs and against planted truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.audit_options import Threshold
from transect.console.common_options import Json
from transect.console.results import Block, show
from transect.console.target_options import (
    ClassNames,
    Isolate,
    OutputKind,
    PositiveClass,
    PreprocessFile,
    TaskName,
    given,
)
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.verify.run import VerifyResult

HELP = (
    "Check Transect itself: the rendered world against photographs, the estimators against planted truth; and whether "
    "the files of a run are as it wrote them."
)
verify = typer.Typer(name="verify", help=HELP, no_args_is_help=True)


@verify.callback()
def options() -> None:
    """Check Transect itself, against photographs and planted truth; and whether the files of a run are as written."""


@verify.command()
def world(
    subjects: Annotated[
        int, typer.Option(help="Subjects of the photometry; other samples are in proportion. 5000 is the full check.")
    ] = 5000,
    only: Annotated[
        str,
        typer.Option(
            help="Parts, separated by commas: photometry, by_attribute, sharpness, targets, attributes, identity, "
            "groups, readers."
        ),
    ] = "photometry,by_attribute,sharpness,targets,attributes,identity,groups,readers",
    size: Annotated[int, typer.Option(help="Width and height of the images, in pixels.")] = 128,
    epochs: Annotated[int, typer.Option(help="Passes over the training images.")] = 14,
    device: Annotated[str, typer.Option(help="Where networks are trained: cpu, cuda or cuda:N.")] = "cpu",
    landmark_model: Annotated[
        Path | None, typer.Option(help="dlib's shape_predictor_68_face_landmarks.dat; compares its landmarks too.")
    ] = None,
    recognition_model: Annotated[
        Path | None,
        typer.Option(
            help="dlib's dlib_face_recognition_resnet_model_v1.dat; measures identity with it too.",
            envvar="TRANSECT_RECOGNITION_MODEL",
        ),
    ] = None,
    reader: Annotated[
        list[str] | None,
        typer.Option(
            help="ATTRIBUTE=TARGET: also measure how well a model from outside reads this attribute, as "
            "smile=happy.toml; repeatable; see: transect targets."
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Labelled photographs that the readers see too: READER:PATH, as in audit --dataset."),
    ] = None,
    dataset_label: Annotated[
        list[str] | None,
        typer.Option(help="ATTRIBUTE=LABEL: the data set's label of an attribute; default its name, or CelebA's."),
    ] = None,
    task: TaskName = None,
    preprocess: PreprocessFile = None,
    labels: ClassNames = None,
    positive: PositiveClass = None,
    threshold: Threshold = None,
    output: OutputKind = None,
    isolate: Isolate = None,
    publish: Annotated[
        Path | None, typer.Option(help="Also write the figures that ship with FaceWorld to this file (maintainers).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for what is computed.")] = Path("runs/verify-world"),
    json: Json = False,
) -> None:
    """Measure FaceWorld: light, sharpness, what detectors find, what networks read, whether people are distinguished.

    Takes about an hour. Rerun the command to resume.
    """
    from transect.jobs.verify.outside_readers import Outside, parse_pairs
    from transect.jobs.verify.run import verify as run
    from transect.jobs.verify.settings import Settings

    options = given(
        task=task,
        preprocess=preprocess,
        labels=labels,
        positive=positive,
        threshold=threshold,
        output=output,
        isolate=isolate,
    )
    readers = parse_pairs("--reader", reader or ())
    outside = Outside(readers, options, dataset, dict(parse_pairs("--dataset-label", dataset_label or ())))
    settings = Settings(
        subjects=subjects,
        image_size=size,
        parts=tuple(part.strip() for part in only.split(",") if part.strip()),
        epochs=epochs,
        device=device,
        landmark_model=landmark_model,
        recognition_model=recognition_model,
        outside=outside,
    )
    result = run("world", settings=settings, out=out, quiet=json)
    if publish is not None and result.numbers.world is not None:
        from transect.jobs.verify.publication import publish_facts

        publish_facts(result.numbers.world, publish)
    _show(result, json)


@verify.command()
def estimators(
    seeds: Annotated[int, typer.Option(help="Tables per world; 500 distinguish a coverage of 93 % from 95 %.")] = 500,
    json: Json = False,
) -> None:
    """Test every estimator in worlds of planted truth: bias, RMSE, coverage, type I error, power. Takes minutes."""
    from transect.jobs.verify.run import verify as run

    _show(run("estimators", seeds=seeds, quiet=json), json)


@verify.command()
def images(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few hundred small images: shows that it works; the figures mean nothing.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the model's training and of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for what is computed.")] = Path("runs/verify-images"),
    json: Json = False,
) -> None:
    """Train a model on a confounded population, and compare each method's estimates with its true effects.

    Takes a quarter of an hour on two cores. Rerun the command to resume.
    """
    from transect.jobs.verify.run import verify as run

    _show(run("images", quick=quick, seed=seed, out=out, quiet=json), json)


@verify.command()
def marks(
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[READER:PATH]",
            help="Photographs with points or masks of their own; without, FaceWorld's pictures.",
        ),
    ] = None,
    finder: Annotated[
        str, typer.Option(help="Whose marks are measured: network, dlib:FILE, onnx:FILE or mediapipe:FILE.")
    ] = "network",
    by: Annotated[str | None, typer.Option(help="A label of the data set, whose levels are compared.")] = None,
    subjects: Annotated[int, typer.Option(help="Subjects of FaceWorld, each shown at four skin tones.")] = 100,
    size: Annotated[int | None, typer.Option(help="Width and height of the pictures, in pixels.")] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Leave out pictures below it, from 0 to 1; default: the finder's own.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure how well points and masks of faces are found, by group, on photographs whose marks are known.

    Error is the mean distance of points from the known ones, in distances between the eyes.
    """
    from transect.jobs.verify.marks import MarksSettings
    from transect.jobs.verify.run import verify as run

    settings = MarksSettings(finder, dataset, by, subjects, size, confidence)
    _show(run("marks", settings=settings, quiet=json), json)


@verify.command(name="run")
def run_files(
    folder: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A finished run folder, or a folder of studies; also an address as s3://…."),
    ],
    key: Annotated[
        Path | None,
        typer.Option(help="An Ed25519 public key, as PEM or OpenSSH's FILE.pub: the run must be signed by its owner."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the run's manifest with this Ed25519 private key, where all files are as written."),
    ] = None,
    json: Json = False,
) -> None:
    """Check that the files of a run are as it wrote them, by the SHA-256 of each in manifest.json.

    Exit code 1: files are changed, missing or added, or the signature is not of the key.
    """
    from transect.jobs.verify.run import verify as run

    result = run("run", run=folder, key=key, sign=sign)
    rows = result.rows()
    for line in result.numbers.run.unfinished if result.numbers.run is not None else ():
        say(f"warning: {line}", error=True)
    show(result, json, result.headline(), *([rows] if rows[1] else []))
    if result.numbers.run is not None and not result.numbers.run.holds:
        raise typer.Exit(1)


def _show(result: VerifyResult, as_json: bool) -> None:

    parts: list[Block] = [block for part in result.tables() for block in (part.title, (part.headings, part.rows))]
    show(result, as_json, *parts, result.headline())
