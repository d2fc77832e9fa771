"""Which rows are drawn together, and their number."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from transect.generators.faceworld.canvas import Canvas
from transect.generators.faceworld.heads import same_heads
from transect.generators.faceworld.rows import Rows

_PIXELS = 1 << 17
"""Pixels of a tile on a CPU: one image of all rows then fits a core's cache, with the few that it is computed from."""

_PIXELS_OF_GPU = 1 << 22
"""Pixels of a tile on a GPU: about 4 GiB in all."""

_KINDS = ("hat", "hair_style", "facial_hair", "background", "glasses")
"""What decides which layers a row needs, the most expensive first."""


def rows_of_tile(canvas: Canvas) -> int:
    """How many rows are drawn together."""
    pixels = _PIXELS if canvas.device.type == "cpu" else _PIXELS_OF_GPU
    return max(1, min(1024, pixels // (canvas.height * canvas.width)))


def cut_tiles(p: Rows, seeds: Int[np.ndarray, " n"], canvas: Canvas, threads: int) -> list[Int[np.ndarray, " b"]]:
    """The rows of each tile. Rows of one head lie together; else those that need the same layers."""
    first, of_row = same_heads(p, seeds)
    shared = len(first) < len(of_row)
    order = np.argsort(of_row, kind="stable") if shared else np.lexsort(p.host(*_KINDS)[::-1])
    tiles = max(-(-len(order) // rows_of_tile(canvas)), min(threads, len(order)))
    return np.array_split(order, tiles)
