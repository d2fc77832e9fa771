"""Shares found by hand, a detector that is not installed, and dlib's models with stand-ins whose answers are known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from small_world import Sample

from transect.effects.intervals import wilson
from transect.generators.faceworld.world import FaceWorld
from validation import detectors as module
from validation.detectors import groups, shares_found
from validation.pictures import Pictures, population

TRUTH = {
    "skin_tone": np.array([1.0, 4.0, 7.0, 10.0]),
    "age": np.array([18.0, 30.0, 59.9, 85.0]),
    "glasses": np.array([0.0, 1.0, 0.0, 0.0]),
    "hat": np.array([0.0, 2.0, 1.0, 0.0]),
    "bangs": np.array([0.0, 0.5, 0.6, 0.0]),
}


def four(**changes):
    """Four subjects whose values are known."""
    return Sample(np.zeros((4, 32, 32, 3), np.uint8), TRUTH | changes)


def test_every_subject_is_in_one_group_of_each_kind():
    found = {(by, group): np.flatnonzero(rows).tolist() for by, group, rows in groups(four())}
    assert found == {
        ("", "all"): [0, 1, 2, 3],
        ("skin tone (Monk scale)", "1 to 4"): [0],
        ("skin tone (Monk scale)", "4 to 7"): [1],
        ("skin tone (Monk scale)", "7 to 10"): [2, 3],
        ("age (years)", "18 to 30"): [0],
        ("age (years)", "30 to 45"): [1],
        ("age (years)", "45 to 60"): [2],
        ("age (years)", "60 to 85"): [3],
        ("glasses", "none"): [0, 2, 3],
        ("glasses", "worn"): [1],
        ("hat", "none"): [0, 3],
        ("hat", "worn"): [1, 2],
        ("bangs", "none"): [0, 3],
        ("bangs", "up to half"): [1],
        ("bangs", "over half"): [2],
    }


def test_shares_and_their_intervals(monkeypatch):
    monkeypatch.setattr(module, "_found", lambda *_: np.array([True, False, True, False]))
    rows = {(row["by"], row["group"]): row for row in shares_found(four(), ("one",))}
    whole = rows["", "all"]
    low, high = wilson(2, 4)
    assert (whole["n"], whole["found"], whole["share"]) == (4, 2, 0.5)
    assert (whole["low"], whole["high"]) == (float(low), float(high))
    assert rows["hat", "worn"]["share"] == 0.5
    assert rows["glasses", "worn"]["share"] == 0


def test_a_group_without_subjects_has_no_share(monkeypatch):
    monkeypatch.setattr(module, "_found", lambda *_: np.ones(4, dtype=bool))
    row = next(
        r for r in shares_found(four(glasses=np.zeros(4)), ("one",)) if (r["by"], r["group"]) == ("glasses", "worn")
    )
    assert (row["n"], row["share"], row["low"]) == (0, None, None)


@pytest.mark.integration
def test_real_detectors_find_rendered_faces():
    pytest.importorskip("cv2")
    pytest.importorskip("dlib")
    faces = Pictures(FaceWorld(96, threads=1), "few", 8, population(0), quiet=True)
    rows = [row for row in shares_found(faces) if row["group"] == "all"]
    assert [row["n"] for row in rows] == [8, 8]
    assert all(row["share"] >= 0.5 for row in rows)


pytest.importorskip("dlib")
ANY = Path("model.dat")


@pytest.fixture(scope="module")
def faces():
    return Pictures(FaceWorld(128, threads=1), "faces", 4, population(0), quiet=True)


def test_a_known_error_is_measured_in_eye_distances(faces, monkeypatch):
    """A predictor that answers with the world's points, the mouth moved right by a tenth of the eyes' distance."""
    own = faces.landmarks()
    apart = np.linalg.norm(own[:, 45] - own[:, 36], axis=1)
    told = own.copy()
    told[:, 48:, 0] += 0.1 * apart[:, None]
    turn = iter(told)

    def predictor(_image, _box):
        points = next(turn)
        return SimpleNamespace(parts=lambda: [SimpleNamespace(x=4 * x - 0.5, y=4 * y - 0.5) for x, y in points])

    monkeypatch.setattr(module, "read_model", lambda *_: predictor)
    monkeypatch.setattr(module, "matching_boxes", lambda _boxes, expected: [np.append(expected[0], 1.0)[None]])
    found = module.landmark_errors(faces, ANY)
    assert (found["n"], found["not_found"]) == (4, 0)
    assert found["regions"]["mouth"]["mean"] == pytest.approx(0.1)
    assert found["regions"]["mouth"]["offset"] == pytest.approx([0.1, 0], abs=1e-12)
    assert found["regions"]["nose"]["mean"] == pytest.approx(0, abs=1e-12)
    assert found["regions"]["all"]["mean"] == pytest.approx(0.1 * 20 / 68)
