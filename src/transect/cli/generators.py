"""`transect generators`: what can make images, and checkpoints made into files that are safe to share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.common_options import Json
from transect.console.printing import table
from transect.errors import BadInput
from transect.runs.plain_json import dumps
from transect.runs.wording import spaced
from transect.texts import say

generators = typer.Typer(name="generators", help="List image generators; convert checkpoints.")


@generators.callback(invoke_without_command=True)
def options(context: typer.Context, json: Json = False) -> None:
    """List image generators; convert checkpoints."""
    if context.invoked_subcommand:
        return
    from transect.generators import available

    table(["generator", "what it is"], [list(row) for row in available().items()], json)


@generators.command()
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="An official StyleGAN2 pickle, a community .pt, or safetensors.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The safetensors file to write.")],
    json: Json = False,
) -> None:
    """Write a StyleGAN2 checkpoint's averaged generator as safetensors. Nothing that the checkpoint names is run."""
    from transect.generators.stylegan2.conversion import convert as convert_file

    facts = convert_file(source, out)
    if json:
        say(dumps(facts))
        return
    table(["what", "found"], [[spaced(name), str(value)] for name, value in facts.items()], as_json=False)


@generators.command()
def measure(
    file: Annotated[str, typer.Argument(metavar="GENERATOR", help="A generator's safetensors file, or its name.")],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Its training data: faceworld.")] = "faceworld",
    population: Annotated[str, typer.Option(help="FaceWorld: a shipped population or a TOML file.")] = "balanced",
    images: Annotated[int, typer.Option(help="Images per set.")] = 5000,
    device: Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1 and so on.")] = "cpu",
    json: Json = False,
) -> None:
    """Measure how close a generator's images are to FaceWorld's: FID, KID, precision, recall."""
    from transect.generators import load
    from transect.perceptual.judging import judge

    if source != "faceworld":
        raise BadInput(f"source: expected faceworld, got {source!r}; the features that judge were learned on it")
    generator = load(file, device=device)
    real = load(source, image_size=generator.image_size, population=population, device=device)
    distances = judge(real, generator, images, device=device)
    if json:
        say(dumps(distances))
        return
    names = {
        "fid": "FID",
        "kid": "KID",
        "kid_error": "standard error of KID",
        "precision": "precision",
        "recall": "recall",
    }
    rows = [
        [label, f"{getattr(distances, name):.4g}", f"{getattr(distances.floor, name):.4g}"]
        for name, label in names.items()
    ]
    table(["figure", f"of {images} pictures", "of a second real sample"], rows, as_json=False)
