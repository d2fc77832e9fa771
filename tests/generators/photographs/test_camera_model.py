"""The camera on scenes whose answer is known: cards, edges, points, ramps; OpenCV, Pillow and tables as judges."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photograph_folders import pictures
from PIL import Image

from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.photographs import camera
from transect.generators.photographs.attributes import APPEARANCE, ATTRIBUTES, BOARDS, NEUTRAL, USUAL, Edits

KEY = 123456789
PICTURE = pictures(1, 60)[0]


def card(value: int, height: int = 64, width: int = 64) -> np.ndarray:
    return np.full((height, width, 3), value, dtype=np.uint8)


def retaken(picture, key=KEY, **edits):
    return camera.retaken(picture, Edits(**edits), key)


def test_a_photograph_without_an_edit_is_itself():
    assert retaken(PICTURE) is PICTURE


@pytest.mark.parametrize(
    "edits", [{}, *({name: USUAL[name][0]} for name in USUAL if name not in APPEARANCE), {"crop": 0.5, "exposure": 1.0}]
)
def test_a_place_for_the_result_changes_no_value(edits):
    """The middle rows and columns of a larger batch, filled with another picture before."""
    batch = np.full((2, 70, 80, 3), 7, dtype=np.uint8)
    place = batch[1, 3:63, 5:65]
    before = PICTURE.copy()
    assert camera.retaken(PICTURE, Edits(**edits), KEY, out=place) is place
    assert np.array_equal(place, retaken(PICTURE, **edits))
    assert np.array_equal(PICTURE, before)
    place[:] = 7
    assert (batch == 7).all()


@pytest.mark.parametrize("stops", [-3.0, 2.0])
def test_a_stop_is_a_factor_of_two_in_linear_light(stops):
    """The formulas of IEC 61966-2-1, written out again; what is above white is white."""
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    v = np.arange(256) / 255
    linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4) * 2**stops
    again = np.clip(np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055), 0, 1) * 255
    assert np.abs(retaken(ramp, exposure=stops)[0, :, 0] - again).max() <= 0.56  # half a value, and the table's step


def test_middle_grey_stays_under_any_contrast_and_others_move_by_the_slope():
    grey = card(118)  # 18.1 % of the light
    assert abs(int(retaken(grey, contrast=2.5)[0, 0, 0]) - 118) <= 1
    ramp = np.repeat(np.arange(60, 160, dtype=np.uint8)[None, :, None], 3, axis=2)
    before, after = (np.log2(decode_srgb(x[0, :, 0] / 255)) for x in (ramp, retaken(ramp, contrast=0.5)))
    assert np.polyfit(before, after, 1)[0] == pytest.approx(0.5, abs=0.01)


def test_tone_alone_and_with_an_edit_that_does_nothing_there_is_one_picture():
    """A flat card does not change under a blur: the table of values and the linear picture must agree bitwise."""
    for value in (0, 3, 40, 118, 200, 255):
        flat = card(value)
        tone = retaken(flat, exposure=0.7, contrast=1.3)
        assert np.array_equal(retaken(flat, exposure=0.7, contrast=1.3, motion=0.03125), tone)


def test_the_bradford_matrix_is_the_published_one():
    """Lindbloom's table of chromatic adaptation, D65 to D50."""
    d65, d50 = np.array([0.95047, 1.0, 1.08883]), np.array([0.96422, 1.0, 0.82521])
    published = [
        [1.0478112, 0.0228866, -0.0501270],
        [0.0295424, 0.9904844, -0.0170491],
        [-0.0092345, 0.0150436, 0.7521316],
    ]
    np.testing.assert_allclose(camera.adaptation(d65, d50), published, atol=2e-6)


def test_the_white_follows_planck():
    """Planck's law weighted by Wyman, Sloan and Shirley's fits of the 1931 observer (2013, JCGT 2(2))."""
    nm = np.arange(360.0, 831.0)

    def lobe(center, left, right):
        return np.exp(-0.5 * ((nm - center) * np.where(nm < center, left, right)) ** 2)

    x = 1.056 * lobe(599.8, 0.0264, 0.0323) + 0.362 * lobe(442.0, 0.0624, 0.0374) - 0.065 * lobe(501.1, 0.0490, 0.0382)
    y = 0.821 * lobe(568.8, 0.0213, 0.0247) + 0.286 * lobe(530.9, 0.0613, 0.0322)
    z = 1.217 * lobe(437.0, 0.0845, 0.0278) + 0.681 * lobe(459.0, 0.0385, 0.0725)
    for kelvin in (2500, 3200, 4500, 6500, 10_000, 15_000):
        radiance = nm**-5.0 / (np.exp(1.4387769e7 / (nm * kelvin)) - 1)
        whole = np.array([radiance @ part for part in (x, y, z)])
        np.testing.assert_allclose(camera.planckian(kelvin), whole[:2] / whole.sum(), atol=0.004)


def test_white_balance_keeps_the_luminance_of_grey_and_turns_it_orange_or_blue():
    grey = card(118)
    warm, cool = retaken(grey, white_balance=3200.0)[0, 0].astype(int), retaken(grey, white_balance=12_000.0)[0, 0]
    assert warm[0] > 118 > warm[2]
    assert cool[0] < 118 < cool[2]
    for colored in (warm, cool):
        assert decode_srgb(colored / 255.0) @ LUMINANCE == pytest.approx(0.181, abs=0.003)


@pytest.mark.parametrize(("iso", "value"), [(400, 118), (25_600, 40)])
def test_noise_has_the_variance_of_the_model(iso, value):
    signal = np.full((200, 200, 3), camera.decoding()[value], dtype=np.float32)
    noise = camera.noisy(signal, float(iso), KEY) - signal
    electrons = 15_000 * 100 / iso
    expected = signal[0, 0, 0] / electrons + (4 / electrons) ** 2
    # The variance of 120,000 normal numbers has a relative error of .41 %; four of it.
    assert noise.var() == pytest.approx(expected, rel=0.017)
    assert abs(noise.mean()) < 4 * np.sqrt(expected / noise.size)
    across = np.corrcoef(noise.reshape(-1, 3).T)[np.triu_indices(3, 1)]
    assert np.abs(across).max() < 4 / np.sqrt(40_000)


def test_noise_is_the_photographs_own():
    first, again, other = (retaken(card(118), key=key, noise=1600.0) for key in (1, 1, 2))
    assert np.array_equal(first, again)
    assert (first != other).mean() > 0.5


def test_defocus_spreads_a_point_over_a_disc_and_keeps_its_light():
    for diameter in (1.0, 3.0, 7.5, 20.0):
        kernel = camera.disc(diameter)
        inner = np.abs(np.arange(len(kernel)) - len(kernel) // 2)
        moment = (kernel.sum(axis=0) * inner**2).sum()
        assert kernel.sum() == pytest.approx(1, abs=1e-6)
        if diameter >= 7:  # a disc's variance along a line is r² / 4, and a pixel's own adds about 1/12
            assert moment == pytest.approx((diameter / 2) ** 2 / 4 + 1 / 12, rel=0.03)


def test_blurs_of_a_slanted_edge():
    """The edge spread of a line of L pixels is a ramp of L pixels; across the edge, along x."""
    y, x = np.mgrid[0:101, 0:101]
    edge = np.repeat((x > 50 + 0.1 * (y - 50)).astype(np.float32)[:, :, None], 3, axis=2)
    moved = camera.moved(edge, 21 / 101)
    row = moved[50, :, 0].astype(float)
    np.testing.assert_allclose(row[45:56], (np.arange(45, 56) - 40) / 21, atol=2e-6)
    discs = camera.defocused(edge, 20 / 101)[50, :, 0].astype(float)
    assert discs[:38].max() < 1e-5
    assert discs[64:].min() > 1 - 1e-5
    # The integral of a disc up to t of its radius: 1/2 + (t sqrt(1 - t²) + asin t) / π; the edge lies at 50.5.
    t = np.clip((np.arange(101) - 50.5) / 10, -1, 1)
    np.testing.assert_allclose(discs, 0.5 + (t * np.sqrt(1 - t**2) + np.arcsin(t)) / np.pi, atol=0.03)


def test_blurs_leave_a_flat_card():
    for edits in ({"defocus": 0.08}, {"motion": 0.15}, {"scale": 1.7}, {"resolution": 0.1}):
        assert np.array_equal(retaken(card(77), **edits), card(77))
    for edits in ({"rotation": 33.0}, {"scale": 0.6}):  # beyond the picture is the grey card
        assert np.array_equal(retaken(card(camera.CARD), **edits), card(camera.CARD))
        assert (retaken(card(77), **edits)[0, 0] == camera.CARD).all()
        assert (retaken(card(77), **edits)[32, 32] == 77).all()


def test_a_quarter_turn_is_exact():
    assert np.abs(retaken(PICTURE, rotation=90.0).astype(int) - np.rot90(PICTURE, -1)).max() <= 1


def test_twice_the_scale_is_the_middle_half():
    found = retaken(PICTURE, scale=2.0).astype(float)
    x = (np.arange(60) - 29.5) / 2 + 29.5
    linear = decode_srgb(PICTURE / 255.0)
    low = np.floor(x).astype(int)
    share = (x - low)[:, None, None]
    rows = linear[low] * (1 - share) + linear[low + 1] * share
    share = (x - low)[None, :, None]
    both = rows[:, low] * (1 - share) + rows[:, low + 1] * share
    # OpenCV interpolates at 32 positions between two pixels.
    assert np.abs(found - 255 * camera.to_srgb(both)).max() <= 1.5


def test_half_the_scale_averages():
    checks = np.indices((64, 64)).sum(axis=0) % 2
    picture = np.repeat((255 * checks).astype(np.uint8)[:, :, None], 3, axis=2)
    inner = retaken(picture, scale=0.5)[20:44, 20:44].astype(int)
    assert np.abs(inner - 188).max() <= 1  # half of the light, not half of the value


def test_resolution_is_opencvs():
    small = cv2.resize(PICTURE, (15, 15), interpolation=cv2.INTER_AREA)
    expected = cv2.resize(small, (60, 60), interpolation=cv2.INTER_LINEAR)
    assert np.array_equal(retaken(PICTURE, resolution=0.25), expected)


@pytest.mark.parametrize("quality", [10, 90])
def test_jpeg_is_the_libraries(quality):
    file = io.BytesIO()
    Image.fromarray(PICTURE).save(file, "JPEG", quality=quality, subsampling="4:2:0")
    pillow = np.asarray(Image.open(file)).astype(int)
    found = retaken(PICTURE, jpeg_quality=float(quality)).astype(int)
    assert np.abs(found - pillow).mean() < 0.5
    assert np.abs(found - PICTURE).mean() > 0


def test_a_board_covers_its_rectangle_and_nothing_else():
    for board, name in enumerate(BOARDS):
        covered = retaken(PICTURE, board=float(board))
        mask = camera.changed(Edits(board=float(board)), 60, 60)
        assert np.array_equal(covered[~mask], PICTURE[~mask])
        assert (covered[mask] == camera.CARD).all()
        wanted = camera.RECTANGLES.get(name, (0, 0, 0, 0))
        area = (wanted[2] - wanted[0]) * (wanted[3] - wanted[1])
        assert mask.mean() == pytest.approx(area, abs=0.02)
        assert area <= 0.5


def test_a_crop_keeps_its_pixels():
    shown = retaken(PICTURE, crop=0.5)
    assert np.array_equal(shown[15:45, 15:45], PICTURE[15:45, 15:45])
    shown = shown.copy()
    shown[15:45, 15:45] = camera.MARGIN
    assert (shown == camera.MARGIN).all()


def test_the_order_is_a_cameras():
    """Noise after the exposure, compression last, a crop's margin untouched by blur."""
    both = retaken(PICTURE, exposure=-2.0, noise=6400.0)
    darker = camera.decoding(0.25)[PICTURE]
    assert np.array_equal(both, camera.encoded(camera.noisy(darker, 6400.0, KEY)))
    blurred = retaken(PICTURE, defocus=0.05)
    assert np.array_equal(retaken(PICTURE, defocus=0.05, crop=0.5), retaken(blurred, crop=0.5))
    assert np.array_equal(retaken(PICTURE, defocus=0.05, jpeg_quality=30.0), retaken(blurred, jpeg_quality=30.0))
    covered = retaken(PICTURE, board=1.0)
    assert np.array_equal(retaken(PICTURE, board=1.0, defocus=0.05), retaken(covered, defocus=0.05))


LEVELS = st.fixed_dictionaries(
    {
        attribute.name: st.one_of(
            st.just(NEUTRAL[attribute.name]),
            st.sampled_from([float(place) for place in range(len(attribute.levels))])
            if attribute.discrete
            else st.floats(*attribute.bounds, allow_subnormal=False),
        )
        for attribute in ATTRIBUTES
    }
)


@settings(max_examples=40)
@given(LEVELS)
def test_any_edits_leave_what_they_do_not_touch(levels):
    """Bitwise the photograph outside the mask; every level of every edit together makes a picture."""
    edits = Edits(**levels)
    before = PICTURE.copy()
    shown, mask = camera.retaken(PICTURE, edits, KEY), camera.changed(edits, 60, 60)
    assert shown.shape == PICTURE.shape
    assert shown.dtype == np.uint8
    assert np.array_equal(shown[~mask], PICTURE[~mask])
    assert np.array_equal(PICTURE, before)
    if not edits.names():
        assert shown is PICTURE
        assert not mask.any()
    assert np.array_equal(camera.retaken(PICTURE, edits, KEY), shown)
