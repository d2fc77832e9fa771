"""Variance of shares of comparisons: on average that of planted spreads, and what an interval rests on."""

import numpy as np
import pytest

from transect.effects import verification


@pytest.mark.parametrize("people", [6, 12, 30])
def test_the_variance_is_right_on_average(people):
    """4,000 tables of planted spreads, of people 1 and of pairs .5: 4 / G + .25 / (G (G - 1) / 2)."""
    rng, tables = np.random.default_rng(people), 4000
    first, second = np.triu_indices(people, 1)
    added = rng.normal(size=(people, tables))
    values = added[first] + added[second] + 0.5 * rng.normal(size=(len(first), tables))
    residual = values - values.mean(axis=0)
    sums = np.zeros((people, tables))
    np.add.at(sums, first, residual)
    np.add.at(sums, second, residual)
    spread, freedom = verification.dyadic_variance(sums, (residual**2).sum(axis=0), np.full(people, people - 1.0))
    truth = 4 / people + 0.25 / len(first)
    assert values.mean(axis=0).var() == pytest.approx(truth, rel=0.1)
    assert spread.mean() == pytest.approx(truth, rel=0.05)
    assert (freedom < people).all()


def test_three_people_have_no_variance_and_nine_no_interval():
    spread, freedom = verification.dyadic_variance(np.zeros((3, 1)), np.zeros(1), np.full(3, 2.0))
    assert np.isnan([*spread, *freedom]).all()
    assert np.isnan(verification.dyadic_interval(np.array([0.1]), np.array([0.01]), np.array([5.0]), 9, 36)).all()
    assert np.isfinite(verification.dyadic_interval(np.array([0.1]), np.array([0.01]), np.array([5.0]), 10, 45)).all()
