"""`transect train classifier`: the models that the papers audited, and smaller ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.common_options import Device, Json, Population
from transect.console.results import show


def classifier(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="faceworld, or READER:PATH as in audit --dataset.")],
    label: Annotated[
        str,
        typer.Option(help="Attribute to learn: one with levels, or a cut, as 'smile>0.5'; see: transect attributes."),
    ],
    out: Annotated[Path, typer.Option(help="The folder of states, metrics.csv and the classifier.")],
    schedule: Annotated[
        str, typer.Option(help="quick, balakrishnan-2020 or denton-2019; what a paper leaves open is in the how-to.")
    ] = "quick",
    arch: Annotated[str | None, typer.Option(help="resnet18, resnet34 or resnet50; default the schedule's.")] = None,
    size: Annotated[int | None, typer.Option(help="Width and height in pixels; default the schedule's.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs in all, spread over the schedule's rates.")] = None,
    batch: Annotated[int | None, typer.Option(help="Pictures a step; default the schedule's.")] = None,
    balanced: Annotated[
        bool | None, typer.Option(help="Make classes equally probable in training; default the schedule's.")
    ] = None,
    count: Annotated[int, typer.Option(help="Pictures that FaceWorld draws; of a data set all are used.")] = 10_000,
    population: Population = "balanced",
    weights: Annotated[
        Path | None, typer.Option(help="Safetensors with torchvision's names to start from; the last layer may differ.")
    ] = None,
    held_out: Annotated[float, typer.Option(help="Share of the subjects held out for measuring.")] = 0.1,
    precision: Annotated[str, typer.Option(help="full (float32) or mixed (bfloat16 where it is safe).")] = "full",
    seed: Annotated[int, typer.Option(help="Seed of weights, order and who is held out.")] = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Train a ResNet to predict an attribute, for: transect audit classifier:OUT. Rerun the command to resume."""
    from transect.jobs.train.run import ClassifierOptions, train_classifier

    options = ClassifierOptions(arch, size, epochs, batch, balanced, weights, held_out, precision)
    result = train_classifier(
        source, label, out, schedule=schedule, count=count, population=population, seed=seed, device=device,
        quiet=json, options=options,
    )  # fmt: skip
    show(result, json)
