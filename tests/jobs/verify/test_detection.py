"""Shares found: groups by hand, Wilson's interval, a detector that is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from small_world import Sample

from transect.effects.intervals import wilson
from transect.errors import MissingExtra
from transect.jobs.verify import detection as module
from transect.jobs.verify.detection import TARGETS, detected_photographs, groups, shares_found

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


def test_a_detector_that_is_not_installed_is_a_row_with_its_reason(monkeypatch):
    def missing(name):
        raise MissingExtra("dlib", name)

    monkeypatch.setattr(module, "resolve", missing)
    rows = shares_found(four(), TARGETS)
    assert [row["target"] for row in rows] == list(TARGETS)
    assert all(row["share"] is None and "pip install 'transect[dlib]'" in row["reason"] for row in rows)


def test_the_photographs_facts():
    shares = {(row["target"], row["group"]): row["share"] for row in detected_photographs()}
    assert len(shares) == 8
    assert min(v for (t, _), v in shares.items() if t == TARGETS[0]) == 0.966
    assert max(v for (t, _), v in shares.items() if t == TARGETS[1]) == 0.991
    assert {row["n"] for row in detected_photographs()} == {700}


def test_real_detectors_find_rendered_faces(tmp_path):
    pytest.importorskip("cv2")
    pytest.importorskip("dlib")
    from transect.generators.faceworld.world import FaceWorld
    from transect.jobs.verify.cache import Cache
    from transect.jobs.verify.pictures import Pictures, plain

    with Cache(tmp_path) as cache:
        faces = Pictures(cache, FaceWorld(96, threads=1), "few", 8, plain(0), key={}, quiet=True)
        rows = [row for row in shares_found(faces) if row["group"] == "all"]
    assert [row["n"] for row in rows] == [8, 8]
    assert all(row["share"] >= 0.5 for row in rows)
