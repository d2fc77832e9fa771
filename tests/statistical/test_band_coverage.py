"""A band contains the whole curve (slow)."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from transect.effects import curves
from transect.effects.curves import difference_band, mean_band, rate_band

LEVELS = 6


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    monkeypatch.setattr(curves, "_DRAWS", 3000)


def latent(rng, subjects, cells, alike):
    """Normal values [subjects, levels, cells], correlated by `alike` within a subject."""
    own, rest = rng.normal(size=(subjects, 1, 1)), rng.normal(size=(subjects, LEVELS, cells))
    return np.sqrt(alike) * own + np.sqrt(1 - alike) * rest


def inside(low, high, truth):
    return bool(((low <= truth + 1e-12) & (truth <= high + 1e-12)).all())


def test_bands_of_rates_and_of_their_changes_cover(size, rate, rise, cells):
    truth = np.linspace(rate / 2, 1.5 * rate, LEVELS) if rise else np.full(LEVELS, rate)
    cut = ndtri(1 - truth)[None, :, None]
    settings = []
    for subjects, alike in size.some(((20, 0.0), (20, 0.9), (50, 0.5), (150, 0.9))):
        rng = np.random.default_rng([subjects, cells])
        covered = np.zeros(2)
        for _ in range(size.tables):
            x = (latent(rng, subjects, cells, alike) > cut).astype(float)
            totals, counts = x.sum(axis=2), np.full((subjects, LEVELS), float(cells))
            of_rates, of_changes = rate_band(totals, counts), difference_band((x[:, 1:] - x[:, :1]).mean(axis=2), cells)
            covered += [
                inside(of_rates.low, of_rates.high, truth),
                inside(of_changes.low, of_changes.high, truth[1:] - truth[0]),
            ]
        settings.append(covered / size.tables)
    size.covers(settings)
    assert size.small or (np.mean(settings, axis=0) >= 0.94).all()


SCORES = {
    "normal": (lambda z: z, 0.0),
    "uniform": (ndtr, 0.5),
    "exponential": (lambda z: -np.log(ndtr(-z)), 1.0),
    "lognormal": (lambda z: np.exp(0.7 * z), np.exp(0.245)),
    "long tail": (np.exp, np.exp(0.5)),
}


def test_bands_of_scores_cover(size, name, alike):
    transform, mean = SCORES[name]
    settings = []
    for subjects in size.some((20, 30, 50, 150)):
        rng = np.random.default_rng(subjects)
        covered = np.zeros(2)
        for _ in range(size.tables):
            x = transform(latent(rng, subjects, 1, alike)[:, :, 0])
            of_means, of_changes = mean_band(x), mean_band(x[:, 1:] - x[:, :1])
            covered += [inside(of_means.low, of_means.high, mean), inside(of_changes.low, of_changes.high, 0.0)]
        settings.append(covered / size.tables)
    size.covers(settings)
    assert size.small or (np.mean(settings, axis=0) >= 0.93).all()
