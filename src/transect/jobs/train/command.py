"""`transect train`: GANs, their encoders, and classifiers. Rerun the command to resume."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Device, Json, Population
from transect.console.results import Block, show


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


train = typer.Typer(
    name="train", help="Train generators, encoders and classifiers. Rerun the command to resume.", no_args_is_help=True
)

Seed = Annotated[int, typer.Option(help="Seed of weights, order and latents.")]
Every = Annotated[int, typer.Option(help="Checkpoint and sample-sheet interval, in images.")]
Batch = Annotated[int, typer.Option(help="Images per step.")]


@train.command()
def gan(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="faceworld, or READER:PATH as in audit --dataset."),
    ],
    out: Annotated[Path, typer.Option(help="The folder of states, metrics.jsonl, sheets and generator.safetensors.")],
    arch: Annotated[str, typer.Option(help="stylegan2, progressive (WGAN-GP) or conditional.")] = "stylegan2",
    size: Annotated[int, typer.Option(help="Width and height in pixels: a power of two.")] = 64,
    images: Annotated[
        int,
        typer.Option(help="Images shown in all; a larger number resumes a training of stylegan2, or with --grow."),
    ] = 1_000_000,
    batch: Batch = 16,
    count: Annotated[
        int | None,
        typer.Option(
            help="Pictures that FaceWorld draws; default as many as are shown, at most 50,000. Of a data set all."
        ),
    ] = None,
    population: Population = "balanced",
    condition: Annotated[
        list[str] | None,
        typer.Option(
            help="Conditional: an attribute with levels, NAME!=none (as glasses: none or any), or NAME=CUT,CUT for one "
            "with a range; repeat."
        ),
    ] = None,
    grow: Annotated[
        str | None, typer.Option(help="SIZE:IMAGES,… of smaller sizes first; default: StyleGAN2 none, others from 4.")
    ] = None,
    fade: Annotated[
        int | None, typer.Option(help="With --grow: images over which a size fades in; default a quarter of a phase.")
    ] = None,
    z_dim: Annotated[int | None, typer.Option(help="Dimension of the latent prior; default 512, 128 or 100.")] = None,
    channels: Annotated[
        int, typer.Option(help="Channel base: a block of size s has this many channels divided by s.")
    ] = 16_384,
    max_channels: Annotated[int, typer.Option(help="Maximum channels per block.")] = 512,
    mapping_layers: Annotated[int, typer.Option(help="StyleGAN2: layers from z to w.")] = 8,
    precision: Annotated[str, typer.Option(help="full (float32) or half (bfloat16 convolutions).")] = "full",
    rate: Annotated[float | None, typer.Option(help="Learning rate; default 0.0025, progressive 0.001.")] = None,
    r1: Annotated[float | None, typer.Option(help="Weight of R1; StyleGAN2 default: by size and batch.")] = None,
    class_weight: Annotated[
        float | None, typer.Option(help="Conditional: weight of the class loss; default 1. Higher obeys sooner.")
    ] = None,
    distil: Annotated[
        int | None,
        typer.Option(
            help="StyleGAN2 of faceworld: images over which it first learns FaceWorld's picture of each latent."
        ),
    ] = None,
    blend: Annotated[
        int | None,
        typer.Option(
            help="With --distil: images over which the adversarial loss then comes in; default half of --distil."
        ),
    ] = None,
    teacher_weight: Annotated[
        float | None, typer.Option(help="With --distil: weight of the distance from FaceWorld's picture; default 10.")
    ] = None,
    path: Annotated[float, typer.Option(help="StyleGAN2: weight of the path length penalty; 0 for none.")] = 2.0,
    mixing: Annotated[float, typer.Option(help="StyleGAN2: share of pictures rendered from two latents.")] = 0.9,
    half_life: Annotated[float, typer.Option(help="Half-life of the weights' average, in images.")] = 10_000.0,
    mirror: Annotated[bool, typer.Option("--mirror", help="Show half of the pictures mirrored.")] = False,
    every: Every = 20_000,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Train a generative adversarial network. On several GPUs: accelerate launch -m transect train gan …"""
    from transect.jobs.train.result import JUDGE
    from transect.jobs.train.run import train_gan
    from transect.training.loop import is_first
    from transect.training.options import GanOptions

    options = GanOptions(
        batch=batch, z_dim=z_dim, channels=channels, max_channels=max_channels, mapping_layers=mapping_layers,
        precision=precision, grow=grow, fade=fade, rate=rate, r1=r1, class_weight=class_weight,
        distil=distil, blend=blend, teacher_weight=teacher_weight, path=path, mixing=mixing, half_life=half_life,
        mirror=mirror, every=every,
    )  # fmt: skip
    result = train_gan(
        source, out, architecture=arch, image_size=size, images=images, count=count, population=population,
        conditions=condition or (), seed=seed, device=device, options=options,
    )  # fmt: skip
    if is_first():
        blocks: list[Block] = [result.rows()]
        if result.numbers.conditions:
            blocks += [result.conditions(), JUDGE]
        show(result, json, *blocks)


@train.command()
def encoder(
    generator: Annotated[
        str, typer.Argument(metavar="GENERATOR", help="The safetensors file of a generator, or reference: what ships.")
    ],
    out: Annotated[Path, typer.Option(help="The folder of states, metrics.jsonl, sheets and encoder.safetensors.")],
    space: Annotated[str, typer.Option(help="Latent space of its output: z, or w of a StyleGAN2.")] = "z",
    images: Annotated[
        int,
        typer.Option(help="Total training images; the learning rate decays to 0 over them. Fixed when you resume."),
    ] = 200_000,
    batch: Batch = 32,
    size: Annotated[int, typer.Option(help="Pictures are averaged down to this many pixels: a power of two.")] = 64,
    rate: Annotated[float, typer.Option(help="Initial learning rate.")] = 0.002,
    every: Every = 20_000,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Train the encoder E of a generator on what it makes: min E‖z − E(G(z))‖ (Denton et al. 2019)."""
    from transect.jobs.train.run import train_encoder

    result = train_encoder(
        generator, out, space=space, images=images, batch=batch, image_size=size, rate=rate, every=every, seed=seed,
        device=device,
    )  # fmt: skip
    show(result, json)
