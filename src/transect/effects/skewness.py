"""Student's interval, widened on the side to which few and skewed numbers extend."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

_LEVEL: Final = 1e-6


def skewness(shares: Float[np.ndarray, " n"], n: int) -> float:
    """The skewness of an estimate from by how much each of n subjects moves it; 0 where nothing moves or n < 3.

    Corrected for few subjects as the adjusted Fisher-Pearson coefficient is.

    >>> round(skewness(np.array([-1.0, -1.0, -1.0, -1.0, 4.0]), 5), 3)  # 60 / 20^1.5 * 20^.5 / 3
    1.0
    """
    variance = float(shares @ shares)
    return (
        float((shares**3).sum() / variance**1.5) * math.sqrt(n * (n - 1)) / (n - 2) if variance > 0 and n > 2 else 0.0
    )


def skewed_interval(
    estimate: float, error: float, freedom: float, skewed: float, confidence: float = 0.95, unseen: float = 0.0
) -> tuple[float, float]:
    """The ends of Student's interval, each moved outwards where Hall's transformation of t puts it further out.

    error, freedom: the standard error and its degrees of freedom; skewed: g, the skewness of the estimate; unseen: how
    much further it is taken to either side, where few subjects show too little of it. Where
    numbers have a long upper tail, the sample mean and its standard error grow together, so that Student's interval
    ends too low; t + g t²/3 + g² t³/27 + g/6 is closer to symmetric (Hall 1992, On the removal of skewness by
    transformation, JRSS B 54, 221-228).

    >>> low, high = skewed_interval(0.0, 1.0, 9.0, 0.3)
    >>> round(low, 2), round(high, 2)
    (-2.26, 3.26)
    """
    quantile = float(stdtrit(freedom, (1 + confidence) / 2))
    below, above = float(hall(quantile, skewed - unseen)), float(hall(-quantile, skewed + unseen))
    return estimate - error * max(quantile, below), estimate + error * max(quantile, -above)


def hall(
    transformed: float | Float[np.ndarray, "*k"], skewed: float | Float[np.ndarray, "*k"]
) -> Float[np.ndarray, "*k"]:
    """Student's statistic whose transform, as in `skewed_interval`, is this.

    >>> float(hall(2.0, 0.0).round(4)), float(hall(2.0, 0.5).round(2)), float(hall(-2.0, 0.3).round(2))
    (2.0, 1.51, -2.73)
    """
    g = np.where(np.abs(skewed) < _LEVEL, _LEVEL, skewed)
    return np.asarray(3 / g * (np.cbrt(1 + g * (transformed - g / 6)) - 1))
