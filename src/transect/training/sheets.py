"""Contact sheets: pictures in rows, as PNG."""

from __future__ import annotations

import io

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor


def sheet(pictures: Float[Tensor, "b 3 h w"], across: int = 8) -> bytes:
    """The pictures, in -1..1, left to right and down; the last row is filled with grey."""
    pixels = (pictures.float().cpu() * 127.5 + 127.5).clamp(0, 255).round().byte().permute(0, 2, 3, 1).numpy()
    return png(tiled(pixels, across))


def tiled(pixels: UInt8[np.ndarray, "b h w 3"], across: int) -> UInt8[np.ndarray, "H W 3"]:
    """One picture of many.

    >>> tiled(np.zeros((3, 2, 2, 3), dtype=np.uint8), across=2).shape
    (4, 4, 3)
    """
    b, h, w, _ = pixels.shape
    rows = -(-b // across)
    whole = np.full((rows * across, h, w, 3), 128, dtype=np.uint8)
    whole[:b] = pixels
    return whole.reshape(rows, across, h, w, 3).swapaxes(1, 2).reshape(rows * h, across * w, 3)


def png(pixels: UInt8[np.ndarray, "h w 3"]) -> bytes:
    """The picture as a PNG file."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()
