"""`transect train classifier`: the models that the papers audited, and smaller ones; a stopped training goes on."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from transect.console.printing import table


def classifier(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="faceworld, or READER:PATH as audit --dataset has it.")
    ],
    label: Annotated[
        str,
        typer.Option(
            help="What is learned: an attribute with levels, or a cut, as 'smile>0.5'; see: transect attributes."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of states, metrics.csv and the classifier.")],
    schedule: Annotated[
        str, typer.Option(help="quick, balakrishnan-2020 or denton-2019; what a paper leaves open is in the how-to.")
    ] = "quick",
    arch: Annotated[str | None, typer.Option(help="resnet18, resnet34 or resnet50; default the schedule's.")] = None,
    size: Annotated[int | None, typer.Option(help="Width and height in pixels; default the schedule's.")] = None,
    epochs: Annotated[int | None, typer.Option(help="In all, spread over the schedule's rates.")] = None,
    batch: Annotated[int | None, typer.Option(help="Pictures a step; default the schedule's.")] = None,
    balanced: Annotated[
        bool | None, typer.Option(help="Make classes equally probable in training; default the schedule's.")
    ] = None,
    count: Annotated[int, typer.Option(help="FaceWorld: how many pictures are drawn; a data set gives all.")] = 10_000,
    population: Annotated[str, typer.Option(help="FaceWorld: a shipped population or a TOML file.")] = "balanced",
    weights: Annotated[
        Path | None, typer.Option(help="Safetensors with torchvision's names to start from; the last layer may differ.")
    ] = None,
    held_out: Annotated[float, typer.Option(help="Share of the subjects that only measure.")] = 0.1,
    precision: Annotated[str, typer.Option(help="full (float32) or mixed (bfloat16 where it is safe).")] = "full",
    seed: Annotated[int, typer.Option(help="Seed of weights, order and who is held out.")] = 0,
    device: Annotated[str, typer.Option(help="Where it computes: cpu, cuda, cuda:1 and so on.")] = "cpu",
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")] = False,
) -> None:
    """Train a ResNet to tell an attribute; for: transect audit classifier:OUT. The same command goes on."""
    from transect.training.classifier import METRICS, Plan, train
    from transect.training.labels import Label
    from transect.training.pictures import Pictures, open_source
    from transect.training.schedules import schedule as named

    chosen = named(schedule, architecture=arch, size=size, epochs=epochs, batch=batch, balanced=balanced)
    opened = open_source(source, chosen.size, population, device)
    plan = Plan(chosen, Label.parse(label, opened.attributes), seed, device, precision, held_out, weights)
    rows = count if source == "faceworld" else len(opened)
    card = train(Pictures(opened, rows, out / "pictures", quiet=json), plan, out, quiet=json)
    head, *_, last = (out / METRICS).read_text(encoding="utf-8").splitlines()
    figures = dict(zip(head.split(","), map(float, last.split(",")), strict=True))
    if json:
        print(json_format.dumps({"classifier": str(card), **figures}, allow_nan=False))
        return
    rows_shown = [
        ["classifier", str(card)],
        *[[name.replace("_", " "), f"{value:.4g}"] for name, value in figures.items()],
    ]
    table(["what", "found"], rows_shown, as_json=False)
