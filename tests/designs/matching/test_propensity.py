"""Propensity scores against scikit-learn, pairs by hand and by the published loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.designs.matching import make_sample, propensity, weighting


def confounded(n=600, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    y = (rng.random(n) < 1 / (1 + np.exp(-shift * x[:, 0]))).astype(float)
    return x, y


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.1, 1.0, 30.0]), st.sampled_from([0.2, 5.0]))
def test_log_odds_are_at_the_minimum_of_the_penalised_loss(seed, penalty, shift):
    x, y = confounded(120, shift, seed)
    at = weighting.log_odds(x, y, np.vstack([x, np.zeros((1, 4)), np.eye(4)]), penalty=penalty)
    fitted, weights = at[:120], at[121:] - at[120]
    np.testing.assert_allclose(fitted, x @ weights + at[120], atol=1e-9)
    residual = 1 / (1 + np.exp(-fitted)) - y
    assert residual.sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(x.T @ residual + penalty * weights, 0, atol=1e-6)


def test_the_area_under_the_curve_needs_both_groups():
    scores = np.array([0.3, 0.1, 0.3, 0.9])
    assert weighting.area_under_curve(scores, np.array([0.0, 0.0, 1.0, 1.0])) == 0.875  # of four pairs one ties
    assert np.isnan(weighting.area_under_curve(scores, np.ones(4)))


def test_folds_keep_identities_together_and_groups_even():
    rng = np.random.default_rng(0)
    identity = rng.integers(0, 60, 300)
    y = (identity % 3 == 0).astype(float)
    fold = weighting.folds(y, identity, seed=4)
    assert all(len(set(fold[identity == person].tolist())) == 1 for person in np.unique(identity))
    people = {part: {int(p) for p in identity[(fold == part) & (y == 1)]} for part in range(5)}
    assert {len(found) for found in people.values()} <= {3, 4, 5}


def test_cross_fitting_does_not_see_the_scored_identity():
    """Noise features: in-sample accuracy is above chance, cross-fitted accuracy is not."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 80)), (np.arange(200) % 2).astype(float)
    found = propensity.scores(make_sample(x, y))
    assert found.accuracy > 0.75
    assert 0.35 < found.cross_validated < 0.65
    assert found.warning == ""


def test_near_perfect_separation_is_warned_of():
    x, y = confounded(400)
    x[:, 1] += 8 * y
    found = propensity.scores(make_sample(x, y))
    assert found.cross_validated > 0.95
    assert "the groups barely overlap" in found.warning


def test_recommended_pairs_lie_within_the_caliper_and_balance_the_confounder():
    x, y = confounded(1500)
    sample = make_sample(x, y)
    made = propensity.recommended(sample)
    assert made.distance.max() <= made.facts["caliper"]
    before = x[y == 1, 0].mean() - x[y == 0, 0].mean()
    after = x[made.a, 0].mean() - x[made.b, 0].mean()
    assert abs(after) < 0.15 * before
    assert len(made) + sum(made.refusals.values()) == int(y.sum())


def test_the_published_loop_by_hand():
    """p is known, one treated image is the smaller group: it takes the nearest control if that is within .1."""
    sample = make_sample(np.array([[1.0], [0.0], [2.0], [3.0]]), [1.0, 0.0, 0.0, 0.0])
    odds = np.log(np.array([0.5, 0.62, 0.55, 0.47]) / (1 - np.array([0.5, 0.62, 0.55, 0.47])))
    found = propensity.Scores(odds, odds, 1.0, 1.0, 0.75, 1.0)
    made = propensity.published(sample, found)
    assert (made.a.tolist(), made.b.tolist()) == ([0], [3])
    assert made.distance[0] == pytest.approx(0.03)
    strict = propensity.published(sample, found, caliper=0.02)
    assert strict.refusals == {"caliper": 1}
    assert strict.least_caliper == pytest.approx(0.03)


def test_the_published_loop_runs_over_the_smaller_group_and_keeps_constraints():
    x, y = confounded(400, seed=3)
    rng = np.random.default_rng(0)
    exact, identity = rng.integers(0, 3, 400), rng.integers(0, 150, 400)
    more_treated = np.where(x[:, 3] > -0.8, 1.0, 0.0)
    for treatment in (y, more_treated, 1 - more_treated):
        made = propensity.published(make_sample(x, treatment, exact=[exact], identity=identity))
        assert (treatment[made.a] == 1).all()
        assert (treatment[made.b] == 0).all()
        assert (exact[made.a] == exact[made.b]).all()
        assert made.distance.max() <= 0.1
        people = np.concatenate([identity[made.a], identity[made.b]])
        assert len(set(people.tolist())) == len(people)
        assert len(made) + sum(made.refusals.values()) == int(treatment.sum())
