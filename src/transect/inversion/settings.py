"""The options of `transect invert encode` and `transect invert`: most are the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, final

import numpy as np

from transect.engines.settings import EngineSettings
from transect.options import Option
from transect.records import Images

PLATEAU: Final = 0.01

ImagesToRead = Annotated[
    str | Path | np.ndarray | Images,
    Option(
        "A folder of image files, a run folder, or a data set: READER:PATH (transect list datasets).", str, opens="data"
    ),
]
CodesFolder = Annotated[
    str | Path, Option("The folder of latents, reconstructions, summary, sheet and page.", opens="write")
]
Fitted = Annotated[bool, Option("Crop images of a different size to the central square, and resize it.")]
Device = Annotated[str, Option("Where images are computed: cpu, cuda, cuda:1, …", opens="value")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeOptions:
    """Settings that few encodings change.

    encoder_samples: images of the generator that an encoder is fitted on where no file of one is given. distance:
    features (built-in), vgg16 (with `weights`, and `heads` for LPIPS) or pixels. engine: where parts are made; no
    result depends on it.
    """

    encoder_samples: Annotated[int, Option("Images of the generator that an encoder is fitted on.")] = 2_000
    distance: Annotated[
        str,
        Option(
            "Perceptual distance: features (built-in, trained on FaceWorld), vgg16 (with --weights), pixels.",
            opens="value",
        ),
    ] = "features"
    weights: Annotated[
        Path | None, Option("VGG16 in torchvision's layout, or another feature network.", opens="model")
    ] = None
    heads: Annotated[
        Path | None,
        Option("LPIPS's linear heads for VGG16; without them all channels weigh the same.", opens="model"),
    ] = None
    engine: EngineSettings = field(default_factory=EngineSettings)

    @property
    def files(self) -> tuple[Path | None, Path | None]:
        """Those of the distance."""
        return self.weights, self.heads


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InvertOptions(EncodeOptions):
    """Settings that few inversions change, with those of `EncodeOptions`.

    pixel_weight: of the mean squared difference of pixels next to the distance. precision: full, or mixed (first half
    of the steps in bfloat16). batch: images at a time. plateau: an image stops where its objective fell by less than
    this share in 20 steps of the second half; 0 takes all steps. marks, size: of `transect invert --generator
    faceworld`, which calls `transect.fit_twins` with them.
    """

    pixel_weight: Annotated[
        float, Option("Weight of the pixels' mean squared difference (0..1) in the sum; 0 as published.")
    ] = 1.0
    precision: Annotated[
        Literal["full", "mixed"],
        Option("full, or mixed: the first half of the steps in bfloat16, faster if the processor supports it."),
    ] = "full"
    batch: Annotated[int, Option("Images at a time; more is faster and takes more memory.", least=1)] = 16
    plateau: Annotated[
        float,
        Option(
            "In the second half of its steps an image stops once 20 of them lower its objective by less than this "
            "share; 0: never."
        ),
    ] = PLATEAU
    marks: Annotated[
        str | None,
        Option("For faceworld: the finder of the 68 points, network (default), dataset or dlib:FILE.", opens="model"),
    ] = None
    size: Annotated[
        int | None, Option("For faceworld: width and height of the twins' pictures in pixels; default 128.")
    ] = None
