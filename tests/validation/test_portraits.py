"""The portraits that a person marked parse and are plausible, and the measurement runs where the photographs are."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from transect.errors import BadInput
from transect.marks.records import EYES
from transect.marks.shipped import NetworkMarks
from validation import portraits as module
from validation.portraits import at_recall, cheek_ita, portraits, quarters, read
from validation.text import columns

SAMPLE = portraits()
POINTS = np.array([one.points for one in SAMPLE])


def _folder():
    try:
        return module.photographs()
    except BadInput as error:
        pytest.skip(str(error))


def _finder():
    try:
        return NetworkMarks()
    except BadInput as error:
        pytest.skip(f"the network that ships is not of this architecture: {error}")


def test_the_sample_has_a_hundred_faces_and_enough_of_each_kind():
    assert len({one.file for one in SAMPLE}) == 100
    counts = Counter(one.glasses for one in SAMPLE)
    assert set(counts) == {"none", "thin", "thick"}
    assert counts["thin"] + counts["thick"] >= 20, "recall can be estimated"
    assert min(Counter(one.gender for one in SAMPLE).values()) >= 30
    assert all(("glasses" in one.suits) == (one.glasses == "none") for one in SAMPLE)
    assert sum(one.ita is None for one in SAMPLE) == 5


def test_every_point_lies_in_the_picture_and_left_is_left():
    assert POINTS.min() > 0
    assert POINTS.max() < 1
    x, y = POINTS[..., 0], POINTS[..., 1]
    left, right = (POINTS[:, part].mean(axis=1) for part in EYES)
    assert (left[:, 0] < right[:, 0]).all()
    # Pairs of points that a mirror exchanges: jaw, brows, corners of the eyes, wings of the nose, corners of the mouth.
    for first, second in ((0, 16), (4, 12), (17, 26), (21, 22), (36, 45), (39, 42), (31, 35), (48, 54), (60, 64)):
        assert (x[:, first] < x[:, second]).all(), (first, second)
    # From top to bottom: brows, eyes, tip of the nose, its base, upper lip, lower lip, chin.
    middles = [y[:, 19:25].mean(axis=1), y[:, 36:48].mean(axis=1), *(y[:, k] for k in (30, 33, 51, 57, 8))]
    assert (np.diff(middles, axis=0) > 0).all()
    assert (np.diff(x[:, 17:27], axis=1) > 0).all(), "brows run from left to right"


def test_faces_have_the_proportions_of_faces():
    left, right = (POINTS[:, part].mean(axis=1) * (225, 275) for part in EYES)
    apart = np.linalg.norm(right - left, axis=1)
    wide = np.linalg.norm((POINTS[:, 54] - POINTS[:, 48]) * (225, 275), axis=1) / apart
    long = np.linalg.norm((POINTS[:, 8] - POINTS[:, 27]) * (225, 275), axis=1) / apart
    assert ((wide > 0.6) & (wide < 1.2)).all()
    assert ((long > 1.3) & (long < 2.2)).all()


def test_the_threshold_of_a_recall_is_the_largest_that_reaches_it():
    shares, wears = np.array([0.9, 0.8, 0.7, 0.1, 0.75]), np.array([True, True, True, True, False])
    # Three of four are seen from .7 on; the fourth only at .1.
    assert at_recall(shares, wears, 0.75) == 0.7
    assert at_recall(shares, wears, 0.76) == 0.1


def test_quarters_are_as_large_as_each_other_and_leave_out_what_is_not_known():
    assert quarters([4.0, 3.0, 2.0, 1.0, None]) == [3, 2, 1, 0, -1]


def test_what_a_finder_does_on_all_faces_is_an_offset_and_no_error():
    """Faces turned by a quarter, twice as large: all points .3 of the eyes' distance down the face, one .4 more on one
    face of three. Beside the mean of the other two, that face is .4 off, and each of the others .2."""
    apart = []
    for face, turned in enumerate((0, 1, 0)):
        truth = POINTS[0] * (225, 275) - 100
        truth = 2 * truth @ np.array([[0.0, 1.0], [-1.0, 0.0]]) if turned else truth
        left, right = (truth[part].mean(axis=0) for part in EYES)
        unit = np.linalg.norm(right - left)
        along = (right - left) / unit
        down = np.array([-along[1], along[0]])
        moved = truth + 0.3 * unit * down
        moved[57] += 0.4 * unit * along * (face == 2)
        apart.append(module.displaced(moved, truth))
    assert np.allclose(apart[0], [0.0, 0.3])
    assert np.allclose(apart[1], apart[0])
    assert np.allclose(apart[2][57], [0.4, 0.3])
    (_, _, rows) = module._points(np.array(apart))
    found = {row[0]: [float(figure.split()[0]) for figure in row[1:]] for row in rows}
    assert found["jaw"] == [0.3, 0.3, 0.0]
    assert found["mouth"][2] == pytest.approx(0.2 / 20), "the median of .2, .2 and .4, of one point in twenty"


def test_a_folder_without_the_photographs_is_named(tmp_path):
    with pytest.raises(BadInput, match=module.FOLDER):
        module.photographs(tmp_path)


def test_ita_can_be_measured_again():
    folder = _folder()
    for one in SAMPLE[::10]:
        picture = read(folder, one.file)
        measured = cheek_ita(picture, one.points * (picture.shape[1], picture.shape[0]))
        assert one.ita is None or abs(measured - one.ita) < 0.06, one.file


def test_thresholds_are_chosen_by_the_stated_rule_on_portraits_that_measure_nothing(monkeypatch):
    """All glasses but the two least sure count, and from halfway down to the third surest of 215 bare faces; five of
    260 bare heads may."""
    folder, others = _folder(), json.loads(module._text())["others"]["glasses"]
    assert not {one.file for one in SAMPLE} & set(others)
    sure = {file: {"glasses": 0.5 + 0.01 * place, "hat": 0.0} for place, file in enumerate(others)}
    heads = iter(np.arange(260) / 1000)
    monkeypatch.setattr(module, "read", lambda _, file: file)
    bare = {"glasses": 0.6}
    monkeypatch.setattr(module, "answers", lambda file, _: {**sure.get(file, bare), "hat": next(heads)})
    _, _, (glasses, hats) = module.choose(folder)[0]
    assert glasses[1:3] == ["0.520", "96 % (85 to 99) of 45"]
    assert hats[1] == "0.500"
    bare["glasses"] = 0.1  # at most two of 215 may lie above: the middle of .101 and .52
    heads = iter(0.6 + np.arange(260) / 1000)
    _, _, (glasses, hats) = module.choose(folder)[0]
    assert glasses[1:3] == ["0.310", "100 % (92 to 100) of 45"]
    assert hats[3] == "2 % (1 to 4) of 260"


@pytest.mark.slow
def test_the_finder_can_be_measured(monkeypatch):
    folder, finder = _folder(), _finder()
    monkeypatch.setattr(module, "portraits", lambda: SAMPLE[::8])
    monkeypatch.setattr(module, "NetworkMarks", lambda _: finder)
    points, worn, usable, reliability = module.measure(folder)
    assert "of 13 faces found" in points[0]
    assert len(worn[2]) == 3
    assert len(usable[2]) == 14
    assert sum(int(row[1]) for row in reliability[2]) == 13
    assert all(columns(table) for table in (points, worn, usable, reliability))
