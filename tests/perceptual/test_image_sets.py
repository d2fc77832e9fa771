"""FID, KID, precision and recall of feature sets: closed forms, counting by hand, SciPy's square root as oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from transect.errors import BadInput
from transect.perceptual.judging import fid, kid, precision_recall


def normal(seed, n, d, scale=1.0, shift=0.0):
    return shift + scale * np.random.default_rng(seed).standard_normal((n, d))


def test_fid_of_gaussians_has_the_closed_form():
    """Diagonal covariances: |μ - ν|² + Σ (σ - τ)². Features made to have exactly these moments.

    Columns a and b hold ±1 in all four combinations: mean 0, sample variance 4/3, no covariance. Scaled by s, the
    deviation is s √(4/3). Here μ - ν = (3, 4), deviations (1, 2) √(4/3) and (2, 5) √(4/3):
    25 + 4/3 (1 + 9) = 38.333...
    """
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    distance = fid(signs * [1, 2] + [3, 4], signs * [2, 5])
    assert distance == pytest.approx(25 + 40 / 3, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_fid_agrees_with_the_formula_by_scipys_square_root(seed, d):
    first, other = normal(seed, 30, d), normal(seed + 1, 40, d) @ normal(seed + 2, d, d)
    s, t = np.atleast_2d(np.cov(first, rowvar=False)), np.atleast_2d(np.cov(other, rowvar=False))
    apart = first.mean(0) - other.mean(0)
    expected = apart @ apart + np.trace(s + t - 2 * np.real(sqrtm(s @ t)))
    assert fid(first, other) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert fid(other, first) == pytest.approx(fid(first, other), rel=1e-9, abs=1e-9)


def test_fid_of_a_set_and_itself_is_zero_even_where_covariances_are_singular():
    rows = normal(0, 5, 20)
    assert fid(rows, rows) == pytest.approx(0, abs=1e-6)


def test_kid_by_hand():
    """d = 1, real 0, 1, 2, made 1, 1, 1: k(x, y) = (xy + 1)³.

    real pairs: k(0,1) = 1, k(0,2) = 1, k(1,2) = 27, mean 29/3; made pairs 8; across k(0,1) = 1, k(1,1) = 8,
    k(2,1) = 27, mean 12. 29/3 + 8 - 24 = -19/3.
    """
    estimate = kid(np.array([[0.0], [1.0], [2.0]]), np.ones((3, 1)))
    assert estimate[0] == pytest.approx(-19 / 3, abs=1e-12)


def leave_one_out(first, other):
    """The jackknife by its definition."""
    less = [kid(np.delete(first, i, 0), other)[0] for i in range(len(first))]
    more = [kid(first, np.delete(other, i, 0))[0] for i in range(len(other))]
    return np.sqrt(sum((len(v) - 1) * np.var(v) for v in (less, more)))


def test_kids_error_is_the_jackknife_by_its_definition():
    first, other = normal(0, 9, 3), normal(1, 12, 3, shift=0.5)
    assert kid(first, other)[1] == pytest.approx(leave_one_out(first, other), rel=1e-9)


def test_kids_error_is_what_repetition_shows():
    """200 repetitions, sets apart: the mean error is the spread of the estimates, within 15 %."""
    estimates = [kid(normal(2 * i, 60, 4), normal(2 * i + 1, 50, 4, shift=0.7)) for i in range(200)]
    spread = np.std([estimate[0] for estimate in estimates], ddof=1)
    assert np.mean([estimate[1] for estimate in estimates]) == pytest.approx(spread, rel=0.15)


def test_kid_is_unbiased():
    """Of one distribution the mean over 300 repetitions is 0 within 3 standard errors, also with 10 images a set."""
    values = np.array([kid(normal(2 * i, 10, 4), normal(2 * i + 1, 10, 4))[0] for i in range(300)])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(300)


def test_precision_and_recall_by_hand():
    """k = 1 on a line. Real 0, 1, 10: radii 1, 1, 9, so the real manifold is [-1, 2] and [1, 19].

    Made 2.5, 18, 30, 31: 2.5 and 18 lie in [1, 19]; precision 2/4. Radii of made: 15.5, 12, 1, 1; its manifold is
    [-13, 30] and [29, 32]: all of real, recall 1.
    """
    real, generated = np.array([[0.0], [1.0], [10.0]]), np.array([[2.5], [18.0], [30.0], [31.0]])
    shares = precision_recall(real, generated, neighbours=1)
    assert shares == (0.5, 1.0)


@pytest.mark.parametrize("measure", [fid, kid])
def test_too_few_images_give_nan(measure):
    assert np.isnan(measure(np.zeros((1, 2)), np.zeros((50, 2)))).all()


@pytest.mark.parametrize("measure", [fid, kid, precision_recall])
def test_features_that_do_not_fit_are_refused(measure):
    with pytest.raises(BadInput, match=r"\[4, 2\] and \[4, 3\]"):
        measure(np.zeros((4, 2)), np.zeros((4, 3)))
    broken = np.zeros((5, 2))
    broken[3, 1] = np.nan
    with pytest.raises(BadInput, match="generated images: expected finite numbers, got 1 rows"):
        measure(np.zeros((5, 2)), broken)
