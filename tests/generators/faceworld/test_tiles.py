"""Tiles: every row once, never more pixels than a tile may have."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transect.generators.faceworld.canvas import canvas_of
from transect.generators.faceworld.renderer import cut_tiles


@given(st.integers(1, 300), st.sampled_from([32, 64, 100, 128, 512]), st.integers(1, 5))
def test_every_row_is_in_one_tile_and_no_tile_is_too_large(n, size, threads):
    canvas = canvas_of(size)
    tiles = cut_tiles(n, canvas, threads)
    assert np.concatenate(tiles).tolist() == list(range(n))
    # 2 ** 17 pixels at most, which bounds the memory of any batch; a single picture may be larger.
    assert all(len(tile) == 1 or len(tile) * canvas.height * canvas.width <= 1 << 17 for tile in tiles)
    assert len(tiles) >= min(threads, n)
