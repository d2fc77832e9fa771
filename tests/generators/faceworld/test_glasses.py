"""Glasses by level: how much light their lenses let pass."""

from __future__ import annotations

import numpy as np

from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.faceworld.world import FaceWorld

NONE, THIN, THICK, TINTED, DARK = ({"glasses": float(level)} for level in range(5))
WORLD = FaceWorld(image_size=96, threads=1)
BASE = WORLD.set(
    WORLD.sample(range(40, 46)),
    {
        **{"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "hat": 0.0, "bangs": 0.0, "hair_style": 1.0, "facial_hair": 0.0},
        **{"light_azimuth": 0.0, "light_elevation": 30.0, "blur": 0.0, "noise": 0.0, "skin_tone": 3.0, "distance": 1.0},
    },
)


def pictures(worn):
    """Linear luminance of the pictures with those glasses."""
    return decode_srgb(WORLD.render(WORLD.set(BASE, worn)).pixels / 255) @ LUMINANCE


def discs(light, down):
    """Mean luminance [n] of a disc of .06 io, `down` io below the middle of each eye."""
    points, (y, x) = WORLD.landmarks(BASE), np.mgrid[:96, :96] + 0.5
    found = np.zeros(len(light))
    for i, face in enumerate(points):
        left, right = face[36:42].mean(0), face[42:48].mean(0)
        io = np.linalg.norm(left - right)
        for eye in (left, right):
            found[i] += light[i][np.hypot(x - eye[0], y - eye[1] - down * io) < 0.06 * io].mean() / 2
    return found


def test_each_level_passes_as_much_light_as_its_lens():
    eyes = [discs(pictures(worn), 0.10) for worn in (NONE, THIN, TINTED, DARK)]
    bare, clear, tinted, dark = (np.median(values) for values in eyes)
    assert 0.85 * bare < clear < 1.1 * bare
    # The tinted lens passes .42, .36 and .30 of red, green and blue: .38 of the light of skin, whose red is strongest.
    # Skin behind it lies in its shade, .85 of the light: .32. Below .09 to .5 of full light the tone curve's foot takes
    # (.155 + .05) / (.155 + .09) = .84 where it takes .93 of bare skin: .29. What lenses mirror adds about .02.
    assert 0.26 * bare < tinted < 0.8 * bare
    assert dark < 0.35 * bare
