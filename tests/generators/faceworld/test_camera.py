"""Exposure, noise and transfer."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from PIL import Image

from transect.generators.faceworld.camera import (
    READ_NOISE,
    SHOT_NOISE,
    blur_taps,
    compress,
    defocus,
    expose,
    roll_off,
    sensor_noise,
)
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.world import FaceWorld

WORLD = FaceWorld(image_size=64, threads=1)


def settings(**values):
    neutral = {"light_level": 0.0, "exposure": 0.0, "noise": 0.0, "white_balance": 0.0, "blur": 0.0}
    latents = WORLD.set(WORLD.sample([0]), neutral | values)
    return parameters(WORLD.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])[0]


def shot(radiance, light_level=0.0, exposure=0.0, noise=0.0, draws=None):
    p = settings(light_level=light_level, exposure=exposure, noise=noise)
    field = np.full((3, 200, 200), radiance, np.float32)
    return expose(field, p, np.zeros_like(field) if draws is None else draws)


def test_middle_grey_by_hand():
    # Tone curve of l = 1.075 x: l (1 + l ** 2.5) ** -.4 (l + .05) / (l + .09). .18 -> .1935 -> .16512 -> 1.055 * .16512
    # ** (1 / 2.4) - .055 = .4431 -> 113.0; a stop more light or gain: .36 -> .387 -> .34214 -> .6198 -> 158.0.
    assert int(shot(0.18)[0, 0, 0]) == 113
    assert int(shot(0.18, light_level=1.0)[0, 0, 0]) == 158
    assert int(shot(0.18, exposure=1.0)[0, 0, 0]) == 158
    assert int(shot(0.18, light_level=-3.0, exposure=3.0)[0, 0, 0]) == 113


def test_highlights_approach_white_and_below_black_is_cut():
    # 1 -> 1.075 -> .7575 -> 225.6; 2 -> 2.15 -> .9295 -> 246.9.
    assert int(shot(1.0).min()) == int(shot(1.0).max()) == 226
    assert int(shot(2.0).max()) == 247
    assert int(shot(30.0).min()) == 255
    assert int(shot(-1.0).max()) == 0


def test_the_tone_curve_rises_and_pales_light_colors_in_part():
    light = np.linspace(0.01, 3.0, 200)[:, None]
    bent = roll_off(np.stack([light, light, 0.5 * light]))[:, :, 0]
    assert (bent[1, 1:] > bent[1, :-1]).all()
    ratio = bent[2] / bent[1]
    # By luminance alone the ratio would stay .5; channel by channel, at light 3, it would be .9079. Where the curve is
    # steep, in the dark, colors are stronger.
    assert 0.47 < ratio[0] < 0.5
    assert (ratio[60:] > ratio[59:-1]).all()
    assert 0.55 < ratio[-1] < 0.75


def test_noise_grows_with_the_gain_as_the_model_says():
    # Near light .18, l = .1935, with h = .8533 and l h' = .0818 for h of the test above: .6 of the curve, l h(Y), passes
    # noise of a channel by h and noise of luminance by l h'; .4, l h(l), passes noise of a channel by h + l h'. In all a
    # channel by a = .8533 + .4 * .0818 = .8861, luminance by b = .6 * .0818 = .0491; the mean variance is
    # a^2 + 2 a b / 3 + b^2 * (.2126^2 + .7152^2 + .0722^2) = .7851 + .0290 + .0014 = .9030^2, of light 1.075 as strong.
    draws = sensor_noise(3, 200)
    for light, gain in ((0.0, 0.0), (-4.0, 4.0)):
        values = shot(0.18, light, gain, 1.0, draws).astype(float) / 255
        linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        signal = 0.18 * 2.0**light
        expected = 0.9708 * np.sqrt(SHOT_NOISE * signal + READ_NOISE**2) * 2.0**gain
        # Eight bits add a rounding error of 1/sqrt(12) levels; a level is .0031 of linear light at this grey.
        assert linear.std() == pytest.approx(np.hypot(expected, 0.0031 / np.sqrt(12)), rel=0.04)
        assert linear.mean() == pytest.approx(0.1651, abs=0.002)


def test_white_balance_by_hand():
    # One stop of red over blue: red .18 * 2 ** .5 = .2546, blue .18 / 2 ** .5 = .1273, green .18, all times 1.075. By
    # luminance, .2065, the tone curve multiplies by .8585: .2350, .1661, .1175; channel by channel: .2399, .1651, .1124.
    # .6 of the first and .4 of the second: .2369, .1657, .1154 -> 133.6, 113.2, 95.4.
    field = np.full((3, 2, 2), 0.18, np.float32)
    pixel = expose(field, settings(white_balance=1.0), np.zeros_like(field))[0, 0]
    assert pixel.tolist() == [134, 113, 95]


def gaussian_of_pixels(n, variance):
    """exp(-t) times the modified Bessel function of order n, by its power series."""
    half = variance / 2
    return math.exp(-variance) * sum(
        half ** (2 * k + n) / (math.factorial(k) * math.factorial(k + n)) for k in range(30)
    )


@pytest.mark.parametrize("deviation", [0.1, 2.0])
def test_a_blur_has_its_variance_however_narrow(deviation):
    taps = blur_taps(deviation, 65)
    kernel, away = np.concatenate([taps[:0:-1], taps]), np.arange(1 - len(taps), len(taps))
    assert kernel.sum() == pytest.approx(1.0, abs=1e-5)
    assert (kernel * away**2).sum() == pytest.approx(deviation**2, rel=1e-4)


@pytest.mark.parametrize("deviation", [0.48, 0.72])  # narrow enough for a few neighbors, and not
def test_blur_by_loops(deviation):
    rng = np.random.default_rng(0)
    field = rng.uniform(0, 1, (3, 12, 12)).astype(np.float32)
    blurred = field.copy()
    defocus(blurred, deviation, 12)
    # 4 % of 12 pixels are .48 pixels; weights sum to 1 at the borders too.
    weight = np.array([[gaussian_of_pixels(abs(i - j), deviation**2) for j in range(12)] for i in range(12)])
    weight /= weight.sum(1, keepdims=True)
    for c, i, j in ((0, 0, 0), (1, 5, 7), (2, 11, 3)):
        slow = sum(weight[i, k] * weight[j, m] * field[c, k, m] for k in range(12) for m in range(12))
        assert blurred[c, i, j] == pytest.approx(slow, abs=1e-5)


def test_jpeg_is_what_pillow_writes_and_nothing_at_100():
    pixels = WORLD.render(WORLD.sample([2])).pixels[0]
    assert compress(pixels, 100.0) is pixels
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="JPEG", quality=30)
    np.testing.assert_array_equal(compress(pixels, 30.4), np.asarray(Image.open(file)))


def cheek(pixels):
    return (pixels[:, 34:40, 20:26].astype(float) / 255).mean()


def test_without_sensor_noise_metered_light_changes_nothing_at_all_but_rounding():
    base = WORLD.set(WORLD.sample([4]), {"skin_tone": 3.0, "noise": 0.0, "light_level": 0.0})
    bright, dim = (WORLD.render(WORLD.set(base, {"light_level": stops})).pixels.astype(int) for stops in (0.0, -3.0))
    assert np.abs(bright - dim).max() <= 1


def test_held_exposure_shows_the_direct_effect_of_tone():
    base = WORLD.set(WORLD.sample([4]), {"skin_tone": 3.0, "yaw": 0.0, "roll": 0.0, "pitch": 0.0})
    photographer = ["metering", "fill_light"]
    total = cheek(WORLD.render(WORLD.set(base, {"skin_tone": 9.0}, hold=photographer)).pixels)
    direct = cheek(WORLD.render(WORLD.set(base, {"skin_tone": 9.0}, hold=["exposure", *photographer])).pixels)
    # Tones 9 and 3 differ by 3.64 stops, of which the meter makes good .58, 2.1 stops: a quarter of the light, which
    # is .23 ** (1 / 2.2) = .51 of the sRGB value; the shoulder of the tone curve and the skin's mirror take a part of it.
    assert 0.43 * total < direct < 0.60 * total


def test_dark_faces_are_exposed_as_photographs_expose_them():
    # Median luminance of the cheek: .16 in the darkest fifth of photographs, .26 of Black and .41 of White faces.
    world = FaceWorld(image_size=64, threads=1)
    latents = world.set(world.sample(np.arange(24)), {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "facial_hair": 0.0})
    weights = np.array([0.2126, 0.7152, 0.0722])
    for tone, low, high in ((10.0, 0.16, 0.30), (7.0, 0.20, 0.41), (2.0, 0.41, 0.55)):
        pixels = world.render(world.set(latents, {"skin_tone": tone})).pixels[:, 34:40, 20:26] / 255
        linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
        assert low < np.median(linear @ weights) < high
