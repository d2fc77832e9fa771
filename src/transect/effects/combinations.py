"""How sure are we of a weighted sum of proportions, as of a rate pieced together from strata?

Each proportion has Wilson's interval; the sum's limits recover their variances at the limits (MOVER): Zou, Huang and
Zhang 2009, A note on confidence interval estimation for a linear function of binomial proportions,
doi:10.1016/j.csda.2008.09.033.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from transect.effects.intervals import wilson

METHOD: Final = "Wilson score, combined by MOVER"
SOURCE: Final = (
    "Zou, Huang and Zhang 2009, A note on confidence interval estimation for a linear function of binomial "
    "proportions, doi:10.1016/j.csda.2008.09.033"
)


def weighted_sum(
    weights: ArrayLike, successes: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Σ weight x successes / n with its interval: estimate, low, high; float64."""
    w, k, trials = (np.asarray(value, dtype=np.float64) for value in (weights, successes, n))
    w, k, trials = w[w > 0], k[w > 0], trials[w > 0]
    low, high = wilson(k, trials, confidence)
    p = np.divide(k, trials, out=np.full(k.shape, np.nan), where=trials > 0)
    estimate = float(w @ p)
    below, above = np.sqrt(((w * (p - low)) ** 2).sum()), np.sqrt(((w * (high - p)) ** 2).sum())
    return estimate, float(estimate - below), float(estimate + above)
