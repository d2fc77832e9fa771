"""`transect invert`: which latents of a generator render these images?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Device, Engine, Json, Workers, on_command_line
from transect.console.results import Rerun, keep, show
from transect.errors import BadInput

_OF_TWINS = {"generator", "images", "out", "marks", "size", "engine", "workers", "json"}
"""Options that a run of twins has."""

RERUN = Rerun(
    values="space penalty steps plateau distance pixel-weight start encoder-samples precision fit batch size device",
    data="images",
    models="generator weights heads encoder marks",
)


def invert(
    context: typer.Context,
    generator: Annotated[
        str,
        typer.Option(
            help="reference, a safetensors file of a StyleGAN2 or progressive GAN, or faceworld, for rendered twins."
        ),
    ],
    images: Annotated[
        str, typer.Option(help="A folder of image files, a run folder, or a data set: READER:PATH (transect datasets).")
    ],
    out: Annotated[Path, typer.Option(help="The folder of latents, reconstructions, summary, sheet and page.")],
    space: Annotated[
        str, typer.Option(help="w: one w an image; w+: one w a layer, held together by --penalty; z: the prior's.")
    ] = "w+",
    penalty: Annotated[
        float | None,
        typer.Option(help="λ of Singh et al. 2021, equation 1, in w+; 0 leaves the layers free; default 0.1."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Steps of gradient descent for each image, at most; default 300, from an encoder 150."),
    ] = None,
    plateau: Annotated[
        float,
        typer.Option(
            help="In the second half of its steps an image stops once 20 of them lower its objective by less than this "
            "share; 0: never."
        ),
    ] = 0.01,
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
    marks: Annotated[
        str | None,
        typer.Option(help="Of faceworld: who finds the 68 points, as network (default), dataset or dlib:FILE."),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Of faceworld: width and height of the twins' pictures in pixels; default 128.")
    ] = None,
    device: Device = "cpu",
    engine: Engine = "local",
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Find the latents of a generator whose images look like these, by optimisation.

    Writes latents.safetensors, inversions/*.parquet (a row per image), a sheet, a page. Rerun the command to resume;
    the output is byte-identical. With --generator faceworld it fits a rendered twin to each photograph, and writes
    both pictures of each pair to ask a model.
    """
    from transect.engines.settings import EngineSettings
    from transect.jobs.invert.run import InvertOptions
    from transect.jobs.invert.run import invert as run
    from transect.jobs.invert.twins import GENERATOR, fit_twins

    if generator == GENERATOR:
        _only_of_twins(context)
        found = fit_twins(
            images, out, marks=marks or "network", size=size or 128, quiet=json, engine=EngineSettings(engine, workers)
        )
        page = found.report(out)
        keep(context, out, RERUN)
        show(found, json, found.headline(), found.rows(), *found.lines(), page=page)
        return
    for name, value in (("--marks", marks), ("--size", size)):
        if value is not None:
            raise BadInput(f"{name} is of --generator {GENERATOR}, got {generator}; leave it out")
    options = InvertOptions(
        distance=distance, weights=weights, heads=heads, pixel_weight=pixel_weight, encoder_samples=encoder_samples,
        precision=precision, batch=batch, plateau=plateau, engine=EngineSettings(engine, workers),
    )  # fmt: skip
    result = run(
        images, generator, out, space=space, penalty=penalty, steps=steps, start=start,
        encoder=encoder, fit=fit, device=device, quiet=json, options=options,
    )  # fmt: skip
    page = result.report(out)
    keep(context, out, RERUN)
    show(result, json, result.headline(), result.rows(), *result.lines(), page=page)


def _only_of_twins(context: typer.Context) -> None:
    """Raises BadInput for an option that a search of codes alone has."""
    others = sorted({*on_command_line(context, context.params)} - _OF_TWINS)
    if others:
        name = others[0].replace("_", "-")
        raise BadInput(f"--{name} is of a search for codes, got --generator faceworld; leave it out")
