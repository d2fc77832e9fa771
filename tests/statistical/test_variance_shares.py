"""Shares of variance: how often they are shown where nothing matters, and whether their intervals hold."""

import numpy as np
import pytest

from transect.effects.sobol_indices import _Split, sobol

TABLES = 200
MEANS = {
    "one attribute": np.array([[0, 0], [0.3, 0.3], [0.6, 0.6]]),
    "two attributes": np.array([[0, 0.4], [0.3, 0.7], [0.6, 1.0]]),
    "an interaction": np.array([[0, 0], [0, 0], [0, 0.8]]),
    "rates": np.array([[0.05, 0.05], [0.05, 0.1], [0.1, 0.3]]),
    "rates of four": np.full((2,) * 4, 0.1)
    + np.array([0, 0.1])[:, None, None, None]
    + np.array([0, 0.15])[:, None, None],
}


def outcomes(means, subjects, rng, rates):
    if rates:
        return (rng.random((subjects, *means.shape)) < means).astype(float)
    own = rng.normal(size=(subjects,) + (1,) * means.ndim)
    return means + own + rng.normal(size=(subjects, *means.shape))


@pytest.mark.slow
@pytest.mark.parametrize("subjects", [30, 200])
def test_where_nothing_matters_there_are_no_shares(subjects):
    """Without the test, 39 to 51 % of such studies have shares."""
    rng = np.random.default_rng(subjects)
    shown = [np.isfinite(sobol(rng.normal(size=(subjects, 3, 2)), seed=s, resamples=1).variance) for s in range(500)]
    assert np.mean(shown) <= 0.065  # 5 % and two standard errors


@pytest.mark.slow
@pytest.mark.parametrize("subjects", [60, 200])
@pytest.mark.parametrize("name", MEANS)
def test_intervals_of_shares_hold(name, subjects):
    """Basic bootstrap intervals cover 73 to 99 % of such tables."""
    means, rng = MEANS[name], np.random.default_rng([subjects, len(name)])
    split = _Split([np.full(size, 1 / size) for size in means.shape])
    truth = split.indices(split.parts(means.reshape(1, -1)))[0]
    hits = []
    for seed in range(TABLES):
        shares = sobol(outcomes(means, subjects, rng, "rates" in name), seed=seed, resamples=300)
        rows = [(each.low, each.high) for each in (shares.first, shares.total, shares.shapley)]
        if np.isfinite(rows).all():
            hits.append(
                [(low <= row + 1e-9) & (row - 1e-9 <= high) for (low, high), row in zip(rows, truth, strict=True)]
            )
    assert len(hits) > 0.9 * TABLES
    assert np.mean(hits, axis=0).min() >= 0.92
