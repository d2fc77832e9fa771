"""Differences within matched pairs, against McNemar's test and Rosenbaum's own arithmetic."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import binom

from transect.effects.matched_pairs import adjusted_pair_outcome, pair_outcome


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
    assert made.p == pytest.approx(binom.sf([29, 30], 40, 0.5).sum())
    by_gamma = dict(zip(made.gammas, made.largest_p, strict=True))
    assert by_gamma[1.0] == pytest.approx(made.p)
    assert by_gamma[2.0] == pytest.approx(min(1, binom.sf([29, 30], 40, 2 / 3).sum()))
    # the last gamma, to two decimals, at which P(Bin(40, g / (1 + g)) >= 30) + P(... > 30) <= .05
    grid = np.arange(100, 300) / 100
    bears = grid[sum(binom.sf(k, 40, grid / (1 + grid)) for k in (29, 30)) <= 0.05].max()
    assert made.tolerated == pytest.approx(bears)
    assert (made.n_pairs, made.n_missing, made.is_binary) == (100, 0, True)
    assert made.low < 0.2 < made.high


def test_pairs_without_an_outcome_are_counted():
    values, a, b = paired(3, 1, 2)
    values[[0, 7]] = np.nan  # of the first pair its a, of the second its b
    made = pair_outcome(values, a, b)
    assert (made.n_pairs, made.n_missing) == (4, 2)
    assert made.estimate == pytest.approx((1 - 1) / 4)
    nothing = pair_outcome(np.full(2, np.nan), np.array([0]), np.array([1]))
    assert (nothing.n_missing, nothing.reason, nothing.gammas) == (1, "no pair has both outcomes", ())
    assert np.isnan(nothing.estimate)


def test_an_image_in_several_pairs_counts_once():
    """Row 0 has 3 against the mean of 1 and 2, row 1 has 5 against 4 alone, its other control having no outcome."""
    values = np.array([3.0, 5.0, 1.0, 2.0, 4.0, np.nan])
    made = pair_outcome(values, np.array([0, 0, 1, 1]), np.array([2, 3, 4, 5]))
    assert (made.n_pairs, made.estimate) == (2, pytest.approx((1.5 + 1.0) / 2))
    assert (made.gammas, made.no_bounds) == ((), "bounds apply to pairs, not to one image with several")


class TestAdjusted:
    @staticmethod
    def drawn(n=60, seed=0):
        """Pairs whose a is .5 ahead in x; the outcome is 2 x - z, and 3 more for an a."""
        rng = np.random.default_rng(seed)
        a, b = np.arange(n), np.arange(n, 2 * n)
        x, z = rng.normal(size=2 * n), rng.normal(size=2 * n)
        x[:n] += 0.5
        y = 2 * x - z + rng.normal(size=2 * n)
        y[:n] += 3
        return y, {"x": x, "z": z}, a, b

    def test_it_is_the_intercept_of_differences_with_hc3_errors(self):
        y, covariates, a, b = self.drawn()
        differences = np.column_stack([column[a] - column[b] for column in covariates.values()])
        fit = sm.OLS(y[a] - y[b], sm.add_constant(differences)).fit(cov_type="HC3", use_t=True)
        made = adjusted_pair_outcome(y, covariates, a, b)
        assert made.estimate == pytest.approx(fit.params[0])
        assert (made.low, made.high) == pytest.approx(tuple(fit.conf_int()[0]))
        assert made.p == pytest.approx(fit.pvalues[0], rel=1e-6)
        # the plain difference takes the .5 of x, times 2, for the treatment's own
        assert abs(made.estimate - 3) < 0.5 < abs(pair_outcome(y, a, b).estimate - 3)

    def test_a_column_that_tells_nothing_or_the_same_is_named(self):
        """A difference that is 1 in every pair is the treatment itself; a copy of x is x."""
        y, covariates, a, b = self.drawn()
        ahead = np.zeros(120)
        ahead[:60] = 1.0
        more = {**covariates, "ahead": ahead, "copy": 3 * covariates["x"] + 1, "constant": np.ones(120)}
        made = adjusted_pair_outcome(y, more, a, b)
        plain = adjusted_pair_outcome(y, covariates, a, b)
        assert (made.left_out, made.covariates) == (("ahead", "copy", "constant"), 2)
        assert made.estimate == pytest.approx(plain.estimate)

    def test_missing_covariates_are_counted_and_too_few_pairs_said(self):
        y, covariates, a, b = self.drawn(n=8)
        covariates["x"][[0, 1, 9]] = np.nan  # pairs 0 and 1; row 9 is pair 1's other image
        made = adjusted_pair_outcome(y, covariates, a, b)
        assert (made.n_pairs, made.n_missing) == (6, 2)
        few = adjusted_pair_outcome(y, covariates, a[:5], b[:5])
        assert np.isnan(few.estimate)
        assert few.reason == "expected at least 5 pairs for 2 covariates, got 3"

    def test_without_covariates_it_is_the_mean_with_student_t(self):
        """HC3 of a mean: sqrt(Σ (e / (1 - 1/n))²) / n; 1, 2, 3, 6, 8 have mean 4 and residuals -3, -2, -1, 2, 4."""
        made = adjusted_pair_outcome(np.array([1.0, 2, 3, 6, 8, *[0] * 5]), {}, np.arange(5), np.arange(5, 10))
        error = np.sqrt(34) / (4 / 5) / 5
        assert made.estimate == pytest.approx(4)
        assert made.high == pytest.approx(4 + 2.776445 * error)
