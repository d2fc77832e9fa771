"""The command `transect readings`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import Rerun, keep, show

RERUN = Rerun(
    values="pictures prefix",
    models="detector landmarks",
    argument="data",
)


def readings(
    context: typer.Context,
    images: Annotated[
        str,
        typer.Argument(
            metavar="IMAGES", help="A folder of image files, a run folder, READER:PATH, or a table with --pictures."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of readings.parquet and the page.")],
    pictures: Annotated[
        str | None,
        typer.Option(help="Column of the table with pictures (bytes or paths); its other columns are kept."),
    ] = None,
    detector: Annotated[
        str, typer.Option(help="Finds the faces, as dlib:hog-face; the most certain face is read.")
    ] = "opencv:haarcascade_frontalface_default",
    landmarks: Annotated[
        Path | None,
        typer.Option(help="dlib's shape predictor of 68 points, for yaw, pitch and roll, or of 5, for yaw and roll."),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Text that the readings' names begin with, where the table has columns of these names.")
    ] = "",
    json: Json = False,
) -> None:
    """Read pose, background and light of photographs into a table, for match, neighbours and recognition.

    Rerun the command to resume.
    """
    from transect.jobs.readings import run

    result = run.readings(
        images, out, pictures=pictures, detector=detector, landmarks=landmarks, prefix=prefix, quiet=json
    )
    page = result.report(out)
    keep(context, out, RERUN)
    show(result, json, result.headline(), result.rows(), *result.notes(), f"wrote {result.numbers.out}", page=page)
