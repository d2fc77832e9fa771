import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from transect.effects.clusters import bias_reduced
from transect.effects.intervals import STUDENT
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


def by_hand(estimate, error, freedom, skewed, unseen):
    """Student's interval and Hall's (1992), with a skewness of the estimate that is further than seen on either side."""
    t, ends = stats.t.ppf(0.975, freedom), []
    for sign in (1, -1):
        g = skewed - sign * unseen
        ends.append(max(t, sign * 3 / g * (np.cbrt(1 + g * (sign * t - g / 6)) - 1)))
    return estimate - error * ends[0], estimate + error * ends[1]


def test_a_difference_of_scores_has_welch_s_error_and_moves_outwards_by_the_skew():
    rng = np.random.default_rng(0)
    first, second = rng.gamma(2, 1, 60), rng.gamma(3, 1, 40)
    (made,) = associate(GLASSES, np.repeat([0.0, 1.0], [60, 40]), [*first, *second], is_binary=False)
    estimate, shares = second.mean() - first.mean(), [part.var(ddof=1) / len(part) for part in (second, first)]
    assert made.estimate == pytest.approx(estimate)
    # Each of 60 weighs 1/60, each of 40 1/40: squares sum to 1/24, fourth powers to 1/60³ + 1/40³.
    moved = np.concatenate([(second - second.mean()) / 40, (first.mean() - first) / 60])
    telling = min((1 / 24) ** 2 / (60**-3 + 40**-3), 2 * (moved**2).sum() ** 2 / (moved**4).sum())
    skewed = (moved**3).sum() / (moved**2).sum() ** 1.5 * np.sqrt(telling * (telling - 1)) / (telling - 2)
    # Degrees of freedom as of equal spread: (1/24)² / (1/60²/59 + 1/40²/39).
    freedom = (1 / 24) ** 2 / (1 / 60**2 / 59 + 1 / 40**2 / 39)
    expected = by_hand(estimate, np.sqrt(sum(shares)), freedom, skewed, np.sqrt(6) / telling)
    assert (made.low, made.high) == pytest.approx(expected, rel=1e-9)
    assert (made.interval_method, made.test_method) == (STUDENT, STUDENT)
    (at_p,) = associate(GLASSES, np.repeat([0.0, 1.0], [60, 40]), [*first, *second], False, confidence=1 - made.p)
    assert at_p.low == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("seed", "far", "further"),
    [(0, 0.0, 1.5), (2, 0.0, 2.0), (2, 9.0, 1.5)],  # skewed by less, by more than half an error; few far off
)
def test_a_slope_of_scores_has_the_jackknife_s_error_and_moves_outwards_by_the_skew(seed, far, further):
    """The slope without each subject in turn, by refitting it; where five lie far above a line, one more like them."""
    ages, rng = 30.0 + np.arange(20), np.random.default_rng(seed)
    y = rng.gamma(2, 1, 20)
    if far:
        y = 2 * ages + 0.05 * y + far * (np.arange(20) % 4 == 3)
    _, made = associate(AGE, ages, y, is_binary=False)
    estimate = np.polyfit(ages, y, 1)[0]
    moved = np.array([estimate - np.polyfit(np.delete(ages, k), np.delete(y, k), 1)[0] for k in range(20)])
    error = np.sqrt((moved**2).sum())
    squares = (ages - ages.mean()) ** 2
    telling = min(squares.sum() ** 2 / (squares**2).sum(), 2 * error**4 / (moved**4).sum())
    skewed = (moved**3).sum() / error**3 * np.sqrt(telling * (telling - 1)) / (telling - 2)
    design = np.column_stack([np.ones(20), ages])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    _, freedom = bias_reduced(design, residual, np.arange(20))
    assert further == (2.0 if abs(skewed) > np.sqrt(6) / telling / 2 else 1.5)
    if far:  # the heaviest two of twenty weigh 9.5 / 665, the mean age being 39.5
        error = np.hypot(error, 9.5 / 665 * np.abs(residual).max())
    expected = by_hand(estimate, error, freedom[1], skewed, further * np.sqrt(6) / telling)
    assert (made.low, made.high) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("column", "scores", "telling"),
    [
        (np.arange(10), np.arange(10.0) ** 2, 4.5),  # 82.5² / 1,208.6 of ten, times eight off the line of 4 and 5
        (np.arange(50), 3 * np.arange(50.0) + 99 * (np.arange(50) % 5 == 0), 5.6),  # a fifth is above a line
        (2.0 ** np.arange(40), np.arange(40.0) % 7, 1.5),  # the last three weigh nearly all
        (np.arange(60), np.where(np.arange(60) % 10, 0.0, 1.0 + np.arange(60)), 3.3),  # a tenth differs from 0
    ],
)
def test_a_slope_of_scores_that_few_subjects_carry_has_no_interval(column, scores, telling):
    _, slope = associate(AGE, column, scores, is_binary=False)
    assert slope.estimate == pytest.approx(stats.linregress(column, scores).slope)
    assert np.isnan([slope.low, slope.high, slope.p]).all()
    assert slope.reason == f"the slope rests on {telling} effective subjects: an interval needs 6"


@pytest.mark.parametrize("shown", [(0, 4), (1, 4)])
def test_a_group_whose_subjects_agree_but_for_one_has_no_interval(shown):
    y = [float(place < of) for of in shown for place in range(8)]
    (made,) = associate(GLASSES, np.repeat([0.0, 1.0], 8), y, is_binary=False)
    assert made.estimate == pytest.approx((shown[1] - shown[0]) / 8)
    assert np.isnan([made.low, made.high, made.p]).all()
    assert made.reason == "where it is off: all subjects agree, or all but one: no interval"


def test_where_neither_group_errs_people_on_several_images_have_an_interval_too():
    """Wilson's limit of 0 of n is z² / (n + z²): of 20 and of 30 people, whose images all agree."""
    column, people = np.repeat([0.0, 1.0], [40, 60]), np.arange(100) // 2
    (made,) = associate(GLASSES, column, np.zeros(100), subjects=people)
    z = stats.norm.ppf(0.975) ** 2
    assert (made.estimate, made.low, made.high) == pytest.approx((0, -z / (20 + z), z / (30 + z)))
    assert (made.p, made.reason) == (1, "")


def test_a_rare_outcome_has_no_interval_of_its_slope():
    """24 events among 100 images are one too few; with 25 there is an interval."""
    ages = np.linspace(20, 60, 100)
    for events, interval in ((24, False), (25, True)):
        y = np.random.default_rng(0).permutation(np.arange(100) < events).astype(np.float64)
        for outcome in (y, 1 - y):
            _, slope = associate(AGE, ages, outcome)
            assert slope.estimate == pytest.approx(stats.linregress(ages, outcome).slope)
            assert slope.test_method == ("Monte Carlo permutation of subjects" if not interval else STUDENT)
            assert 0 < slope.p <= 1
            assert np.isfinite([slope.low, slope.high]).tolist() == [interval, interval]
            assert slope.interval_method == (STUDENT if interval else "")
            told = "too few events for an interval of the slope: 24 subjects; at least 25 of each kind"
            assert slope.reason == ("" if interval else told)
        # The same numbers as a score, which has no events, have an interval.
        assert np.isfinite(associate(AGE, ages, y, is_binary=False)[1].low)
