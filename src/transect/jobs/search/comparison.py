"""What a comparison of searches is asked to do, and its numbers: records, from which `comparison.json` is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.designs.search import diversity_weight
from transect.effects.intervals import median_interval
from transect.errors import BadInput, UnknownName
from transect.jobs.search.numbers import SearchedAttribute
from transect.jobs.search.request import METHODS
from transect.reports.records import Section

CONFIDENCE: Final = 0.95
FEWEST_REPEATS: Final = 6
FEW: Final = f"no interval: fewer than {FEWEST_REPEATS} repeats"


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
class Repeated:
    """A number of each repeat, in the order of the seeds; their mean and median.

    low, high: 95 % interval of the median over all seeds; NaN with a `reason` below six repeats. The mean has none: a
    region that no repeat came upon shows in no repeat, so that no interval of a mean from a few repeats holds its level
    whatever the target.
    """

    mean: float
    median: float
    low: float
    high: float
    reason: str
    repeats: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class ArmNumbers:
    """A compared search. failures: after all calls; apart: those a tenth of the diagonal from each other.

    more_than_random: the difference of failures to random points with the same seeds; None for those, and where they
    are not compared. curve: mean failures after each call; fewest, most: of any repeat. failed: calls without a valid
    answer in all repeats.
    """

    name: str
    method: str
    alpha: float | None
    diversity: float | None
    failures: Repeated
    apart: Repeated
    more_than_random: Repeated | None
    failed: int
    curve: tuple[float, ...]
    fewest: tuple[float, ...]
    most: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class BestTwo:
    """The two searches beside random points with the highest mean failures: `more` is of `first` over `second`.

    more: paired by seed; its median is zero or above. The pair is chosen by the same repeats.
    """

    first: str
    second: str
    more: Repeated


@final
@dataclass(frozen=True, slots=True)
class ComparisonNumbers:
    """Searches of one target compared. budget: calls of each search; repeats: of each search.

    best_two: null where fewer than two searches beside random points are compared.
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
    best_two: BestTwo | None
    sections: tuple[Section, ...]


def repeated(values: Sequence[float]) -> Repeated:
    """The mean and the median over repeats, with the median's 95 % interval from six repeats on (`median_interval`).

    It covers at least 95 % whatever the target, also where only some repeats find a region of failures
    (`tests/statistical/test_search_comparison_coverage.py`), where Student's interval of the mean of five repeats
    covered 28 to 87 %.

    >>> numbers = repeated([4.0, 60.0, 5.0])
    >>> numbers.mean, numbers.median, numbers.reason
    (23.0, 5.0, 'no interval: fewer than 6 repeats')
    """
    column = np.asarray(values, dtype=np.float64)
    low, high = (float(end[0]) for end in median_interval(column[:, None], CONFIDENCE))
    reason = "" if np.isfinite(low) else FEW
    return Repeated(float(column.mean()), float(np.median(column)), low, high, reason, tuple(column.tolist()))


def paired(counts: Sequence[float], others: Sequence[float]) -> Repeated:
    """The differences of two searches with the same seeds, `counts` minus `others`, as `repeated` has them.

    >>> paired([4.0, 60.0, 5.0], [3.0, 4.0, 7.0]).repeats
    (1.0, 56.0, -2.0)
    """
    return repeated([count - other for count, other in zip(counts, others, strict=True)])


def best_two(arms: Sequence[ArmNumbers]) -> BestTwo | None:
    """The two searches beside random points with the highest mean failures, paired by seed (`paired`).

    The pair is chosen by the repeats that it is compared on. Where all searches are equally good, the interval still
    lies clear of zero in at most 5 % of all cases, by simulation (`tests/jobs/search/test_search_differences.py`).
    None where there are fewer than two.
    """
    ranked = sorted((arm for arm in arms if arm.method != "random"), key=lambda arm: -arm.failures.mean)[:2]
    if len(ranked) < 2:
        return None
    first, second = ranked
    if paired(first.failures.repeats, second.failures.repeats).median < 0:
        first, second = second, first
    return BestTwo(first.name, second.name, paired(first.failures.repeats, second.failures.repeats))


def clear_of_zero(difference: Repeated) -> int:
    """1 where the whole interval lies above zero, -1 where it lies below, 0 where it holds zero or there is none.

    >>> clear_of_zero(repeated([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])), clear_of_zero(repeated([1.0, 2.0]))
    (1, 0)
    """
    return int(difference.low > 0) - int(difference.high < 0)


def more_repeats(repeats: int) -> str:
    """What to do where an interval holds zero, or there is none.

    >>> more_repeats(5), more_repeats(6)
    ('no interval, give six repeats or more', 'give more repeats')
    """
    return "no interval, give six repeats or more" if repeats < FEWEST_REPEATS else "give more repeats"


def curve_of(curves: Float[np.ndarray, "r n"]) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Mean failures after each call over repeats, and the fewest and the most of any repeat.

    curves: failures of each repeat until each call.
    """
    return tuple(curves.mean(axis=0).tolist()), tuple(curves.min(axis=0).tolist()), tuple(curves.max(axis=0).tolist())
