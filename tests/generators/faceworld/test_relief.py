"""The relief of a real head: where its features lie, how they follow a subject's, and what coarse maps keep of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transect.generators.faceworld import relief_maps
from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.canvas import draw_lattices
from transect.generators.faceworld.head import EYE_Y, X_EXTENT, Y_CENTER, Y_EXTENT, lattice_size
from transect.generators.faceworld.relief_maps import COLUMNS, ROWS, face_maps, feature_points, load, shape_weights

HEIGHT, SLOPE_X, SLOPE_Y, OCCLUSION = range(4)
FINE = 2.12 / 512


def head(**traits):
    """A head of average identity."""
    names = (*IDENTITY, "face_width", "smile", "mouth_open", "makeup", "old", "young")
    average = {name: np.zeros(1) for name in names}
    average |= {name: relief_maps.AVERAGE[name] for name in ("face_shape", "eye_wide", "eye_tall")}
    return average | {name: np.array([float(value)]) for name, value in traits.items()}


def maps_of(pixel=FINE, **traits):
    return face_maps(head(**traits), draw_lattices([7]), pixel)[0].numpy()


def at(maps, kind, x, y):
    rows, columns = maps.shape[1:]
    row = round((y - Y_CENTER + Y_EXTENT) / (2 * Y_EXTENT) * (rows - 1))
    return maps[kind, row, round((x + X_EXTENT) / (2 * X_EXTENT) * (columns - 1))]


def midline(maps, low, high):
    """Heights y and the relief on the midline between two of them."""
    y = np.linspace(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT, maps.shape[1])
    inside = (y > low) & (y < high)
    return y[inside], maps[HEIGHT, inside, maps.shape[2] // 2]


def test_the_file_holds_every_shape_that_heads_have():
    maps = load()
    assert set(shape_weights(head())) <= set(maps)
    assert {relief.shape for relief in maps.values()} == {(ROWS, COLUMNS)}
    assert max(np.abs(relief).max() for relief in maps.values()) < 0.2


def test_the_nose_stands_out_and_the_sockets_lie_deep():
    maps = maps_of()
    tip, root, lids = at(maps, HEIGHT, 0, 0.25), at(maps, HEIGHT, 0, -0.10), at(maps, HEIGHT, 0.20, EYE_Y)
    # The head bends back by .07 from the midline to an eye; a nose stands out 14 to 20 mm, at 115 mm to a face unit.
    assert 0.12 < tip - root < 0.20
    assert 0.20 < tip - lids + 0.04 < 0.30
    assert at(maps, OCCLUSION, 0.20, EYE_Y - 0.03) > 0.5 > abs(at(maps, OCCLUSION, 0.0, -0.5))
    # The underside of the nose faces down, its bridge up; each flank faces its own side.
    assert at(maps, SLOPE_Y, 0, 0.31) < -0.5 < 0.1 < at(maps, SLOPE_Y, 0, 0.12)
    assert at(maps, SLOPE_X, 0.11, 0.2) < -0.5 < 0.5 < at(maps, SLOPE_X, -0.11, 0.2)


def test_both_halves_mirror_each_other():
    maps = maps_of(smile=0.7, nose_width=1.5)
    for kind in (HEIGHT, SLOPE_Y, OCCLUSION):
        np.testing.assert_allclose(maps[kind], maps[kind, :, ::-1], atol=2e-5)
    np.testing.assert_allclose(maps[SLOPE_X], -maps[SLOPE_X, :, ::-1], atol=2e-5)


@pytest.mark.parametrize(
    ("trait", "unit", "low", "high"), [("nose_length", 0.038, 0.1, 0.4), ("mouth_height", 0.018, 0.47, 0.58)]
)
def test_features_of_the_relief_follow_those_that_are_drawn(trait, unit, low, high):
    """The tip of a nose that is two standard deviations longer, and the slit of a mouth that is lower."""
    extreme = np.argmin if trait == "mouth_height" else np.argmax
    found = [y[extreme(height)] for y, height in (midline(maps_of(**{trait: sign}), low, high) for sign in (-1, 1))]
    assert found[1] - found[0] == pytest.approx(2 * unit, abs=0.025)


def test_points_of_an_average_face_stay():
    points, average = feature_points(head(old=2 / 45, young=0.25)), feature_points(relief_maps.AVERAGE)
    np.testing.assert_allclose(points, average, atol=1e-12)
    wide = feature_points(head(old=2 / 45, young=0.25, face_width=1.0))
    assert (np.abs(wide[..., 0]) >= np.abs(average[..., 0]) - 1e-12).all()
    np.testing.assert_allclose(wide[..., 1], average[..., 1], atol=0.01)


def test_a_parted_mouth_has_no_slit():
    steepest = lambda **traits: np.abs(np.gradient(midline(maps_of(**traits), 0.50, 0.58)[1])).max()  # noqa: E731
    assert steepest() > 0.010 > 0.005 > steepest(mouth_open=0.2)


def test_coarse_maps_are_means_of_fine_ones():
    pixel = 2.12 / 64
    coarse, fine = maps_of(pixel), maps_of()
    rows, columns = lattice_size(pixel)
    y, x = (np.linspace(-1, 1, n) for n in (rows, columns))
    offsets = (np.arange(5) - 2) / 5
    mean = np.zeros((rows, columns))
    for down in offsets * pixel / Y_EXTENT:
        for across in offsets * pixel / X_EXTENT:
            grid = torch.from_numpy(np.stack(np.meshgrid(x + across, y + down), axis=-1)).float()[None]
            read = torch.nn.functional.grid_sample(
                torch.from_numpy(fine[None, :1]), grid, padding_mode="border", align_corners=True
            )
            mean += read[0, 0].numpy() / 25
    difference = np.abs(coarse[HEIGHT] - mean)
    assert difference.max() < 0.012
    assert difference.mean() < 0.0005
    assert np.abs(coarse[SLOPE_Y]).max() < np.abs(fine[SLOPE_Y]).max()


def test_shapes_change_what_they_are_named_after():
    plain = maps_of()
    assert at(maps_of(nose_hump=2), HEIGHT, 0, 0.05) > at(plain, HEIGHT, 0, 0.05) + 0.01
    assert at(maps_of(brow_ridge=2), HEIGHT, 0.25, -0.30) > at(plain, HEIGHT, 0.25, -0.30) + 0.01
    assert at(maps_of(lip_protrusion=2), HEIGHT, 0, 0.49) > at(plain, HEIGHT, 0, 0.49) + 0.01
    assert at(maps_of(eye_bags=2), HEIGHT, 0.30, 0.02) > at(plain, HEIGHT, 0.30, 0.02) + 0.002
    assert np.abs(maps_of(relief_1=1)[HEIGHT] - plain[HEIGHT]).max() > 0.01
    assert np.abs(maps_of(relief_2=1)[HEIGHT] - plain[HEIGHT]).max() > 0.01
