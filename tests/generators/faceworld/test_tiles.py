"""Tiles: every row once, never more pixels than a tile may have, rows that share work together."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.generators.faceworld.canvas import canvas_of
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.heads import cut_tiles, rows_of_tile, same_heads
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.world import FaceWorld

WORLD = FaceWorld(32, threads=1)


def rows_and_seeds(latents):
    return parameters(WORLD.model.solve(latents), latents.values[:, IDENTITY_COLUMNS]), latents.seeds


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.sampled_from([32, 64, 100, 128, 512]), st.integers(1, 5), st.integers(1, 4))
def test_every_row_is_in_one_tile_and_no_tile_is_too_large(n, size, threads, levels):
    latents = WORLD.sample(range(n)).repeat(levels)
    canvas = canvas_of(size)
    tiles = cut_tiles(*rows_and_seeds(latents), canvas, threads)
    assert sorted(np.concatenate(tiles).tolist()) == list(range(n * levels))
    # 2 ** 17 pixels at most, which bounds the memory of any batch; a single picture may be larger.
    assert all(len(tile) == 1 or len(tile) * canvas.height * canvas.width <= 1 << 17 for tile in tiles)
    assert len(tiles) >= min(threads, n * levels) or rows_of_tile(canvas) < n * levels


def test_heads_differ_by_shape_and_by_seed_and_by_nothing_else():
    base = WORLD.sample([5, 5, 6])
    for name, differs in (("skin_tone", False), ("glasses", False), ("yaw", True), ("smile", True), ("makeup", True)):
        low, high = next(a.bounds for a in WORLD.attributes if a.name == name)
        p, seeds = rows_and_seeds(WORLD.set(base, {name: [low, high, low]}))
        assert len(same_heads(p, seeds)[0]) == (3 if differs else 2), name
    p, _ = rows_and_seeds(base)  # the first two rows are one person, whose skin's texture is the seed's
    assert [len(same_heads(p, seeds)[0]) for seeds in ([5, 5, 5], [5, 8, 5])] == [2, 3]
