"""Light by attribute: measures on painted faces, planted coefficients, and which of them agree with photographs."""

from __future__ import annotations

import numpy as np
import pytest
from test_photometry import painted, schematic

from validation import light_by_attribute
from validation.light_by_attribute import (
    MEASURES,
    codings,
    compared,
    face_measures,
    photograph_coefficients,
    pose_proxies,
    share_within,
    sharpness,
    sharpness_averaged,
)

# In `schematic` io is 60, eyes' centers at (70, 80) and (130, 80).


@pytest.mark.parametrize(
    ("name", "region", "expected"),
    [
        ("under_eye", (60, 140, 87, 94, 0.1), 0.5),  # y from 80 + 10.2 - 2.4 to + 2.4
        ("lens", (60, 140, 83, 90, 0.06), 0.3),  # y from 80 + 6 - 3 to + 3
        ("brow_top", (90, 110, 49, 57, 0.3), 1.5),  # (100, 60 - 7.2), radius 3
    ],
)
def test_each_square_is_read_where_it_lies(name, region, expected):
    assert face_measures(painted([region]), schematic())[name] == pytest.approx(expected, rel=0.02)


def test_pose_is_read_with_the_eyes_level():
    # Jaw 2 and 14 stand about x = 100 and the nose's tip at 100: no yaw; tip 32 below the root: 32 / 60.
    straight = schematic()
    turned = np.stack([straight, straight])
    turned[1, 30, 0] += 6
    angle = np.radians(20)
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    for points in (turned, turned @ rotation):
        found = pose_proxies(points)
        assert found[0] == pytest.approx([0, 32 / 60], abs=1e-9)
        assert found[1] == pytest.approx([0.1, 32 / 60], abs=1e-9)


def test_sharpness_by_hand():
    # Columns of 0 and 100 levels in turn: the Laplacian is -+2 * 100, the spread 50: (200 / 50) ** 2 = 16.
    columns = np.repeat(np.tile([0, 100], 32)[None], 64, axis=0)
    picture = np.repeat(columns[..., None], 3, axis=2).astype(np.uint8)
    assert sharpness(picture) == pytest.approx(16)
    # Two wide: each pixel has one neighbour of the other kind, +-100: (100 / 50) ** 2 = 4; averaged, the first again.
    wide = np.repeat(np.repeat(columns, 2, axis=0), 2, axis=1)
    picture = np.repeat(wide[..., None], 3, axis=2).astype(np.uint8)
    assert sharpness(picture) == pytest.approx(4, rel=0.05)
    assert sharpness_averaged(picture) == pytest.approx(16)


def planted(n=600, **moved):
    """Faces whose measures follow the photographs' coefficients, but for `moved`: label -> what is added."""
    rng = np.random.default_rng(1)
    attributes = {c.attribute: rng.uniform(min(c.at_0, c.at_1), max(c.at_0, c.at_1), n) for c in codings()}
    attributes["baldness"] = rng.uniform(0, 1, n)
    for name in ("glasses", "hat"):  # any level but the first is a yes
        attributes[name] = rng.integers(0, 2, n) * rng.integers(1, 5, n).astype(float)
    faces = {**attributes, "hair_style": rng.integers(1, 8, n).astype(float)}
    faces |= {"pose.yaw": rng.normal(0, 0.05, n), "pose.pitch": rng.normal(0.6, 0.03, n)}
    for measure in MEASURES:
        value = rng.normal(0, 0.02, n)
        for label in {c.label for c in codings()}:
            of = [c for c in codings() if c.label == label]
            coefficient = photograph_coefficients()[measure, label].value + moved.get(label, 0)
            value += coefficient * np.mean([c.coded(faces[c.attribute]) for c in of], axis=0)
        faces[measure] = value
    return faces


def test_the_photographs_own_coefficients_agree():
    rows = tuple(compared(planted()))
    assert len(rows) == 24 * 11
    assert share_within(rows) > 0.99
    row = next(row for row in rows if (row.statistic, row.label) == ("under_eye", "Smiling"))
    assert row.rendered == pytest.approx(0.07215, abs=0.02)
    makeup = next(row for row in rows if (row.statistic, row.label) == ("lips", "Heavy_Makeup"))
    assert makeup.attributes == "makeup+lipstick"
    expected = photograph_coefficients()["lips", "Heavy_Makeup"].value
    assert makeup.rendered == pytest.approx(expected, abs=0.03), "both halves are added"


def test_a_label_of_another_size_does_not_agree():
    rows = tuple(compared(planted(Smiling=0.5)))
    shares = {label: share_within(tuple(r for r in rows if r.label == label)) for label in ("Smiling", "Male")}
    # .5 is more than two errors of every measure but those whose photographs' error exceeds a quarter: none.
    assert shares["Smiling"] == 0
    assert shares["Male"] > 0.9


def test_turned_faces_do_not_enter():
    faces = planted()
    faces["pose.yaw"][:100] = 0.4
    faces["cheek"][:100] = 1000
    rows = tuple(compared(faces))
    assert {row.n for row in rows} == {500}
    assert share_within(rows) > 0.99


def test_what_does_not_vary_and_few_faces_give_no_coefficient():
    faces = planted()
    faces["hat"][:] = 0
    hats = [row for row in compared(faces) if row.label == "Wearing_Hat"]
    assert {(row.rendered, row.within, row.reason) for row in hats} == {(None, None, "it does not vary")}
    few = tuple(compared({name: column[:30] for name, column in planted().items()}))
    assert {row.reason for row in few} == {"too few faces"}
    assert share_within(few) is None


def test_errors_are_hc3_by_hand():
    # Groups 0, 2 and 1, 3, 5: means 1 and 3. HC3: residuals 1 over 1 - 1/2, and 2 over 1 - 1/3; their squares over n²:
    # 2 * 4 / 4 = 2 and 2 * 9 / 9 = 2, so that the difference of 2 has the error of 2.
    values, group = np.array([0.0, 2, 1, 3, 5]), np.array([0.0, 0, 1, 1, 1])
    coefficients, covariance = light_by_attribute._fit(values, np.ones(5, bool), [group])
    assert coefficients == pytest.approx([1, 2])
    assert np.sqrt(covariance[1, 1]) == pytest.approx(2)
