"""How do outcomes differ within matched pairs, and how much hidden bias could that bear?

Matching makes the two groups alike in what was measured. A difference within pairs is an association as long as the two
images of a pair may differ in something hidden; Rosenbaum's bounds say how much of it the difference can bear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects.confounding import RosenbaumBounds, rosenbaum_bounds
from transect.effects.intervals import mean_difference_interval
from transect.effects.randomization import sign_flip
from transect.errors import BadInput

GAMMAS: Final = (1.0, 1.25, 1.5, 2.0, 3.0)
NO_PAIR: Final = "no pair has both outcomes"


@final
@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Mean outcome of the a minus that of the b of pairs, NaN with a reason where it cannot be estimated.

    n_pairs, n_missing: pairs (a with the mean of its b, where it has several) with and without both outcomes. bounds:
    Rosenbaum's, None with no_bounds where they are not of pairs.
    """

    estimate: float
    low: float
    high: float
    p: float
    n_pairs: int
    n_missing: int
    is_binary: bool
    interval_method: str
    test_method: str
    reason: str
    bounds: RosenbaumBounds | None
    no_bounds: str = ""


def pair_outcome(
    values: Float[np.ndarray, " n"],
    a: Int[np.ndarray, " m"],
    b: Int[np.ndarray, " m"],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairOutcome:
    """The difference of an outcome within pairs, its interval, its sign-flip test, and Rosenbaum's bounds.

    values: the outcome of every image [n], NaN where it has none; a, b: the images of each pair, as `greedy` and
    `optimal` give them. A pair without both outcomes is left out and counted. An a that stands in several pairs is
    compared with the mean of its b, as one; Rosenbaum's bounds are then left out, which are of pairs.

    Returns PairOutcome.

    Raises BadInput where a row number lies outside the values.

    >>> y = np.array([1.0] * 30 + [0.0] * 25 + [1.0] * 5)
    >>> made = pair_outcome(y, np.arange(30), np.arange(30, 60))
    >>> round(made.estimate, 4), round(float(made.bounds.largest_p[3]), 4)  # 25 differ, one way; gamma 2
    (0.8333, 0.0001)
    """
    rows = np.concatenate([a, b])
    if len(a) != len(b) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(values)):
        raise BadInput(f"expected two rows of {len(values)} images for each pair, got {len(a)} and {len(b)} numbers")
    d, several = _differences(values, a, b)
    known = d[np.isfinite(d)]
    binary = bool(np.isin(values[rows][np.isfinite(values[rows])], (0.0, 1.0)).all())
    if not len(known):
        nothing = (np.nan,) * 4
        return PairOutcome(*nothing, 0, len(d), binary, "", "", NO_PAIR, None, NO_PAIR)
    made = mean_difference_interval(known[:, None], binary=binary, confidence=confidence, seed=seed)
    p, tests = sign_flip(known[:, None], seed=seed)
    return PairOutcome(
        float(known.mean()),
        float(made.low[0]),
        float(made.high[0]),
        float(p[0]),
        len(known),
        len(d) - len(known),
        binary,
        made.methods[0],
        tests[0],
        "" if made.methods[0] else "one pair, or differences that do not vary: no interval",
        None if several else rosenbaum_bounds(known, GAMMAS, alpha=1 - confidence),
        "bounds are of pairs, not of one image with several" if several else "",
    )


def _differences(
    values: Float[np.ndarray, " n"], a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " s"], bool]:
    """Each a less the mean of its b that have an outcome, and whether any a stands in several pairs."""
    own, place = np.unique(a, return_inverse=True)
    known = np.isfinite(values[b])
    counts = np.bincount(place[known], minlength=len(own))
    sums = np.bincount(place[known], weights=values[b][known], minlength=len(own))
    others = np.divide(sums, counts, out=np.full(len(own), np.nan), where=counts > 0)
    return values[own] - others, len(own) < len(a)
