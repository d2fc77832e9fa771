"""Mean pictures of groups of images, such as those answered correctly and incorrectly (McDuff et al. 2019, Fig. 3).

They show what a group has in common, not why the target answered as it did.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Final

import numpy as np
from jaxtyping import Bool, UInt8

SIDE: Final = 64
"""Longest side of a mean picture, in pixels."""
MOST: Final = 512
"""Images of one mean, where not all can be read in reasonable time."""


def means(
    chosen: Bool[np.ndarray, "k n"], pictures: Iterable[tuple[int, UInt8[np.ndarray, "h w 3"]]]
) -> list[bytes | None]:
    """The mean of each group as PNG, None for a group without an image."""
    sums: list[np.ndarray | None] = [None] * len(chosen)
    for row, pixels in pictures:
        small = _reduced(pixels)
        for place in np.flatnonzero(chosen[:, row]):
            before = sums[place]
            sums[place] = small if before is None else before + small
    counts = chosen.sum(axis=1)
    return [None if total is None else _png(total / n) for total, n in zip(sums, counts, strict=True)]


def evenly(rows: Bool[np.ndarray, " n"], most: int = MOST) -> Bool[np.ndarray, " n"]:
    """At most `most` of the rows, evenly spaced in their order."""
    places = np.flatnonzero(rows)
    if len(places) > most:
        places = places[np.round(np.linspace(0, len(places) - 1, most)).astype(np.int64)]
    chosen = np.zeros(len(rows), dtype=np.bool_)
    chosen[places] = True
    return chosen


def _reduced(pixels: UInt8[np.ndarray, "h w 3"]) -> np.ndarray:
    from PIL import Image

    image = Image.fromarray(pixels)
    image.thumbnail((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float64)


def _png(mean: np.ndarray) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(np.round(mean).astype(np.uint8)).save(sink, "PNG", optimize=True)
    return sink.getvalue()
