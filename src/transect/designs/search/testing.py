"""Active testing: an unbiased estimate of the overall failure rate from few calls.

Two phases. The first is an active search, and rules are found in its answers; the second draws points from strata, the
inside of each rule and the rest, with known probabilities. Given the first phase the stratified mean of the second is
unbiased; so is the mean of the first phase's exploration, as far as it was fixed beforehand; and their weights are
fixed before the first query: the sum is unbiased whatever the rules. (Kossen et al. 2021, Active Testing,
arXiv:2103.05331, weight single images of a finite pool for the same end; here fresh images can be drawn from any
stratum, and each proportion keeps a binomial's interval.)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.search.active import ActiveSearch
from transect.designs.search.history import Explorer, History, Suggestions, stream
from transect.designs.search.rules import Rule, find_rules, whole_cube

FIRST_SHARE: Final = 0.3
"""Calls of the first phase."""
FIRST_WEIGHT: Final = 0.2
"""Weight of the mean of the first phase's exploration."""
INSIDE: Final = 3
"""One in this many calls of the second phase is drawn inside a rule."""


@final
@dataclass(frozen=True, slots=True)
class Stratum:
    """Calls drawn uniformly from one part of the cube, and their weight in the overall rate."""

    weight: float
    rows: Int[np.ndarray, " m"]


@final
@dataclass(frozen=True, slots=True)
class Phases:
    """The two phases as a strategy: a point depends on the seed, its number and the answers of the first phase.

    strategy: searches in place of the active search.
    """

    seed: int = 0
    budget: int = 400
    thresholds: tuple[tuple[float, ...], ...] | None = None
    name: str = "active testing"
    strategy: Explorer | None = None

    @property
    def search(self) -> Explorer:
        """The search of the first phase."""
        return ActiveSearch(self.seed) if self.strategy is None else self.strategy

    @property
    def first(self) -> int:
        """Calls of the first phase, at least one."""
        return max(1, int(FIRST_SHARE * self.budget))

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next points; a batch ends where the first phase does."""
        start = len(history)
        if start < self.first:
            return self.search.suggest(history, min(n, self.first - start))
        strata = self._drawn_from(history)
        points = [self._draw(number, *strata[number - self.first][1:]) for number in range(start, start + n)]
        return Suggestions(np.array(points).reshape(n, history.dimensions), np.zeros(n, dtype=np.bool_))

    def strata(self, history: History) -> list[Stratum]:
        """The answered calls by stratum with the weights of their means, which sum to 1.

        A history that ends within the first phase has that phase alone.
        """
        answered = np.isfinite(history.failures)
        sure = int((1 - self.search.most) * self.first)  # beyond these, how many there are depends on the answers
        rows = np.flatnonzero(history.explored[: self.first])[:sure]
        rows = rows[answered[rows]]
        if len(history) <= self.first:
            return [Stratum(1.0, rows)]
        rules = self.rules(history)
        number = np.array([which for which, _, _ in self._drawn_from(history)[: len(history) - self.first]])
        weights = _shares(rules, history.dimensions)
        strata = [Stratum(FIRST_WEIGHT, rows)]
        for which, share in enumerate(weights):
            later = self.first + np.flatnonzero(number == which)
            strata.append(Stratum((1 - FIRST_WEIGHT) * share, later[answered[later]]))
        return strata

    def rules(self, history: History) -> list[Rule]:
        """The rules that the first phase shows."""
        points, failures = history.points[: self.first], history.failures[: self.first]
        cuts = None if self.thresholds is None else tuple(tuple(cuts) for cuts in self.thresholds)
        return list(_rules(points.tobytes(), failures.tobytes(), history.dimensions, cuts))

    def _drawn_from(self, history: History) -> list[tuple[int, Rule, list[Rule]]]:
        """For each call of the second phase its stratum: number, the box to draw from, boxes that are not in it."""
        rules = self.rules(history)
        boxes: list[tuple[int, Rule, list[Rule]]] = [(i, rule, rules[:i]) for i, rule in enumerate(rules)]
        boxes.append((len(rules), whole_cube(history.dimensions), rules))
        inside = max(1, len(rules))
        return [
            boxes[number // INSIDE % inside] if number % INSIDE == 0 else boxes[-1]
            for number in range(self.budget - self.first)
        ]

    def _draw(self, number: int, box: Rule, without: list[Rule]) -> Float[np.ndarray, " d"]:
        """A point uniform in the box less the boxes before it: drawn again until it is in none of them."""
        random = stream(self.seed, 5, number)
        while True:
            point = box.spread(random.random((1, len(box.low))))
            if not any(rule.holds(point)[0] for rule in without):
                return np.asarray(point[0])


@functools.lru_cache(maxsize=8)
def _rules(
    points: bytes, failures: bytes, dimensions: int, thresholds: tuple[tuple[float, ...], ...] | None
) -> tuple[Rule, ...]:
    """The rules in the answers of a first phase, found once for all batches of the second; read, never changed."""
    rows = np.frombuffer(points).reshape(-1, dimensions)
    first = History(rows, np.frombuffer(failures), np.zeros(len(rows), dtype=np.bool_))
    return tuple(find_rules(first, thresholds, halves=False))


def _shares(rules: list[Rule], dimensions: int) -> list[float]:
    """Volume of each rule less the rules before it, and of the rest: exact, by inclusion and exclusion."""
    shares: list[float] = []
    for i, rule in enumerate(rules):
        shares.append(_volume_without(rule, rules[:i]))
    return [*shares, _volume_without(whole_cube(dimensions), rules)]


def _volume_without(box: Rule, others: list[Rule]) -> float:
    if not others:
        return box.volume
    low, high = np.maximum(box.low, others[0].low), np.minimum(box.high, others[0].high)
    rest = _volume_without(box, others[1:])
    return rest - (_volume_without(Rule(low, high), others[1:]) if (low < high).all() else 0.0)
