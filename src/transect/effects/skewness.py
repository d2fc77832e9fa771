"""Student's interval, widened on the side to which few and skewed numbers extend."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

_LEVEL: Final = 1e-6


def skewness(shares: Float[np.ndarray, " n"], n: int) -> float:
    """The skewness of an estimate from by how much each of n subjects moves it; 0 where nothing moves or n < 3."""
    variance = float(shares @ shares)
    return (
        float((shares**3).sum() / variance**1.5) * math.sqrt(n * (n - 1)) / (n - 2) if variance > 0 and n > 2 else 0.0
    )


def skewed_interval(
    estimate: float, error: float, freedom: float, skewed: float, confidence: float = 0.95, unseen: float = 0.0
) -> tuple[float, float]:
    """The ends of Student's interval, each moved outwards where Hall's transformation of t puts it further out."""
    quantile = float(stdtrit(freedom, (1 + confidence) / 2))
    below, above = float(hall(quantile, skewed - unseen)), float(hall(-quantile, skewed + unseen))
    return estimate - error * max(quantile, below), estimate + error * max(quantile, -above)


def hall(
    transformed: float | Float[np.ndarray, "*k"], skewed: float | Float[np.ndarray, "*k"]
) -> Float[np.ndarray, "*k"]:
    """Student's statistic whose transform, as in `skewed_interval`, is this."""
    g = np.where(np.abs(skewed) < _LEVEL, _LEVEL, skewed)
    return np.asarray(3 / g * (np.cbrt(1 + g * (transformed - g / 6)) - 1))
