"""`transect invert`: which latents of a generator stand for these images?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer


def invert(
    generator: Annotated[str, typer.Option(help="reference, or a safetensors file of a StyleGAN2 or progressive GAN.")],
    images: Annotated[Path, typer.Option(help="A folder of image files, or a run folder whose images are inverted.")],
    out: Annotated[Path, typer.Option(help="The folder of latents, reconstructions, summary and sheet.")],
    space: Annotated[
        str, typer.Option(help="w: one w an image; w+: one w a layer, held together by --penalty; z: the prior's.")
    ] = "w+",
    penalty: Annotated[
        float | None,
        typer.Option(help="λ of Singh et al. 2021, equation 1, in w+: 0 leaves the layers free; default 0.1."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of gradient descent for each image.")] = 300,
    distance: Annotated[
        str,
        typer.Option(
            help="What looks alike: features (shipped, trained on FaceWorld), vgg16 (with --weights), pixels."
        ),
    ] = "features",
    weights: Annotated[
        Path | None, typer.Option(help="VGG16 in torchvision's layout, or another feature network.")
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="LPIPS's linear heads for VGG16; without, channels count alike.")
    ] = None,
    pixel_weight: Annotated[
        float, typer.Option(help="Weight of the pixels' mean square (0..1) beside the distance; 0 as published.")
    ] = 1.0,
    start: Annotated[
        str, typer.Option(help="Where the search begins: mean, or encoder (a regression fitted on the generator).")
    ] = "mean",
    encoder_samples: Annotated[int, typer.Option(help="Images of the generator that the encoder is fitted on.")] = 2000,
    encoder: Annotated[
        Path | None,
        typer.Option(help="Begin at what this file of `transect train encoder` says, in place of the regression."),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            help="full, or mixed: the first half of the steps in bfloat16, faster where the processor has it."
        ),
    ] = "full",
    fit: Annotated[
        bool, typer.Option("--fit", help="Cut the middle square of images of another size, and resize it.")
    ] = False,
    batch: Annotated[int, typer.Option(help="Images at a time; more is faster and takes more memory.")] = 16,
    device: Annotated[str, typer.Option(help="Where it computes: cpu, cuda, cuda:1 and so on.")] = "cpu",
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of lines.")] = False,
) -> None:
    """Find the latents of a generator whose images look like these, by optimisation.

    Writes latents.safetensors, inversions/*.parquet (a row per image), sheet.png. A run that was stopped goes on with
    the same command.
    """
    from transect.jobs.invert import run

    asked = run.order(
        generator,
        images,
        space=space,
        penalty=penalty,
        steps=steps,
        pixels=pixel_weight,
        distance=distance,
        weights=weights,
        heads=heads,
        start=start,
        encoder=encoder,
        samples=encoder_samples,
        precision=precision,
        fit=fit,
        batch=batch,
        device=device,
    )
    found = run.run(asked, out, quiet=json)
    print(json_format.dumps(found, indent=2, allow_nan=False) if json else "\n".join(run.lines(found)))
