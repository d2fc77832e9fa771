"""Windows hold all that is drawn in them: the picture is the same with windows that hold the whole picture."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld import hair as hair_module
from transect.generators.faceworld import renderer
from transect.generators.faceworld.windows import Window, Windows
from transect.generators.faceworld.world import FaceWorld

EVERYTHING = Window(slice(None), slice(None))


@pytest.mark.parametrize("size", [33, 96])
def test_pictures_are_the_same_without_windows(size, monkeypatch):
    world = FaceWorld(size, threads=1)
    n = 24
    latents = world.sample(range(800, 800 + n))
    latents = world.set(
        latents,
        {"roll": np.linspace(-25, 25, n), "yaw": np.linspace(-35, 35, n)[::-1], "pitch": 20 * np.sin(np.arange(n)),
         "earrings": 1.0, "hair_style": np.arange(n) % 8.0, "hair_length": np.linspace(0, 1, n)},
    )  # fmt: skip
    windowed = world.render(latents).pixels.astype(int)
    monkeypatch.setattr(renderer, "windows_of", lambda _: Windows(*[EVERYTHING] * 5))
    monkeypatch.setattr(renderer, "below", lambda *_: EVERYTHING)
    monkeypatch.setattr(hair_module, "hair_window", lambda *_: EVERYTHING)
    whole = world.render(latents).pixels.astype(int)
    # The last bit of a sum may depend on how pixels are grouped; anything cut off would show as more.
    assert np.abs(windowed - whole).max() <= 1
    assert (windowed != whole).mean() < 1e-3
