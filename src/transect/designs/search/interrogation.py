"""Searching over conditions: each a combination of levels, each call a fresh picture of one of them.

McDuff et al. 2019 search this way: θ is a one-hot vector of race and gender. `encoded` makes such vectors of points
of the cube; their method takes them (`Interrogation(steps=…)`). `Thompson` is ours.

The search of McDuff et al. 2019, Characterizing Bias in Classifiers using Generative Models, section 3.

Each round maximises, by expected improvement under a Gaussian process with an RBF kernel,

    L = (1 - α) L_c + α min_i ||Θ_i - θ||        (Eq. 4)

where L_c is 1 for a failure and Θ_i are the failures found before: the objective adapts in every round.

The paper can be read in two ways. Eq. 4 makes α the weight of diversity: at α = 1 it drops the loss altogether.
Their Fig. 4a, captioned α = 1, shows almost half as many failures again as random points have, as if α were the
weight of failures: (1 - α) and α exchanged. `diversity_weight` translates. Their Fig. 4b has its best at 0.6, the
default here.

What the paper leaves open: ten points at random come first; length scale and noise are those of the highest
marginal likelihood on a grid; expected improvement is maximised over 500 points at random and 100 near the best.

As published θ is a one-hot vector of a condition (race and gender), whose picture is random each time: `steps`
states which coordinates have levels, and one condition can then answer yes and no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import ndtr

from transect.designs.search.history import History, Random, Suggestions, distances, stream
from transect.errors import BadInput, UnknownName

Steps: TypeAlias = Sequence[Sequence[float]]
"""For each coordinate of the cube the ranks between its levels; nothing for one without levels."""


def sizes(steps: Steps) -> tuple[int, ...]:
    """How many levels each coordinate that has levels has."""
    return tuple(len(edges) + 1 for edges in steps if len(edges))


def condition_of(points: Float[np.ndarray, "n d"], steps: Steps) -> Int[np.ndarray, " n"]:
    """The number of each point's combination of levels, the last coordinate's running fastest; 0 without levels."""
    shape = sizes(steps)
    if not shape:
        return np.zeros(len(points), dtype=np.int64)
    # A point on an edge has the lower level, as in `Rule.holds`.
    levels = [np.searchsorted(edges, points[:, j], side="left") for j, edges in enumerate(steps) if len(edges)]
    return np.asarray(np.ravel_multi_index(tuple(levels), shape), dtype=np.int64)


def encoded(points: Float[np.ndarray, "n d"], steps: Steps) -> Float[np.ndarray, "n e"]:
    """A one-hot vector of the combination of levels, so that any two are √2 apart; then the other coordinates."""
    if not sizes(steps):
        return points
    hot = np.eye(int(np.prod(sizes(steps))))[condition_of(points, steps)]
    return np.column_stack([hot, points[:, [j for j, edges in enumerate(steps) if not len(edges)]]])


def cells(points: Float[np.ndarray, "n d"], steps: Steps) -> Float[np.ndarray, "n d"]:
    """The points with every coordinate that has levels in the middle of its level."""
    centered = points.copy()
    for j, edges in enumerate(steps):
        if len(edges):
            centered[:, j] = _middles(edges)[np.searchsorted(edges, points[:, j], side="left")]
    return centered


def _middles(edges: Sequence[float]) -> Float[np.ndarray, " k"]:
    ends = np.array([0.0, *edges, 1.0])
    return np.asarray((ends[1:] + ends[:-1]) / 2)


@final
@dataclass(frozen=True, slots=True)
class Thompson:
    """Asks for the condition whose rate, drawn from what is known, is highest (Thompson 1933, doi:10.2307/2332286).

    Each condition's rate of failure is Beta(½, ½) before anything is known. steps: the levels of each coordinate, all
    of which have some. most: the share of calls that are drawn so; the others go round all conditions, in a new
    random order each time, and estimate how often the target fails. Raises BadInput for a coordinate without levels or
    a share outside [0, 1].
    """

    steps: tuple[tuple[float, ...], ...]
    seed: int = 0
    most: float = 0.5
    name: str = "Thompson sampling of conditions"

    def __post_init__(self) -> None:
        if not self.steps or not all(self.steps):
            raise BadInput("expected levels of every attribute, to search over conditions; give --vary NAME=A,B")
        if not 0 <= self.most <= 1:
            raise BadInput(f"expected a share from 0 to 1, got {self.most:g}")

    @property
    def count(self) -> int:
        """How many conditions there are."""
        return int(np.prod(sizes(self.steps)))

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next n points, each the middle of a condition; a call depends on the answers to earlier batches."""
        start = len(history)
        turns = np.floor(np.arange(start, start + n + 1) * (1 - self.most))
        even = (turns[1:] > turns[:-1]).tolist()
        failed, passed = self._counts(history)
        done, chosen = int(history.explored.sum()), []
        for number, is_even in enumerate(even, start):
            if is_even:
                turn, place = divmod(done, self.count)
                chosen.append(int(stream(self.seed, 7, turn).permutation(self.count)[place]))
                done += 1
            else:
                drawn = stream(self.seed, 8, number).beta(failed + 0.5, passed + 0.5)
                chosen.append(int(drawn.argmax()))
        codes = np.unravel_index(np.array(chosen, dtype=np.int64), sizes(self.steps))
        middles = [_middles(edges)[code] for edges, code in zip(self.steps, codes, strict=True)]
        return Suggestions(np.column_stack(middles), np.array(even, dtype=np.bool_))

    def _counts(self, history: History) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        answered = np.isfinite(history.failures)
        which = condition_of(history.points, self.steps)
        failed = np.bincount(which[answered & history.failed], minlength=self.count)
        return failed, np.bincount(which[answered & ~history.failed], minlength=self.count)


FIRST: Final = 10
ANYWHERE: Final = 500
NEAR: Final = 100
REFIT: Final = 10
"""Length scale and noise are chosen from the first points alone, as many as the largest multiple of this."""
LENGTHS: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
NOISES: Final = (1e-4, 1e-1)
AGAIN: Final = (1.0, 10.0)
"""Variances of the noise, as shares of the signal's; the last two where points were queried again."""


@final
@dataclass(frozen=True, slots=True)
class Interrogation:
    """Bayesian optimisation of Eq. 4. Raises BadInput unless α lies from 0 to 1.

    steps: of each coordinate the ranks between its levels, nothing for one without; their combinations are one-hot
    vectors in Eq. 4's distances and in the kernel. Without steps θ is the point.
    """

    seed: int = 0
    alpha: float = 0.6
    steps: tuple[tuple[float, ...], ...] = ()
    name: str = "McDuff et al. 2019"

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise BadInput(f"expected α from 0 to 1, got {self.alpha:g}")

    def suggest(self, history: History, n: int) -> Suggestions:
        """The n points of the highest expected improvement; the paper asks for one at a time."""
        if len(history) < FIRST:
            return Random(self.seed).suggest(history, n)
        answered = np.isfinite(history.failures)
        encoded_history = History(encoded(history.points, self.steps), history.failures, history.explored)
        points, objective = encoded_history.points[answered], composite(encoded_history, self.alpha)[answered]
        if not len(points) or objective.std() == 0:
            return Random(self.seed).suggest(history, n)
        candidates = self._candidates(history, history.points[answered][objective.argmax()])
        gain = expected_improvement(points, objective, encoded(candidates, self.steps))
        best = np.argsort(-gain, kind="stable")[:n]
        return Suggestions(candidates[best], np.zeros(n, dtype=np.bool_))

    def _candidates(self, history: History, best: Float[np.ndarray, " d"]) -> Float[np.ndarray, "m d"]:
        random = stream(self.seed, 3, len(history))
        anywhere = random.random((ANYWHERE, history.dimensions))
        near = np.clip(best + 0.05 * random.standard_normal((NEAR, history.dimensions)), 0, 1)
        return np.concatenate([anywhere, near])


WEIGHS: Final = ("diversity", "failures")
"""What α weighs: diversity as Eq. 4 is printed, or failures as the caption of Fig. 4a suggests."""


def diversity_weight(alpha: float, weighs: str = "diversity") -> float:
    """The α of Eq. 4 as printed, for an α of either reading. Raises UnknownName for another reading.

    >>> diversity_weight(0.6), diversity_weight(0.8, "failures")
    (0.6, 0.2)
    """
    if weighs not in WEIGHS:
        raise UnknownName("reading of alpha", weighs, WEIGHS)
    return alpha if weighs == "diversity" else round(1 - alpha, 12)


def composite(history: History, alpha: float) -> Float[np.ndarray, " n"]:
    """Eq. 4 at every point queried; NaN without an answer. Before a failure is found there is no distance term."""
    loss = (1 - alpha) * history.failures
    if not history.failed.any():
        return np.asarray(loss)
    return np.asarray(loss + alpha * distances(history.points, history.found).min(axis=1))


def expected_improvement(
    points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], candidates: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, " m"]:
    """Expected improvement on the best value at each candidate, in standard deviations of the values.

    Snoek et al. 2012, arXiv:1206.2944, section 2; the process is that of Rasmussen and Williams 2006, algorithm 2.1.
    """
    y = (values - values.mean()) / values.std()
    used = max(FIRST, len(y) // REFIT * REFIT)
    length, noise = _chosen(points[:used], y[:used])
    once = _once(points, y)
    L, scale, _ = _evidence(distances(once.points, once.points), once, length, noise)
    across = _rbf(distances(candidates, once.points), length)
    mean = across @ cho_solve((L, True), once.means, check_finite=False)
    explained = (solve_triangular(L, across.T, lower=True, check_finite=False) ** 2).sum(axis=0)
    deviation = np.sqrt(scale * np.maximum(1 - explained, 1e-12))
    z = (mean - y.max()) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)))


@final
@dataclass(frozen=True, slots=True)
class _Once:
    """Each point once: the mean of its values, the number of its queries, and the sum of squares around the means."""

    points: Float[np.ndarray, "u d"]
    means: Float[np.ndarray, " u"]
    counts: Float[np.ndarray, " u"]
    within: float


def _once(points: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> _Once:
    """Repeated points as one: they carry as much information about the process as all their values."""
    numbers: dict[bytes, int] = {}
    which = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in points])
    if len(numbers) == len(points):
        return _Once(points, y, np.ones(len(y)), 0.0)
    counts = np.bincount(which).astype(np.float64)
    means = np.bincount(which, y) / counts
    unique = points[np.unique(which, return_index=True)[1]]
    return _Once(unique, means, counts, float(((y - means[which]) ** 2).sum()))


def _rbf(between: Float[np.ndarray, "n m"], length: float) -> Float[np.ndarray, "n m"]:
    return np.asarray(np.exp(-0.5 * (between / length) ** 2))


def _chosen(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Length scale and noise of the highest marginal likelihood."""
    once = _once(points, values)
    between = distances(once.points, once.points)
    noises = (*NOISES, *AGAIN) if once.counts.max() > 1 else NOISES
    grid = [(length, noise) for length in LENGTHS for noise in noises]
    return max(grid, key=lambda pair: _evidence(between, once, *pair)[2])


def _evidence(
    between: Float[np.ndarray, "u u"], once: _Once, length: float, noise: float
) -> tuple[Float[np.ndarray, "u u"], float, float]:
    """Cholesky factor, signal variance in closed form, and log marginal likelihood at it, but for a constant.

    A point queried m times has the mean of m values, with an m-th of the noise; the m - 1 contrasts within are noise.
    """
    n, u, variances = once.counts.sum(), len(once.means), noise + 1e-8
    L = cholesky(_rbf(between, length) + np.diag(variances / once.counts), lower=True, check_finite=False)
    explained = float((solve_triangular(L, once.means, lower=True, check_finite=False) ** 2).sum())
    scale = (explained + once.within / variances) / n
    spread = float(np.log(np.diag(L)).sum()) + 0.5 * (n - u) * np.log(variances)
    return L, scale, float(-0.5 * n * np.log(max(scale, 1e-300)) - spread)
