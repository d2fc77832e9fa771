import numpy as np

from transect.effects.contrasts import CellMeans


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
