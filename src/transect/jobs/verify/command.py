"""`transect verify …`: the files of a run against its manifest, and marks of faces against known ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import Block, show
from transect.texts import say

HELP = "Check that the files of a run are as it wrote them, and how well marks of faces are found."
verify = typer.Typer(name="verify", help=HELP, no_args_is_help=True)


@verify.callback()
def options() -> None:
    """Check that the files of a run are as it wrote them, and how well marks of faces are found."""


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
    result = run("marks", settings=settings, quiet=json)
    tables: list[Block] = [block for part in result.tables() for block in (part.title, (part.headings, part.rows))]
    show(result, json, *tables, result.headline())


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
