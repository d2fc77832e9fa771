"""How certain is a share of comparisons when each compares two people, and each person is in many of them?

A comparison of i and j is the overall rate, plus what i adds, plus what j adds, plus what only the two share. The two
spreads are estimated by moments, without bias for few people (Hoeffding 1948; with equal numbers of comparisons, Efron
and Stein 1981's corrected jackknife). The dyadic sandwich (Aronow, Samii and Assenova 2015) takes residuals for errors,
which leaves half the variance with 10 people; the plain jackknife counts what two people share twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, stdtrit

from transect.effects.intervals import wilson

SOURCES: Final = (
    "Hoeffding 1948, A class of statistics with asymptotically normal distribution, doi:10.1214/aoms/1177730196",
    "Efron and Stein 1981, The jackknife estimate of variance, doi:10.1214/aos/1176345462",
    "Aronow, Samii and Assenova 2015, Cluster-robust variance estimation for dyadic data, doi:10.1093/pan/mpv018",
)
FEWEST_IDENTITIES: Final = 10
"""Below this number of people there is no interval."""


def variance(
    residual: Float[np.ndarray, "g t"], squares: Float[np.ndarray, " t"], compared: Float[np.ndarray, " g"]
) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Variance of each of t shares of comparisons, and its degrees of freedom."""
    total = float(compared.sum()) / 2
    people = 4 * total**2 / float((compared**2).sum()) if total else 0.0
    if people <= 3 + 1e-9:
        return np.full(len(squares), np.nan), np.full(len(squares), np.nan)
    pairs = people * (people - 1) / 2
    sums = (residual**2).sum(axis=0)
    # Expected, for equal numbers: sums / (people - 1)² and squares, in units of the average comparison of two people.
    between = sums * (pairs / total) ** 2 / (people - 1) ** 2
    within = squares * (pairs / total) ** 2
    a, b = (people - 2) ** 2 / (people - 1), (people - 2) / (people - 1)
    c, d = (people - 1) * (people - 2), pairs - 1
    of_people = np.maximum((d * between - b * within) / (a * d - b * c), 0.0)
    of_pairs = np.where(of_people > 0, np.maximum((within - c * of_people) / d, 0.0), within / d)
    fourth = (residual**4).sum(axis=0)
    freedom = np.divide(sums**2, fourth, out=np.full(len(sums), people), where=fourth > 0) - 1
    return 4 * of_people / people + of_pairs / pairs, np.maximum(freedom, 1.0)


def interval(
    rate: Float[np.ndarray, " t"],
    spread: Float[np.ndarray, " t"],
    freedom: Float[np.ndarray, " t"],
    identities: int,
    comparisons: float,
    confidence: float = 0.95,
) -> Float[np.ndarray, "t 2"]:
    """Wilson's interval on the number of independent comparisons that would vary as much, with Student's quantile."""
    known = identities >= FEWEST_IDENTITIES and comparisons > 0
    if not known:
        return np.full((len(rate), 2), np.nan)
    some = (spread > 0) & (rate > 0) & (rate < 1)
    quantile = (1 + confidence) / 2
    ratio = ndtri(quantile) / stdtrit(np.where(some, freedom, 1.0), quantile)
    half = np.full(len(rate), identities / 2)
    effective = np.divide(rate * (1 - rate) * ratio**2, spread, out=half, where=some)
    effective = np.minimum(effective, comparisons)
    return np.stack(wilson(rate * effective, effective, confidence), axis=1)


def reached(start: int, accepted: Callable[[int], bool], last: int) -> int:
    """From `start` towards `last` the first place that is not accepted; `last` where all before it are."""
    step = 1 if last >= start else -1
    return next((place for place in range(start, last, step) if not accepted(place)), last)


def moved(
    rate: Float[np.ndarray, " t"],
    ends: Float[np.ndarray, "t 2"],
    at_ends: Float[np.ndarray, "t 2"],
) -> Float[np.ndarray, "t 2"]:
    """The interval of a rate at a threshold that is itself estimated: both errors, as independent ones."""
    low, high = at_ends.min(axis=1), at_ends.max(axis=1)
    down = np.hypot(rate - ends[:, 0], np.maximum(rate - low, 0.0))
    up = np.hypot(ends[:, 1] - rate, np.maximum(high - rate, 0.0))
    return np.stack([np.maximum(rate - down, 0.0), np.minimum(rate + up, 1.0)], axis=1)
