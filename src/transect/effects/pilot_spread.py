"""How much may subjects differ, given a pilot? Upper limits of a spread, so that a plan keeps its promise.

A plan from a pilot's own standard deviation has less than its power in half of all pilots. One from an upper 80 % limit
reaches it in 80 %: the chi-square limit of the variance, with degrees of freedom by the kurtosis for differences that
are not normal; for one pair of yes or no per subject the exact limit of the share of pairs that differ.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, chdtri

CERTAINTY: Final = 0.8
SOURCES: Final = (
    "Browne 1995, On the use of a pilot sample for sample size determination, doi:10.1002/sim.4780141709",
    "Clopper and Pearson 1934, The use of confidence or fiducial limits illustrated in the case of the binomial, "
    "doi:10.1093/biomet/26.4.404",
)


def upper_deviation(differences: Float[np.ndarray, " n"], *, certainty: float = CERTAINTY) -> float:
    """The upper limit of the standard deviation of subjects' differences; 0 where they do not vary."""
    n = len(differences)
    if n < 2:
        raise ValueError(f"expected at least two differences, got {n}")
    variance = float(np.var(differences, ddof=1))
    if variance == 0:
        return 0.0
    centered = differences - differences.mean()
    kurtosis = float(np.mean(centered**4) / np.mean(centered**2) ** 2)
    freedom = min(2 * n / max(kurtosis - 3 + 2 * n / (n - 1), 1e-9), n - 1.0)
    return float(np.sqrt(variance * freedom / chdtri(freedom, certainty)))


def upper_share(count: int, n: int, *, certainty: float = CERTAINTY) -> float:
    """The exact upper limit of the share of pairs that differ, of which `count` of n do. Clopper and Pearson 1934."""
    return 1.0 if count >= n else float(betaincinv(count + 1, n - count, certainty))
