"""The command `transect neighbours`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from transect.errors import UnknownName


def neighbours(
    features: Annotated[
        list[str], typer.Option(help="A distance to compare: latents or embeddings, .npy or Parquet; repeat for more.")
    ],
    table: Annotated[Path, typer.Option(help="Parquet with a row per image: its attributes.")],
    attribute: Annotated[
        list[str] | None, typer.Option(help="Column that near images should share; default all numeric ones.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A numeric attribute whose values are classes; texts and 0/1 are anyway.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option(help="Column of identities: is the nearest image of the same person?")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Nearest images that are looked at.")] = 10,
    layers: Annotated[str, typer.Option(help="Latents of several layers (w+): flatten or average.")] = "flatten",
    second: Annotated[
        Path | None, typer.Option(help="An embedding in which neighbours must be near, a further row per distance.")
    ] = None,
    second_threshold: Annotated[float | None, typer.Option(help="How near: distances in --second are below.")] = None,
    queries: Annotated[
        int | None, typer.Option(help="Ask so many images drawn at random instead of all; neighbours are of all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of drawn images, and of the row of images at random.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")] = False,
) -> None:
    """Which distance keeps what? Attributes and identity among the ten nearest images, with standard errors."""
    from transect.jobs.neighbours.run import Asked, compare_distances

    if layers not in ("flatten", "average"):
        raise UnknownName("layers", layers, ["flatten", "average"])
    asked = Asked(
        features=features,
        table=table,
        attributes=attribute or (),
        categorical=categorical or (),
        identity=identity,
        k=k,
        layers=layers,  # type: ignore[arg-type]
        second=second,
        second_threshold=second_threshold,
        queries=queries,
        seed=seed,
    )
    made = compare_distances(asked)
    if json:
        print(json_format.dumps(made, indent=1, ensure_ascii=False, allow_nan=False))
        return
    _show(made)


def _show(made: dict[str, Any]) -> None:
    from transect.console.printing import table

    head = ["distance", *(_heading(one) for one in made["distances"][0]["attributes"])]
    rows = [[row["distance"], *map(_cell, row["attributes"])] for row in made["distances"]]
    table(head, rows, False)
    print(
        f"Mean over {made['asked']:,} of {made['images']:,} images, and its standard error: of an attribute over the "
        f"{made['k']} nearest, of identity over those with another image. Smaller is nearer."
    )
    for row in made["distances"]:
        if row["without_features"]:
            print(f"left out: {row['without_features']} images without features ({row['distance']})")


def _heading(one: dict[str, Any]) -> str:
    if one["attribute"] == "identity" and one["n_neighbours"] == 1:
        return "identity: nearest is another, %"
    return f"{one['attribute']}: {'differ, %' if one['unit'] == 'proportion' else 'mean error'}"


def _cell(one: dict[str, Any]) -> str:
    if one["error"] is None:
        return "unknown"
    scale = 100 if one["unit"] == "proportion" else 1
    error = "unknown" if one["standard_error"] is None else f"{scale * one['standard_error']:.2g}"
    return f"{scale * one['error']:.4g} ± {error}"
