import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import skew, t

from transect.effects import ppi_difference, ppi_mean, wilson
from transect.effects.intervals import newcombe
from transect.effects.prediction_powered import SCORE, too_rare

AS_STUDENT = 2 * ndtr(t.ppf(0.975, 39)) - 1
"""The confidence at which the normal quantile is Student's of 40 ratings."""


def ratings(seed, n=80, others=2000, bias=0.3, noise=0.5):
    """People's ratings, a biased machine's on the same images and on others; the mean rating is .5."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.5, 1, n + others)
    machine = truth + bias + rng.normal(0, noise, n + others)
    return truth[:n], machine[:n], machine[n:]


def test_by_hand():
    """mean(y) + λ (mean(others) - mean(f)); variance of y - λ f over n, and λ² that of the others over m; Welch."""
    y, f, g = ratings(1)
    made = ppi_mean(y, f, g, trust=0.7)
    assert made.estimate == pytest.approx(y.mean() + 0.7 * (g.mean() - f.mean()))
    a, b = (y - 0.7 * f).var(ddof=1) / 80, 0.49 * g.var(ddof=1) / 2000
    half = t.ppf(0.975, (a + b) ** 2 / (a**2 / 79 + b**2 / 1999)) * math.sqrt(a + b)
    assert made.standard_error == pytest.approx(math.sqrt(a + b))
    assert max(made.high - made.estimate, made.estimate - made.low) >= half
    assert min(made.high - made.estimate, made.estimate - made.low) == pytest.approx(half)
    assert made.alone == pytest.approx(t.ppf(0.975, 79) * y.std(ddof=1) / math.sqrt(80), rel=0.02)
    assert half < 0.6 * made.alone


def test_of_symmetric_ratings_with_a_useless_machine_it_is_students():
    """Ratings -1 and 1, eight each, and predictions in pairs of +-1 beside them: the weight is 0, leverages are 1/16.

    A rating then counts sqrt(15 / 16) / (1 - 2 / 16) times as much, once for its mean and once for the weight.
    """
    y, f = np.tile([-1.0, 1.0], 8), np.tile([-1.0, -1.0, 1.0, 1.0], 4)
    made = ppi_mean(y, f, np.tile([-1.0, 1.0], 50))
    error = 1 / math.sqrt(15) * math.sqrt(15 / 16) / (1 - 2 / 16)
    assert (made.trust, made.skewed) == (0.0, pytest.approx(0.0))
    assert (made.standard_error, made.freedom) == (pytest.approx(error), pytest.approx(14))
    assert (made.low, made.high) == pytest.approx((-error * t.ppf(0.975, 14), error * t.ppf(0.975, 14)))
    assert made.alone == pytest.approx(t.ppf(0.975, 15) / math.sqrt(15))
    given = ppi_mean(y, f, np.tile([-1.0, 1.0], 50), trust=0.0)
    assert given.high == pytest.approx(made.alone), "a weight that is given has no leverage"


def test_an_interval_reaches_further_to_the_side_of_the_skew():
    """One rating of 16 is 4: Hall's transform of t at the upper end is -t, by hand; the lower end is Student's."""
    y = np.repeat([0.0, 0.5, 4.0], [8, 7, 1])
    made = ppi_mean(y, np.zeros(16), np.zeros(50), trust=0.0)
    error, q = y.std(ddof=1) / 4, t.ppf(0.975, 15)
    g = float(skew(y, bias=False)) / 4  # of a mean of 16
    assert made.skewed == pytest.approx(g)
    assert made.low == pytest.approx(y.mean() - q * error)
    far = (y.mean() - made.high) / error
    assert far < -q
    assert far + g * far**2 / 3 + g**2 * far**3 / 27 + g / 6 == pytest.approx(-q)
    turned = ppi_mean(-y, np.zeros(16), np.zeros(50), trust=0.0)
    assert (turned.low, turned.high) == pytest.approx((-made.high, -made.low))


def test_the_trust_is_that_of_the_smallest_variance():
    """Cov(y, f) / ((1 + n / m) Var f): with f = y plus independent noise of variance .25 that is 1 / 1.25 / 1.04."""
    y, f, g = ratings(2, n=4000, others=100_000)
    assert ppi_mean(y, f, g).trust == pytest.approx(1 / 1.25 / 1.04, abs=0.02)
    made = ppi_mean(y, f, g)
    assert all(
        made.high - made.low <= (other := ppi_mean(y, f, g, trust=w)).high - other.low + 1e-6 for w in (0, 0.3, 1)
    )
    useless = ppi_mean(y, -f, -g)
    assert useless.trust == 0
    assert useless.estimate == pytest.approx(y.mean())


@pytest.mark.filterwarnings("default")
def test_ppi_python_agrees():
    """Its variances divide by n and its quantile is normal: a thousandth of the width apart at this size."""
    judge = pytest.importorskip("ppi_py")
    y, f, g = ratings(3, n=2000, others=20_000)
    for trust in (None, 1.0, 0.5):
        made = ppi_mean(y, f, g, trust=trust)
        low, high = judge.ppi_mean_ci(y, f, g, alpha=0.05, lam=trust)
        np.testing.assert_allclose([made.low, made.high], [low[0], high[0]], atol=0.002 * (made.high - made.low))


def test_a_subject_on_both_sides_is_one():
    """Ten subjects with one image of each kind: with all of the trust y - f + g is the subject's own number."""
    y, f, g = (np.tile(pair, 5) for pair in ((1.0, 4.0), (0.5, 2.0), (1.5, 3.0)))
    own, ab = y - f + g, list("abcdefghij")  # 2 and 5: mean 3.5, standard error 1.5 / 3
    made = ppi_mean(y, f, g, subjects=ab, subjects_unrated=ab, trust=1.0)
    assert (made.estimate, made.standard_error, made.freedom) == (own.mean(), pytest.approx(0.5), 9.0)
    # The same in another order; of strangers the squares are added: both y - f and g are .75 from their means.
    turned = ppi_mean(y, f, g[::-1], subjects=ab, subjects_unrated=ab[::-1], trust=1.0)
    assert turned.standard_error == pytest.approx(0.5)
    for strangers in (list("klmnopqrst"), None):
        apart = ppi_mean(y, f, g, subjects=ab, subjects_unrated=strangers, trust=1.0)
        assert apart.standard_error == pytest.approx(np.sqrt(2 * 0.75**2 / 9))
    # Against itself nobody differs; against strangers the variances add.
    assert ppi_difference(made, made).standard_error == 0
    others = [2 * name for name in ab]
    other = ppi_mean(y, f, g, subjects=others, subjects_unrated=others, trust=1.0)
    assert ppi_difference(made, other).standard_error == pytest.approx(0.5 * np.sqrt(2))


def test_a_difference_of_groups():
    first, second = ppi_mean(*ratings(5), trust=0.5), ppi_mean(*ratings(6, n=40), trust=0.5)
    made = ppi_difference(first, second)
    assert made.estimate == pytest.approx(second.estimate - first.estimate)
    assert made.standard_error == pytest.approx(math.hypot(first.standard_error, second.standard_error))
    assert min(first.freedom, second.freedom) < made.freedom < first.freedom + second.freedom
    third = second.skewed * second.standard_error**3 - first.skewed * first.standard_error**3
    assert made.skewed == pytest.approx(third / made.standard_error**3)
    back = ppi_difference(second, first)
    assert (back.low, back.high) == pytest.approx((-made.high, -made.low))


def test_of_few_or_equal_ratings_there_is_no_interval():
    rng = np.random.default_rng(8)
    y, f, g = rng.normal(size=10), rng.normal(size=10), rng.normal(size=60)
    nine = ppi_mean(y[:9], f[:9], g)
    assert nine.reason == "9 rated subjects: an interval needs 10"
    assert math.isfinite(nine.estimate)
    assert np.isnan([nine.low, nine.high, nine.alone]).all()
    assert nine.method == ""
    assert ppi_difference(nine, ppi_mean(y, f, g)).reason == nine.reason
    assert math.isfinite(ppi_mean(y, f, g).low)
    assert ppi_mean(y, f, g, subjects=np.arange(10) // 2, subjects_unrated=10 + np.arange(60)).n_rated == 5
    assert ppi_mean(np.full(20, 3.0), np.tile(f, 2), g).reason == "people's answers do not vary: no interval"
    assert ppi_mean(y, y + 1, g).reason == "the machine is off by the same on every rated image: no interval"
    assert [ppi_mean(y, y + 1, g, trust=trust).reason for trust in (0.0, 1.0)] == ["", ""]


def test_of_rare_outcomes_of_several_images_a_subject_there_is_no_interval():
    """Nine of 40 people have the outcome, on each of two images: none; ten of either kind: an interval."""
    others, people = np.tile([0.0, 1.0], 50), np.repeat(np.arange(40), 2)
    for have, known in ((0, False), (9, False), (10, True), (31, False)):
        y = np.repeat([1.0, 0.0], [2 * have, 80 - 2 * have])
        made = ppi_mean(y, np.tile([0.0, 1.0], 40), others, subjects=people, subjects_unrated=40 + np.arange(100))
        assert math.isfinite(made.low) == known
        assert math.isfinite(made.estimate)
        assert (made.reason == "") == known
    assert made.reason == "fewer than 10 rated subjects have the outcome (31) or lack it (9): no interval"
    assert math.isnan(ppi_difference(made, made).high)
    # thirty images of nine people are nine
    twice = ppi_mean(
        np.tile([0.0, 1.0], 15), np.zeros(30), others, subjects=np.arange(30) % 9, subjects_unrated=np.arange(9, 109)
    )
    assert twice.reason.startswith("fewer than 10 rated subjects have the outcome (9)")
    same = np.tile([0.0, 1.0], 40)
    made = ppi_mean(same, same, others, subjects=people, subjects_unrated=40 + np.arange(100))
    assert made.reason == "the machine is off by the same on every rated image: no interval"
    assert made.method == ""


def test_rates_of_single_images_have_a_score_interval_however_rare():
    """Without the machine it is Wilson's with Student's quantile, also of nobody; a difference is then Newcombe's."""
    predicted, others = np.tile([0.0, 1.0], 20), np.tile([0.0, 1.0], 50)
    y = np.repeat([1.0, 0.0], [3, 37])
    few, none = (ppi_mean(each, predicted, others, trust=0.0) for each in (y, np.zeros(40)))
    for made, count in ((few, 3), (none, 0)):
        low, high = wilson(count, 40, AS_STUDENT)
        assert (made.low, made.high) == (pytest.approx(low), pytest.approx(high))
        assert made.alone == pytest.approx((high - low) / 2)
        assert (made.method, made.reason, made.rarer) == (SCORE, "", count)
    low, high = newcombe((0, 3), (40, 40), AS_STUDENT)
    made = ppi_difference(few, none)
    np.testing.assert_allclose([made.estimate, made.low, made.high], [-3 / 40, low, high])
    assert made.method == SCORE


def test_of_matched_subjects_the_correlation_is_told_by_ten_of_either_answer():
    """A group beside itself: with ten yeses the correlation is 1, and the ends are apart by how lopsided they are; with
    nine it is unknown, taken as 0, and the ends are Newcombe's."""
    people, predicted, others = np.arange(40), np.zeros(40), np.zeros(60)

    def beside_itself(count):
        y = np.repeat([1.0, 0.0], [count, 40 - count])
        made = ppi_mean(y, predicted, others, subjects=people, subjects_unrated=100 + np.arange(60))
        return made, ppi_difference(made, made)

    one, made = beside_itself(10)
    lopsided = (one.high - one.estimate) - (one.estimate - one.low)
    assert (made.low, made.high) == pytest.approx((-lopsided, lopsided))
    low, high = newcombe((9, 9), (40, 40), AS_STUDENT)
    np.testing.assert_allclose([beside_itself(9)[1].low, beside_itself(9)[1].high], [low, high])


def test_numbers_that_happen_to_be_0_and_1_are_no_rates():
    y, f, g = np.repeat([1.0, 0.0], [4, 36]), np.tile([0.0, 1.0], 20), np.tile([0.0, 1.0], 50)
    assert ppi_mean(y, f, g).method == ppi_mean(y, f, g, rates=True).method == SCORE
    number = ppi_mean(y, f, g, rates=False)
    assert number.method != SCORE
    assert number.low < ppi_mean(y, f, g).low
    assert too_rare(y, range(40)) != "" == too_rare(y, range(40), rates=False)
