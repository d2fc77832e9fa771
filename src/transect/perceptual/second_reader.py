"""A second reader of the reference generator's pictures, which shares nothing with the network that ships.

Edits that were optimised until the network reads them as wanted prove nothing by that network's readings: any measure
that becomes a target ceases to be a good one. This reader is a ridge regression on mean colors and on histograms of
edge directions (Dalal and Triggs 2005, doi:10.1109/CVPR.2005.177), taught with the causal model's truths and not with
the network's answers. It reads less well, and it is fooled by other things. `python docs/second_reader.py` fits it.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.records import Images
from transect.runs.tensor_files import Arrays, Facts, read_content

WEIGHTS: Final = Path(__file__).parent / "weights" / "second_reader.safetensors"
KIND: Final = "transect.second_reader"
SIDE: Final = 64
"""Width and height that it reads, in pixels."""
_COLORS, _CELLS, _ANGLES = 16, 8, 8
_GRAY: Final = (0.299, 0.587, 0.114)
_LEAST_EDGE: Final = 0.1
LEAST_QUALITY: Final = 0.3
"""R² on held-out pictures below which an attribute is not read: make-up and lipstick are too small for it."""


@final
@dataclass(frozen=True, slots=True)
class SecondReader:
    """reading = (features - mean) @ slopes + constants, by name; quality: R² on held-out pictures."""

    names: tuple[str, ...]
    mean: Float[np.ndarray, " f"]
    slopes: Float[np.ndarray, "f k"]
    constants: Float[np.ndarray, " k"]
    quality: tuple[float, ...]


@functools.lru_cache(maxsize=1)
def load() -> SecondReader:
    """The reader that ships. Raises BadInput where its file is another."""
    return read_content(
        WEIGHTS, {KIND: _parse}, expected="the second reader's file", remedy="install the package again"
    )


def _parse(arrays: Arrays, facts: Facts) -> SecondReader:
    names, quality = json.loads(facts["names"]), json.loads(facts["quality"])
    mean, slopes, constants = (np.asarray(arrays[name], dtype=np.float64) for name in ("mean", "slopes", "constants"))
    return SecondReader(tuple(names), mean, slopes, constants, tuple(quality))


def described(pixels: UInt8[np.ndarray, "n h w 3"]) -> Float[np.ndarray, "n f"]:
    """What the regression sees: mean colors of 16 x 16 places, and edges of 8 directions in each of 8 x 8 places.

    Raises BadInput for pictures of another size than 64 pixels.

    >>> described(np.zeros((2, 64, 64, 3), dtype=np.uint8)).shape
    (2, 1280)
    """
    from transect.errors import BadInput

    values = Images(pixels).pixels.astype(np.float64) / 255
    if values.shape[1:3] != (SIDE, SIDE):
        raise BadInput(f"second reader: expected pictures of {SIDE} pixels, got {values.shape[1:3]}; resize them")
    n, size = len(values), SIDE // _COLORS
    colors = values.reshape(n, _COLORS, size, _COLORS, size, 3).mean(axis=(2, 4)).reshape(n, -1)
    return np.concatenate([colors, _edges(values @ np.array(_GRAY))], axis=1)


def _edges(gray: Float[np.ndarray, "n h w"]) -> Float[np.ndarray, "n e"]:
    """The length of the gradient by its direction and place; each place in shares of its own edges."""
    down, across = np.gradient(gray, axis=(1, 2))
    length, angle = np.hypot(down, across), np.mod(np.arctan2(down, across), np.pi)
    turn = np.minimum((angle / np.pi * _ANGLES).astype(np.int64), _ANGLES - 1)
    size, n = SIDE // _CELLS, len(gray)
    of_angle = [np.where(turn == each, length, 0.0) for each in range(_ANGLES)]
    cells = np.stack([part.reshape(n, _CELLS, size, _CELLS, size).sum(axis=(2, 4)) for part in of_angle], axis=-1)
    return np.asarray(cells / (np.linalg.norm(cells, axis=-1, keepdims=True) + _LEAST_EDGE)).reshape(n, -1)


def read(pixels: UInt8[np.ndarray, "n h w 3"]) -> dict[str, Float[np.ndarray, " n"]]:
    """Attributes of pictures of the reference generator: float64 [n] by name, in the attribute's unit.

    Glasses are 1 where there are some and 0 where not. Attributes that it reads badly are not there. Each picture is
    read alone. Raises BadInput as `described`.
    """
    reader = load()
    rows = [described(pixels[index : index + 1])[0] - reader.mean for index in range(len(pixels))]
    values = np.array([row @ reader.slopes + reader.constants for row in rows]).reshape(len(rows), len(reader.names))
    columns = zip(reader.names, values.T, reader.quality, strict=True)
    return {name: column for name, column, quality in columns if quality >= LEAST_QUALITY}
