"""Shares of options and of places: by hand, against every permutation, and on planted truth."""

import itertools

import numpy as np
import pytest

from transect.effects.contrasts import level_differences
from transect.effects.curves import difference_band
from transect.effects.multiplicity import holm
from transect.effects.option_shares import (
    EXACT,
    MONTE_CARLO,
    chosen_shares,
    permuted_levels,
    place_bias,
    shares_by_option,
)
from transect.effects.resampling import sign_flip


def chosen(rng, subjects, chances, cells=1):
    """Shares [subjects, levels, cells, options] of one choice an image, with these chances by level."""
    chances = np.asarray(chances)
    drawn = rng.random((subjects, len(chances), cells, 1)) < np.cumsum(chances, axis=1)[None, :, None, :]
    return np.eye(chances.shape[1])[drawn.argmax(axis=-1)]


def every_permutation(values):
    """P by loops over every permutation of every subject's levels."""

    def statistic(table):
        means = table.mean(axis=0)
        return ((means - means.mean(axis=0)) ** 2).sum()

    seen, extreme, ways = statistic(values), 0, 0
    for orders in itertools.product(itertools.permutations(range(values.shape[1])), repeat=len(values)):
        moved = np.stack([row[list(order)] for row, order in zip(values, orders, strict=True)])
        extreme += statistic(moved) >= seen * (1 - 1e-9)
        ways += 1
    return extreme / ways


@pytest.mark.parametrize(("subjects", "levels", "options"), [(6, 2, 3), (4, 3, 2), (3, 3, 1)])
def test_any_change_counts_every_permutation(subjects, levels, options):
    rng = np.random.default_rng(subjects)
    values = rng.normal(size=(subjects, levels, options)) + 0.5 * np.arange(levels)[None, :, None]
    p, method = permuted_levels(values)
    assert method == EXACT
    assert p == pytest.approx(every_permutation(values))


@pytest.mark.parametrize("shape", [(5, 3, 2), (2, 6, 1)])
def test_draws_agree_with_all_permutations(monkeypatch, shape):
    """Six levels are in too many orders to list them."""
    values = np.random.default_rng(3).normal(size=shape)
    exact = permuted_levels(values)[0]
    monkeypatch.setattr("transect.effects.option_shares.MOST_EXACT", 1)
    p, method = permuted_levels(values)
    assert method == MONTE_CARLO
    assert p == pytest.approx(exact, abs=0.02)


def test_contrasts_by_hand():
    rng = np.random.default_rng(2)
    values = chosen(rng, 60, [(0.5, 0.3, 0.2), (0.2, 0.4, 0.4)], cells=2)
    found = shares_by_option(values)
    d = np.stack([level_differences(values[:, 0, :, o], values[:, 1, :, o]) for o in range(3)], axis=1)
    assert [each.difference.estimate for each in found.contrasts] == pytest.approx(d.mean(axis=0))
    band = difference_band(d, 2)
    assert [each.difference.low for each in found.contrasts] == pytest.approx(band.low)
    p = sign_flip(d)[0]
    assert [each.p for each in found.contrasts] == pytest.approx(p)
    assert [each.p_corrected for each in found.contrasts] == pytest.approx(holm(p))
    assert [share.estimate for share in found.shares[1]] == pytest.approx(values[:, 1].mean(axis=(0, 1)))
    assert found.p < 0.01
    assert found.subjects == 60


def test_a_level_alone_and_nothing_at_all():
    values = chosen(np.random.default_rng(0), 10, [(0.5, 0.5)])
    alone = shares_by_option(values)
    assert (alone.contrasts, alone.method, np.isnan(alone.p)) == ((), "", True)
    nothing = shares_by_option(np.full((10, 2, 1, 2), np.nan))
    assert (nothing.subjects, np.isnan(nothing.p), nothing.shares[0][0].reason) == (0, True, "no answer")
    assert np.isnan(nothing.contrasts[0].difference.estimate)
    assert permuted_levels(np.ones((4, 3, 2))) == (1.0, EXACT)


def test_choices_become_shares():
    repeats = np.array([[[0.0, 1.0], [1.0, np.nan]]])  # half of the first paraphrase, all of the second
    np.testing.assert_allclose(chosen_shares(repeats, 2), [[0.25, 0.75]])


def test_places_by_hand():
    """A model that takes the first of three places half the time, and else what it likes."""
    rng = np.random.default_rng(5)
    liked = rng.integers(0, 3, size=(80, 2, 3))
    places = np.where(rng.random(liked.shape) < 0.5, 0, liked).astype(float)
    places[0, 0, 0] = np.nan
    found = place_bias(places, 3)
    of_all = found.of_all
    assert (of_all.answers, of_all.subjects) == (80 * 6 - 1, 80)
    known = places[np.isfinite(places)]
    assert [share.estimate for share in of_all.shares] == pytest.approx([(known == k).mean() for k in range(3)])
    assert of_all.effects[0].estimate == pytest.approx((3 * (known == 0).mean() - 1) / 2)
    assert of_all.effects[0].low > 0.3
    assert of_all.p < 0.001
    assert len(found.by_level) == 2
    assert found.change.p > 0.01


def test_places_that_do_not_matter_and_places_that_are_not_there():
    places = np.random.default_rng(6).integers(0, 4, size=(60, 1, 4)).astype(float)
    found = place_bias(places, 4).of_all
    assert found.p > 0.05
    assert found.method == "Monte Carlo permutation of places within subjects"
    nothing = place_bias(np.full((5, 1, 2), np.nan), 2).of_all
    assert (nothing.answers, nothing.shares[0].reason) == (0, "no choice at any place")
