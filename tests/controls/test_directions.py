"""Directions fitted from labels: planted ones are found, confounding is balanced away, bad labels are named."""

import numpy as np
import pytest

from transect.controls.directions import fit_direction
from transect.controls.learned import LearnedControls
from transect.errors import BadInput
from transect.records import Latents


def latents(n=2000, d=16, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def planted(d=16, index=0):
    direction = np.zeros(d)
    direction[index], direction[index + 1] = 0.8, 0.6
    return direction


def test_a_planted_continuous_direction_is_found_with_its_slope():
    """y = 30 + 5 v·z + noise of sd 1: along v the label rises by 5, and the best R² is 25 / 26."""
    z = latents()
    y = 30 + 5 * z @ planted() + np.random.default_rng(1).standard_normal(len(z))
    direction = fit_direction("age", z, y, "continuous")
    assert direction.normal @ planted() > 0.999
    assert direction.slope == pytest.approx(5, rel=0.02)
    assert direction.quality == pytest.approx(25 / 26, abs=0.01)
    # The hyperplane lies at the mean label: at v·z + b = 0.
    assert direction.offset == pytest.approx((30 - y.mean()) / 5, abs=0.05)
    assert (direction.labels, direction.held_out) == (2000, 400)


def test_the_way_is_how_latents_follow_a_planted_cause():
    """w = M u with independent causes u: raising the first by one moves w by the first column of M, and no other u."""
    draws = np.random.default_rng(3)
    scales = np.array([3.0, *np.geomspace(4, 0.05, 11)])
    mixing = np.linalg.qr(draws.standard_normal((12, 12)))[0] * scales
    mixing[:, 1] += 2 * mixing[:, 0]
    causes = draws.standard_normal((4000, 12))
    rows = causes @ mixing.T
    y = 40 + 10 * causes[:, 0] + draws.standard_normal(4000)
    direction = fit_direction("age", rows, y, "continuous")
    effect = mixing[:, 0] / np.linalg.norm(mixing[:, 0])
    assert direction.way @ effect > 0.99
    assert direction.normal @ effect < 0.8
    # A step of ten years along the way is one unit of the cause; along the normal it is mostly something else.
    for way, own in ((direction.way, 1.0), (direction.normal, None)):
        moved = np.linalg.solve(mixing, 10 / direction.slope * way / (way @ direction.normal))
        if own is None:
            assert np.abs(np.delete(moved, 0)).max() > 0.3
        else:
            assert moved[0] == pytest.approx(own, abs=0.1)
            assert np.abs(np.delete(moved, 0)).max() < 0.15
    (read,) = LearnedControls([direction], "w").read(Latents(np.arange(1), rows[:1], "w"))["age"].to_pylist()
    moved = LearnedControls([direction], "w").set(Latents(np.arange(1), rows[:1], "w"), {"age": read + 5}).values
    change = np.linalg.solve(mixing, (moved - rows[:1])[0])
    assert change[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("method", ["logistic", "svm", "ridge"])
def test_a_planted_binary_direction_is_found(method):
    z = latents()
    y = (z @ planted() > 0.3).astype(float)
    direction = fit_direction("smile", z, y, "binary", method=method)
    assert direction.normal @ planted() > 0.99
    assert direction.offset == pytest.approx(-0.3, abs=0.1)
    assert direction.quality > 0.95
    assert np.isnan(direction.slope)


def test_balancing_takes_the_confounder_out_of_the_direction():
    """Smiling is planted on axis 0 and seen mostly where axis 5 is positive: alone, the fit leans on axis 5."""
    z = latents(6000)
    male = (z[:, 5] > 0).astype(float)
    y = (z[:, 0] + 0.9 * (2 * male - 1) + 0.5 * np.random.default_rng(3).standard_normal(len(z)) > 0).astype(float)
    naive = fit_direction("smile", z, y, "binary")
    balanced = fit_direction("smile", z, y, "binary", balance={"male": male})
    assert naive.normal[5] > 0.3
    assert abs(balanced.normal[5]) < 0.6 * naive.normal[5]
    assert balanced.origin["balanced_on"] == ["male"]


def test_rows_without_finite_latents_count_as_unlabelled():
    """300 labelled rows: 40 lose a coordinate and 60 all; the other 200 give the direction that they give alone."""
    z = latents(300)
    y = (z @ planted() > 0).astype(float)
    lost = z.copy()
    lost[:40, 3], lost[40:100] = np.inf, np.nan
    partial, alone = fit_direction("smile", lost, y, "binary"), fit_direction("smile", z[100:], y[100:], "binary")
    np.testing.assert_array_equal(partial.normal, alone.normal)
    assert (partial.labels, partial.origin["without_latents"]) == (200, 100)
    assert "without_latents" not in alone.origin
    y[100:200] = np.nan  # unlabelled rows are not counted twice
    lost[200:260] = np.nan
    with pytest.raises(BadInput, match=r"at least 50 labels, got 40 \(160 more have no finite latents\)"):
        fit_direction("smile", lost, y, "binary")


def test_labels_without_signal_have_no_quality():
    y = np.random.default_rng(4).integers(0, 2, 2000).astype(float)
    assert fit_direction("nothing", latents(), y, "binary").quality == pytest.approx(0.5, abs=0.08)


def test_the_same_labels_give_the_same_direction():
    z = latents()
    y = (z[:, 0] > 0).astype(float)
    first, second = (fit_direction("a", z, y, "binary", seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.normal, second.normal)


@pytest.mark.parametrize(
    ("labels", "kind", "options", "message"),
    [
        (np.zeros(2000), "binary", {}, "expected at least 20 labels of each class, got 2000 no and 0 yes"),
        (np.ones(2000), "continuous", {}, "expected labels that differ, got only 1; label more"),
        (np.arange(2000) % 3.0, "binary", {}, r"expected labels 0 and 1, got \[0.0, 1.0, 2.0\]"),
        (
            np.arange(2000) % 2.0,
            "binary",
            {"balance": {"hat": np.arange(2000) % 2.0}},
            "expected both classes where hat 0, found only no",
        ),
    ],
)
def test_labels_that_do_not_do(labels, kind, options, message):
    with pytest.raises(BadInput, match=message):
        fit_direction("x", latents(), labels, kind, **options)
