"""Tiles: every row once, never more pixels than a tile may have, rows that share work together."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.generators.faceworld.canvas import canvas_of
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.heads import cut_tiles, rows_of_tile, same_heads
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.rows import picked, put, some
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


def test_rows_of_one_head_lie_together():
    latents = WORLD.set(WORLD.sample([5, 6, 7] * 4), {"skin_tone": np.linspace(1, 10, 12)})
    p, seeds = rows_and_seeds(latents)
    first, of_row = same_heads(p, seeds)
    assert first.tolist() == [0, 1, 2]
    assert of_row.tolist() == [0, 1, 2] * 4
    (tile,) = cut_tiles(p, seeds, canvas_of(32), 1)
    assert (latents.seeds[tile] == np.repeat([5, 6, 7], 4)).all()


def test_heads_differ_by_shape_and_by_seed_and_by_nothing_else():
    base = WORLD.sample([5, 5, 6])
    for name, differs in (("skin_tone", False), ("glasses", False), ("yaw", True), ("smile", True), ("makeup", True)):
        low, high = next(a.bounds for a in WORLD.attributes if a.name == name)
        p, seeds = rows_and_seeds(WORLD.set(base, {name: [low, high, low]}))
        assert len(same_heads(p, seeds)[0]) == (3 if differs else 2), name
    p, _ = rows_and_seeds(base)  # the first two rows are one person, whose skin's texture is the seed's
    assert [len(same_heads(p, seeds)[0]) for seeds in ([5, 5, 5], [5, 8, 5])] == [2, 3]


def test_different_heads_are_sorted_by_the_layers_that_they_need():
    latents = WORLD.set(WORLD.sample(range(12)), {"hat": [0.0, 1.0, 2.0] * 4})
    (tile,) = cut_tiles(*rows_and_seeds(latents), canvas_of(32), 1)
    assert (tile % 3 == np.repeat([0, 1, 2], 4)).all()


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_picks_take_and_put_the_rows_that_are_wanted(wanted):
    mask, pick = np.array(wanted), picked(np.array(wanted))
    if pick is None:
        assert not mask.any()
        return
    values = torch.arange(3 * len(wanted)).view(-1, 3)
    np.testing.assert_array_equal(some(values, pick).numpy(), values.numpy()[mask])
    np.testing.assert_array_equal(some(values.T, pick, 1).numpy(), values.numpy().T[:, mask])
    changed = values.clone()
    put(changed, pick, -some(values, pick))
    np.testing.assert_array_equal(changed.numpy(), np.where(mask[:, None], -values.numpy(), values.numpy()))


def test_taken_rows_are_those_of_the_whole():
    p, _ = rows_and_seeds(WORLD.sample(range(6)))
    for pick in (slice(1, 4), torch.tensor([4, 0])):
        part = p.take(pick)
        rows = np.arange(6)[pick if isinstance(pick, slice) else pick.numpy()]
        assert part.count == len(rows)
        for name, value in p.items():
            np.testing.assert_array_equal(part[name].numpy(), value.numpy()[rows])
        np.testing.assert_array_equal(part.host("age")[0], p["age"].numpy()[rows, 0, 0])


@pytest.mark.parametrize("n", [1, 5, 16, 17, 40])
def test_parameters_do_not_depend_on_how_many_rows_there_are(n):
    latents = WORLD.sample(range(300, 340))
    whole, _ = rows_and_seeds(latents)
    part, _ = rows_and_seeds(latents.take(slice(0, n)))
    for name, value in part.items():
        np.testing.assert_array_equal(value.numpy(), whole[name].numpy()[:n])
