import numpy as np
import pytest

from transect.effects.identity_pairs import distributions, smd

NAN = np.nan


def test_counts_by_group_add_up_and_share_their_edges():
    rng = np.random.default_rng(0)
    hair, groups = rng.random(500), np.where(rng.random(500) < 0.3, "dark", "light")
    hair[:7] = NAN
    made = distributions({"hair": hair}, groups)
    assert [one.group for one in made] == ["dark", "light"]
    np.testing.assert_array_equal(made[0].edges, made[1].edges)
    for one in made:
        chosen = hair[groups == one.group]
        np.testing.assert_array_equal(one.counts, np.histogram(chosen[np.isfinite(chosen)], one.edges)[0])
        assert one.counts.sum() == one.n == np.isfinite(chosen).sum()
        assert one.quartiles == pytest.approx(tuple(np.nanquantile(chosen, [0.25, 0.5, 0.75])))
    assert sum(one.missing for one in made) == 7


def test_the_standardized_difference_by_hand():
    # Means 1 and 4, variances 2 and 2: 3 / sqrt(2).
    assert smd([0.0, 2.0], [3.0, 5.0, NAN]) == pytest.approx(3 / np.sqrt(2))


def test_what_cannot_be_compared_is_nan():
    assert np.isnan(smd([0.0, 2.0], [3.0]))
    assert np.isnan(smd([1.0, 1.0], [2.0, 2.0]))
    assert np.isnan(smd([0.1 + 0.2, 0.3], [0.3, 0.3]))  # what rounding leaves is no spread
