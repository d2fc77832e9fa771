"""The interval of Krippendorff's alpha: every value that the answers do not contradict.

A bootstrap draws only from the units at hand. Few of them hold a rare answer or a disagreement, and a sample without
any has an interval of no width. Here each value of alpha is tested under the variance that it implies itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import brentq
from scipy.special import betaincinv, stdtrit

from transect.annotation.agreement.coincidences import Metric, coincidences, distances, places

SOURCE: Final = "Owen 2001, Empirical likelihood, doi:10.1201/9781420036152"
_IMAGINED: Final = 1e-3
"""The weight of an imagined unit, in subjects."""
_FEW: Final = 10
"""Subjects with a disagreement below which the upper end is at least that of the exact limit of their share."""
_TAIL: Final = 0.025
_STEP: Final = 1e-9
_ROUNDING: Final = 1e-12


def alpha_interval(
    counts: Float[np.ndarray, "units k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
    subject: Int[np.ndarray, " units"],
) -> tuple[float, float]:
    """The ends of the 95 % interval of alpha, between the least value that it can have and 1.

    counts: answers of each level to each unit, at least two; levels: their values, rising, at least two; subject: the
    number of each unit's subject, from 0.

    Alpha is a where observed disagreement is 1 - a times the expected one. To first order both are sums over subjects,
    so that each subject moves observed - (1 - a) expected by a number whose mean is 0 if a is true. The interval has
    every a for which their mean is within Student's t of 0, in standard errors of the likeliest distribution of these
    numbers that has mean 0 (Owen 2001). That distribution may hold what the sample lacks: units of equal answers of
    each level, of two adjacent levels, and of levels as in all units, each with almost no weight of its own. With few
    disagreements the upper end is no less than the exact limit of their share allows (Clopper and Pearson 1934). How
    these are joined is Transect's own; `tests/statistical/test_agreement_coverage.py` shows what it covers.

    >>> equal = np.array([[2.0, 0.0], [0.0, 2.0]] * 10)
    >>> low, high = alpha_interval(equal, np.array([0.0, 1.0]), "nominal", np.arange(20))
    >>> round(low, 2), high
    (0.65, 1.0)
    """
    moves = _moves(counts, levels, metric, subject)
    alpha = 1 - float(moves.observed[: moves.n].sum() / moves.expected[: moves.n].sum())
    least = -1 / (float(counts.sum(axis=1).min()) - 1)  # reached where each unit's answers are split in half
    low, high = (_end(moves, alpha, end) for end in (least, 1.0))
    differing = len(np.unique(subject[(counts > 0).sum(axis=1) > 1]))
    if differing == 0:
        return low, 1.0
    share = float(betaincinv(differing, moves.n - differing + 1, _TAIL)) * moves.n / differing
    return low, max(high, 1 - (1 - alpha) * share) if differing < _FEW else high


class _Moves(NamedTuple):
    """By how much each subject, and then each imagined unit, moves observed and expected disagreement; n: subjects."""

    observed: Float[np.ndarray, " n"]
    expected: Float[np.ndarray, " n"]
    n: int


def _moves(
    counts: Float[np.ndarray, "units k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
    subject: Int[np.ndarray, " units"],
) -> _Moves:
    n, totals = int(subject.max()) + 1, counts.sum(axis=0)
    imagined = _imagined(totals / totals.sum()) * counts.sum() / n  # as many answers as a subject has
    size = len(counts) / n
    real, other = (_derivatives(rows, counts, levels, metric) for rows in (counts, imagined / size))
    both = [np.bincount(subject, weights=column, minlength=n) for column in real]
    observed, expected = (np.concatenate([a, size * b]) for a, b in zip(both, other, strict=True))
    return _Moves(observed, expected * totals.sum() / (totals.sum() - 1), n)


def _imagined(shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "u k"]:
    """Shares of levels among a unit's answers: all equal, of two adjacent levels, and as in all units."""
    equal = np.eye(len(shares))
    return np.vstack([equal, (equal[1:] + equal[:-1]) / 2, shares])


def _derivatives(
    rows: Float[np.ndarray, "u k"],
    counts: Float[np.ndarray, "units k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
) -> tuple[Float[np.ndarray, " u"], Float[np.ndarray, " u"]]:
    """By how much units with these answers move the sums of observed and of expected disagreement of `counts`.

    Of ordered levels the middle ranks move, too.
    """
    totals = counts.sum(axis=0)
    n, shares, apart = totals.sum(), totals / totals.sum(), distances(totals, levels, metric)
    answers = rows.sum(axis=1)
    observed = (coincidences(rows) * apart).sum(axis=(1, 2))
    expected = 2 * rows @ (apart @ shares) - answers * float(shares @ apart @ shares)
    if metric == "ordinal":
        place = places(totals, levels, metric)
        shift = (rows.cumsum(axis=1) - rows / 2 - answers[:, None] * place) / n
        far = place[:, None] - place[None, :]
        observed = observed + shift @ (4 * (coincidences(counts).sum(axis=0) * far).sum(axis=1))
        expected = expected + shift @ (4 * n * shares * (far @ shares))
    return observed, expected


def _end(moves: _Moves, alpha: float, end: float) -> float:
    """The value between alpha and the end at which the test begins to reject; the end if it never does."""
    start = alpha + _STEP * (end - alpha)  # alpha itself has no variance where every unit agrees, or none does
    if _excess(start, moves) >= 0 or _excess(end, moves) <= 0:
        return end
    return float(brentq(_excess, start, end, args=(moves,)))


def _excess(alpha: float, moves: _Moves) -> float:
    """The squared sum of the moves less its squared limit: above 0 where alpha is rejected."""
    move = moves.observed - (1 - alpha) * moves.expected
    terms = np.abs(moves.observed) + abs(1 - alpha) * np.abs(moves.expected)
    move[np.abs(move) <= _ROUNDING * terms.max()] = 0  # else a rounding error counts as a subject that differs
    total, limit = float(move[: moves.n].sum()), float(stdtrit(moves.n - 1, 1 - _TAIL))
    return total**2 - limit**2 * moves.n * _variance(move, moves.n)


def _variance(move: Float[np.ndarray, " u"], n: int) -> float:
    """The variance of the likeliest distribution of mean 0; 0 where there is none, as all moves have one sign."""
    if not move.min() < 0 < move.max():
        return 0.0
    weight = np.where(np.arange(len(move)) < n, 1.0, _IMAGINED)
    weight /= weight.sum()
    up, down = move > 0, move < 0
    # Of the multipliers outside of these bounds some give a subject more than the whole weight.
    low = float(((weight[up] - 1) / move[up]).max())
    high = float(((weight[down] - 1) / move[down]).min())
    multiplier = brentq(lambda each: float((weight * move / (1 + each * move)).sum()), low, high)
    return float((weight * move**2 / (1 + multiplier * move)).sum())
