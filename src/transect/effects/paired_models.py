"""How do two models differ on the same images? Rates, effects and gaps of one minus those of the other, by subject.

A subject's answers of both models are one pair. The difference of a rate is the mean over subjects of the difference of
their own rates; that of an effect is the mean of a difference of differences. A gap is the size of an effect, |b| - |a|
for two models, and equals sign(D S) min(|D|, |S|) with the difference D = b - a and the sum S = a + b: intervals of D
and of S, each with half of the error, bound it whatever the signs of a and b (Berger 1982: |b| = |a| holds where b = a
or b = -a, and is rejected where both are).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from transect.effects import repeated
from transect.effects.contrasts import by_level, known_mean, level_differences
from transect.effects.intervals import wilson
from transect.effects.pilot_spread import upper_deviation
from transect.effects.verdicts import unseen_people

Standing = Literal["better", "worse", "differs", "no difference", "cannot tell", "not estimable"]
"""What is concluded of the second model against the first."""
SOURCES: Final = (
    "Berger 1982, Multiparameter hypothesis testing and acceptance sampling, doi:10.2307/1267823",
    "Schuirmann 1987, A comparison of the two one-sided tests procedure and the power approach for assessing the "
    "equivalence of average bioavailability, doi:10.1007/BF01068419",
    "Pagano and Tritchler 1983, On obtaining permutation distributions in polynomial time, "
    "doi:10.1080/01621459.1983.10477990",
    "Holm 1979, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2)",
)


@runtime_checkable
class Quantity(Protocol):
    """A number of two models: of the first, of the second, and the second minus the first with its interval and p.

    spread: upper limit of the standard deviation of subjects' differences, NaN where subjects have none. averaged:
    whether it is the average of several yes-or-no outcomes of a subject. cautious: the interval by which a difference
    is shown to be small.
    """

    @property
    def first(self) -> float: ...  # noqa: D102
    @property
    def second(self) -> float: ...  # noqa: D102
    @property
    def estimate(self) -> float: ...  # noqa: D102
    @property
    def n_subjects(self) -> int: ...  # noqa: D102
    @property
    def p(self) -> float: ...  # noqa: D102
    @property
    def spread(self) -> float: ...  # noqa: D102
    @property
    def averaged(self) -> bool: ...  # noqa: D102
    def interval(self, confidence: float) -> tuple[float, float]: ...  # noqa: D102
    def cautious(self, confidence: float) -> tuple[float, float]: ...  # noqa: D102


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """A number of the second model minus that of the first.

    differences: each subject's, NaN where a subject has none. first, second: the numbers themselves, on the same
    images. base, reach, pairs: as `mean_difference_interval` takes them. binary: the outcome is 0 or 1. unseen: how far
    people whom nobody is like could move it (`unseen_people`), 0 of yes-or-no outcomes. who: the person of each
    subject, as `repeated.clusters_of` has it, where several photographs show one: the mean is over photographs, all
    that says how sure it is by person.
    """

    differences: Float[np.ndarray, " n"]
    first: float
    second: float
    base: float
    reach: float
    pairs: float
    binary: bool
    seed: int = 0
    unseen: float = 0.0
    who: Int[np.ndarray, " n"] | None = None

    @property
    def estimate(self) -> float:
        """The mean over subjects; NaN without any."""
        return known_mean(self.differences)

    @property
    def n_subjects(self) -> int:
        """Subjects with a difference; people, where they repeat."""
        return int(repeated.people_with(self.differences[:, None], self.who)[0])

    @property
    def p(self) -> float:
        """Two-sided p of the sign-flip test: both models are as likely to have either's answers of a subject."""
        return float(repeated.sign_flip(self.differences[:, None], self.who, seed=self.seed)[0][0])

    @property
    def spread(self) -> float:
        """Upper 80 % limit of the standard deviation of subjects' differences; NaN below two subjects."""
        own, who = self.differences, self.who
        by_person = own if who is None else repeated.linearized(own[:, None], who)[:, 0]
        known = by_person[np.isfinite(by_person)]
        if len(known) < 2:
            return math.nan
        return upper_deviation(known) or math.sqrt(float(wilson(0, len(known))[1]))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval of the mean; NaN below two subjects."""
        side = side_of(self.differences)
        bounds = repeated.mean_difference_interval(
            (side or 1.0) * self.differences[:, None],
            self.who,
            binary=self.binary,
            base=np.array([self.base]),
            reach=np.array([self.reach]),
            pairs=np.array([self.pairs]),
            confidence=confidence,
            seed=self.seed,
        )
        return back_to(side, float(bounds.low[0]), float(bounds.high[0]))

    @property
    def averaged(self) -> bool:
        """Whether a subject's or person's difference is the average of several yes-or-no outcomes."""
        return self.binary and (self.pairs > 1 or self.who is not None)

    def cautious(self, confidence: float) -> tuple[float, float]:
        """The interval, that of scores wider by what people whom nobody is like could add, as audits have it."""
        low, high = self.interval(confidence)
        return low - self.unseen, high + self.unseen


@final
@dataclass(frozen=True, slots=True)
class Gap:
    """The size of an effect of the second model minus that of the first, |b| - |a|.

    difference: of the effects, b - a; total: their sum, a + b.
    """

    difference: Quantity
    total: Quantity

    @property
    def first(self) -> float:
        """The size of the first model's effect."""
        return abs(self.difference.first)

    @property
    def second(self) -> float:
        """The size of the second model's effect."""
        return abs(self.difference.second)

    @property
    def estimate(self) -> float:
        """|b| - |a|."""
        return self.second - self.first

    @property
    def n_subjects(self) -> int:
        """Subjects with both effects."""
        return self.difference.n_subjects

    @property
    def p(self) -> float:
        """Two-sided p of |b| = |a|: the larger of the p of b = a and of b = -a."""
        return max(self.difference.p, self.total.p)

    @property
    def spread(self) -> float:
        """Upper 80 % limit of the standard deviation of subjects' differences of effects."""
        return self.difference.spread

    def interval(self, confidence: float) -> tuple[float, float]:
        """The lowest and highest |b| - |a| that the intervals of D and S allow, each with half of the error."""
        each = (1 + confidence) / 2
        return box_of_gap(*self.difference.interval(each), *self.total.interval(each))

    @property
    def averaged(self) -> bool:
        """As of the difference."""
        return self.difference.averaged

    def cautious(self, confidence: float) -> tuple[float, float]:
        """The same of the cautious intervals."""
        each = (1 + confidence) / 2
        return box_of_gap(*self.difference.cautious(each), *self.total.cautious(each))


def box_of_gap(low: float, high: float, total_low: float, total_high: float) -> tuple[float, float]:
    """The range of |b| - |a| where b - a lies within low and high, and a + b within the others."""
    return (
        float(np.minimum(np.maximum(low, -total_high), np.maximum(-high, total_low))),
        float(np.maximum(np.minimum(high, total_high), np.minimum(-low, -total_low))),
    )


def shared(
    first: Float[np.ndarray, " ..."], second: Float[np.ndarray, " ..."]
) -> tuple[Float[np.ndarray, " ..."], Float[np.ndarray, " ..."]]:
    """Both outcomes with NaN on every image on which one of them is NaN."""
    both = np.isfinite(first) & np.isfinite(second)
    return np.where(both, first, np.nan), np.where(both, second, np.nan)


def rate_difference(
    first: Float[np.ndarray, "n cells"],
    second: Float[np.ndarray, "n cells"],
    binary: bool,
    *,
    answers: int = 1,
    who: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Difference:
    """The mean outcome of the second model minus that of the first, by subject; both are NaN on the same images."""
    differences = level_differences(first, second)
    return Difference(
        differences,
        known_mean(_by_subject(first)),
        known_mean(_by_subject(second)),
        min(_rarest(first), _rarest(second)),
        reach=1.0,
        pairs=float(first.shape[1] * answers),
        binary=binary,
        seed=seed,
        unseen=_unseen((first, second), differences, binary, 1.0, who),
        who=who,
    )


def gap_between_levels(
    first: Float[np.ndarray, "n ..."],
    second: Float[np.ndarray, "n ..."],
    axis: int,
    levels: tuple[int, int],
    binary: bool,
    *,
    answers: int = 1,
    who: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Gap:
    """The effects of going from one level of an attribute to another in both models, with their difference and sum."""
    ends = [by_level(values, axis)[:, list(levels)] for values in (first, second)]
    before, after = (level_differences(end[:, 0], end[:, 1]) for end in ends)
    base = min(_rarest(end[:, level]) for end in ends for level in (0, 1))
    cells = float(ends[0].shape[2] * answers)

    def of(values: Float[np.ndarray, " n"]) -> Difference:
        unseen = _unseen((first, second), values, binary, 2.0, who)
        return Difference(values, known_mean(before), known_mean(after), base, 2.0, cells, binary, seed, unseen, who)

    return Gap(of(after - before), of(after + before))


def side_of(differences: Float[np.ndarray, " n"]) -> float:
    """The sign of the sum, or of the first difference that is not 0 where they cancel; 0 without any."""
    known = differences[np.isfinite(differences) & (differences != 0)]
    total = float(known.sum())
    return math.copysign(1.0, total if total else float(known[0])) if len(known) else 0.0


def back_to(side: float, low: float, high: float) -> tuple[float, float]:
    """The interval on the side where differences lie, from that on the computed side."""
    return (low if side else -high, high) if side >= 0 else (-high, -low)


def stand(
    estimate: float, significant: bool, low: float, high: float, margin: float, *, smaller_is_better: bool
) -> Standing:
    """What is concluded of the second model. low, high: the outermost ends of the 90 % intervals."""
    if math.isnan(estimate):
        return "not estimable"
    if significant:
        return ("better" if estimate < 0 else "worse") if smaller_is_better else "differs"
    return "no difference" if -margin < low and high < margin else "cannot tell"


def _unseen(
    outcomes: tuple[Float[np.ndarray, "n ..."], Float[np.ndarray, "n ..."]],
    differences: Float[np.ndarray, " n"],
    binary: bool,
    reach: float,
    who: Int[np.ndarray, " n"] | None,
) -> float:
    """How far people whom nobody is like could move the mean; reach: their largest difference in ranges."""
    if binary:
        return 0.0
    return reach * float(unseen_people(np.stack(outcomes), repeated.people_with(differences[:, None], who))[0])


def _by_subject(cells: Float[np.ndarray, "n cells"]) -> Float[np.ndarray, " n"]:
    known = np.isfinite(cells)
    n = known.sum(axis=1)
    return np.asarray(np.divide(np.where(known, cells, 0.0).sum(axis=1), n, out=np.full(len(n), np.nan), where=n > 0))


def _rarest(cells: Float[np.ndarray, " ..."]) -> float:
    rate = known_mean(cells.reshape(-1))
    return min(rate, 1 - rate)
