"""Raters resampled: worked by hand, against what is known of a mean, and coverage over simulated worlds (slow)."""

import numpy as np
import pytest

from transect.effects.rater_uncertainty import error_difference, instrumented, raters_resampled
from transect.records import Annotations, Question

Q = Question("smile", "?")


def annotations(table):
    """A table [images, raters], NaN for none."""
    image, rater = np.nonzero(np.isfinite(table))
    return Annotations(Q, image, tuple(f"r{k}" for k in rater), table[image, rater])


def mean(means, weights):
    known = np.isfinite(means[:, 0])
    return np.array([np.average(means[known, 0], weights=weights[known])])


def test_raters_who_differ_by_a_constant_add_exactly_its_variance():
    """Rater r says truth + h_r of every image: the mean's variance by rater is that of h over R, unbiased: s^2 / R."""
    rng = np.random.default_rng(0)
    truth, habit = rng.normal(size=200), np.array([-0.6, -0.2, 0.1, 0.7])
    made = raters_resampled(mean, [annotations(truth[:, None] + habit)], np.arange(200), resamples=1500)
    added = made.error**2 - made.by_subject**2
    assert added[0] == pytest.approx(habit.var(ddof=1) / 4, rel=0.15)
    assert made.by_subject[0] == pytest.approx(truth.std(ddof=1) / 200**0.5, rel=0.1)
    assert made.rater_share[0] == pytest.approx(added[0] / made.error[0] ** 2)
    assert made.estimate[0] == pytest.approx(truth.mean())  # the habits add up to 0


def test_raters_who_differ_by_noise_alone_add_nothing():
    rng = np.random.default_rng(1)
    table = rng.normal(size=300)[:, None] + 0.5 * rng.normal(size=(300, 6))
    made = raters_resampled(mean, [annotations(table)], np.arange(300), resamples=300)
    assert made.rater_share[0] < 0.1
    assert made.by_subject[0] == pytest.approx(table.mean(axis=1).std(ddof=1) / 300**0.5, rel=0.15)


def test_few_of_many_raters_an_image():
    """Each image has five of 30 raters; habits of variance 1 add 1/30 to the mean's variance."""
    rng, added = np.random.default_rng(2), []
    for seed in range(8):
        habit = rng.normal(size=30)
        table = np.full((150, 30), np.nan)
        chosen = np.argsort(rng.random((150, 30)), axis=1)[:, :5]
        np.put_along_axis(table, chosen, habit[chosen], axis=1)
        made = raters_resampled(mean, [annotations(table)], np.arange(150), resamples=100, seed=seed)
        added.append(made.error[0] ** 2 - made.by_subject[0] ** 2)
    assert np.mean(added) == pytest.approx(1 / 30, rel=0.35)  # of 8 worlds: a standard error of about 11 %


def test_two_stage_least_squares_is_the_one_of_effects():
    from transect.effects.instruments import instrumental

    rng = np.random.default_rng(3)
    z = np.tile([0.0, 1.0], 40)
    x = z + rng.normal(size=80)
    y = 2 * x + rng.normal(size=80)
    w = rng.normal(size=80)
    mine = instrumented(y, z[:, None], w[:, None])(x[:, None], np.ones(80))
    theirs = instrumental(y, {"x": x}, {"z": z}, exogenous={"w": w})
    assert mine[0] == pytest.approx(theirs[0].estimate)


def test_errors_by_raters_majority():
    """Answers 1 0 | 1 1, majorities 1 1 | 0 tie: one of two wrong at the first, one of one at the last: +.5."""
    means = np.array([[0.9], [0.8], [0.2], [0.5]])
    first = np.array([True, True, False, False])

    def label(seen):
        return np.where(seen[:, 0] == 0.5, np.nan, (seen[:, 0] > 0.5) * 1.0)

    made = error_difference(np.array([1.0, 0.0, 1.0, 1.0]), label, first, ~first)(means, np.ones(4))
    assert made.tolist() == [0.5]


def test_what_cannot_be_told_has_a_reason():
    one = raters_resampled(mean, [annotations(np.array([[0.1], [0.5], [0.9]]))], np.arange(3))
    assert one.estimate[0] == pytest.approx(0.5)
    assert np.isnan(one.low[0])
    assert one.reason == "fewer than three raters: their variance is not known"
    nan = np.nan
    once = raters_resampled(
        mean, [annotations(np.array([[0.1, nan, nan], [nan, 0.5, nan], [nan, nan, 0.4]]))], np.arange(3)
    )
    assert once.reason == "one answer per image: the variance of raters is not estimable"
    assert raters_resampled(mean, [annotations(np.ones((2, 2)))], np.zeros(2, dtype=int)).reason.startswith("fewer")


def world(rng, raters=8, subjects=60):
    """Two images of each subject, intended 0 and 1; raters use the scale more or less widely, and lean; y depends on
    what the population of raters sees. The effect per unit of what they see is .4."""
    z = np.tile([0.0, 1.0], subjects)
    seen = 0.2 + 0.6 * z + np.repeat(rng.normal(0, 0.1, subjects), 2)
    width, lean = rng.normal(1.0, 0.25, raters), rng.normal(0.0, 0.1, raters)
    table = seen[:, None] * width + lean + rng.normal(0, 0.15, (2 * subjects, raters))
    y = 0.1 + 0.4 * seen + rng.normal(0, 0.1, 2 * subjects)
    return y, z, table, np.repeat(np.arange(subjects), 2)


@pytest.mark.slow
def test_intervals_cover_where_resampling_subjects_alone_does_not():
    rng, covered, naive, shares = np.random.default_rng(4), 0, 0, []
    worlds = 200
    for seed in range(worlds):
        y, z, table, subjects = world(rng)
        statistic = instrumented(y, z[:, None], np.empty((len(y), 0)))
        made = raters_resampled(statistic, [annotations(table)], subjects, resamples=100, seed=seed)
        covered += made.low[0] <= 0.4 <= made.high[0]
        naive += abs(made.estimate[0] - 0.4) <= 2 * made.by_subject[0]
        shares.append(made.rater_share[0])
    print(f"covered {covered / worlds:.3f}, subjects alone {naive / worlds:.3f}, rater share {np.median(shares):.2f}")
    assert 0.90 <= covered / worlds <= 0.99
    assert naive / worlds < 0.85
