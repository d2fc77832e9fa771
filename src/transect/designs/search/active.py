"""Active search: explore evenly, and follow up failures where a new one is likely.

Active search asks where a yes is most likely (Garnett et al. 2012, arXiv:1206.6406), here under a hard constraint: no
follow-up lies within a tenth of the cube's diagonal of a failure that is known, as in constraint active search
(Malkomes et al. 2021, ICML), so that diversity is a guarantee and not a weight. Candidates come from trust regions
round the failures: sparse steps from them (Eriksson et al. 2019, arXiv:1910.01739), some within the length scales.

Exploration continues to the end as one Sobol sequence. Follow-ups are earned: each failure that exploration finds pays
for some, up to a share of all calls; a failure without neighbours (a mislabelled one, say) is soon given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

from transect.designs.search.history import APART, History, Suggestions, as_points, diagonal, distances, stream
from transect.designs.search.spread import sobol_points
from transect.designs.search.surrogate import Surrogate, fit
from transect.errors import BadInput

CENTERS: Final = 32
CANDIDATES: Final = 96
"""Failures that candidates start from, and candidates from each."""
FIRST: Final = 1.0
MORE: Final = 2.0
"""Follow-ups that a failure pays for at once: one found by exploration (a single one may be a mislabelled image), and
one found by following up, which has company."""
FIT_FAILURES: Final = 50
FIT_NEAREST: Final = 60
FIT_OTHERS: Final = 30
"""What the surrogate is fitted to: failures, the non-failures nearest to them, and others spread over the cube."""


@final
@dataclass(frozen=True, slots=True)
class ActiveSearch:
    """Explores with Sobol points, follows up failures.

    earned: follow-ups that each failure found by exploration pays for in all, one at once and two for each follow-up
    that finds another. most: the largest share of calls that are follow-ups. least: the chance of a failure below which
    nothing is followed up. Raises BadInput for shares outside [0, 1] or less than nothing earned.
    """

    seed: int = 0
    earned: float = 8.0
    most: float = 0.3
    least: float = 0.4
    name: str = "active search"

    def __post_init__(self) -> None:
        if not (self.earned >= 0 and 0 <= self.most <= 1 and 0 <= self.least <= 1):
            raise BadInput("expected follow-ups earned of 0 or more, and shares from 0 to 1; change them")

    def suggest(self, history: History, n: int) -> Suggestions:
        """Follow-ups first, as many as are earned and promising; then the next points of the exploration."""
        chosen = self.follow_ups(history, self._earned(history, n))
        start = int(history.explored.sum())
        even = sobol_points(history.dimensions, self.seed, start, start + n - len(chosen))
        return Suggestions(np.concatenate([chosen, even]), np.arange(n) >= len(chosen))

    def _earned(self, history: History, n: int) -> int:
        by_exploration = float((history.failed & history.explored).sum())
        by_following = float((history.failed & ~history.explored).sum())
        trusted = FIRST * by_exploration + MORE * by_following
        paid = min(self.earned * by_exploration, trusted, self.most * (len(history) + n))
        return int(np.clip(paid - (~history.explored).sum(), 0, n))

    def follow_ups(self, history: History, n: int) -> Float[np.ndarray, "m d"]:
        """At most n points near known failures that are likely to fail, each far from every known failure."""
        chosen: list[Float[np.ndarray, " d"]] = []
        if not n:
            return as_points(chosen, history.dimensions)
        surrogate = surrogate_of(history)
        candidates = candidates_near(history, surrogate, stream(self.seed, 2, len(history)))
        far = APART * diagonal(history.dimensions)
        promise = surrogate.probability(candidates)
        while len(chosen) < n and len(candidates):
            best = int(promise.argmax())
            if promise[best] < self.least:
                break
            chosen.append(candidates[best])
            left = np.linalg.norm(candidates - candidates[best], axis=1) >= far
            candidates, promise = candidates[left], promise[left]
        return as_points(chosen, history.dimensions)


def eager(seed: int) -> ActiveSearch:
    """The search where only failures count: more follow-ups, and less promising ones."""
    return ActiveSearch(seed, earned=50.0, most=0.6, least=0.3)


def surrogate_of(history: History) -> Surrogate:
    """The surrogate fitted to what matters most of the history."""
    rows = _fitted_rows(history)
    explored = history.failures[history.explored & np.isfinite(history.failures)]
    rate = (explored.sum() + 0.5) / (len(explored) + 1)
    return fit(history.points[rows], history.failures[rows], float(logit(np.clip(rate, 0.003, 0.3))))


def _fitted_rows(history: History) -> Int[np.ndarray, " m"]:
    failed = np.flatnonzero(history.failed)[-FIT_FAILURES:]
    passed = np.flatnonzero(history.failures == 0)
    if not len(failed):
        return passed[-FIT_OTHERS:]
    nearest = distances(history.points[passed], history.points[failed]).min(axis=1)
    order = np.argsort(nearest, kind="stable")
    others = order[FIT_NEAREST:]
    spread = others[:: max(1, len(others) // FIT_OTHERS)][:FIT_OTHERS]
    return np.sort(np.concatenate([failed, passed[order[:FIT_NEAREST]], passed[spread]]))


def candidates_near(history: History, surrogate: Surrogate, random: np.random.Generator) -> Float[np.ndarray, "m d"]:
    """Sparse steps from failures, all at least a tenth of the diagonal from every failure found.

    From each: one to all attributes take another value, anywhere or within two length scales.
    """
    failures, d = history.found, history.dimensions
    centers = failures[random.permutation(len(failures))[:CENTERS]].repeat(CANDIDATES, axis=0)
    shape = centers.shape
    moved = 1 + np.floor(d ** random.random(shape[0]) - 1e-9).astype(int)  # few attributes as often as many
    step = np.argsort(random.random(shape), axis=1) < moved[:, None]
    near = centers + 2 * surrogate.lengths * random.uniform(-1, 1, shape)
    anywhere = random.random(shape)
    value = np.where(random.random((shape[0], 1)) < 0.5, np.clip(near, 0, 1), anywhere)
    candidates = np.where(step, value, centers)
    far = APART * diagonal(d)
    return np.asarray(candidates[distances(candidates, failures).min(axis=1, initial=np.inf) >= far])
