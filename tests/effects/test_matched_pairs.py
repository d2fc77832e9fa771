"""Differences within matched pairs, against McNemar's test and Rosenbaum's own arithmetic."""

import numpy as np
import pytest
from scipy.stats import binom

from transect.effects.matched_pairs import pair_outcome
from transect.errors import BadInput


def paired(b, c, same):
    """Values, a and b of pairs of which b are (1, 0), c are (0, 1) and the rest agree."""
    first = np.repeat([1.0, 0.0, 1.0], [b, c, same])
    second = np.repeat([0.0, 1.0, 1.0], [b, c, same])
    n = b + c + same
    return np.concatenate([first, second]), np.arange(n), np.arange(n, 2 * n)


def test_discordant_pairs_are_mcnemars_and_rosenbaums():
    """30 pairs one way, 10 the other, 60 alike: (30 - 10) / 100; gamma 2 makes each a draw with chance 2 / 3."""
    made = pair_outcome(*paired(30, 10, 60))
    assert made.estimate == pytest.approx(0.2)
    assert made.p == pytest.approx(2 * binom.sf(29, 40, 0.5))
    by_gamma = dict(zip(made.bounds.gammas.tolist(), made.bounds.largest_p.tolist(), strict=True))
    assert by_gamma[1.0] == pytest.approx(made.p)
    assert by_gamma[2.0] == pytest.approx(min(1, 2 * binom.sf(29, 40, 2 / 3)))
    # the last gamma, to two decimals, at which 2 P(Bin(40, g / (1 + g)) >= 30) <= .05
    grid = np.arange(100, 300) / 100
    bears = grid[2 * binom.sf(29, 40, grid / (1 + grid)) <= 0.05].max()
    assert made.bounds.tolerated == pytest.approx(bears)
    assert (made.n_pairs, made.n_missing, made.is_binary) == (100, 0, True)
    assert made.low < 0.2 < made.high


def test_pairs_without_an_outcome_are_counted():
    values, a, b = paired(3, 1, 2)
    values[[0, 7]] = np.nan  # of the first pair its a, of the second its b
    made = pair_outcome(values, a, b)
    assert (made.n_pairs, made.n_missing) == (4, 2)
    assert made.estimate == pytest.approx((1 - 1) / 4)
    nothing = pair_outcome(np.full(2, np.nan), np.array([0]), np.array([1]))
    assert (nothing.n_missing, nothing.reason, nothing.bounds) == (1, "no pair has both outcomes", None)
    assert np.isnan(nothing.estimate)


def test_an_image_in_several_pairs_counts_once():
    """Row 0 has 3 against the mean of 1 and 2, row 1 has 5 against 4 alone, its other control having no outcome."""
    values = np.array([3.0, 5.0, 1.0, 2.0, 4.0, np.nan])
    made = pair_outcome(values, np.array([0, 0, 1, 1]), np.array([2, 3, 4, 5]))
    assert (made.n_pairs, made.estimate) == (2, pytest.approx((1.5 + 1.0) / 2))
    assert (made.bounds, made.no_bounds) == (None, "bounds are of pairs, not of one image with several")


def test_rows_that_are_no_image_are_refused():
    with pytest.raises(BadInput, match="expected two rows of 2 images for each pair"):
        pair_outcome(np.zeros(2), np.array([0]), np.array([2]))
