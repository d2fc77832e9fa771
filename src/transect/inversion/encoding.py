"""Images ► codes by an encoder alone, E(x) of Denton et al. 2019, arXiv:1906.06439, equation 2, and what they show.

Each image is encoded and rendered alone, so that its code does not depend on the images beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from jaxtyping import Float, UInt8

from transect.inversion.encoder import RidgeEncoder, TrainedEncoder
from transect.inversion.protocol import Invertible
from transect.perceptual.distance import Appearance, distance
from transect.perceptual.features import as_tensor

NOT_FINITE: Final = "the encoder's code, or the image of it, is not finite"


@final
@dataclass(frozen=True, slots=True)
class Encoded:
    """Codes float32 [n, ...] and what their images are like, NaN where an image failed; failures say why, "" if not.

    perceptual: distance between image and reconstruction; pixels: mean squared difference of values in 0..1.
    reconstructions: black where an image failed.
    """

    codes: Float[np.ndarray, "n ..."]
    perceptual: Float[np.ndarray, " n"]
    pixels: Float[np.ndarray, " n"]
    reconstructions: UInt8[np.ndarray, "n h w 3"]
    failures: tuple[str, ...]


def encode(
    generator: Invertible,
    space: str,
    encoder: RidgeEncoder | TrainedEncoder,
    appearance: Appearance,
    pixels: UInt8[np.ndarray, "n h w 3"],
    failures: Sequence[str],
    device: str = "cpu",
) -> Encoded:
    """The codes of images, and how near their reconstructions come; no step of a search is made.

    pixels: of the generator's size. failures: why an image could not be read, "" where it was; its pixels do not count.
    """
    shape, count = tuple(generator.codes(space).mean.shape), len(pixels)
    codes, reconstructions = np.full((count, *shape), np.nan, np.float32), np.zeros_like(pixels)
    perceptual, square, reasons = np.full(count, np.nan), np.full(count, np.nan), list(failures)
    for row in (row for row, reason in enumerate(failures) if not reason):
        image = as_tensor(pixels[row : row + 1], device)
        with torch.no_grad():
            code = encoder(image).float()
            shown = generator.show(code, space)
            apart = float(distance(appearance, image, shown))
        if not (np.isfinite(apart) and bool(torch.isfinite(code).all())):
            reasons[row] = NOT_FINITE
            continue
        codes[row], perceptual[row] = code[0].cpu().numpy(), apart
        square[row] = float((shown - image).square().mean())
        reconstructions[row] = (shown[0] * 255).round().clamp(0, 255).byte().permute(1, 2, 0).cpu().numpy()
    return Encoded(codes, perceptual, square, reconstructions, tuple(reasons))
