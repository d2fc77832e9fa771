"""`transect invert`: which latents of a generator render these images?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.common_options import Device, Json
from transect.console.results import show


def invert(
    generator: Annotated[str, typer.Option(help="reference, or a safetensors file of a StyleGAN2 or progressive GAN.")],
    images: Annotated[Path, typer.Option(help="A folder of image files, or a run folder whose images are inverted.")],
    out: Annotated[Path, typer.Option(help="The folder of latents, reconstructions, summary and sheet.")],
    space: Annotated[
        str, typer.Option(help="w: one w an image; w+: one w a layer, held together by --penalty; z: the prior's.")
    ] = "w+",
    penalty: Annotated[
        float | None,
        typer.Option(help="λ of Singh et al. 2021, equation 1, in w+; 0 leaves the layers free; default 0.1."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of gradient descent for each image.")] = 300,
    distance: Annotated[
        str,
        typer.Option(
            help="Perceptual distance: features (shipped, trained on FaceWorld), vgg16 (with --weights), pixels."
        ),
    ] = "features",
    weights: Annotated[
        Path | None, typer.Option(help="VGG16 in torchvision's layout, or another feature network.")
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="LPIPS's linear heads for VGG16; without, all channels weigh the same.")
    ] = None,
    pixel_weight: Annotated[
        float,
        typer.Option(help="Weight of the pixels' mean squared difference (0..1) in the sum; 0 as published."),
    ] = 1.0,
    start: Annotated[
        str, typer.Option(help="Where the search starts: mean, or encoder (a regression fitted on the generator).")
    ] = "mean",
    encoder_samples: Annotated[int, typer.Option(help="Images of the generator that the encoder is fitted on.")] = 2000,
    encoder: Annotated[
        Path | None,
        typer.Option(help="Start at the output of this trained encoder (a file of `transect train encoder`) instead."),
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
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Find the latents of a generator whose images look like these, by optimisation.

    Writes latents.safetensors, inversions/*.parquet (a row per image), sheet.png. Rerun the command to resume; the
    output is byte-identical.
    """
    from transect.jobs.invert.run import InvertOptions
    from transect.jobs.invert.run import invert as run

    options = InvertOptions(distance, weights, heads, pixel_weight, encoder_samples, precision, batch)
    result = run(
        images, generator, out, space=space, penalty=penalty, steps=steps, start=start, encoder=encoder, fit=fit,
        device=device, quiet=json, options=options,
    )  # fmt: skip
    files = f"latents: {result.numbers.latents}", f"sheet: {result.numbers.sheet}"
    show(result, json, result.headline(), result.rows(), *files)
