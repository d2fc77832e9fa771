"""AIPW where arms overlap badly: what is printed is possible and covers, the rest is withheld with its reason (slow)."""

import numpy as np
from scipy.special import expit

from transect.effects import aipw


def table(rng, n, covariates, pull, shift):
    """Outcomes, treatment and covariates: the sum of covariates moves both, the treatment by `pull`, from `shift`."""
    x = rng.normal(size=(n, covariates))
    score = x.sum(axis=1) / np.sqrt(covariates)
    treated = (rng.random(n) < expit(shift + pull * score)).astype(float)
    return (rng.random(n) < expit(-1 + 0.8 * treated + 0.8 * score)).astype(float), treated, x


def test_what_is_printed_is_possible_and_covers(size, n, covariates, pull, shift, most_withheld):
    rng, middle = np.random.default_rng(n + covariates), np.random.default_rng(1).normal(size=400_000)
    truth = float((expit(-0.2 + 0.8 * middle) - expit(-1 + 0.8 * middle)).mean())
    covered, printed = 0, 0
    for _ in range(size.tables):
        y, treated, x = table(rng, n, covariates, pull, shift)
        effect = aipw(y, treated, x)
        if not np.isfinite(effect.estimate):
            assert effect.reason
            continue
        assert abs(effect.estimate) <= 1
        assert -1 <= effect.low <= effect.high <= 1
        printed += 1
        covered += effect.low <= truth <= effect.high
    print(f"withheld {1 - printed / size.tables:.2f}, covers {covered / max(printed, 1):.3f}")
    assert 1 - printed / size.tables <= most_withheld
    if printed > 30:
        size.covers(covered / printed, printed)
