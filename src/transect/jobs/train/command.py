"""`transect train`: GANs and their encoders; a training that was stopped goes on when it is called again."""

from __future__ import annotations

import json as json_format
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from transect.console.printing import table
from transect.errors import BadInput

train = typer.Typer(
    name="train", help="Train generators, encoders and classifiers; a stopped training goes on.", no_args_is_help=True
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]
Device = Annotated[str, typer.Option(help="Where it computes: cpu, cuda, cuda:1 and so on.")]
Seed = Annotated[int, typer.Option(help="Seed of weights, order and latents.")]
Every = Annotated[int, typer.Option(help="Images between kept states and sample sheets.")]
Batch = Annotated[int, typer.Option(help="Images a step.")]


@train.command()
def gan(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="faceworld, or READER:PATH as audit --dataset has it."),
    ],
    out: Annotated[Path, typer.Option(help="The folder of states, metrics.jsonl, sheets and generator.safetensors.")],
    arch: Annotated[str, typer.Option(help="stylegan2, progressive (WGAN-GP) or conditional.")] = "stylegan2",
    size: Annotated[int, typer.Option(help="Width and height in pixels: a power of two.")] = 64,
    images: Annotated[
        int,
        typer.Option(help="Images shown in all; more go on with a finished training of stylegan2, or with --grow."),
    ] = 1_000_000,
    batch: Batch = 16,
    count: Annotated[int, typer.Option(help="FaceWorld: how many pictures are drawn; a data set gives all.")] = 50_000,
    population: Annotated[str, typer.Option(help="FaceWorld: a shipped population or a TOML file.")] = "balanced",
    condition: Annotated[
        list[str] | None,
        typer.Option(help="Conditional: an attribute with levels, or NAME=CUT,CUT for one with a range; repeat."),
    ] = None,
    grow: Annotated[
        str | None, typer.Option(help="SIZE:IMAGES,… of smaller sizes first; default: StyleGAN2 none, others from 4.")
    ] = None,
    fade: Annotated[
        int | None, typer.Option(help="With --grow: images in which a size comes in; default a quarter of a phase.")
    ] = None,
    z_dim: Annotated[int | None, typer.Option(help="Of the prior; default 512, 128 or 100.")] = None,
    channels: Annotated[int, typer.Option(help="A block of size s has this over s channels.")] = 16_384,
    max_channels: Annotated[int, typer.Option(help="The most channels of a block.")] = 512,
    mapping_layers: Annotated[int, typer.Option(help="StyleGAN2: layers from z to w.")] = 8,
    precision: Annotated[str, typer.Option(help="full (float32) or half (bfloat16 convolutions).")] = "full",
    rate: Annotated[float | None, typer.Option(help="Learning rate; default 0.0025, progressive 0.001.")] = None,
    r1: Annotated[float | None, typer.Option(help="Weight of R1; StyleGAN2 default: by size and batch.")] = None,
    path: Annotated[float, typer.Option(help="StyleGAN2: weight of the path length penalty; 0 for none.")] = 2.0,
    mixing: Annotated[float, typer.Option(help="StyleGAN2: share of pictures made of two latents.")] = 0.9,
    half_life: Annotated[float, typer.Option(help="Of the averaged generator's weights, in images.")] = 10_000.0,
    mirror: Annotated[bool, typer.Option("--mirror", help="Show half of the pictures mirrored.")] = False,
    every: Every = 20_000,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Train a generative adversarial network. On several GPUs: accelerate launch -m transect train gan …"""
    from transect.training.gans import Plan, check, fit
    from transect.training.pictures import Pictures, open_source
    from transect.training.processes import Processes

    plan = Plan(
        arch, images, batch, seed, z_dim, channels, max_channels, mapping_layers, precision, grow, fade, rate, r1, path,
        mixing, half_life, mirror, tuple(condition or ()),
    )  # fmt: skip
    opened = open_source(source, size, population, device)
    check(plan, size, opened.attributes)
    crew = Processes.found(device)
    data = Pictures(opened, count if source == "faceworld" else len(opened), out / "pictures", quiet=not crew.first)
    made = fit(plan, data, out, crew, every=every)
    if crew.first:
        _show({"generator": str(made)}, json)


@train.command()
def encoder(
    generator: Annotated[
        str, typer.Argument(metavar="GENERATOR", help="The safetensors file of a generator, or reference: what ships.")
    ],
    out: Annotated[Path, typer.Option(help="The folder of states, metrics.jsonl, sheets and encoder.safetensors.")],
    space: Annotated[str, typer.Option(help="Which latent it answers: z, or w of a StyleGAN2.")] = "z",
    images: Annotated[
        int, typer.Option(help="Images shown in all. The rate falls to 0 over them: another number, another training.")
    ] = 200_000,
    batch: Batch = 32,
    size: Annotated[int, typer.Option(help="Pictures are averaged down to this many pixels: a power of two.")] = 64,
    rate: Annotated[float, typer.Option(help="Learning rate at the start.")] = 0.002,
    every: Every = 20_000,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Train the encoder E of a generator on what it makes: min E‖z − E(G(z))‖ (Denton et al. 2019)."""
    from transect.generators import load
    from transect.training.encoder import EncoderRecipe, Generated
    from transect.training.loop import Run
    from transect.training.loop import train as run
    from transect.training.processes import started

    if size < 16 or size & (size - 1):
        raise BadInput(f"size: expected a power of two from 16, got {size}; choose 64")
    if batch < 2:
        raise BadInput(f"--batch: expected at least 2, got {batch}; batches are normalised together")
    if not (math.isfinite(rate) and rate > 0):
        raise BadInput(f"--rate: expected a number above 0, got {rate}; change it")
    if (count := started()) > 1:
        raise BadInput(f"train encoder: expected one process, got {count}; start it without accelerate launch")
    Run(images, batch, out, {}, every, seed)  # numbers are told before the generator is read
    made = load(generator, device=device)
    recipe = EncoderRecipe(made, images, space, size, rate=rate, seed=seed)
    facts = {**getattr(made, "facts", {}), **getattr(made, "options", {})}
    spec = {"generator": facts, "space": space, "size": size, "images": images, "batch": batch, "seed": seed}
    if rate != EncoderRecipe.rate:  # which folders without this option have
        spec["rate"] = rate
    plan = Run(images, batch, out, spec, every, seed, device, result="encoder.safetensors")
    _show({"encoder": str(run(recipe, Generated(), plan))}, json)


def _show(found: dict[str, Any], json: bool) -> None:
    if json:
        print(json_format.dumps(found))
    else:
        table(["what", "where"], [[name, value] for name, value in found.items()], as_json=False)
