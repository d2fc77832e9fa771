import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from transect.effects.observational import associations, cut
from transect.records import Attribute

NAN = np.nan
AGE = Attribute("age", "continuous", "apparent age", unit="year", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
STYLE = Attribute("hair_style", "categorical", "how the hair falls", levels=("short", "bob", "long"))


def associate(attribute, column, y, is_binary=True, edges=None, **options):
    column, y = np.array(column, dtype=np.float64), np.array(y, dtype=np.float64)
    reasons = np.where(np.isnan(y), "failed: x", "").astype(object)
    return associations(y, reasons, cut(attribute, column, edges), column, is_binary=is_binary, **options)


def test_terciles_by_hand():
    groups = cut(AGE, np.array([20.0, 30, 40, 50, 60, 70, NAN]))
    np.testing.assert_array_equal(groups.index, [0, 0, 1, 1, 2, 2, -1])
    # Quantiles 1/3 and 2/3 of six points: 20 + 50/3, 20 + 100/3.
    assert groups.bounds == (
        (20, pytest.approx(36.6667, abs=1e-3)),
        (pytest.approx(36.6667, abs=1e-3), pytest.approx(53.3333, abs=1e-3)),
        (pytest.approx(53.3333, abs=1e-3), 70),
    )
    assert groups.centers == (25, 45, 65)


def test_values_without_variation_form_one_group():
    assert len(cut(AGE, np.full(5, 30.0)).centers) == 1
    (slope,) = associate(AGE, np.full(5, 30.0), np.zeros(5))
    assert np.isnan(slope.estimate)
    assert slope.reason == "a slope needs three images and two values of age; got 5 images"


def test_proportions_by_hand_and_by_statsmodels_and_scipy():
    # On: 14 of 20, off: 9 of 30: 7/10 - 3/10.
    column = np.repeat([1.0, 0.0], [20, 30])
    y = np.repeat([1.0, 0.0, 1.0, 0.0], [14, 6, 9, 21])
    (made,) = associate(GLASSES, column, y)
    assert made.estimate == pytest.approx(0.4)
    expected = confint_proportions_2indep(14, 20, 9, 30, method="newcomb")
    np.testing.assert_allclose((made.low, made.high), expected)
    assert made.p == pytest.approx(stats.fisher_exact([[14, 6], [9, 21]]).pvalue)
    assert (made.interval_method, made.test_method) == ("Newcombe hybrid score", "Fisher exact")
    assert (made.name, made.origin, made.to, made.n_images) == ("glasses: off to on", 0, 1, 50)


def test_categorical_levels_against_the_first_and_an_empty_level_says_so():
    made = associate(STYLE, [0, 0, 2, 2], [0, 1, 1, NAN])
    assert [m.name for m in made] == ["hair_style: short to bob", "hair_style: short to long"]
    assert np.isnan(made[0].estimate)
    assert made[0].reason == "no image with a valid answer where it is bob"
    assert (made[1].estimate, made[1].n_images, made[1].excluded) == (0.5, 3, {"failed": 1})


def test_scores_agree_with_scipy():
    rng = np.random.default_rng(0)
    column, y = np.repeat([0.0, 1.0], [60, 40]), np.concatenate([rng.gamma(2, 1, 60), rng.gamma(3, 1, 40)])
    (made,) = associate(GLASSES, column, y, is_binary=False, resamples=20_000)
    assert made.estimate == pytest.approx(y[60:].mean() - y[:60].mean())
    judge = stats.bootstrap(
        (y[60:], y[:60]), lambda a, b, axis: a.mean(axis) - b.mean(axis), method="BCa", n_resamples=20_000, rng=rng
    )
    # SciPy resamples within the groups, we all units together and widen by 1.8 % for 100 units: 6 % of the width
    # covers that and Monte Carlo.
    interval = judge.confidence_interval
    np.testing.assert_allclose((made.low, made.high), interval, atol=0.06 * (interval.high - interval.low))
    welch = stats.ttest_ind(y[60:], y[:60]).pvalue
    assert made.p == pytest.approx(welch, abs=0.005)
    assert made.test_method == "Monte Carlo permutation"


def test_the_interval_of_a_slope_agrees_with_scipy():
    # Skewed attribute, skewed errors, answers far from 0: bias and acceleration both matter.
    rng = np.random.default_rng(5)
    age = 18 + rng.exponential(8, 80)
    y = 30 + 0.1 * age + (rng.exponential(1, 80) - 1) * (age - 10) / 20
    slope = associate(AGE, age, y, is_binary=False, resamples=20_000)[1]

    def slopes(x, y, axis):
        x = x - x.mean(axis=axis, keepdims=True)
        return (x * y).sum(axis=axis) / (x**2).sum(axis=axis)

    judge = stats.bootstrap(
        (age, y), slopes, paired=True, vectorized=True, method="BCa", n_resamples=20_000, rng=rng
    ).confidence_interval
    # We widen by 2.2 % for 80 units; a jackknife is an influence up to 1/80; the rest is Monte Carlo.
    np.testing.assert_allclose((slope.low, slope.high), judge, atol=0.07 * (judge.high - judge.low))


def test_a_rare_outcome_has_no_interval_of_its_slope():
    """24 events among 100 images are one too few; with 25 there is an interval."""
    ages = np.linspace(20, 60, 100)
    for events, interval in ((24, False), (25, True)):
        y = np.random.default_rng(0).permutation(np.arange(100) < events).astype(np.float64)
        for outcome in (y, 1 - y):
            _, slope = associate(AGE, ages, outcome)
            assert slope.estimate == pytest.approx(stats.linregress(ages, outcome).slope)
            assert slope.test_method == "Monte Carlo permutation"
            assert 0 < slope.p <= 1
            assert np.isfinite([slope.low, slope.high]).tolist() == [interval, interval]
            assert slope.interval_method == ("BCa bootstrap by subject" if interval else "")
            told = "too few events for an interval of the slope: 24; at least 25 of each kind"
            assert slope.reason == ("" if interval else told)
        # The same numbers as a score, which has no events, have an interval.
        assert np.isfinite(associate(AGE, ages, y, is_binary=False)[1].low)
