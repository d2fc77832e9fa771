"""Where an attribute is seen: against values worked out by hand."""

import numpy as np
import pytest

from transect.controls.directions import shown_range


def test_a_continuous_attribute_between_its_5th_and_95th_percentile():
    """Labels 2v + 1 for v uniform in [0, 10]: percentiles 2 and 20, so that v is 0.5 and 9.5."""
    values = np.linspace(0, 10, 1001)
    assert shown_range(values, 2 * values + 1, "continuous", (0, 10)) == pytest.approx((0.5, 9.5))


def test_a_binary_attribute_where_nine_in_ten_say_so():
    """P(yes) = 1 / (1 + exp(-4 (v - 1))) is 0.1 and 0.9 at 1 ∓ ln(9) / 4 = 0.4507 and 1.5493."""
    values = np.repeat(np.linspace(-2, 4, 601), 400)
    share = 1 / (1 + np.exp(-4 * (values - 1)))
    labels = (np.tile((np.arange(400) + 0.5) / 400, 601) < share).astype(float)
    low, high = shown_range(values, labels, "binary", (-2, 4))
    # The slight penalty draws the slope down, which moves both ends outwards a little.
    assert low == pytest.approx(0.4507, abs=0.03)
    assert high == pytest.approx(1.5493, abs=0.03)


@pytest.mark.parametrize(
    ("values", "labels", "kind"),
    [
        (np.linspace(0, 1, 100), -np.linspace(0, 1, 100), "continuous"),  # falls
        (np.zeros(100), np.arange(100.0), "continuous"),  # one value alone
        (np.linspace(0, 1, 100), np.zeros(100), "binary"),  # one class alone
    ],
)
def test_nothing_where_labels_do_not_follow(values, labels, kind):
    assert np.isnan(shown_range(values, labels, kind, (0.0, 1.0))).all()
