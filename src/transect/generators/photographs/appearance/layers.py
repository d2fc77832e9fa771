"""What lies before a photograph: how much light it lets through, what it adds, and the noise of what it adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.photographs.appearance.faces import box_of
from transect.generators.photographs.appearance.scene_light import pixels_of, scene_of

_HIDDEN: Final = 1 / 256


@final
@dataclass(frozen=True, slots=True)
class Layer:
    """What lies before a photograph, in rows and columns of it. passed, added: float32 [h, w, 3]; noise: [h, w, 3]."""

    rows: slice
    columns: slice
    passed: Float[np.ndarray, "h w 3"]
    added: Float[np.ndarray, "h w 3"]
    noise: Float[np.ndarray, "h w 3"]

    def touched(self) -> Bool[np.ndarray, "h w"]:
        """The pixels that it changes."""
        return np.asarray(((self.passed < 1) | (self.added > 0)).any(axis=2))


def laid(pixels: UInt8[np.ndarray, "h w 3"], layer: Layer, gain: float = 1.0) -> UInt8[np.ndarray, "_ _ 3"]:
    """The pixels of `layer.rows`, `layer.columns` behind the layer, which is lit or exposed `gain` times as much."""
    scene = scene_of(pixels) * layer.passed + layer.added * np.float32(gain)
    noisy = pixels_of(scene).astype(np.float32) + layer.noise
    shown = np.rint(np.clip(noisy, 0, 255)).astype(np.uint8)
    untouched = ~layer.touched()
    shown[untouched] = pixels[untouched]
    return np.asarray(shown)


def layer_of(passed: Float[np.ndarray, "h w 3"], added: Float[np.ndarray, "h w 3"], noise: float, key: int) -> Layer:
    """What lets through and adds so much light over a whole photograph; where it hides it, it has noise of its own.

    noise: standard deviation in values of sRGB; key: of the numbers drawn. Both arrays are overwritten.
    """
    untouched = np.asarray((1 - passed < _HIDDEN).all(axis=2) & (added < _HIDDEN).all(axis=2))
    passed[untouched], added[untouched] = 1, 0
    rows, columns = box_of(~untouched)
    passed, added = (np.ascontiguousarray(part[rows, columns]) for part in (passed, added))
    draw = np.random.Generator(np.random.Philox(key)).standard_normal(passed.shape[:2], dtype=np.float32)
    own = np.clip(1 - passed, 0, 1) * noise * draw[:, :, None]
    return Layer(rows, columns, passed, np.maximum(added, 0), own)
