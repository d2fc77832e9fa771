"""The variance of an estimate over other subjects and raters: by hand, by dense matrices, and against simulation."""

import numpy as np
import pytest
from scipy.special import expit

from transect.effects.generalized import LOGIT, maximise
from transect.effects.rater_uncertainty import crossed_variance


def of_mean(table, weight=None):
    """The variance of the mean of a table [subjects, raters], NaN where there is no answer."""
    subject, rater = np.nonzero(np.isfinite(table))
    y, ones = table[subject, rater], np.ones(len(subject))
    w = ones if weight is None else weight[subject, rater]
    return crossed_variance(ones[:, None], y - np.average(y, weights=w), ones, w, np.ones(1), subject, rater)


def test_a_full_table_has_the_variance_of_two_way_analysis_of_variance():
    """(mean square of subjects + of raters - of the rest) / (S R), where all three components are positive."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(9, 1)) + 0.8 * rng.normal(size=(1, 4)) + 0.3 * rng.normal(size=(9, 4))
    rows, columns, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    rest = ((table - rows[:, None] - columns + mean) ** 2).sum() / (8 * 3)
    by_hand = (4 * rows.var(ddof=1) + 9 * columns.var(ddof=1) - rest) / 36
    made = of_mean(table)
    assert made.variance == pytest.approx(by_hand)
    assert made.rater_share == pytest.approx((columns.var(ddof=1) / 4 - rest / 36) / by_hand)
    assert made.freedom == 3


def test_expectations_by_dense_matrices():
    """The components that solve tr(M_k P V_c P') = Q_k, written out with n by n matrices, give the same variance."""
    rng = np.random.default_rng(2)
    subject, rater = rng.integers(0, 15, 120), rng.integers(0, 5, 120)
    x = rng.integers(0, 2, (120, 2)).astype(float)
    beta = np.array([0.8, -0.4])
    y = (rng.random(120) < expit(x @ beta + rng.normal(size=15)[subject] + rng.normal(size=5)[rater])).astype(float)
    beta, _ = maximise(x, y, np.ones(120), LOGIT)
    p = expit(x @ beta)
    v, c = p * (1 - p), np.array([1.0, 0.0])
    made = crossed_variance(x, y - p, v, np.ones(120), c, subject, rater)
    gain = np.linalg.inv(x.T @ (v[:, None] * x)) @ x.T
    d, project = c @ gain, np.eye(120) - v[:, None] * x @ gain
    same = [subject, rater, subject * 5 + rater]
    kinds = [(each[:, None] == each[None, :]).astype(float) for each in same]
    errors = [np.sqrt(np.outer(v, v)) * kind for kind in kinds]
    expected = [[np.trace(np.outer(d, d) * of @ project @ error @ project.T) for error in errors] for of in kinds]
    seen = [(d * (y - p)) @ of @ (d * (y - p)) for of in kinds]
    components = np.linalg.solve(expected, seen)
    assert (components > 0).all()
    assert made.variance == pytest.approx(sum(s * (d @ e @ d) for s, e in zip(components, errors, strict=True)))


def test_what_cannot_be_told_has_a_reason():
    assert "two raters" in of_mean(np.array([[0.0], [1.0]])).reason
    assert "two subjects" in of_mean(np.array([[0.0, 1.0]])).reason
    assert "one rater a subject" in of_mean(np.array([[0.0, np.nan], [np.nan, 1.0], [1.0, np.nan]])).reason
    assert "one subject a rater" in of_mean(np.array([[0.0, 1.0, np.nan], [np.nan, np.nan, 1.0]])).reason


def test_equal_answers_have_no_variance():
    made = of_mean(np.ones((4, 3)))
    assert (made.variance, made.freedom, made.reason) == (0.0, 2.0, "")
    assert np.isnan(made.rater_share)
