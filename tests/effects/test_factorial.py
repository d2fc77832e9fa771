import numpy as np
import pyarrow as pa

from transect.effects.contrasts import CellMeans, factorial_of_table


def long_table(values, names):
    """A row per image of an array [n, *shape], shuffled: the inverse of `factorial_of_table`."""
    places = np.argwhere(np.isfinite(values))
    np.random.default_rng(0).shuffle(places)
    columns = {"subject": places[:, 0] + 100, "miss": values[tuple(places.T)]}
    return pa.table(columns | {name: 10.0 * places[:, 1 + axis] for axis, name in enumerate(names)})


def test_a_long_table_becomes_the_array_it_came_from():
    values = np.random.default_rng(1).normal(size=(5, 3, 2))
    values[2, 1, 1] = np.nan
    made = factorial_of_table(long_table(values, ["a", "b"]), outcome="miss", attributes=["a", "b"])
    np.testing.assert_array_equal(made.values, values)
    assert dict(made.levels) == {"a": (0.0, 10.0, 20.0), "b": (0.0, 10.0)}


def test_pseudo_values_have_the_weighted_mean_and_its_error():
    """Complete cells: the subjects' own sums. With gaps: the variance of the linearized ratio, cell by cell."""
    rng = np.random.default_rng(2)
    values, weights = rng.normal(size=(40, 6)), rng.normal(size=(6, 2))
    np.testing.assert_allclose(CellMeans.of(values).pseudo_values(weights), values @ weights)
    values[rng.random(values.shape) < 0.2] = np.nan
    pseudo = CellMeans.of(values).pseudo_values(weights)
    np.testing.assert_allclose(pseudo.mean(axis=0), np.nanmean(values, axis=0) @ weights)
    images = np.isfinite(values).sum(axis=0)
    residual = np.where(np.isfinite(values), values - np.nanmean(values, axis=0), 0) * 40 / images
    np.testing.assert_allclose(pseudo.var(axis=0), ((residual @ weights) ** 2).mean(axis=0))
