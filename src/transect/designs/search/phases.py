"""Searches of two phases: one that finds rules, and fresh calls that confirm them or estimate the overall rate.

Search for regions: active search first, then fresh calls inside the rules that its answers suggest.

A rule is queried until its rate is known well enough; calls that no rule needs any more return to the search. Which
calls confirm which rule follows from the history, in blocks of eight: what a block does is decided by the answers
before it, however the calls are cut into batches.

Active testing: an unbiased estimate of the overall failure rate from few calls.

Two phases. The first is an active search, and rules are found in its answers; the second draws points from strata,
the inside of each rule and the rest, with known probabilities. Given the first phase the stratified mean of the
second is unbiased; so is the mean of the first phase's exploration, as far as it was fixed beforehand; and their
weights are fixed before the first query: the sum is unbiased whatever the rules. (Kossen et al. 2021, Active
Testing, arXiv:2103.05331, weight single images of a finite pool for the same end; here fresh images can be drawn
from any stratum, and each proportion keeps a binomial's interval.)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from transect.designs.search.active import ActiveSearch
from transect.designs.search.history import Explorer, History, Suggestions, stream
from transect.designs.search.rules import Rule, find_rules, whole_cube

CONFIRMING: Final = 0.25
"""Share of the calls that confirm, at most."""
BLOCK: Final = 8
"""Calls for one rule before the next check whether more are needed."""
LEAST_ANSWERS: Final = 16
NARROW: Final = 0.1
"""A rule has enough answers at this number, where the 95 % Wilson interval is at most this wide to either side."""
CONFIDENCE: Final = 0.97
"""Confidence of the Wilson interval that is stated. Stopping when an interval is narrow costs coverage: with 95 % it
falls to 90 % where a rule fails in one call of five, with 97 % not under 93 % from 25 calls on; less with fewer calls
and at rates near 0 and 1, as Wilson's interval has it anyway (docs/research/search.md)."""
SEARCHED: Final = -1


@final
@dataclass(frozen=True, slots=True)
class ConfirmedSearch:
    """Active search with three quarters of the budget, then calls drawn uniformly inside the rules, then active search.
    Rules come from the first three quarters alone, and take calls until each has `enough` answers, a quarter of the
    budget at most. A rule whose calls stay without an answer is queried to the end. thresholds: where rules may cut.
    strategy: what searches in place of the active search. narrow: the half-width that is enough; 0: to the end.
    """

    seed: int = 0
    budget: int = 400
    thresholds: tuple[tuple[float, ...], ...] | None = None
    name: str = "active search, confirmed"
    strategy: Explorer | None = None
    narrow: float = NARROW

    @property
    def searching(self) -> int:
        """Calls before the confirmation."""
        return self.budget - int(CONFIRMING * self.budget)

    @property
    def search(self) -> Explorer:
        """The search of the first three quarters, and of what the confirmation leaves."""
        return ActiveSearch(self.seed) if self.strategy is None else self.strategy

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next points; a batch ends where the search or a block of confirming calls does."""
        left = self.searching - len(history)
        if left > 0:
            return self.search.suggest(history, min(n, left))
        rules = self.rules(history)
        turn = self._turns(history, rules)[-left // BLOCK]
        if turn == SEARCHED:
            return self.search.suggest(history, n)
        numbers = range(-left, min(-left + n, (-left // BLOCK + 1) * BLOCK))
        shape = (1, len(rules[turn].low))
        points = np.concatenate([rules[turn].spread(stream(self.seed, 6, number).random(shape)) for number in numbers])
        return Suggestions(points, np.zeros(len(numbers), dtype=np.bool_))

    def rules(self, history: History) -> list[Rule]:
        """The rules that the searching calls suggest; none before they are all made."""
        if len(history) < self.searching:
            return []
        first = slice(0, self.searching)
        return find_rules(
            History(history.points[first], history.failures[first], history.explored[first]), self.thresholds
        )

    def confirmed(self, history: History) -> list[tuple[Rule, Int[np.ndarray, " m"]]]:
        """Each rule with the rows of the fresh, answered calls inside it."""
        rules = self.rules(history)
        turns = np.repeat(self._turns(history, rules), BLOCK)[: max(0, len(history) - self.searching)]
        rows, answered = self.searching + np.arange(len(turns)), np.isfinite(history.failures)
        return [(rule, rows[(turns == i) & answered[rows]]) for i, rule in enumerate(rules)]

    def _turns(self, history: History, rules: list[Rule]) -> list[int]:
        """Of each block after the first search, and the next, the rule or SEARCHED; rules in need take turns."""
        turns: list[int] = []
        for start in range(self.searching, len(history) + 1, BLOCK):
            blocks = history.failures[self.searching : start].reshape(-1, BLOCK)
            queried = [blocks[np.array(turns, dtype=np.int64) == i].ravel() for i in range(len(rules))]
            counts = [(float(np.nansum(answers)), int(np.isfinite(answers).sum())) for answers in queried]
            needed = [i for i, count in enumerate(counts) if not enough(*count, self.narrow)]
            turns.append(min(needed, key=lambda i: (len(queried[i]), i), default=SEARCHED))
        return turns


def enough(failures: float, answers: int, narrow: float = NARROW) -> bool:
    """Whether this many failures in this many answers give a rule's rate well enough to spend calls elsewhere."""
    return answers >= LEAST_ANSWERS and half_width(failures, answers) <= narrow


def half_width(failures: float, n: int) -> float:
    """Half the width of Wilson's 95 % interval of failures / n, n at least 1 (as `transect.effects.intervals` has it).

    >>> round(half_width(16, 16), 4)
    0.0968
    """
    z, p = float(ndtri(0.975)), failures / n
    return float(z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))


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
    """The two phases as a strategy: a point depends on seed, number and first answers."""

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
        """The answered calls by stratum with weights, which sum to 1; within the first phase that alone."""
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
    inside = [_volume_without(rule, rules[:i]) for i, rule in enumerate(rules)]
    return [*inside, _volume_without(whole_cube(dimensions), rules)]


def _volume_without(box: Rule, others: list[Rule]) -> float:
    if not others:
        return box.volume
    low, high = np.maximum(box.low, others[0].low), np.minimum(box.high, others[0].high)
    rest = _volume_without(box, others[1:])
    return rest - (_volume_without(Rule(low, high), others[1:]) if (low < high).all() else 0.0)
