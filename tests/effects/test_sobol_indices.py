import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects import sobol
from transect.effects.sobol_indices import _permuted, _spreads_of, spread_test
from transect.errors import BadInput

WEIGHTS = {"a": (0.5, 0.3, 0.2), "b": (0.25, 0.75), "c": (0.1, 0.2, 0.3, 0.4)}


def by_definition(f, chances):
    """First-order, total and Shapley indices from conditional variances; Shapley by every order of the attributes."""
    k = f.ndim
    joint = chances[0]
    for chance in chances[1:]:
        joint = np.multiply.outer(joint, chance)
    mean = (joint * f).sum()

    def explained(members):
        """Variance of the mean given the members."""
        total = 0.0
        for cell in itertools.product(*(range(f.shape[axis]) for axis in members)):
            index = tuple(cell[members.index(axis)] if axis in members else slice(None) for axis in range(k))
            weight = joint[index].sum()
            total += weight * ((joint[index] * f[index]).sum() / weight - mean) ** 2
        return total

    whole = explained(list(range(k)))
    first = [explained([axis]) / whole for axis in range(k)]
    total = [1 - explained([other for other in range(k) if other != axis]) / whole for axis in range(k)]
    shapley = np.zeros(k)
    for order in itertools.permutations(range(k)):
        for place, axis in enumerate(order):
            shapley[axis] += explained(sorted(order[: place + 1])) - explained(sorted(order[:place]))
    return np.array(first), np.array(total), shapley / math.factorial(k) / whole


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_indices_are_those_of_the_definitions(seed):
    f = np.random.default_rng(seed).normal(size=(3, 2, 4))
    made = sobol(f[None], attributes=list("abc"), weights=WEIGHTS)
    first, total, shapley = by_definition(f, [np.array(w) for w in WEIGHTS.values()])
    np.testing.assert_allclose(made.first.estimate, first, atol=1e-12)
    np.testing.assert_allclose(made.total.estimate, total, atol=1e-12)
    np.testing.assert_allclose(made.shapley.estimate, shapley, atol=1e-12)
    assert made.shapley.estimate.sum() == pytest.approx(1)
    assert sum(made.parts.values()) == pytest.approx(1)
    assert made.parts[("a",)] == pytest.approx(first[0])


@pytest.mark.filterwarnings("default")
def test_salib_agrees():
    """SALib samples the same function of uniform inputs, cut into equal levels; its error at 2^14 is near .01."""
    problem_of = pytest.importorskip("SALib.analyze.sobol")
    from SALib.sample import sobol as sampler

    f = np.random.default_rng(5).normal(size=(3, 2, 4))
    problem = {"num_vars": 3, "names": list("abc"), "bounds": [[0, 1]] * 3}
    inputs = sampler.sample(problem, 2**14, calc_second_order=False, seed=1)
    cells = [np.minimum((inputs[:, axis] * size).astype(int), size - 1) for axis, size in enumerate(f.shape)]
    judge = problem_of.analyze(problem, f[tuple(cells)], calc_second_order=False, num_resamples=10, seed=1)
    made = sobol(f[None], attributes=list("abc"))
    np.testing.assert_allclose(made.first.estimate, judge["S1"], atol=0.015)
    np.testing.assert_allclose(made.total.estimate, judge["ST"], atol=0.015)


def test_scatter_is_taken_off_without_bias():
    """Products of different subjects have the truth's variance on average: the corrected one is the mean over pairs."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        y = rng.normal(size=(6, 3, 2)) + 3 * np.arange(6).reshape(3, 2)
        centered = y - y.mean(axis=(1, 2), keepdims=True)
        pairs = [(centered[i] * centered[j]).mean() for i in range(6) for j in range(6) if i != j]
        assert sobol(y, resamples=1).variance == pytest.approx(np.mean(pairs))


def test_resamples_are_those_of_a_loop():
    """Each resample's variances by drawing the subjects and correcting anew, complete cells."""
    from transect.effects import bootstrap
    from transect.effects.factorial import CellMeans
    from transect.effects.sobol_indices import _resampled, _Split

    y = np.random.default_rng(8).normal(size=(12, 3, 2)) + np.arange(6).reshape(3, 2)
    split = _Split([np.full(3, 1 / 3), np.full(2, 1 / 2)])
    ours = _resampled(CellMeans.of(y), split, 20, 4)
    counts = np.concatenate(list(bootstrap.resample_counts(12, 20, 4))).astype(int)
    for row, count in zip(ours, counts, strict=True):
        drawn = np.repeat(y, count, axis=0).reshape(12, -1)
        mean = drawn.mean(axis=0)
        scatter = split.parts(drawn - mean).sum(axis=0) / (12 * 11)
        np.testing.assert_allclose(row, split.parts(mean[None])[0] - scatter, atol=1e-12)


def test_missing_images_and_empty_cells():
    rng = np.random.default_rng(9)
    y = rng.normal(size=(60, 3, 2)) * 0.2 + np.arange(6).reshape(3, 2)
    y[rng.random(y.shape) < 0.05] = np.nan
    made = sobol(y, attributes=["a", "b"])
    assert made.n_images + made.n_missing == 360
    assert made.n_missing == np.isnan(y).sum() > 0
    # f = 2 a + b: variances 4 * 2/3 and 1/4, so .914 and .086.
    np.testing.assert_allclose(made.first.estimate, [32 / 35, 3 / 35], atol=0.01)
    assert (made.first.low < [32 / 35, 3 / 35]).all()
    assert (made.first.high > [32 / 35, 3 / 35]).all()
    y[:, 2, 1] = np.nan
    empty = sobol(y, attributes=["a", "b"])
    assert np.isnan(empty.first.estimate).all()
    assert empty.reason == "1 cell without a valid image"


def test_no_spread_has_no_indices():
    made = sobol(np.ones((5, 2, 2)))
    assert made.reason.startswith(
        "cell means do not differ by more than chance (permutation test within subjects, p = 1)"
    )
    assert np.isnan(made.total.estimate).all()


def test_a_table_is_an_array():
    rng = np.random.default_rng(10)
    y = rng.normal(size=(70, 2, 3)) + np.arange(3)
    places = np.argwhere(np.ones(y.shape))
    table = pa.table({"subject": places[:, 0], "a": places[:, 1], "b": places[:, 2], "score": y[tuple(places.T)]})
    ours, other = sobol(table, outcome="score", attributes=["a", "b"]), sobol(y)
    np.testing.assert_allclose(ours.first.low, other.first.low)
    assert ours.attributes == ("a", "b")


@pytest.mark.parametrize("weights", [(0.5, 0.6), (1.0,), (-0.5, 1.5)])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(BadInput, match="weights of attribute 1: expected 2 shares"):
        sobol(np.zeros((3, 2, 2)), weights={"attribute 1": weights})


def test_too_many_attributes_are_refused():
    with pytest.raises(BadInput, match="at most 12 attributes, got 13"):
        sobol(np.zeros((1,) + (1,) * 13))


def test_the_test_of_spread_is_that_of_every_permutation():
    """Three subjects with two cells: of the eight ways to swap cells, two have the spread that is there."""
    y = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 5.0]])
    p = spread_test(y, [np.full(2, 0.5)])
    assert p == pytest.approx(2 / 8, abs=0.06)


def test_cells_that_are_not_alike_are_weighed_and_missing_images_stay_missing():
    y = np.array([[0.0, 9.0, np.nan], [0.0, np.nan, np.nan], [1.0, 8.0, np.nan]])
    chances = [np.array([0.2, 0.5, 0.3])]
    # means 1/3 and 8.5, weights 2/7 and 5/7
    shares, means = np.array([2, 5]) / 7, np.array([1 / 3, 8.5])
    expected = shares @ (means - shares @ means) ** 2
    assert _spreads_of(y[None], chances[0])[0] == pytest.approx(expected)
    for moved in _permuted(y, 5, np.random.default_rng(0)):
        assert (np.isnan(moved) == np.isnan(y)).all()
        np.testing.assert_array_equal(np.sort(moved, axis=1), np.sort(y, axis=1))
    assert 0 < spread_test(y, chances) <= 1


def test_intervals_are_withheld_below_sixty_subjects():
    y = np.random.default_rng(12).normal(size=(60, 2, 3)) + np.arange(3)
    assert np.isfinite(sobol(y).first.low).all()
    few = sobol(y[:59])
    assert np.isnan(few.first.low).all()
    assert np.isfinite(few.first.estimate).all()
    assert few.reason == "59 subjects, fewer than 60: no interval"
