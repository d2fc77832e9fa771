"""What a comparison of searches is asked to do, and its numbers: records, from which `comparison.json` is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.designs.search import diversity_weight
from transect.effects.intervals import mean_interval
from transect.errors import BadInput, UnknownName
from transect.jobs.search.numbers import SearchedAttribute
from transect.jobs.search.request import METHODS
from transect.reports.records import Section

CONFIDENCE: Final = 0.95
ONCE: Final = "one repeat shows no spread"
ALIKE: Final = "all repeats found the same number"


@final
@dataclass(frozen=True, slots=True)
class SearchComparison:
    """Which searches are compared. methods: of `transect search --method`; alphas: of mcduff2019, a search for each;
    repeats: of each search, with the seeds `seed`, `seed + 1` and so on.

    Raises UnknownName for another method; BadInput for a repeated one, for none, for weights outside 0 to 1, or for
    fewer than one repeat.
    """

    methods: tuple[str, ...] = METHODS
    alphas: tuple[float, ...] = (0.0, 0.2, 0.6, 1.0)
    repeats: int = 5

    def __post_init__(self) -> None:
        for method in self.methods:
            if method not in METHODS:
                raise UnknownName("method", method, METHODS)
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise BadInput(f"--compare: expected different methods, got {','.join(self.methods)!r}; name each once")
        if len(set(self.alphas)) < len(self.alphas) or not all(0 <= alpha <= 1 for alpha in self.alphas):
            raise BadInput(f"--alpha: expected different weights from 0 to 1, got {self.alphas}; change them")
        if "mcduff2019" in self.methods and not self.alphas:
            raise BadInput("--alpha: expected a weight for mcduff2019, got none; give 0.2,0.6")
        if self.repeats < 1:
            raise BadInput(f"--repeats: expected at least 1, got {self.repeats}; raise it")

    def arms(self, weighs: str) -> list[Arm]:
        """The searches, in the order of the methods. weighs: what alpha is the weight of."""
        arms: list[Arm] = []
        for method in self.methods:
            weights = self.alphas if method == "mcduff2019" else (None,)
            arms += [
                Arm(method, alpha, None if alpha is None else diversity_weight(alpha, weighs)) for alpha in weights
            ]
        return arms


@final
@dataclass(frozen=True, slots=True)
class Arm:
    """One of the compared searches. alpha: as it was given; diversity: the weight of diversity that it means."""

    method: str
    alpha: float | None
    diversity: float | None

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.method if self.alpha is None else f"{self.method}, α = {self.alpha:g}"


@final
@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over repeats. low, high: NaN with a `reason` where there is no interval; repeats: the values."""

    mean: float
    low: float
    high: float
    reason: str
    method: str
    repeats: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class ArmNumbers:
    """A compared search. failures: after all calls; apart: those a tenth of the diagonal from each other.

    more_than_random: the difference of failures to random points with the same seeds; None for those, and where they
    are not compared. curve, low, high: mean failures after each call with the ends of its interval, NaN without one.
    failed: calls without a valid answer in all repeats.
    """

    name: str
    method: str
    alpha: float | None
    diversity: float | None
    failures: Mean
    apart: Mean
    more_than_random: Mean | None
    failed: int
    curve: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class ComparisonNumbers:
    """Searches of one target compared. budget: calls of each search; repeats: of each search.

    answers: calls of all searches together; pictures: different pictures among them, each of which the target was asked
    about once; paid_calls, cost: what a metered target was paid. alpha_weighs: what alpha is the weight of.
    """

    target: str
    outcome: str
    budget: int
    repeats: int
    seed: int
    confidence: float
    alpha_weighs: str
    answers: int
    pictures: int
    paid_calls: int
    cost: float
    space: tuple[SearchedAttribute, ...]
    arms: tuple[ArmNumbers, ...]
    sections: tuple[Section, ...]


def mean_of(values: Sequence[float], lowest: float, highest: float) -> Mean:
    """The mean over repeats with its 95 % interval: Student's t, from ten repeats on BCa (`mean_interval`).

    lowest, highest: what a mean can be; the interval ends there. Of binomial counts with a mean of 4 or more it
    covers 94.5 % or more with three to nine repeats, with a mean of 0.8 92 % or more.

    >>> mean_of([4.0, 6.0], 0, 80).low, mean_of([3.0], 0, 80).reason
    (0.0, 'one repeat shows no spread')
    """
    column = np.asarray(values, dtype=np.float64)[:, None]
    interval = mean_interval(column, confidence=CONFIDENCE)
    low, high = np.clip([interval.low[0], interval.high[0]], lowest, highest).tolist()
    reason = "" if np.isfinite(low) else ONCE if len(column) == 1 else ALIKE
    method = interval.methods[0].replace("by subject", "by repeat")
    return Mean(float(column.mean()), low, high, reason, method, tuple(column[:, 0].tolist()))


def curve_of(curves: Float[np.ndarray, "r n"]) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Mean failures after each call over repeats, and the ends of the interval at each call by itself.

    curves: failures of each repeat until each call; after n calls they lie from 0 to n, and so do the ends.
    """
    interval, most = mean_interval(curves, confidence=CONFIDENCE), np.arange(1, curves.shape[1] + 1)
    low, high = np.clip(interval.low, 0, most), np.clip(interval.high, 0, most)
    return tuple(curves.mean(axis=0).tolist()), tuple(low.tolist()), tuple(high.tolist())
