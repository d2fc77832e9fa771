"""The eighteen statistics on pictures whose answers are known, masks beside OpenCV's, and the photographs' table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from validation.photometry import (
    FIFTH_EDGES,
    STATISTICS,
    compare,
    convex_hull,
    disc,
    face_photometry,
    hull,
    line,
    photograph_quantiles,
)


def schematic():
    """68 points of a face in a picture of 200 x 200; eyes 60 apart, centers at (70, 80) and (130, 80)."""
    p = np.zeros((68, 2))
    t = np.linspace(0, np.pi, 17)
    p[0:17] = np.stack([100 - 75 * np.cos(t), 80 + 95 * np.sin(t)], 1)
    p[17:22] = np.stack([np.linspace(50, 90, 5), np.full(5, 60.0)], 1)
    p[22:27] = np.stack([np.linspace(110, 150, 5), np.full(5, 60.0)], 1)
    p[27:31] = np.stack([np.full(4, 100.0), np.linspace(80, 112, 4)], 1)
    p[31:36] = np.stack([np.linspace(88, 112, 5), np.full(5, 120.0)], 1)
    eye = np.array([[-14, 0], [-5, -5], [5, -5], [14, 0], [5, 5], [-5, 5]])
    p[36:42], p[42:48] = eye + np.array([70, 80]), eye + np.array([130, 80])
    a = np.linspace(np.pi, -np.pi, 13)[:-1]
    p[48:60] = np.stack([100 + 24 * np.cos(a), 140 - 12 * np.sin(a)], 1)
    a = np.linspace(np.pi, -np.pi, 9)[:-1]
    p[60:68] = np.stack([100 + 18 * np.cos(a), 140 - 5 * np.sin(a)], 1)
    return p


def test_a_grey_picture_has_ratios_of_one():
    # Level 128: linear .2159, whatever the region; nothing spreads.
    found = face_photometry(np.full((200, 200, 3), 128, np.uint8), schematic())
    assert found["cheek"] == pytest.approx(0.2159, abs=1e-4)
    assert found["cheek_sd"] == pytest.approx(0, abs=1e-12)
    for name in STATISTICS:
        if name not in ("cheek", "cheek_sd"):
            assert found[name] == pytest.approx(1, rel=1e-9), name


def painted(regions):
    """A picture of linear light .2 with rectangles x0, x1, y0, y1 of other linear light; cheeks stay .2."""
    linear = np.full((200, 200), 0.2)
    for x0, x1, y0, y1, light in regions:
        linear[y0:y1, x0:x1] = light
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.repeat(np.round(encoded * 255).astype(np.uint8)[..., None], 3, axis=2)


@pytest.mark.parametrize(
    ("name", "region", "expected"),
    [
        ("nose_bridge", (90, 110, 84, 97, 0.3), 1.5),  # the disc around (100, 90.7) of radius 3
        ("forehead", (85, 115, 25, 50, 0.24), 1.2),  # around (100, 60 - 21), radius 7
        ("eye_mean", (50, 150, 74, 87, 0.06), 0.3),  # both eyes: y from 75 to 85
    ],
)
def test_each_region_is_read_where_it_lies(name, region, expected):
    found = face_photometry(painted([region]), schematic())
    assert found[name] == pytest.approx(expected, rel=0.02)
    assert found["cheek"] == pytest.approx(0.2, rel=0.02)


def test_the_sides_of_the_face_are_the_darker_over_the_lighter():
    # Cheek discs lie at x = 70 and 130, y = 85 + .33 * 55 + .12 * 60 = 110: paint the right half.
    found = face_photometry(painted([(100, 200, 0, 200, 0.1)]), schematic())
    assert found["cheek_side_ratio"] == pytest.approx(0.5, rel=0.02)


def test_the_mouths_inside_is_read_only_where_it_is_open():
    points = schematic()
    assert np.isfinite(face_photometry(painted([]), points)["mouth_inner"])
    points[60:68, 1] = 140 + 0.4 * (points[60:68, 1] - 140)  # from 10 to 4 pixels, less than .1 * 60
    assert np.isnan(face_photometry(painted([]), points)["mouth_inner"])


def test_too_dark_and_too_small_faces_are_not_measured():
    assert face_photometry(np.zeros((200, 200, 3), np.uint8), schematic()) is None
    assert face_photometry(painted([]), schematic() / 20) is None


def test_the_photographs_table_is_whole_and_ordered():
    table = photograph_quantiles()
    assert set(table) == {(k, name) for k in range(5) for name in STATISTICS}
    for q in table.values():
        assert q.p05 <= q.p25 <= q.p50 <= q.p75 <= q.p95
    for k in range(5):
        assert FIFTH_EDGES[k] <= table[k, "cheek"].p05
        assert table[k, "cheek"].p95 <= FIFTH_EDGES[k + 1]


def columned(rows):
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in (*STATISTICS, "skin_tone")}


def test_photographs_medians_compare_as_photographs():
    # One face per fifth that has the photographs' medians: everything is inside, and nobody is beyond p05 to p95.
    table = photograph_quantiles()
    rows = [{name: table[k, name].p50 for name in STATISTICS} for k in range(5)]
    found = compare(columned(rows), 6)
    assert found["medians_inside"] == 90
    assert found["medians_outside"] == []
    assert found["share_inside"] == 1
    assert found["faces_per_fifth"] == [1, 1, 1, 1, 1]
    assert found["unmeasured"] == 1
    assert not found["photometry_passes"]  # one face a fifth is too few


def test_a_median_beyond_the_photographs_is_named():
    table = photograph_quantiles()
    rows = [{name: table[k, name].p50 for name in STATISTICS} for k in range(5)]
    rows[2]["lips"] = 2 * table[2, "lips"].p95
    found = compare(columned(rows), 5)
    assert found["medians_outside"] == [[2, "lips"]]
    assert found["medians_inside"] == 89
    assert found["share_inside"] == 0


def test_fifths_without_faces_are_not_estimable_and_never_inside():
    table = photograph_quantiles()
    found = compare(columned([{name: table[0, name].p50 for name in STATISTICS}]), 1)
    empty = [row for row in found["photometry"] if row["fifth"] == 3]
    assert all(row["n"] == 0 and row["rendered_p50"] is None and not row["inside"] for row in empty)
    assert found["share_inside"] is None
    assert len(found["medians_outside"]) == 72


SHAPE = (64, 64)
POINTS = st.lists(st.tuples(st.floats(3, 60), st.floats(3, 60)), min_size=4, max_size=12)


def drawn(draw):
    cv2 = pytest.importorskip("cv2")
    mask = np.zeros(SHAPE, np.uint8)
    draw(cv2, mask)
    return mask > 0


@given(st.floats(0, 63), st.floats(0, 63), st.floats(0.2, 12))
@settings(max_examples=80, deadline=None)
def test_a_disc_is_opencvs(x, y, radius):
    judge = drawn(lambda cv2, m: cv2.circle(m, (int(x), int(y)), max(1, int(radius)), 1, -1))
    np.testing.assert_array_equal(disc(SHAPE, np.array([x, y]), radius), judge)


@given(POINTS)
@settings(max_examples=120, deadline=None)
def test_a_hull_is_opencvs_but_for_pixels_on_its_edge(points):
    array = np.array(points)
    judge = drawn(lambda cv2, m: cv2.fillConvexPoly(m, cv2.convexHull(array.astype(np.int32)), 1))
    ours = hull(SHAPE, array)
    corners = convex_hull(array.astype(np.int64)).astype(float)
    near_edge = line(SHAPE, np.vstack([corners, corners[:1]]), 3)
    assert not ((ours != judge) & ~near_edge).any()
    if len(corners) > 2:  # where all points lie on a line, all pixels are edge
        assert (ours != judge).sum() <= 0.5 * near_edge.sum()


@given(POINTS)
@settings(max_examples=60, deadline=None)
def test_a_thin_line_is_opencvs_but_for_ties(points):
    array = np.array(points)
    judge = drawn(lambda cv2, m: cv2.polylines(m, [array.astype(np.int32)], False, 1, 1))
    ours = line(SHAPE, array, 1)
    # Halfway between two pixels either may be drawn: none is more than one pixel from the other's line.
    for one, other in ((ours, judge), (judge, ours)):
        padded = np.pad(other, 1)
        thick = np.any([padded[i : i + 64, j : j + 64] for i in range(3) for j in range(3)], axis=0)
        assert not (one & ~thick).any()
