"""The parts of a picture in which something can be seen: what is drawn there need not be computed elsewhere.

A window follows from the head's shape and pose, and that of hair from its length: never from what is drawn, so that it
cannot carry a setting from one part of the picture to another.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from torch import Tensor

from transect.generators.faceworld.head import CENTER_Y, Frame, Surface, picture_axes
from transect.generators.faceworld.lighting import Illumination

EYES, NOSE, MOUTH = (-0.66, 0.26), (-0.05, 0.60), (0.12, 0.98)
"""Heights on the face between which the features lie, with room for their soft shades."""

EARS = (-0.34, 0.52)
"""Heights on the upright head between which ears and what hangs from them lie."""


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of pixels."""

    rows: slice
    columns: slice

    def of(self, image: Tensor) -> Tensor:
        """That part of [..., h, w], a view."""
        return image[..., self.rows, self.columns]


@dataclass(frozen=True, slots=True)
class Windows:
    """head and ears: in the picture; eyes, nose, mouth: within the head's window."""

    head: Window
    ears: Window
    eyes: Window
    nose: Window
    mouth: Window


@functools.lru_cache(maxsize=8)
def windows_of(frame: Frame) -> Windows:
    """The windows of a head."""
    head = _around(frame.head > 0)
    y, shown = head.of(frame.face.y), head.of(frame.head) > 0
    upright = (EARS[0] < frame.V) & (EARS[1] > frame.V) & (frame.U.abs() < 0.98)
    inner = [_around(shown & (y > low) & (y < high)) for low, high in (EYES, NOSE, MOUTH)]
    return Windows(head, _around(upright), *inner)


def _around(mask: Tensor) -> Window:
    """The smallest window that holds a mask [1, h, w]."""
    rows, columns = (mask[0].any(dim).nonzero() for dim in (1, 0))
    if len(rows) == 0:
        return Window(slice(0, 0), slice(0, 0))
    return Window(slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1))


@functools.lru_cache(maxsize=64)
def below(size: int, height: float) -> Window:
    """The rows of a picture of that size whose centers lie at that height or below it."""
    return Window(slice(int((picture_axes(size) + CENTER_Y < height).sum()), size), slice(None))


def hair_window(frame: Frame, lowest: float) -> Window:
    """Where hair can be that ends at that height of the upright head, and the shade under its edge."""
    return _around(lowest > frame.V)


def cut(frame: Frame, window: Window) -> Frame:
    """The frame of the pixels of a window; its `size` and tables are still the whole picture's."""

    def part(image: Tensor) -> Tensor:
        return window.of(image).contiguous()

    face = frame.face
    surface = Surface(*(part(one) for one in (face.x, face.y, face.sine, face.cosine, face.depth, face.inside)))
    x, y, z = frame.normal
    return replace(
        frame,
        X=part(frame.X),
        Y=part(frame.Y),
        U=part(frame.U),
        V=part(frame.V),
        face=surface,
        normal=(part(x), part(y), part(z)),
        head=part(frame.head),
    )


def cut_light(light: Illumination, window: Window) -> Illumination:
    """The light on the pixels of a window."""
    return Illumination(window.of(light.diffuse), window.of(light.highlight))
