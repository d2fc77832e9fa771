"""The interval of alpha: by hand where units are of two kinds, the jackknife where there are many, no width never."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t

from transect.annotation.agreement.coefficients import krippendorff_alpha
from transect.errors import BadInput

N = np.nan
tables = arrays(float, st.tuples(st.integers(2, 9), st.integers(2, 4)), elements=st.sampled_from([0.0, 1.0, 2.0, N]))


def balanced(agreeing, differing):
    """Two raters; as many answers of 0 as of 1."""
    half = agreeing // 2
    return np.array([[0, 0]] * half + [[1, 1]] * half + [[0, 1]] * differing, dtype=float)


def wilson(differing, n):
    """Wilson's limits of a share, with Student's quantile."""
    z = t.ppf(0.975, n - 1)
    share, middle = differing / n, (differing / n + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return middle - half, middle + half


def test_of_two_kinds_of_units_it_is_wilsons():
    """Each unit agrees or not, and expected disagreement is n / (n - 1) of a half for n answers, whoever agrees.

    Then alpha is 1 - 2 share (n - 1) / n, and the test of alpha is the score test of the share.
    """
    alpha = krippendorff_alpha(balanced(48, 12), "nominal")
    low, high = wilson(12, 60)
    assert alpha.value == pytest.approx(1 - 2 * 0.2 * 119 / 120)
    assert (alpha.low, alpha.high) == pytest.approx((1 - 2 * high * 119 / 120, 1 - 2 * low * 119 / 120))


def test_all_agree():
    """Of no disagreement among 20 units the upper limit is t² / (n + t²) = .180."""
    alpha = krippendorff_alpha(balanced(20, 0), "nominal")
    z = t.ppf(0.975, 19) ** 2
    assert (alpha.value, alpha.high, alpha.reason) == (1.0, 1.0, "")
    assert alpha.low == pytest.approx(1 - 2 * z / (20 + z) * 39 / 40)


def test_no_two_agree():
    """The least alpha of two raters is -1; of three answers to each unit, -1/2."""
    alpha = krippendorff_alpha(balanced(0, 10), "nominal")
    assert alpha.value == pytest.approx(1 - 2 * 19 / 20)
    assert alpha.low == -1
    z = t.ppf(0.975, 9) ** 2
    assert alpha.high == pytest.approx(1 - 2 * 10 / (10 + z) * 19 / 20)
    assert krippendorff_alpha([[0, 1, 2]] * 2 + [[2, 1, 0]] * 2, "nominal").low == -0.5


def test_of_few_disagreements_the_upper_end_is_the_exact_one():
    """One in 20: Clopper and Pearson's lower limit is 1 - .975^(1/20) = .00127, a fortieth of the share."""
    alpha = krippendorff_alpha([[0, 0]] * 10 + [[1, 1]] * 9 + [[0, 1]], "nominal")
    exact = 1 - (1 - alpha.value) * (1 - 0.975 ** (1 / 20)) * 20
    assert alpha.high == pytest.approx(exact)
    assert exact > 1 - (1 - alpha.value) * wilson(1, 20)[0] * 20


def test_of_a_rare_answer_no_agreement_is_no_evidence_against_it():
    """Five of 45 units have one rare answer, none two: a resample has none either, and would bound alpha by 0."""
    alpha = krippendorff_alpha([[0, 0]] * 40 + [[0, 1]] * 5, "nominal")
    assert alpha.value < 0
    assert alpha.high > 0.4


@pytest.mark.integration
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_of_many_units_it_is_the_jackknifes(metric):
    random = np.random.default_rng(1)
    truth = random.integers(0, 4, 200)
    ratings = np.clip(truth[:, None] + random.integers(-1, 2, (200, 3)), 0, 3) ** 1.5
    ratings[random.random(ratings.shape) < 0.1] = N
    alpha = krippendorff_alpha(ratings, metric)
    without = np.array([krippendorff_alpha(np.delete(ratings, i, axis=0), metric).value for i in range(200)])
    error = np.sqrt(199 * without.var())
    assert (alpha.low, alpha.high) == pytest.approx((alpha.value - 1.97 * error, alpha.value + 1.97 * error), abs=0.012)


@example(np.array([[N, N, 1], [0, 1, N], [2, 0, 1], [1, 0, 1], [1, 2, 2], [1, 0, 2], [0, 1, 2]]))  # moves of 1e-16
@given(tables)
def test_it_has_a_width_and_contains_alpha(ratings):
    for metric in ("nominal", "ordinal", "interval"):
        alpha = krippendorff_alpha(ratings, metric)
        if np.isnan(alpha.value):
            assert np.isnan(alpha.low)
            continue
        assert -1 <= alpha.low <= alpha.value <= alpha.high <= 1 or alpha.reason
        assert alpha.high - alpha.low > 0.1 or alpha.reason


def test_images_of_a_subject_count_as_one():
    """Ten images each of twenty subjects, alike: the interval is about that of twenty images."""
    random = np.random.default_rng(2)
    truth = random.integers(0, 3, (20, 1))
    few = np.where(random.random((20, 3)) < 0.7, truth, random.integers(0, 3, (20, 3))).astype(float)
    many, subject = np.repeat(few, 10, axis=0), np.repeat(np.arange(20), 10)
    alone, together = krippendorff_alpha(few), krippendorff_alpha(many, subjects=subject)
    width = alone.high - alone.low
    assert together.high - together.low == pytest.approx(width, rel=0.1)
    assert (together.subjects, together.units) == (20, 200)
    apart = krippendorff_alpha(many)
    assert apart.high - apart.low < 0.5 * width


def test_one_subject_has_no_interval():
    alpha = krippendorff_alpha([[0, 0], [1, 1], [0, 1], [1, N]], "nominal", subjects=["a", "a", "a", "b"])
    assert (alpha.subjects, alpha.reason) == (1, "one subject alone: no interval")
    assert alpha.value == pytest.approx(4 / 9)
    assert np.isnan([alpha.low, alpha.high]).all()
    with pytest.raises(BadInput, match="subjects: expected one for each of 2 units, got 3"):
        krippendorff_alpha([[0, 0], [1, 1]], subjects=[0, 1, 2])


def test_it_is_the_same_in_any_order_of_units_and_raters():
    """The same answers, read from the service and from a file: their orders are others."""
    rng = np.random.default_rng(3)
    ratings = np.where(rng.random((40, 5)) < 0.2, np.nan, rng.integers(0, 4, (40, 5)).astype(float))
    subject, order = np.arange(40) // 2, rng.permutation(40)
    alpha = krippendorff_alpha(ratings, subjects=subject)
    other = krippendorff_alpha(ratings[order][:, rng.permutation(5)], subjects=subject[order])
    assert (alpha.value, alpha.low, alpha.high) == pytest.approx((other.value, other.low, other.high), abs=1e-12)
