"""Changes of gaps by matching against leaving out one identity at a time, and what has no change."""

import numpy as np
import pytest
from scipy.stats import t as student

from transect.effects.recognition import gap_changes, recognition_verification

LIMIT = [1.2]


def faces(people=40, seed=0):
    """Embeddings, identities, groups (f: the first half) and rows that a matching chose."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), 3)
    x = rng.normal(size=(people, 4))[who] + 0.5 * rng.normal(size=(len(who), 4))
    return x, who, np.where(who < people // 2, "f", "m"), np.flatnonzero(rng.random(len(who)) < 0.7)


def gaps(x, who, group, rows):
    found = recognition_verification(x, who, group, LIMIT, rows=rows)
    f, m = found
    return np.array([m.mean_genuine - f.mean_genuine, m.fnmr[0] - f.fnmr[0], m.fmr[0] - f.fmr[0]])


def test_errors_are_those_of_leaving_out_one_identity_at_a_time():
    x, who, group, rows = faces()
    before, after = (
        recognition_verification(x, who, group, LIMIT),
        recognition_verification(x, who, group, LIMIT, rows=rows),
    )
    changes = gap_changes(before, after, LIMIT)
    assert [row.measure for row in changes] == ["mean distance", "fnmr", "fmr"]
    everything = np.arange(len(x))
    change = gaps(x, who, group, rows) - gaps(x, who, group, everything)
    assert [row.estimate for row in changes] == pytest.approx(change)
    left = (
        np.array(
            [gaps(x, who, group, rows[who[rows] != i]) - gaps(x, who, group, everything[who != i]) for i in range(40)]
        )
        - change
    )
    error = np.sqrt((left**2).sum(axis=0) * 39 / 40)
    freedom = (left**2).sum(axis=0) ** 2 / (left**4).sum(axis=0) - 1
    half = student.ppf(0.975, freedom) * error
    assert [row.high - row.estimate for row in changes] == pytest.approx(half, rel=1e-9)
    assert [row.p for row in changes] == pytest.approx(2 * student.sf(np.abs(change) / error, freedom), rel=1e-9)


def test_nothing_left_out_is_no_change_and_few_identities_have_no_interval():
    x, who, group, _ = faces()
    found = recognition_verification(x, who, group, LIMIT)
    assert {row.reason for row in gap_changes(found, found, LIMIT)} == {
        "no interval: matching changes no identity's part in the gap"
    }
    some = recognition_verification(x, who, group, LIMIT, rows=np.flatnonzero(who > 15))
    change = gap_changes(found, some, LIMIT)[0]
    assert np.isfinite(change.estimate)
    assert np.isnan(change.p)
    assert change.reason == "no interval: 4 identities of f, at least 10"
