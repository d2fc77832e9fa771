"""Every row's head, made once where rows share it; windows that hold parts of it, and tiles of rows drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.canvas import CENTER_Y, COLUMNS, HALF_EXTENT, ROWS, Canvas, draw_lattices
from transect.generators.faceworld.rows import Pick, Rows, some
from transect.generators.photographs.drawn.head import Frame, frame_of, locate, read_maps, smooth_normal
from transect.generators.photographs.drawn.relief_maps import face_maps
from transect.generators.photographs.drawn.skin import Illumination

SOCKETS, BROWS, EYES = (-0.66, 0.40, 0.98), (-0.52, -0.12, 0.64), (-0.44, 0.16, 0.66)
NOSE, MOUTH = (-0.05, 0.60, 0.38), (0.12, 0.98, 0.56)
"""Heights on the face between which the features lie, and how far from its middle, with room for soft shades.
"""

EARS, EAR = (-0.36, 0.60), (0.25, 0.98)
"""Heights on the upright head between which ears and what hangs from them lie, and distances from the midline."""


Edges: TypeAlias = Sequence[float | Float[np.ndarray, " b"]]
"""The lower and the upper limit of a coordinate, for all rows or for each."""


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of pixels."""

    rows: slice
    columns: slice

    def of(self, image: Tensor) -> Tensor:
        """That part of [..., h, w], a view."""
        return image[..., self.rows, self.columns]


WHOLE = Window(slice(None), slice(None))


@dataclass(frozen=True, slots=True)
class Windows:
    """head, ears (left and right): in the picture; the others within the head's window."""

    head: Window
    ears: tuple[Window, Window]
    sockets: Window
    brows: Window
    eyes: Window
    nose: Window
    mouth: Window


def windows_of(frame: Frame, p: Rows) -> Windows:
    """The windows that hold every head of the frame."""
    head = _around(frame.head > 0)
    aside, y, shown = head.of(frame.face.x).abs(), head.of(frame.face.y), head.of(frame.head) > 0
    features = (SOCKETS, BROWS, EYES, NOSE, MOUTH)
    inner = [_around(shown & (y > low) & (y < high) & (aside < half_width)) for low, high, half_width in features]
    left, right = (upright_box(frame.canvas, p, sorted((side * EAR[0], side * EAR[1])), EARS) for side in (-1, 1))
    return Windows(head, (left, right), *inner)


def upright_box(canvas: Canvas, p: Rows, across: Edges, down: Edges) -> Window:
    """Where upright coordinates U and V lie between two numbers each, in any of the rows, under any roll."""
    sine, cosine, distance = p.host("sin_roll", "cos_roll", "distance").astype(np.float64)
    X = np.concatenate([(cosine * u - sine * v) / distance for u in across for v in down])
    Y = np.concatenate([(cosine * v + sine * u - CENTER_Y) / distance for u in across for v in down])
    rows, columns = (
        _between(axis, canvas.size, length, step)
        for axis, length, step in ((Y, canvas.height, ROWS), (X, canvas.width, COLUMNS))
    )
    return Window(rows, columns)


def _between(positions: Float[np.ndarray, " n"], size: int, length: int, step: int) -> slice:
    """The pixels of an axis from the least of some positions, as from distance 1, to the greatest, in whole steps."""
    pixels = (positions + HALF_EXTENT) * (size / (2 * HALF_EXTENT))
    first, last = int(np.floor(pixels.min() / step)) * step, int(np.ceil(pixels.max() / step)) * step
    first = min(max(first, 0), length - step)
    return slice(first, min(max(last, first + step), length))


def _around(mask: Tensor) -> Window:
    """The smallest window with borders as canvas.py has them that holds masks [b, h, w]."""
    together = mask.any(0)
    rows, columns = (together.any(dim).nonzero() for dim in (1, 0))
    if len(rows) == 0:
        return Window(slice(0, 0), slice(0, 0))
    return Window(_rounded(rows, ROWS), _rounded(columns, COLUMNS))


def _rounded(indices: Tensor, step: int) -> slice:
    first, last = int(indices[0]), int(indices[-1])
    return slice(first // step * step, (last // step + 1) * step)


def below(frame: Frame, height: float) -> Window:
    """The rows of a picture whose centers lie at that height or below it, and a few more."""
    return _around(height <= frame.Y)


def cut(frame: Frame, window: Window, pick: Pick | None = None) -> Frame:
    """The frame of the pixels of a window, and of some rows; its canvas and tables are still the whole picture's."""
    planes = window.of(frame.planes if pick is None else some(frame.planes, pick)).contiguous()
    tables, pixel = (grid if pick is None else some(grid, pick) for grid in (frame.tables, frame.pixel))
    return frame_of(frame.canvas, pixel, planes, tables)


def cut_light(light: Illumination, window: Window) -> Illumination:
    """The light on the pixels of a window."""
    return Illumination(window.of(light.diffuse).contiguous(), window.of(light.highlight).contiguous())


SHAPE = (
    *IDENTITY,
    *("face_shape", "face_width", "age", "old", "young", "smile", "mouth_open", "makeup"),
    *("eye_wide", "eye_tall", "yaw", "pitch", "roll", "distance"),
)
"""What the head's shape, pose and slow shades depend on, in addition to the seed."""


class Heads(NamedTuple):
    """Every row's frame, the windows that hold all, and the skin's details [b, 10, h, w] in the head's window."""

    frame: Frame
    windows: Windows
    details: Tensor


def same_heads(
    p: Rows, seeds: Sequence[int] | Int[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " b"]]:
    """The first row of each different head, and for every row the number of its head."""
    keys = np.concatenate([p.host(*SHAPE).T, np.asarray(seeds, dtype=np.int64).view(np.float32).reshape(-1, 2)], axis=1)
    numbers: dict[bytes, int] = {}
    of_row = np.array([numbers.setdefault(key.tobytes(), len(numbers)) for key in np.ascontiguousarray(keys)])
    return np.unique(of_row, return_index=True)[1], of_row


def head_maps(p: Rows, seeds: Sequence[int], canvas: Canvas) -> Tensor:
    """The maps of the face of each row: see relief_maps.face_maps."""
    values = dict(zip(SHAPE, p.host(*SHAPE).astype(np.float64), strict=True))
    return face_maps(values, draw_lattices(seeds, canvas.device), canvas.pixel)


def shape_heads(p: Rows, seeds: Sequence[int], canvas: Canvas) -> Heads:
    """The heads of the rows; each different one is computed once."""
    first, of_row = same_heads(p, seeds)
    if len(first) == len(of_row):
        return _shape(p, seeds, canvas)
    frame, windows, details = _shape(p.take(torch.from_numpy(first)), [seeds[row] for row in first], canvas)
    pick = torch.from_numpy(of_row)
    return Heads(frame.take(pick), windows, some(details, pick))


def _shape(p: Rows, seeds: Sequence[int], canvas: Canvas) -> Heads:
    maps = head_maps(p, seeds, canvas)
    frame = locate(p, canvas, lambda x, y: read_maps(maps[:, :1], x, y).squeeze(1))
    windows = windows_of(frame, p)
    face = cut(frame, windows.head).face
    details = torch.cat([torch.stack(smooth_normal(frame.tables, face), 1), read_maps(maps[:, 1:], face.x, face.y)], 1)
    return Heads(frame, windows, details)
