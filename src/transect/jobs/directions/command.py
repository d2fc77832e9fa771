"""`transect directions`: directions of attributes in a generator's latent space, fitted to labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console import results
from transect.console.options import (
    ClassNames,
    Device,
    InvertedLatents,
    Isolate,
    Json,
    OutputKind,
    OutputName,
    PositiveClass,
    PreprocessFile,
    TaskName,
    Threshold,
    given,
)
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.directions.result import DirectionsResult

directions = typer.Typer(
    name="directions",
    help="Fit directions of attributes in a generator's latent space; show those of a file.",
    no_args_is_help=True,
)


@directions.command()
def fit(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The safetensors file of directions to write.")],
    labels: Annotated[
        str,
        typer.Option(
            help="truth (faceworld's own), a CSV or Parquet FILE (column seed, subject or id, and one per attribute; "
            "several rows of a subject are averaged), with --latents a data set READER:PATH (transect datasets), or "
            "target:SPEC, whose answers are the labels."
        ),
    ],
    generator: Annotated[
        str, typer.Option(help="Whose latent space: faceworld (its latent view) or a network's FILE.safetensors.")
    ] = "faceworld",
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            help="What to fit: NAME, or NAME compared with a value, as 'smile>0.5' or 'hat==cap'; repeat. Default: "
            "every column of a table. With target: the attribute that the target predicts."
        ),
    ] = None,
    balance: Annotated[
        list[str] | None,
        typer.Option(help="Balance a binary attribute's classes on this other one, as 'face_shape>0.5'; repeat."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Of binary attributes: logistic (default) or svm, or ridge. Continuous ones: ridge."),
    ] = None,
    latents: InvertedLatents = None,
    space: Annotated[
        str | None, typer.Option(help="Latent space: the generator's own (z), or w or w+ of a StyleGAN2.")
    ] = None,
    values: Annotated[
        str,
        typer.Option(
            help="Of continuous attributes: label (in the label's unit), or decision (signed distance from the "
            "hyperplane, as of binary ones)."
        ),
    ] = "label",
    labelled_by: Annotated[
        str, typer.Option(help="Who gave a table's labels: people, or model:NAME (reports then warn).")
    ] = "",
    subjects: Annotated[int, typer.Option(help="Subjects to label by truth or target; a table brings its own.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the subjects and of the held-out labels.")] = 0,
    population: Annotated[
        str, typer.Option(help="FaceWorld's population: a shipped name or a TOML file.")
    ] = "balanced",
    size: Annotated[
        int | None, typer.Option(help="Width and height of the images that a target is shown; default 128 or its own.")
    ] = None,
    device: Device = "cpu",
    task: TaskName = None,
    preprocess: PreprocessFile = None,
    classes: ClassNames = None,
    positive: PositiveClass = None,
    threshold: Threshold = None,
    output: OutputKind = None,
    output_name: OutputName = None,
    isolate: Isolate = None,
    json: Json = False,
) -> None:
    """Fit a direction per attribute, measure it on labels that it did not see, and write it.

    Ridge regression for continuous attributes (R²), logistic regression or a linear support vector machine for binary
    ones (balanced accuracy), on 80 % of the labels. With --latents, all inverted photographs are the subjects, and a
    table's column id names them. Use the file with: transect audit --directions OUT.
    """
    from transect.jobs.directions.result import safetensors_path
    from transect.jobs.directions.run import DirectionsOptions, fit_directions

    safetensors_path(out)
    answers = given({**locals(), "labels": classes})
    options = DirectionsOptions(labelled_by, population, size, device, answers, values)
    result = fit_directions(
        generator, labels, attribute or (), balance=balance or (), method=method, latents=latents,
        space=space or "", subjects=subjects, seed=seed, quiet=json, options=options,
    )  # fmt: skip
    _print(result.write(out), json)


@directions.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Normals: .npy, .npz or .pt with one vector or several, a row each.")
    ],
    attribute: Annotated[
        list[str] | None,
        typer.Option(help="Name of each normal, in order; of arrays with names NAME, or NAME=ITS_NAME; repeat."),
    ] = None,
    generator: Annotated[
        str, typer.Option(help="Whose latent space: faceworld (its latent view) or a network's FILE.safetensors.")
    ] = "faceworld",
    space: Annotated[str, typer.Option(help="Latent space: the generator's own (z), or w or w+ of a StyleGAN2.")] = "",
    labelled_by: Annotated[
        str, typer.Option(help="Who gave the labels that others fitted: people, or model:NAME (reports then warn).")
    ] = "",
    out: Annotated[Path, typer.Option(help="The safetensors file to write.")] = Path("directions.safetensors"),
    json: Json = False,
) -> None:
    """Take directions that others fitted, as InterFaceGAN's boundaries, for audits along them.

    Values are signed distances from the hyperplane. No label is known, so that their quality is unknown.
    """
    from transect.jobs.directions.importing import import_directions
    from transect.jobs.directions.result import safetensors_path

    safetensors_path(out)
    result = import_directions(file, attribute or (), generator=generator, space=space, source=labelled_by)
    _print(result.write(out), json)


@directions.command()
def show(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A file of directions, or reference: those that ship."),
    ],
    json: Json = False,
) -> None:
    """Show the directions of a file: how well they predict, their ranges, where they come from."""
    from transect.jobs.directions.result import read_result

    _print(read_result(file), json)


def _print(result: DirectionsResult, as_json: bool) -> None:
    numbers = result.numbers
    results.show(result, as_json, result.rows(), *numbers.notes, f"{numbers.out}: {result.headline()}")
    for warning in () if as_json else numbers.warnings:
        say(f"warning: {warning}", error=True)
