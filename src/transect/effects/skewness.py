"""Student's interval, widened on the side to which few and skewed numbers extend."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

_LEVEL: Final = 1e-9


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
    estimate: float, error: float, freedom: float, skewed: float, confidence: float = 0.95
) -> tuple[float, float]:
    """The ends of Student's interval, each moved outwards where Hall's transformation of t puts it further out.

    error, freedom: the standard error and its degrees of freedom; skewed: g, the skewness of the estimate. Where
    numbers have a long upper tail, the sample mean and its standard error grow together, so that Student's interval
    ends too low; t + g t²/3 + g² t³/27 + g/6 is closer to symmetric (Hall 1992, On the removal of skewness by
    transformation, JRSS B 54, 221-228).

    >>> low, high = skewed_interval(0.0, 1.0, 9.0, 0.3)
    >>> round(low, 2), round(high, 2)
    (-2.26, 3.26)
    """
    quantile = float(stdtrit(freedom, (1 + confidence) / 2))
    far = [_inverse(each, skewed) for each in (quantile, -quantile)]
    return estimate - error * max(quantile, far[0]), estimate + error * max(quantile, -far[1])


def _inverse(transformed: float, skewed: float) -> float:
    """Student's statistic whose transform is this."""
    if abs(skewed) < _LEVEL:
        return transformed
    return float(3 / skewed * (np.cbrt(1 + skewed * (transformed - skewed / 6)) - 1))
