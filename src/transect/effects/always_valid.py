"""Intervals that stay valid however often one looks, and whenever one stops or extends: confidence sequences.

A fixed-sample interval misses one time in twenty at the number of subjects that was chosen beforehand. Who looks, and
goes on while the result is not clear, has many chances to be misled. Here the chance that the interval misses at any
number of subjects at all is at most one in twenty. Intervals depend on the subjects as a set, and not on their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

BETTING: Final = "betting"
ASYMPTOTIC: Final = "asymptotic, time-uniform"
SOURCES: Final = {
    BETTING: "Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting, "
    "doi:10.1093/jrsssb/qkad009",
    ASYMPTOTIC: "Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Time-uniform central limit theory and "
    "asymptotic confidence sequences, arXiv:2103.06476",
}
FEWEST: Final = 25
"""Subjects from which scores have an interval, which is asymptotic."""
USUAL: Final = 100
"""Subjects at which the asymptotic interval is as narrow as it can be made."""
_BETS: Final = (np.arange(50) + 0.5) / 50
_HALVINGS: Final = 32


@final
@dataclass(frozen=True, slots=True)
class AlwaysValid:
    """An interval that is valid at any number of subjects. Without one the ends are NaN and reason says why."""

    low: float
    high: float
    method: str
    reason: str = ""


def always_valid_difference(
    differences: Float[np.ndarray, " n"], reach: float = 1.0, confidence: float = 0.95
) -> AlwaysValid:
    """Interval of the mean of subjects' differences within [-reach, reach]; NaN where a subject has none.

    reach: the largest difference that one subject can have, whatever is observed: 1 for proportions. Against a mean μ a
    gambler bets shares of the stake that the next difference is larger, all from 1 to 99 % side by side; if the mean is
    μ, the expected stake stays what it was, and by Ville's inequality it ever grows 2/α-fold with a probability of at
    most α/2. The lower end is the largest μ at which it has; the upper end is the same of the negative differences.

    Returns AlwaysValid, in [-reach, reach]; NaN without a difference. Waudby-Smith and Ramdas 2024.

    >>> result = always_valid_difference(np.zeros(100))
    >>> round(result.low, 3), round(result.high, 3)
    (-0.052, 0.052)
    """
    d = differences[np.isfinite(differences)] / reach
    if not len(d):
        return _none("no subject has a difference")
    a, b, log_stake = (1 + np.clip(d, -1.0, 1.0)) / 2, np.ones(len(d)), math.log(2 / (1 - confidence))
    low, high = _lower_end(a, b, log_stake), 1 - _lower_end(b - a, b, log_stake)
    return AlwaysValid(reach * (2 * low - 1), reach * (2 * high - 1), BETTING)


def always_valid_rate(
    successes: Float[np.ndarray, " n"], counts: Float[np.ndarray, " n"], most: int, confidence: float = 0.95
) -> AlwaysValid:
    """Interval of a pooled rate; subject i has `counts[i]` images of at most `most`, `successes[i]` of them successes.

    Bets as in `always_valid_difference`: if the rate is θ, successes - θ counts has the mean 0.

    Returns AlwaysValid, in [0, 1]; NaN without an image. Waudby-Smith and Ramdas 2024.

    >>> result = always_valid_rate(np.zeros(100), np.ones(100), most=1)
    >>> result.low, round(result.high, 3)
    (0.0, 0.052)
    """
    if not counts.sum():
        return _none("no image has a valid answer")
    a, b, log_stake = successes / most, counts / most, math.log(2 / (1 - confidence))
    return AlwaysValid(_lower_end(a, b, log_stake), 1 - _lower_end(b - a, b, log_stake), BETTING)


def always_valid_mean(values: Float[np.ndarray, " n"], confidence: float = 0.95) -> AlwaysValid:
    """Interval of the mean of subjects' values that have no bounds; NaN where a subject has none.

    mean ∓ s sqrt(2 (n r + 1) / (n² r) log(sqrt(n r + 1) / α)), s the standard deviation and r such that the interval
    is narrowest at 100 subjects. Its coverage is asymptotic in the first look, which needs 25 subjects.

    Returns AlwaysValid; NaN with fewer than 25 values, and where they do not vary. Waudby-Smith et al. 2024, Theorem
    2.2.

    >>> result = always_valid_mean(np.tile([-1.0, 1.0], 50))  # Student's t: ∓ 0.2
    >>> round(result.low, 3), round(result.high, 3)
    (-0.304, 0.304)
    """
    x = values[np.isfinite(values)]
    n, alpha = len(x), 1 - confidence
    if n < FEWEST:
        return _none(f"fewer than {FEWEST} subjects ({n})")
    spread = float(x.std())
    if spread <= 1e-12 * max(abs(float(x.mean())), 1e-300):
        return _none("the differences do not vary")
    tuned = n * (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / USUAL
    half = spread * math.sqrt(2 * (tuned + 1) / (n * tuned) * math.log(math.sqrt(tuned + 1) / alpha))
    return AlwaysValid(float(x.mean()) - half, float(x.mean()) + half, ASYMPTOTIC)


def _lower_end(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"], log_stake: float) -> float:
    """The largest θ in [0, 1] that bets on a larger ratio of means, a over b with 0 <= a <= b <= 1, have disproved."""
    pairs, times = np.unique(np.column_stack([a, b]), axis=0, return_counts=True)
    low, high = 0.0, float(a.sum() / b.sum())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle <= 0:
            break
        won = np.log1p(_BETS[:, None] * (pairs[:, 0] / middle - pairs[:, 1])) @ times
        best = float(won.max())
        disproved = best + math.log(float(np.exp(won - best).mean())) >= log_stake
        low, high = (middle, high) if disproved else (low, middle)
    return low


def _none(reason: str) -> AlwaysValid:
    return AlwaysValid(math.nan, math.nan, "", reason)
