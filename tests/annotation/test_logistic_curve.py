"""Curves along a transect: known ones come back, and what cannot be fitted says why."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.annotation.agreement.logistic_curve import fit_logistic
from transect.errors import BadInput


@pytest.mark.parametrize(("start", "end"), [(0.5, 3.5), (3.5, 0.5)])
def test_a_curve_without_noise_comes_back(start, end):
    # start + (end - start) / (1 + exp(-2 (x - 5.5))) at thirteen places, as many as the paper's pilot has.
    x = np.arange(13.0)
    made = fit_logistic(x, start + (end - start) / (1 + np.exp(-2 * (x - 5.5))), 0, 4, 1)
    assert (made.start, made.end, made.middle, made.slope) == pytest.approx((start, end, 5.5, 2.0), abs=1e-3)
    assert made.near == 1.0
    assert made.at([5.5]) == pytest.approx([2.0], abs=1e-3)  # halfway between .5 and 3.5


def test_with_few_places_the_ends_are_the_scales():
    """With the ends of 0 to 4, means of 1, 2, 3 are met by middle 1 and slope ln 3: 4 / (1 + exp(ln 3)) = 1."""
    made = fit_logistic([0, 1, 2] * 3, [1, 2, 3] * 3, 0, 4, 1)
    assert (made.start, made.end, made.middle) == pytest.approx((0, 4, 1), abs=1e-6)
    assert made.slope == pytest.approx(np.log(3), abs=1e-5)


def test_answers_far_from_the_curve_are_counted():
    """Twenty answers on a step and one at the other end of the scale: 20 of 21 lie within a level."""
    x = np.repeat(np.arange(5.0), 4)
    said = np.where(x < 2, 0.0, 4.0)
    made = fit_logistic([*x, 0.0], [*said, 4.0], 0, 4, 1)
    assert made.near == pytest.approx(20 / 21)
    assert made.answers == 21


def test_what_has_no_curve_says_why():
    made = fit_logistic([0, 0, 1], [1.0, 2.0, np.nan], 0, 4, 1)
    assert np.isnan(made.slope)
    assert made.reason == "answers at 1 places of the transect; a curve needs three"
    flat = fit_logistic(np.arange(6.0), np.full(6, 2.0), 0, 4, 1)
    assert (flat.start, flat.end, flat.slope) == (2.0, 2.0, 0.0)
    assert np.isnan(flat.middle)
    assert flat.at([0.0, 9.0]).tolist() == [2.0, 2.0]
    with pytest.raises(BadInput, match="expected one place for each of 2 answers, got 1"):
        fit_logistic([0.0], [1.0, 2.0], 0, 4, 1)


@settings(max_examples=10)
@given(
    said=st.lists(st.integers(0, 4), min_size=6, max_size=20),
    scale=st.sampled_from([0.25, 1.0, 10.0]),
)
def test_the_curve_stays_on_the_scale_and_turns_with_it(said, scale):
    """Between the ends of the scale, and no worse than the answers' mean."""
    x = np.arange(len(said), dtype=float)
    y = np.array(said, dtype=float) * scale
    made = fit_logistic(x, y, 0, 4 * scale, scale)
    assert (made.at(x) >= -1e-9).all()
    assert (made.at(x) <= 4 * scale + 1e-9).all()
    assert ((y - made.at(x)) ** 2).sum() <= ((y - y.mean()) ** 2).sum() * 1.01 + 1e-6 * scale**2
