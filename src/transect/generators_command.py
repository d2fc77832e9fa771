"""`transect generators`: what can make images, and checkpoints made into files that are safe to share."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from transect.console import table

generators = typer.Typer(name="generators", help="List what can make images; convert checkpoints.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]


@generators.callback(invoke_without_command=True)
def options(context: typer.Context, json: Json = False) -> None:
    """List what can make images; convert checkpoints."""
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
    from transect.generators.stylegan2.reading import convert as convert_file

    facts = convert_file(source, out)
    if json:
        print(json_format.dumps(facts))
        return
    table(["what", "found"], [[name.replace("_", " "), str(value)] for name, value in facts.items()], as_json=False)
