"""Search for as many failures as possible, whether a region fails always or only sometimes.

Calls come in blocks of eight, in three parts:

1. Follow-ups near known failures, as in the active search. They pay where a region has hard edges.
2. At least two points of the exploration's Sobol sequence.
3. Draws from an additive logistic model of the failure probability. They pay where failures are soft: a share of .1 to
   .5 in a region, because attributes outside the search also matter.

Follow-ups and draws must be earned, and each has its own account. Follow-ups stand before the exploration of a block
and draws after it, so the history tells which is which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import logit

from transect.designs.search.active import ActiveSearch, eager
from transect.designs.search.additive import fit_additive
from transect.designs.search.history import History, Suggestions, stream
from transect.designs.search.spread import sobol_points

BLOCK: Final = 8
EXPLORING: Final = 2
"""Calls of each block that explore, at least."""
AT_ONCE: Final = 2.0
"""Follow-ups that each failure pays for at once. With one, a search of a thin region often never got going."""
TRIAL: Final = 12
EACH: Final = 4
"""Draws that one failure of the exploration pays for, and draws that all of them pay for at most."""
LIFT: Final = 1.5
MOST_PAID: Final = 16.0
"""Draws go on while they find failures at least 1.5 times as often as the exploration, and one in 16 or more."""
LEAST_FAILURES: Final = 2
"""Failures of the exploration before the first draw."""
DOUBT: Final = 0.5
FOCUS: Final = 6.0
"""How widely, and how near to the most likely point, failures are drawn; see `Additive.draw`."""


@final
@dataclass(frozen=True, slots=True)
class Harvest:
    """Finds many failures: follow-ups, exploration and draws from a model of the failure probability.

    Every call shows a new subject, so a draw may return to a part of the cube that was queried before.
    """

    seed: int = 0
    name: str = "active search, then draws where failures are likely"

    def exploring(self, budget: int) -> int:
        """How many of so many calls explore whatever the answers are: two of each block, the last ones of it.

        >>> Harvest().exploring(400), Harvest().exploring(406), Harvest().exploring(407)
        (100, 100, 101)
        """
        blocks, rest = divmod(budget, BLOCK)
        return EXPLORING * blocks + max(0, rest - (BLOCK - EXPLORING))

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next points; a batch ends where a block does."""
        place = len(history) % BLOCK
        n = min(n, BLOCK - place)
        explored = int(history.explored[len(history) - place :].sum())
        follow_ups = self._follow_ups(history, 0 if explored else min(n, BLOCK - EXPLORING - place))
        left = n - len(follow_ups)
        draws = self._draws(history, left - min(left, max(0, EXPLORING - explored)))
        start, even = int(history.explored.sum()), left - len(draws)
        points = sobol_points(history.dimensions, self.seed, start, start + even)
        kinds = np.repeat([False, True, False], [len(follow_ups), even, len(draws)])
        return Suggestions(np.concatenate([follow_ups, points, draws]), kinds)

    def _follow_ups(self, history: History, room: int) -> Float[np.ndarray, "m d"]:
        search: ActiveSearch = eager(self.seed)
        following = followed_up(history)
        explored = float((history.failed & history.explored).sum())
        trusted = AT_ONCE * (explored + float((history.failed & following).sum()))
        paid = min(search.earned * explored, trusted, search.most * (len(history) + room))
        return search.follow_ups(history, int(np.clip(paid - following.sum(), 0, max(room, 0))))

    def _draws(self, history: History, room: int) -> Float[np.ndarray, "m d"]:
        answered = np.isfinite(history.failures)
        explored = history.explored & answered
        failures = float(history.failed[explored].sum())
        rate = (failures + 0.5) / (float(explored.sum()) + 1)
        n = min(room, _drawable(history, failures, rate))
        if n <= 0 or failures < LEAST_FAILURES:
            return np.empty((0, history.dimensions))
        mean = float(logit(np.clip(rate, 0.003, 0.5)))
        model = fit_additive(history.points[answered], history.failures[answered], mean)
        return model.draw(stream(self.seed, 9, len(history)), n, doubt=DOUBT, focus=FOCUS)


def followed_up(history: History) -> Bool[np.ndarray, " n"]:
    """Which calls followed up a failure: those before the first exploring call of their block of eight."""
    n = len(history)
    blocks = np.concatenate([history.explored, np.ones(-n % BLOCK, dtype=np.bool_)]).reshape(-1, BLOCK)
    return np.asarray(~np.maximum.accumulate(blocks, axis=1).ravel()[:n])


def _drawable(history: History, failures: float, rate: float) -> int:
    """Draws that are paid for and not yet spent; rate: of the exploration."""
    drawn = ~history.explored & ~followed_up(history)
    each = min(MOST_PAID, 1 / (LIFT * rate))
    return int(min(EACH * failures, TRIAL) + each * float((history.failed & drawn).sum()) - drawn.sum())
