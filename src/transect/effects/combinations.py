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
    """Σ weight x successes / n with its interval: estimate, low, high; float64.

    weights: not negative, one for each proportion. A proportion of weight 0 does not matter; one without trials makes
    all three NaN where its weight is not 0.

    >>> estimate, low, high = weighted_sum([1.0], [3], [10])
    >>> (round(low, 3), round(high, 3)) == tuple(round(float(end), 3) for end in wilson(3, 10))
    True
    """
    w, k, trials = (np.asarray(value, dtype=np.float64) for value in (weights, successes, n))
    w, k, trials = w[w > 0], k[w > 0], trials[w > 0]
    low, high = wilson(k, trials, confidence)
    p = np.divide(k, trials, out=np.full(k.shape, np.nan), where=trials > 0)
    estimate = float(w @ p)
    below, above = np.sqrt(((w * (p - low)) ** 2).sum()), np.sqrt(((w * (high - p)) ** 2).sum())
    return estimate, float(estimate - below), float(estimate + above)
