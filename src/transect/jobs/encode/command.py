"""`transect encode`: the latents of photographs by an encoder, without a search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Device, Engine, Json, Workers
from transect.console.results import Rerun, keep, show

RERUN = Rerun(
    values="space encoder-samples fit distance device",
    data="images",
    models="generator encoder weights heads",
)


def encode(
    context: typer.Context,
    generator: Annotated[str, typer.Option(help="reference, or a safetensors file of a StyleGAN2 or progressive GAN.")],
    images: Annotated[
        str, typer.Option(help="A folder of image files, a run folder, or a data set: READER:PATH (transect datasets).")
    ],
    out: Annotated[Path, typer.Option(help="The folder of latents, reconstructions, summary, sheet and page.")],
    encoder: Annotated[
        Path | None,
        typer.Option(help="A file of `transect train encoder`; without one, a regression is fitted."),
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="z, w or w+; default: the encoder's own, of a fitted one w where there is one.")
    ] = None,
    encoder_samples: Annotated[int, typer.Option(help="Images of the generator that an encoder is fitted on.")] = 2000,
    fit: Annotated[
        bool, typer.Option("--fit", help="Cut the middle square of images of another size, and resize it.")
    ] = False,
    distance: Annotated[
        str, typer.Option(help="Perceptual distance that is reported: features, vgg16 (with --weights), pixels.")
    ] = "features",
    weights: Annotated[
        Path | None, typer.Option(help="VGG16 in torchvision's layout, or another feature network.")
    ] = None,
    heads: Annotated[Path | None, typer.Option(help="LPIPS's linear heads for VGG16.")] = None,
    device: Device = "cpu",
    engine: Engine = "local",
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Find the latents of photographs by an encoder of the generator, without a search.

    Writes what `transect invert` writes, so that match, neighbours, directions fit and audit take it: latents, a row
    per image with the distance that was reached, a sheet, a page. Rerun the command to resume; the output is
    byte-identical.
    """
    from transect.engines.settings import EngineSettings
    from transect.jobs.encode.run import EncodeOptions
    from transect.jobs.encode.run import encode as run

    options = EncodeOptions(encoder_samples, distance, weights, heads, EngineSettings(engine, workers))
    result = run(
        images, generator, out, encoder=encoder, space=space, fit=fit, device=device, quiet=json, options=options
    )
    page = result.report(out)
    keep(context, out, RERUN)
    show(result, json, result.headline(), result.rows(), *result.lines(), page=page)
