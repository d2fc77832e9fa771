"""A rate from few yes-or-no ratings by people and many predictions by a machine: the score interval.

Student's interval takes its variance from the ratings that happen to say yes. Of a rare outcome these are few, and a
sample with too few of them has too small an estimate and too narrow an interval at once. A score interval asks instead
of every possible rate whether the estimate would surprise under the variance that this rate implies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

SCORE: Final = "score with predictions"
_IMAGINED: Final = 1
"""Images of either answer that are added to the rated ones; with none, good machines look too good."""


@final
@dataclass(frozen=True, slots=True)
class PoweredRate:
    """A rate, the ends of its interval, and the weight of the predictions."""

    estimate: float
    low: float
    high: float
    trust: float


def powered_rate(
    ratings: Float[np.ndarray, " n"],
    predicted: Float[np.ndarray, " n"],
    predicted_unrated: Float[np.ndarray, " m"],
    *,
    trust: float | None = None,
    confidence: float = 0.95,
) -> PoweredRate:
    """The share of yes over all images, of which n were rated 0 or 1 by people at random, and its score interval."""
    n, m = len(ratings), len(predicted_unrated)
    every = np.concatenate([predicted, predicted_unrated])
    average, spread = float(every.mean()), float(every.var()) * (1 + n / m)
    rate = float(ratings.mean())
    gap = _beyond(predicted[ratings == 1] - average) - _beyond(predicted[ratings == 0] - average)
    weight = _weight(rate * (1 - rate) * gap, spread) if trust is None else trust
    estimate = rate + weight * float(predicted_unrated.mean() - predicted.mean())
    t = float(stdtrit(n - 1, (1 + confidence) / 2))
    return PoweredRate(estimate, *_ends(estimate, n, 1 - 2 * weight * gap, weight**2 * spread, t), weight)


def _beyond(distances: Float[np.ndarray, " k"]) -> float:
    """The mean distance of an answer's predictions from the average, that of imagined images being 0."""
    return float(distances.sum()) / (len(distances) + _IMAGINED)


def _weight(covariance: float, spread: float) -> float:
    return min(max(covariance / spread, 0.0), 1.0) if spread > 0 else 0.0


def _ends(estimate: float, n: int, share: float, noise: float, t: float) -> tuple[float, float]:
    """The solutions θ of n (estimate - θ)² = t² (share θ (1 - θ) + noise)."""
    # A large weight of wild predictions may leave no interval: a larger share makes one, and a wider one.
    share = max(share, -n / (2 * t**2))
    square, linear = n + t**2 * share, 2 * n * estimate + t**2 * share
    root = math.sqrt(max(linear**2 - 4 * square * (n * estimate**2 - t**2 * noise), 0.0))
    return (linear - root) / (2 * square), (linear + root) / (2 * square)
