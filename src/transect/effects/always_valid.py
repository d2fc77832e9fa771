"""Intervals that hold at every look, and the test of whether a remote model has changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.records import EstimateWithTest

BETTING: Final = "betting"
SOURCES: Final = {
    BETTING: "Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting, "
    "doi:10.1093/jrsssb/qkad009",
}
_BETS: Final = (np.arange(50) + 0.5) / 50
_HALVINGS: Final = 32


def always_valid_difference(
    differences: Float[np.ndarray, " n"], reach: float = 1.0, confidence: float = 0.95
) -> EstimateWithTest:
    """Mean and interval of the mean of subjects' differences within [-reach, reach]; NaN where a subject has none.

    reach: the largest difference that one subject can have, whatever is observed: 1 for proportions and probabilities;
    without such a number there is no interval that holds at every look. Against a mean μ a
    gambler bets shares of the stake that the next difference is larger, all from 1 to 99 % side by side; if the mean is
    μ, the expected stake stays what it was, and by Ville's inequality it ever grows 2/α-fold with a probability of at
    most α/2. The lower end is the largest μ at which it has; the upper end is the same of the negative differences.

    Returns EstimateWithTest, in [-reach, reach], without a p; NaN without a difference. Waudby-Smith and Ramdas 2024.

    >>> result = always_valid_difference(np.zeros(100))
    >>> round(result.low, 3), round(result.high, 3)
    (-0.052, 0.052)
    """
    d = differences[np.isfinite(differences)] / reach
    if not len(d):
        return EstimateWithTest(reason="no subject has a difference")
    a, b, log_stake = (1 + np.clip(d, -1.0, 1.0)) / 2, np.ones(len(d)), math.log(2 / (1 - confidence))
    low, high = _lower_end(a, b, log_stake), 1 - _lower_end(b - a, b, log_stake)
    mean = reach * float(d.mean())
    return EstimateWithTest(mean, reach * (2 * low - 1), reach * (2 * high - 1), interval_method=BETTING)


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


CHANGE_POINT_SOURCE: Final = (
    "Anderson 2001, A new method for non-parametric multivariate analysis of variance, "
    "doi:10.1111/j.1442-9993.2001.01070.pp.x"
)
ORDERS: Final = 1999
_TIES: Final = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Change:
    """p in (0, 1], NaN where there is too little data; after: how many rounds lie before the likeliest cut.

    reason: why there is no p, "" where there is one.
    """

    p: float
    after: int
    reason: str = ""


def change_point(distances: Float[np.ndarray, "images t t"], *, orders: int = ORDERS, seed: int = 0) -> Change:
    """The likeliest cut between rounds and its p value, over `orders` random orders."""
    rounds = distances.shape[1]
    if rounds < 3:
        return Change(float("nan"), 0, f"{rounds} rounds of answers: three are needed to detect a change")
    random = np.random.default_rng(seed)
    sums = np.zeros((orders + 1, rounds - 1))
    for image in distances:
        known = np.flatnonzero(np.isfinite(np.diagonal(image)))
        if len(known) > 1:
            sums += _shares(image[np.ix_(known, known)] ** 2, known, rounds, _orders(random, orders, len(known)))
    largest = sums.max(axis=1)
    p = float((largest >= largest[0] - _TIES).mean())  # the order that was is one of them
    return Change(p, int(sums[0].argmax()) + 1)


def _orders(random: np.random.Generator, orders: int, n: int) -> Int[np.ndarray, "orders n"]:
    """The order that was, then random ones."""
    permutations = np.argsort(random.random((orders + 1, n)), axis=1)
    permutations[0] = np.arange(n)
    return permutations


def _shares(
    squares: Float[np.ndarray, "n n"], known: Int[np.ndarray, " n"], rounds: int, orders: Int[np.ndarray, "orders n"]
) -> Float[np.ndarray, "orders cuts"]:
    """For one image: the share of its squared distances that each cut explains, in each order."""
    n, total = len(known), squares.sum() / 2 / len(known)
    if total <= _TIES:
        return np.zeros((len(orders), rounds - 1))
    explained = np.zeros((len(orders), n + 1))
    for start in range(0, len(orders), 256):  # all at once would be gigabytes for hundreds of rounds
        rows = orders[start : start + 256]
        sums = squares[rows[:, :, None], rows[:, None, :]].cumsum(axis=1).cumsum(axis=2)
        size = np.arange(1, n)
        first = sums[:, size - 1, size - 1]
        last = sums[:, -1, -1][:, None] - 2 * sums[:, size - 1, n - 1] + first
        within = first / (2 * size) + last / (2 * (n - size))
        explained[start : start + 256, 1:n] = 1 - within / total
    before = np.searchsorted(known, np.arange(1, rounds))  # how many of its answers lie before each cut
    return np.asarray(explained[:, before])
