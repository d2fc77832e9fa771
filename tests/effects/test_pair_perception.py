"""What people see between two images: by hand, against other implementations, and on planted truth."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from transect.effects.pair_perception import pair_ranking, perceived_difference


def ranked(strengths, rng, subjects=40, raters=5, habit=0.0):
    """Every rater compares every two levels of every subject: columns as `pair_ranking` takes them."""
    pairs = list(itertools.combinations(range(len(strengths)), 2))
    subject, rater, pair = (each.ravel() for each in np.indices((subjects, raters, len(pairs))))
    first, second = np.array(pairs)[pair].T
    own = habit * rng.normal(size=raters)[rater]
    chance = expit(np.asarray(strengths)[second] - np.asarray(strengths)[first] + own)
    return first, second, (rng.random(len(chance)) < chance).astype(float), subject, rater


def test_shares_and_sizes_by_hand():
    """Pairs 0: 0 and 2, 1: 4; of three answers two see a difference, and pairs count equally: (.5 + 1) / 2, (1 + 4) / 2."""
    seen = perceived_difference([0, 2, 4, np.nan], [0, 0, 1, 1], [0, 0, 1, 1], ["a", "b", "a", "b"], scale=(0, 4))
    assert (seen.share.estimate, seen.size.estimate) == (0.75, 2.5)
    assert (seen.pairs, seen.subjects, seen.raters, seen.answers, seen.unanswered) == (2, 2, 2, 3, 1)


def test_a_mean_perceived_difference_is_equation_4():
    """With answers 0 and 1 share and size are the mean over subjects of the mean over raters."""
    rng = np.random.default_rng(0)
    table = (rng.random((30, 4)) < 0.3).astype(float)
    subject, rater = (each.ravel() for each in np.indices(table.shape))
    seen = perceived_difference(table.ravel(), subject, subject, rater)
    assert seen.share == seen.size
    assert seen.size.estimate == pytest.approx(table.mean(axis=1).mean())
    assert seen.size.low < seen.size.estimate < seen.size.high


@pytest.mark.parametrize(
    ("subject", "rater", "reason"),
    [([0, 1], ["a", "a"], "two raters"), ([0, 0], ["a", "b"], "two subjects"), ([0, 1], ["a", "b"], "one rater")],
)
def test_without_an_interval_the_estimate_stands_with_the_reason(subject, rater, reason):
    seen = perceived_difference([0, 1], [0, 1], subject, rater)
    assert seen.share.estimate == 0.5
    assert np.isnan(seen.share.low)
    assert reason in seen.share.reason


def test_strengths_are_those_of_scikit_learn_and_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    first, second, more, subject, rater = ranked([0.0, 0.5, 1.5, 1.2], rng)
    ours = [each.estimate for each in pair_ranking(first, second, more, subject, rater).strengths]
    x = (np.eye(4)[second] - np.eye(4)[first])[:, 1:]
    theirs = sm.GLM(more, x, family=sm.families.Binomial()).fit().params
    assert ours == pytest.approx([0.0, *theirs])
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(x, more)
    assert ours[1:] == pytest.approx(model.coef_[0], abs=1e-5)


def test_planted_strengths_are_found_and_the_side_does_not_matter():
    rng = np.random.default_rng(3)
    strengths = [0.0, 0.7, 1.4]
    first, second, more, subject, rater = ranked(strengths, rng, subjects=400)
    ranking = pair_ranking(first, second, more, subject, rater)
    assert [each.estimate for each in ranking.strengths] == pytest.approx(strengths, abs=0.15)
    turned = rng.random(len(more)) < 0.5
    swapped = pair_ranking(
        np.where(turned, second, first),
        np.where(turned, first, second),
        np.where(turned, 1 - more, more),
        subject,
        rater,
    )
    assert swapped == ranking


def test_raters_with_habits_widen_the_interval():
    """A rater who leans to the higher level moves all of that rater's answers."""
    wide, narrow = (
        pair_ranking(*ranked([0.0, 0.5], np.random.default_rng(4), subjects=200, raters=8, habit=habit)).strengths[1]
        for habit in (1.5, 0.0)
    )
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_a_level_chosen_by_every_answer_has_no_finite_strength():
    ranking = pair_ranking([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1], ["a", "b", "a", "b"])
    assert np.isnan(ranking.strengths[1].estimate)
    assert "infinite" in ranking.strengths[1].reason
    assert (ranking.compared[0].more.estimate, ranking.compared[0].more.high) == (1.0, 1.0)
    tied = pair_ranking([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0.5], [0, 0, 1, 1], ["a", "b", "a", "b"])
    assert tied.strengths[1].estimate == pytest.approx(np.log(7))  # 3.5 of 4


def test_circular_triads_against_kendall():
    """Of k levels all compared: k(k-1)(2k-1)/12 - Σ wins² / 2 circular triads (Kendall and Babington Smith 1940)."""
    rng = np.random.default_rng(5)
    k = 7
    first, second = np.array(list(itertools.combinations(range(k), 2))).T
    for _ in range(5):
        more = rng.integers(0, 2, len(first)).astype(float)
        wins = np.bincount(np.where(more == 1, second, first), minlength=k)
        ranking = pair_ranking(first, second, more, np.zeros(len(first)), ["a"] * len(first))
        assert ranking.circular == k * (k - 1) * (2 * k - 1) / 12 - (wins**2).sum() / 2
        assert ranking.triads == k * (k - 1) * (k - 2) / 6
