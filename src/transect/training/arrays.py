"""Pixels in memory as pictures to train on, with a class for each where a classifier is trained."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from transect.errors import BadInput
from transect.records import Attribute, Images, Kind, Latents

LABEL: Final = "label"
"""The attribute that holds the classes."""
_MOST_CLASSES: Final = 1000


@final
class PixelSource:
    """Pictures uint8 [n, h, h, 3] by row. classes: an optional class per row, 0 to k - 1, or -1 for none."""

    def __init__(self, pixels: np.ndarray | Images, classes: Sequence[int] | np.ndarray | None = None) -> None:
        self.pixels = (pixels if isinstance(pixels, Images) else Images(pixels)).pixels
        _, height, width, _ = self.pixels.shape
        if height != width:
            raise BadInput(f"pictures: expected as high as wide, got {height} x {width} pixels; cut or resize them")
        self.classes = None if classes is None else _check_classes(np.asarray(classes), len(self.pixels))

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""
        return int(self.pixels.shape[1])

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """`label` where there are classes."""
        if self.classes is None:
            return ()
        levels = tuple(str(number) for number in range(int(self.classes.max()) + 1))
        kind: Kind = "binary" if len(levels) == 2 else "categorical"
        return (Attribute(LABEL, kind, "the class of each picture", levels=levels),)

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The rows of those numbers."""
        rows = np.asarray(seeds, dtype=np.int64)
        return Latents(rows, rows[:, None].astype(np.float64), "row")

    def read(self, latents: Latents) -> pa.Table:
        """Their classes, NaN where there is none."""
        if self.classes is None:
            return pa.table({})
        column = self.classes[latents.seeds].astype(np.float64)
        return pa.table({LABEL: np.where(column < 0, np.nan, column)})

    def render(self, latents: Latents) -> Images:
        """Their pictures."""
        return Images(self.pixels[latents.seeds])

    def describe(self) -> dict[str, object]:
        """A digest of pixels and classes."""
        digest = hashlib.sha256(np.ascontiguousarray(self.pixels).tobytes())
        digest.update(b"" if self.classes is None else self.classes.tobytes())
        return {"name": "pixels", "image_size": self.image_size, "count": len(self), "sha256": digest.hexdigest()}


def _check_classes(classes: np.ndarray, rows: int) -> Int[np.ndarray, " n"]:
    if classes.shape != (rows,) or classes.dtype.kind not in "biu":
        raise BadInput(f"label: expected {rows} whole numbers, got {classes.dtype} {list(classes.shape)}")
    numbers = classes.astype(np.int64)
    if numbers.min() < -1 or not 1 <= numbers.max() < _MOST_CLASSES:
        raise BadInput(f"label: expected classes 0, 1, ... (-1 for none), got {numbers.min()} to {numbers.max()}")
    return numbers
