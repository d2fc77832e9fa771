"""Failure regions in words: boxes of at most three conditions, found on one half of the calls, confirmed by the other.

A rule grows as in PRIM's and RIPPER's families (Friedman and Fisher 1999, doi:10.1023/A:1008894516817; Cohen 1995):
condition by condition, each the one that best separates failures from the rest; failures inside it are then set
aside and the next rule is looked for. Only fresh images give a rule's rate, since both halves were used.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import xlogy

from transect.designs.search.history import History

MOST_CONDITIONS: Final = 3
MOST_RULES: Final = 3
LEAST_FAILURES: Final = 2
"""Failures that each half must have inside a rule."""
FEWEST_FAILURES: Final = 2 * LEAST_FAILURES
"""Failures below which two halves never hold a rule."""
LEAST_GAIN: Final = 3.0
"""Log likelihood, in nats, that the rule must gain on the half that it was not found on."""
LEAST_GAIN_ALONE: Final = 8.0
"""The same on the calls that it was found on, where there is no second half: thousands of intervals are compared."""
EVEN: Final = tuple(np.linspace(0.05, 0.95, 19).tolist())


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A box of the unit cube: low < x <= high; 0 and 1 where there is no condition."""

    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]

    @property
    def volume(self) -> float:
        """Share of the cube inside."""
        return float(np.prod(self.high - self.low))

    @property
    def conditions(self) -> Bool[np.ndarray, " d"]:
        """Which attributes it has a condition on."""
        return np.asarray((self.low > 0) | (self.high < 1))

    def holds(self, points: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
        """Which points lie inside."""
        above = (points > self.low) | (self.low == 0)
        return np.asarray((above & (points <= self.high)).all(axis=1))

    def spread(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Points of the cube pressed into the box: what was uniform is uniform there."""
        return np.asarray(self.high - (1 - points) * (self.high - self.low))


def whole_cube(dimensions: int) -> Rule:
    """The rule without conditions."""
    return Rule(np.zeros(dimensions), np.ones(dimensions))


def find_rules(
    history: History, thresholds: Sequence[Sequence[float]] | None = None, *, halves: bool = True
) -> list[Rule]:
    """The rules that every other call suggests and the calls between bear out, the strongest first.
    halves: false looks at all calls at once. thresholds: where conditions cut, by default every twentieth.
    """
    answered = np.isfinite(history.failures)
    points, failures = history.points[answered], history.failures[answered] == 1
    cuts = [EVEN] * history.dimensions if thresholds is None else thresholds
    half = _halves(failures) if halves else np.ones(len(failures), dtype=np.bool_)
    least = LEAST_GAIN if halves else LEAST_GAIN_ALONE
    left, rules = np.ones(len(points), dtype=np.bool_), list[Rule]()
    while len(rules) < MOST_RULES:
        grown = _grow(points[half & left], failures[half & left], cuts)
        other = left & ~half if halves else left
        gains = [_gain(rule.holds(points[other]), failures[other]) for rule in grown]
        if not gains or max(gains) < least:
            break
        rule = grown[int(np.argmax(gains))]
        rules.append(rule)
        left &= ~(rule.holds(points) & failures)
    return rules


def _halves(failures: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Every other failure and every other success, so that rare failures come into both halves."""
    half = np.zeros(len(failures), dtype=np.bool_)
    for kind in (failures, ~failures):
        half[np.flatnonzero(kind)[::2]] = True
    return half


def _grow(
    points: Float[np.ndarray, "n d"], failures: Bool[np.ndarray, " n"], cuts: Sequence[Sequence[float]]
) -> list[Rule]:
    """Rules of one condition, two, three: each the last with the condition that gains most."""
    rule, grown, best = whole_cube(len(cuts)), list[Rule](), 0.0
    for _ in range(MOST_CONDITIONS):
        inside = rule.holds(points)
        options = [
            (*_best_interval(points[inside, attribute], failures[inside], cuts[attribute], failures), attribute)
            for attribute in np.flatnonzero(~rule.conditions).tolist()
        ]
        if not options or max(options)[0] <= best:
            break
        best, low, high, attribute = max(options)
        rule = Rule(rule.low.copy(), rule.high.copy())
        rule.low[attribute], rule.high[attribute] = low, high
        grown.append(rule)
    return grown


def _best_interval(
    values: Float[np.ndarray, " m"],
    failed: Bool[np.ndarray, " m"],
    cuts: Sequence[float],
    failures: Bool[np.ndarray, " n"],
) -> tuple[float, float, float]:
    """Of all intervals between two cuts, or a cut and an end, the one that gains most: gain, low, high."""
    ends = np.array([0.0, *cuts, 1.0])
    bins = np.searchsorted(ends[1:-1], values, side="left")
    size = len(ends) - 1
    below = np.concatenate([[0], np.cumsum(np.bincount(bins, minlength=size))])
    below_failed = np.concatenate([[0], np.cumsum(np.bincount(bins[failed], minlength=size))])
    low, high = _intervals(size)
    if not len(low):
        return 0.0, 0.0, 1.0
    inside, k = below[high] - below[low], below_failed[high] - below_failed[low]
    gains = _gains(k, inside, int(failures.sum()), len(failures))
    best = int(gains.argmax())
    return float(gains[best]), float(ends[low[best]]), float(ends[high[best]])


@functools.lru_cache(maxsize=64)
def _intervals(size: int) -> tuple[Int[np.ndarray, " r"], Int[np.ndarray, " r"]]:
    """The first and last end of each interval of some of `size` bins, but not of all; read, never changed."""
    low, high = np.triu_indices(size + 1, 1)
    some = (low > 0) | (high < size)
    return low[some], high[some]


def _gain(inside: Bool[np.ndarray, " n"], failures: Bool[np.ndarray, " n"]) -> float:
    """The gain of one rule, as in `_gains`."""
    k, m = np.array([(inside & failures).sum()]), np.array([inside.sum()])
    return float(_gains(k, m, int(failures.sum()), len(failures))[0])


def _gains(k: Int[np.ndarray, " r"], m: Int[np.ndarray, " r"], failures: int, n: int) -> Float[np.ndarray, " r"]:
    """Log likelihood gained by a separate rate for the m calls inside, k of them failures, in nats; 0 where failures
    are fewer than two, or no more frequent than over all n calls.
    """
    gained = _likelihood(k, m) + _likelihood(failures - k, n - m) - _likelihood(np.array(failures), np.array(n))
    return np.asarray(np.where((k >= LEAST_FAILURES) & (m < n) & (k * n > failures * m), gained, 0.0))


def _likelihood(k: Int[np.ndarray, " *r"], n: Int[np.ndarray, " *r"]) -> Float[np.ndarray, " *r"]:
    share = k / np.maximum(n, 1)
    return np.asarray(xlogy(k, share) + xlogy(n - k, 1 - share))
