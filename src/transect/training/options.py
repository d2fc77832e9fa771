"""The options of trainings, which Python, the command line and the training itself share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, final

import numpy as np

from transect.options import Option
from transect.records import Images
from transect.training.pictures import Source

PicturesSource = Annotated[
    str | np.ndarray | Images | Source,
    Option("faceworld, or READER:PATH as in audit --dataset.", str, metavar="SOURCE", argument=True, opens="data"),
]
Population = Annotated[
    str | Path,
    Option("Where subjects are drawn from: a built-in population or a TOML file.", str, opens="data"),
]
Device = Annotated[str, Option("Where images are computed: cpu, cuda, cuda:1, …")]
Every = Annotated[int, Option("Checkpoint and sample-sheet interval, in images.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GanOptions:
    """Settings of a GAN's networks and optimisation, as the help of `transect train gan` explains them.

    z_dim: None for the published one. channels: at size s a block has channels / s of them, at most max_channels. grow,
    fade: see `transect.training.gans.growth_of`. rate, r1: None for the architecture's own. class_weight: of a
    conditional GAN's class loss, None for 1. distil, blend, teacher_weight: see
    `transect.training.distillation`; None for no teacher, half of distil, and 10. every: images between kept states and
    sample sheets.
    """

    batch: Annotated[int, Option("Images per step.", least=1)] = 16
    z_dim: Annotated[int | None, Option("Dimension of the latent prior; default 512, 128 or 100.", least=1)] = None
    channels: Annotated[
        int, Option("Channel base: a block of size s has this many channels divided by s.", least=1)
    ] = 16_384
    max_channels: Annotated[int, Option("Maximum channels per block.", least=1)] = 512
    mapping_layers: Annotated[int, Option("StyleGAN2: layers from z to w.", least=1)] = 8
    precision: Annotated[str, Option("full (float32) or half (bfloat16 convolutions).")] = "full"
    grow: Annotated[
        str | None, Option("SIZE:IMAGES,… of smaller sizes first; default: StyleGAN2 none, others from 4.")
    ] = None
    fade: Annotated[
        int | None,
        Option("With --grow: images over which a size fades in; default a quarter of a phase.", least=0),
    ] = None
    rate: Annotated[float | None, Option("Learning rate; default 0.0025, progressive 0.001.")] = None
    r1: Annotated[float | None, Option("Weight of R1; StyleGAN2 default: by size and batch.", least=0)] = None
    class_weight: Annotated[
        float | None,
        Option(
            "Conditional: weight of the class loss; default 1. A higher weight makes conditions hold sooner.", least=0
        ),
    ] = None
    distil: Annotated[
        int | None,
        Option(
            "StyleGAN2 of faceworld: images over which it first learns FaceWorld's picture of each latent.", least=1
        ),
    ] = None
    blend: Annotated[
        int | None,
        Option(
            "With --distil: images over which the adversarial loss is then phased in; default half of --distil.",
            least=0,
        ),
    ] = None
    teacher_weight: Annotated[
        float | None, Option("With --distil: weight of the distance from FaceWorld's picture; default 10.")
    ] = None
    path: Annotated[float, Option("StyleGAN2: weight of the path length penalty; 0 for none.", least=0)] = 2.0
    mixing: Annotated[float, Option("StyleGAN2: share of pictures rendered from two latents.", least=0, most=1)] = 0.9
    half_life: Annotated[float, Option("Half-life of the weights' average, in images.")] = 10_000.0
    mirror: Annotated[bool, Option("Show half of the pictures mirrored.")] = False
    every: Every = 20_000


@final
@dataclass(frozen=True, slots=True)
class ClassifierOptions:
    """Changes to a schedule, and how it is trained.

    architecture: resnet18, resnet34 or resnet50; image_size, epochs, batch, balanced: None for the schedule's. weights:
    a safetensors file with torchvision's names to start from. held_out: share of the subjects that only measure.
    precision: full or mixed (bfloat16).
    """

    architecture: Annotated[
        str | None, Option("resnet18, resnet34 or resnet50; default the schedule's.", names=("--arch",))
    ] = None
    image_size: Annotated[
        int | None, Option("Width and height in pixels; default the schedule's.", names=("--size",))
    ] = None
    epochs: Annotated[int | None, Option("Total number of epochs, spread over the schedule's rates.")] = None
    batch: Annotated[int | None, Option("Pictures per step; default the schedule's.")] = None
    balanced: Annotated[bool | None, Option("Make classes equally probable in training; default the schedule's.")] = (
        None
    )
    weights: Annotated[
        Path | None, Option("Safetensors with torchvision's names to start from; the last layer may differ.")
    ] = None
    held_out: Annotated[float, Option("Share of the subjects held out for measuring.")] = 0.1
    precision: Annotated[str, Option("full (float32) or mixed (bfloat16 where it is safe).")] = "full"
