"""The nearest images of a few images by each distance: Fig. B2 of Singh et al. 2021, as numbers and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, Int, UInt8

from transect.datasets.files import pixels_of
from transect.datasets.parquet import PictureColumn
from transect.jobs.neighbours.numbers import Example, Nearest, NearImage
from transect.runs.pictures import png

EXAMPLES: Final = 4
"""Images whose neighbours are shown."""
SHOWN: Final = 4
"""Neighbours of each by each distance, as many as Fig. B2 has."""
_SIDE: Final = 96
_GAP: Final = 8
_PAPER: Final = 255


def chosen(queries: Int[np.ndarray, " q"] | None, images: int, seed: int) -> list[int]:
    """At most four of the images whose neighbours are looked up, drawn by the seed; in order."""
    rows = np.arange(images) if queries is None else queries
    drawn = np.random.default_rng(seed).permutation(len(rows))[:EXAMPLES]
    return sorted(int(row) for row in rows[drawn])


def nearest(name: str, values: Float[np.ndarray, "n d"], row: int, k: int) -> Nearest:
    """The nearest images of one image by one distance; none where the image has no features.

    Distances are divided by that to the nearest image, as in the figure; NaN where that is 0.

    >>> near = nearest("line", np.array([[0.0], [1.0], [3.0]]), 0, k=2)
    >>> [(image.row, image.ratio) for image in near.images]
    [(1, 1.0), (2, 3.0)]
    """
    apart = np.sqrt(((values - values[row]) ** 2).sum(axis=1))
    apart = np.where(np.isfinite(apart), apart, np.inf)
    apart[row] = np.inf
    order = np.argsort(apart, kind="stable")[: min(k, SHOWN)]
    near = order[np.isfinite(apart[order])]
    first = float(apart[near[0]]) if len(near) else np.nan
    ratios = apart[near] / first if first > 0 else np.full(len(near), np.nan)
    return Nearest(name, tuple(NearImage(*pair) for pair in zip(near.tolist(), ratios.tolist(), strict=True)))


def sheet(example: Example, pictures: PictureColumn) -> bytes:
    """A PNG: a row for each distance, the image itself at the left, its neighbours from the nearest to the farthest.

    Raises BadInput for a picture that cannot be read.
    """
    lines = [[example.row, *(image.row for image in each.images)] for each in example.nearest]
    wide = max(map(len, lines))
    step = _SIDE + _GAP
    paper = np.full((step * len(lines) - _GAP, step * wide, 3), _PAPER, dtype=np.uint8)
    for down, line in enumerate(lines):
        for across, row in enumerate(line):
            left = across * step + (_GAP if across else 0)
            paper[down * step : down * step + _SIDE, left : left + _SIDE] = _picture(pictures, row)
    return png(paper)


def _picture(pictures: PictureColumn, row: int) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a square; grey where the row has none."""
    stored = pictures.of(row)
    if stored is None:
        return np.full((_SIDE, _SIDE, 3), 128, dtype=np.uint8)
    return pixels_of(stored, f"picture of row {row}", _SIDE)


def table_of(example: Example) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per distance, and each neighbour's row with its distance."""
    most = max(len(each.images) for each in example.nearest)
    ranks = ["nearest", "second", "third", "fourth"][:most]
    rows = [[each.distance, *(_text(image) for image in each.images)] for each in example.nearest]
    return ["distance", *ranks], [row + [""] * (most + 1 - len(row)) for row in rows]


def _text(image: NearImage) -> str:
    return f"row {image.row}" + (f" ({image.ratio:.2f})" if np.isfinite(image.ratio) else "")
