"""Photographs without color: what needs colors cannot be read from them."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import UInt8

COLORLESS: Final = "photographs without color"
_SPREAD: Final = 6
"""Difference of a pixel's channels up to which it may be grey that a JPEG file stored as color."""
_COLORED: Final = 0.01
"""Share of pixels with more, from which a photograph has color."""


def is_grey(pixels: UInt8[np.ndarray, "h w 3"]) -> bool:
    """Whether nearly all pixels have channels that are nearly equal.

    >>> is_grey(np.full((4, 4, 3), 90, np.uint8)), is_grey(np.full((4, 4, 3), (120, 90, 80), np.uint8))
    (True, False)
    """
    spread = pixels.max(axis=2).astype(np.int64) - pixels.min(axis=2)
    return bool((spread > _SPREAD).mean() < _COLORED)
