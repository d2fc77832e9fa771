import math

import numpy as np
import pytest
from scipy.special import ndtr

from transect.effects import wilson
from transect.effects.prediction_powered import powered_rate

YES_TWICE = np.array([1.0, 1.0, 0.0, 0.0])
PREDICTED = np.array([1.0, 0.0, 0.0, 0.0])


def test_by_hand():
    """All eight predictions have the mean 1/4 and the variance 3/16, so that v (1 + n / m) = 3/8. With an imagined
    image each, yes lies (3/4 - 1/4) / 3 above the mean and no as much below: d = 1/3. With λ = 1/2 and x = θ - 1/2,
    4 x² = t² (2/3 (1/4 - x²) + 3/32), thus x² = t² (1/6 + 3/32) / (4 + 2/3 t²), t with 3 degrees of freedom."""
    t2 = 3.18244631**2
    made = powered_rate(YES_TWICE, PREDICTED, PREDICTED, trust=0.5)
    x = math.sqrt(t2 * (1 / 6 + 3 / 32) / (4 + 2 / 3 * t2))
    assert (made.estimate, made.low, made.high) == pytest.approx((0.5, 0.5 - x, 0.5 + x), abs=1e-6)
    # without a choice λ = 1/4 * 1/3 / (3/8) = 2/9
    assert powered_rate(YES_TWICE, PREDICTED, PREDICTED).trust == pytest.approx(2 / 9)


@pytest.mark.parametrize("count", [0, 1, 7, 20])
def test_without_the_machine_it_is_wilsons_with_students_quantile(count):
    y = np.repeat([1.0, 0.0], [count, 20 - count])
    made = powered_rate(y, np.tile([0.0, 1.0], 10), np.ones(30), trust=0.0)
    np.testing.assert_allclose([made.low, made.high], wilson(count, 20, 2 * ndtr(2.09302405) - 1), atol=1e-12)


def test_yes_and_no_are_alike():
    y, f, g = YES_TWICE * [1, 0, 0, 0], PREDICTED + 0.25, np.array([0.5, 0.25])
    one, other = powered_rate(y, f, g), powered_rate(1 - y, 1 - f, 1 - g)
    assert (one.low, one.high, one.trust) == pytest.approx((1 - other.high, 1 - other.low, other.trust))
