"""Windows hold all that is drawn in them: the picture is the same, bit by bit, with windows that hold the whole."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld import hair as hair_module
from transect.generators.faceworld import heads, renderer
from transect.generators.faceworld.canvas import COLUMNS, ROWS, canvas_of, picture_grid
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.heads import WHOLE, Windows, below
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.world import FaceWorld


@pytest.mark.parametrize(("size", "baldness"), [(33, 0.0), (64, 0.7), (96, 0.0), (100, 1.0)])
def test_pictures_are_the_same_without_windows(size, baldness, monkeypatch):
    world = FaceWorld(size, threads=1)
    n = 24
    latents = world.sample(range(800, 800 + n))
    latents = world.set(
        latents,
        {"roll": np.linspace(-25, 25, n), "yaw": np.linspace(-35, 35, n)[::-1], "pitch": 20 * np.sin(np.arange(n)),
         "earrings": 1.0, "hair_style": np.arange(n) % 8.0, "hair_length": np.linspace(0, 1, n),
         "baldness": baldness, "face_shape": np.arange(n) % 2.0},
    )  # fmt: skip
    windowed = np.concatenate([world.render(latents.take(slice(i, i + 1))).pixels for i in range(n)])
    monkeypatch.setattr(heads, "windows_of", lambda *_: Windows(WHOLE, (WHOLE, WHOLE), *[WHOLE] * 5))
    monkeypatch.setattr(renderer, "below", lambda *_: WHOLE)
    monkeypatch.setattr(hair_module, "upright_box", lambda *_: WHOLE)
    np.testing.assert_array_equal(world.render(latents).pixels, windowed)


@pytest.mark.parametrize("size", [32, 33, 50, 100, 511, 512])
def test_a_canvas_and_its_windows_fill_whole_vectors(size):
    canvas = canvas_of(size)
    assert canvas.height % ROWS == canvas.width % COLUMNS == ROWS * COLUMNS % 32 == 0
    assert size <= canvas.height < size + ROWS
    assert size <= canvas.width < size + COLUMNS


def test_the_margin_goes_on_where_the_picture_ends():
    (x, _), (wide, _) = picture_grid(canvas_of(32)), picture_grid(canvas_of(33))
    # 32 pixels of 2.12 / 32 around 0: the first center lies at -1.06 + 1.06 / 32.
    assert float(x[0, 0, 0]) == pytest.approx(-1.06 + 1.06 / 32)
    # 33 pixels of 2.12 / 33, and the 34th beyond the edge.
    assert float(wide[0, 0, 33]) == pytest.approx(1.06 + 1.06 / 33)


def test_the_rows_below_a_height_follow_the_farthest_camera():
    world = FaceWorld(64, threads=1)
    latents = world.set(world.sample([1, 2]), {"distance": [1.0, 1.25]})
    p = parameters(world.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])
    frame = heads.shape_heads(p, [1, 2], canvas_of(64)).frame
    # From distance 1.25 the picture spans 2.65: height .26 lies (.26 + .06 + 1.325) * 64 / 2.65 = 39.7 pixels below its
    # upper edge, from distance 1 at (.26 + .06 + 1.06) * 64 / 2.12 = 41.7. The first center below 39.7 is that of row
    # 40; the first below 41.7, row 42, has the same border above it, so that a height of .22, 38.8 and 40.5, tells more.
    assert below(frame, 0.26).rows == slice(40, 64)
    assert below(frame, 0.17).rows == slice(36, 64)
