"""Search for regions: active search first, then fresh calls inside the rules that its answers suggest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.search.active import ActiveSearch
from transect.designs.search.conditions import Thompson
from transect.designs.search.history import History, Suggestions, stream
from transect.designs.search.rules import Rule, find_rules

CONFIRMING: Final = 0.25
"""Share of the calls that confirm."""


@final
@dataclass(frozen=True, slots=True)
class ConfirmedSearch:
    """Active search with three quarters of the budget; the last quarter is drawn uniformly inside the rules, in turn.

    Where no rule was found the search goes on instead. thresholds: where rules may cut, as `find_rules` has them. own:
    what searches in place of the active search, over conditions.

    >>> ConfirmedSearch(seed=1, budget=40).suggest(History.empty(2), 8).explored.tolist() == [True] * 8
    True
    """

    seed: int = 0
    budget: int = 400
    thresholds: tuple[tuple[float, ...], ...] | None = None
    name: str = "active search, confirmed"
    own: Thompson | None = None

    @property
    def searching(self) -> int:
        """Calls before the confirmation."""
        return self.budget - int(CONFIRMING * self.budget)

    @property
    def search(self) -> ActiveSearch | Thompson:
        """The search of the first three quarters."""
        return ActiveSearch(self.seed) if self.own is None else self.own

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next points; a batch ends where the search does."""
        left = self.searching - len(history)
        if left > 0:
            return self.search.suggest(history, min(n, left))
        rules = self.rules(history)
        if not rules:
            return self.search.suggest(history, n)
        numbers = range(-left, -left + n)
        points = np.concatenate([self._inside(rules[number % len(rules)], number) for number in numbers])
        return Suggestions(points, np.zeros(n, dtype=np.bool_))

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
        rules, rows = self.rules(history), np.arange(self.searching, len(history))
        answered = np.isfinite(history.failures)
        return [(rule, rows[i :: len(rules)][answered[rows[i :: len(rules)]]]) for i, rule in enumerate(rules)]

    def _inside(self, rule: Rule, number: int) -> Float[np.ndarray, "1 d"]:
        return rule.spread(stream(self.seed, 6, number).random((1, len(rule.low))))
