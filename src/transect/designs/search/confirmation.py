"""Search for regions: active search first, then fresh calls inside the rules that its answers suggest.

A rule is queried until its rate is known well enough; calls that no rule needs any more return to the search.
Which calls confirm which rule follows from the history, in blocks of eight: what a block does is decided by the answers
before it, however the calls are cut into batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from transect.designs.search.active import ActiveSearch
from transect.designs.search.history import Explorer, History, Suggestions, stream
from transect.designs.search.rules import Rule, find_rules

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
and at rates near 0 and 1, as Wilson's interval has it anyway (docs/concepts/search.md)."""
SEARCHED: Final = -1


@final
@dataclass(frozen=True, slots=True)
class ConfirmedSearch:
    """Active search with three quarters of the budget, then calls drawn uniformly inside the rules, then active search.

    Rules take calls until each has `enough` answers, and a quarter of the budget at most. Where no rule was found the
    search continues at once; rules come from the first three quarters alone. A rule whose calls stay without an answer
    is queried to the end of the budget. thresholds: where rules may cut, as for `find_rules`. strategy: what
    searches in place of the active search. narrow: the half-width that is enough; 0: to the end.
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
        points = np.concatenate([self._inside(rules[turn], number) for number in numbers])
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
        """For each block of calls after the first search the number of its rule, the next block's too; or SEARCHED.

        The rules that need more take turns.
        """
        turns: list[int] = []
        for start in range(self.searching, len(history) + 1, BLOCK):
            blocks = history.failures[self.searching : start].reshape(-1, BLOCK)
            queried = [blocks[np.array(turns, dtype=np.int64) == i].ravel() for i in range(len(rules))]
            needed = [i for i, answers in enumerate(queried) if not self._enough(answers)]
            turns.append(min(needed, key=lambda i: (len(queried[i]), i), default=SEARCHED))
        return turns

    def _enough(self, failures: Float[np.ndarray, " n"]) -> bool:
        return enough(np.nansum(failures), int(np.isfinite(failures).sum()), self.narrow)

    def _inside(self, rule: Rule, number: int) -> Float[np.ndarray, "1 d"]:
        return rule.spread(stream(self.seed, 6, number).random((1, len(rule.low))))


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
