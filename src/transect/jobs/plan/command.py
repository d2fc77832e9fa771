"""`transect plan`: what a study would cost before it is made."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from transect.errors import BadInput


def plan(
    effect: Annotated[
        float, typer.Option(help="The smallest difference worth finding: of rates, or in the pilot outcome's unit.")
    ],
    base: Annotated[float | None, typer.Option(help="The rate at the first level; not with --pilot.")] = None,
    power: Annotated[float, typer.Option(help="The chance to find it.")] = 0.9,
    alpha: Annotated[float, typer.Option(help="The level of all tests together.")] = 0.05,
    family: Annotated[
        int | None, typer.Option(help="Tests that share alpha; default 1, or the tests of the pilot.")
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(help="How strongly a subject's answers go together, 0 to below 1; default 0.5; not with --pilot."),
    ] = None,
    cells: Annotated[
        int | None,
        typer.Option(
            help="Combinations of other attributes that each subject is seen at; default 1; not with --pilot."
        ),
    ] = None,
    targets: Annotated[int, typer.Option(help="Models that see each image; not with --pilot.")] = 1,
    pilot: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A finished run: how far its subjects differ, instead of --base.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")] = False,
) -> None:
    """Say how many subjects, images and calls an effect needs, and what a transect saves against unpaired images."""
    given = {"--base": base, "--correlation": correlation, "--cells": cells}
    if pilot is not None:
        unused = [name for name, value in given.items() if value is not None] + ["--targets"] * (targets != 1)
        if unused:
            raise BadInput(f"--pilot says what {', '.join(unused)} would: drop it")
        entry = _from_pilot(pilot, effect, power, alpha, family)
    elif base is None:
        raise BadInput("expected --base, the rate at the first level, or --pilot, a finished run; give one")
    else:
        from transect.effects.planning import CORRELATION
        from transect.effects.planning import plan as planned

        assumed = CORRELATION if correlation is None else correlation
        many = {"family": 1 if family is None else family, "cells": 1 if cells is None else cells}
        entry = _entry(planned(effect, base, power=power, alpha=alpha, correlation=assumed, targets=targets, **many))
    _print(entry, json)


def _from_pilot(pilot: Path, effect: float, power: float, alpha: float, family: int | None) -> dict[str, Any]:
    from transect.analysis.pilots import plan_next

    made, contrast = plan_next(pilot, effect, power=power, alpha=alpha, family=family)
    return {**_entry(made), "contrast": f"{contrast.name} ({contrast.outcome} of {contrast.target})"}


def _entry(made: Any) -> dict[str, Any]:
    return {
        "subjects": made.subjects,
        "images": made.images,
        "calls": made.calls,
        "power": round(made.power, 4),
        "effect": made.effect,
        "alpha": made.alpha,
        "family": made.family,
        "unpaired_subjects": made.unpaired_subjects,
        "unpaired_images": made.unpaired_images,
        "images_saved": made.images_saved,
        "assumed": made.assumed,
    }


_WORDS = {
    "subjects": "subjects, each at every level",
    "images": "images",
    "calls": "calls of targets",
    "power": "power",
    "effect": "effect",
    "alpha": "level of all tests together",
    "family": "tests that share it",
    "unpaired_subjects": "subjects, were each seen once",
    "unpaired_images": "images, were each of another subject",
    "images_saved": "images that the transect saves",
    "assumed": "assumed",
    "contrast": "the pilot's contrast that needs the most",
}


def _print(entry: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json_format.dumps(entry, indent=2, allow_nan=False))
        return
    from transect.console.printing import table

    shown = {key: f"{value:,}" if isinstance(value, int) else str(value) for key, value in entry.items()}
    table(["what", "plan"], [[_WORDS[key], text] for key, text in shown.items()], False)
