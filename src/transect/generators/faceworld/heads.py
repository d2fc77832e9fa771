"""The heads of a tile: where each pixel looks, the windows that hold them, and the details of their skin.

Rows of one subject under other light, tone, hair or glasses have the same head, which is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.canvas import Canvas
from transect.generators.faceworld.head import Frame, locate, smooth_normal
from transect.generators.faceworld.relief import read_maps
from transect.generators.faceworld.relief_maps import face_maps
from transect.generators.faceworld.rows import Rows, some
from transect.generators.faceworld.textures import draw_lattices
from transect.generators.faceworld.windows import Windows, cut, windows_of

SHAPE = (
    *IDENTITY,
    "face_shape",
    "face_width",
    "age",
    "old",
    "young",
    "smile",
    "mouth_open",
    "makeup",
    "eye_wide",
    "eye_tall",
    "yaw",
    "pitch",
    "roll",
    "distance",
)
"""What the head's shape, pose and slow shades depend on, in addition to the seed."""


class Heads(NamedTuple):
    """Every row's frame, the windows that hold all of them, and the skin's details in the head's window.

    details: [b, 10, h, w]: components of the smooth head's normal, and relief's maps but for the height.
    """

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
