import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.effects_by_loops import tango_by_likelihood
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from transect.effects import intervals, mean_difference_interval, wilson
from transect.effects.intervals import STUDENT, mean_interval, newcombe, paired_score_interval, wilson_clustered


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_is_that_of_statsmodels(confidence):
    x, n = np.array([0, 1, 5, 9, 10, 250]), np.array([10, 10, 10, 10, 10, 1000])
    expected = proportion_confint(x, n, alpha=1 - confidence, method="wilson")
    np.testing.assert_allclose(wilson(x, n, confidence), expected, atol=1e-12)


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_mirrors(pair):
    x, n = pair
    low, high = wilson(x, n)
    assert 0 <= low <= x / n <= high <= 1
    assert low < high
    mirrored = wilson(n - x, n)
    np.testing.assert_allclose((1 - mirrored[1], 1 - mirrored[0]), (low, high), atol=1e-12)


def test_images_that_all_agree_within_a_subject_count_as_one():
    # 12 subjects of 5 equal images: deff = 5 * 12/11 > 5, so that the effective number is held at 12.
    y = np.repeat([[1.0], [0.0]], [4, 8], axis=0)
    np.testing.assert_allclose(wilson_clustered(5 * y, np.full_like(y, 5)), wilson(np.array([4]), np.array([12])))


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_at_the_ends_only_subjects_count(rate):
    counts = np.full((30, 1), 7.0)
    np.testing.assert_allclose(wilson_clustered(rate * counts, counts), wilson(np.array([30 * rate]), np.array([30])))


def test_few_subjects_with_the_outcome_tell_little_about_how_subjects_differ():
    # 10 of 150 subjects have it in one of 18 images: p = 1/270, sum of residuals² 10 (14/15)² + 140 (1/15)² = 28/3.
    # Effective images p (1 - p) 2700² / (28/3 * 150/149) = 2863; t with 9 degrees of freedom: times (1.960 / 2.262)² = 2149.
    successes = np.zeros((150, 1))
    successes[:10] = 1
    made = wilson_clustered(successes, np.full((150, 1), 18.0))
    np.testing.assert_allclose(np.ravel(made), wilson(2149.3 / 270, 2149.3), rtol=1e-4)


@pytest.mark.parametrize(("b", "c", "n"), [(1, 7, 21), (0, 5, 40), (12, 4, 150), (3, 3, 60), (20, 2, 25), (0, 1, 150)])
def test_paired_score_is_the_likelihood_solved_numerically(b, c, n):
    expected = tango_by_likelihood(b, c, n)
    np.testing.assert_allclose(paired_score_interval(b, c, n), expected, atol=2e-6)  # of the numerical maximiser


def test_paired_score_without_discordant_pairs():
    # q = 0 and the variance is n δ (1 - δ): n δ = (1 - δ) z², so δ = z² / (n + z²), z² = 3.841459.
    low, high = paired_score_interval(0, 0, 150)
    np.testing.assert_allclose((low, high), (-3.841459 / 153.841459, 3.841459 / 153.841459), rtol=1e-6)


counts_of_pairs = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60)).filter(lambda t: sum(t) > 0)


@settings(deadline=None)
@given(counts_of_pairs)
def test_paired_score_holds_the_estimate_has_width_and_mirrors(table):
    b, c, rest = table
    n = b + c + rest
    low, high = paired_score_interval(b, c, n)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert high - low > 1 / (n + 4)  # wider than the interval without any discordant pair is on one side, roughly
    np.testing.assert_allclose(paired_score_interval(c, b, n), (-high, -low), atol=1e-12)


def test_newcombe_is_that_of_statsmodels():
    for x1, n1, x2, n2 in [(56, 70, 48, 80), (0, 10, 3, 12), (9, 10, 3, 10), (0, 29, 0, 20)]:
        expected = confint_proportions_2indep(x1, n1, x2, n2, method="newcomb", compare="diff")
        np.testing.assert_allclose(newcombe((x1, x2), (n1, n2)), expected, atol=1e-9)
    assert np.isnan(newcombe((0, 1), (0, 5))).all()


def pairs(b, c, n):
    return np.repeat([1.0, -1.0, 0.0], [b, c, n - b - c])[:, None]


def choose(d, **options):
    return mean_difference_interval(d, binary=True, **options)


@pytest.mark.parametrize("b", [1, 24, 25, 100, 150])
def test_differences_of_rates_have_the_paired_score_interval(b):
    made = choose(pairs(b, 0, 150))
    assert made.methods == ("paired score",)
    np.testing.assert_allclose((made.low[0], made.high[0]), paired_score_interval(b, 0, 150), rtol=1e-9)


def test_averages_of_independent_cells_count_as_more_pairs():
    # 4 subjects of 200 have 1 of 4 pairs discordant: b = 4/4, E d = .005, E|d| - (E d)² = .005 - .000025.
    # Variance between subjects (4/16 - 200 * .005²) / 199 = .00123: deff = .2475, held at 1/4, so that 1 and 0 pairs of
    # 200 become 4 and 0 of 800.
    d = np.repeat([0.25, 0.0], [4, 196])[:, None]
    made = choose(d, pairs=np.array([4.0]))
    np.testing.assert_allclose((made.low[0], made.high[0]), paired_score_interval(4, 0, 800), rtol=1e-6)


def test_scores_that_do_not_vary_and_single_subjects_have_no_interval():
    for made in (
        mean_difference_interval(np.zeros((20, 1)), binary=False),
        choose(np.array([[1.0], [np.nan], [np.nan]])),
        choose(np.full((3, 1), np.nan)),
        choose(np.empty((0, 1))),
    ):
        assert np.isnan(made.low).all()
        assert np.isnan(made.high).all()
        assert made.methods == ("",)


@settings(deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=40))
def test_binary_intervals_are_never_of_zero_width(d):
    made = choose(np.array(d)[:, None], pairs=np.array([2.0]))
    assert made.low[0] < made.high[0]
    assert made.low[0] - 1e-9 <= np.mean(d) <= made.high[0] + 1e-9


def by_hand(d, confidence=0.95):
    """Student's interval, and Hall's (1992) with a skewness of the mean sqrt(6) / 2 / n further to either side."""
    n, error = len(d), d.std(ddof=1) / np.sqrt(len(d))
    skewed = stats.skew(d, bias=False) / np.sqrt(n) if n > 2 else 0.0
    t, ends = stats.t.ppf((1 + confidence) / 2, n - 1), []
    for sign in (1, -1):
        g = skewed - sign * np.sqrt(6) / 2 / n
        ends.append(max(t, sign * 3 / g * (np.cbrt(1 + g * (sign * t - g / 6)) - 1)))
    return d.mean() - error * ends[0], d.mean() + error * ends[1]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("n", [5, 9, 40])
def test_scores_have_student_s_interval_moved_outwards_by_the_skew(n, confidence):
    d = np.random.default_rng(n).exponential(size=(n, 1))
    made = mean_difference_interval(np.concatenate([d, np.full((20, 1), np.nan)]), binary=False, confidence=confidence)
    np.testing.assert_allclose((made.low[0], made.high[0]), by_hand(d[:, 0], confidence), rtol=1e-9)
    low, high = stats.ttest_1samp(d[:, 0], 0).confidence_interval(confidence)
    assert made.low[0] <= low < high <= made.high[0]
    assert made.methods == (STUDENT,)


def test_a_subject_of_several_images_is_one():
    """Four equal images of each subject are as one, and where subjects have as many, so are their means."""
    d = np.random.default_rng(0).normal(size=(12, 1))
    once, four = mean_interval(d), mean_interval(4 * d, np.full_like(d, 4))
    np.testing.assert_allclose((four.low, four.high), (once.low, once.high), rtol=1e-9)


@pytest.mark.parametrize("n", [5, 20])
def test_all_but_one_alike_show_no_spread(n):
    d = np.full((n, 1), 0.3)
    d[1] = 0.9
    assert np.isnan(mean_difference_interval(d, binary=False).low).all()
    d[2] = 0.8
    assert np.isfinite(mean_difference_interval(d, binary=False).low).all()


@pytest.mark.parametrize(
    ("n", "reason"),
    [
        (0, "no subject: no interval"),
        (1, "one subject: no interval"),
        (2, "2 subjects: an interval of scores needs 5"),
        (4, "4 subjects: an interval of scores needs 5"),
        (5, ""),
    ],
)
def test_scores_of_fewer_than_five_have_no_interval_and_yes_or_no_of_one(n, reason):
    d = np.concatenate([np.arange(float(n)) ** 2, np.full(9 - n, np.nan)])[:, None] / 16
    made = mean_difference_interval(d, binary=False)
    assert np.isfinite([made.low[0], made.high[0]]).tolist() == [not reason] * 2
    assert made.methods[0] or intervals.no_interval(n) == reason
    assert np.isfinite(mean_difference_interval(d, binary=True).low[0]) == (n > 1)


@pytest.mark.parametrize("n", [5, 9, 10, 20])
def test_differences_equal_up_to_rounding_have_no_interval(n):
    # 0.4 - 0.1 and 0.5 - 0.2 differ in the last bit.
    d = np.resize([0.4 - 0.1, 0.5 - 0.2], (n, 1))
    made = mean_difference_interval(d, binary=False)
    assert np.isnan([made.low, made.high]).all()
    assert made.methods == ("",)


def test_few_subjects_that_average_allow_for_one_that_was_not_drawn():
    """Differences .5 and 0 of 4 + 16 subjects over 9 pairs: squares 1 - 20 · .1² + 1/2, t of 19 degrees of freedom."""
    d = np.array([[0.5]] * 4 + [[0.0]] * 16)
    made = choose(d, pairs=np.array([9.0]))
    between = (4 * 0.25 - 20 * 0.1**2 + 0.5) / 19 * (stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)) ** 2
    expected = paired_score_interval(2, 0, 20, design_effect=between / (0.1 - 0.1**2))
    np.testing.assert_allclose((made.low[0], made.high[0]), expected)
    whole = choose(np.tile(d, (8, 1)), pairs=np.array([9.0]))  # 160 subjects: nothing is allowed for
    between = 8 * (1 - 20 * 0.1**2) / 159
    expected = paired_score_interval(16, 0, 160, design_effect=between / (0.1 - 0.1**2))
    np.testing.assert_allclose((whole.low[0], whole.high[0]), expected)
