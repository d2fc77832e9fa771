"""Windows hold all that is drawn in them: the picture is the same, bit by bit, with windows that hold the whole."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld import hair as hair_module
from transect.generators.faceworld import heads, renderer
from transect.generators.faceworld.heads import WHOLE, Windows
from transect.generators.faceworld.world import FaceWorld


@pytest.mark.integration
@pytest.mark.parametrize(("size", "baldness"), [(33, 0.0), (64, 0.7)])
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
