"""Did repeated answers change from some round on? A permutation test with an exact false-alarm rate.

For each image the answers' squared distances are split into those between the rounds before and after a cut, and the
rest (the pseudo-R² of Anderson 2001, doi:10.1111/j.1442-9993.2001.01070.pp.x); summed over images, at the cut where the
sum is largest. If nothing changed, the calls about one image could have come in any order, each image's in its own:
the share of such orders with as large a sum is the p value, whatever the distances are and however noisy the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

SOURCE: Final = (
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
