"""How do two models or recognizers differ on the same images? Rates, gaps between levels and between groups, and an
experiment beside photographs.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from transect.effects import clusters, intervals
from transect.effects.contrasts import by_level, known_mean, known_means, level_differences
from transect.effects.intervals import effective_images, minus, paired_score_interval, single_pairs, wilson
from transect.effects.multiplicity import HOLM
from transect.effects.observational import Groups, associations, compared_with_first, contrast_name
from transect.effects.planning import upper_deviation
from transect.effects.recognition import GroupErrors, difference_of_means
from transect.effects.verdicts import unseen_people
from transect.errors import BadInput
from transect.records import Effect, Estimate
from transect.runs.json_records import named

METHOD: Final = "square-and-add of both intervals; z from their widths"
POWER: Final = 0.8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement(Estimate):
    """One estimate minus another (in JSON "difference"), its interval and p; NaN with a reason.

    smallest_found: the true difference that would be found in 80 % of such studies; smaller ones are easily missed.
    """

    estimate: float = named("difference")
    p: float = math.nan
    smallest_found: float = math.nan


def disagreement_of_designs(
    first: tuple[float, float, float], second: tuple[float, float, float], confidence: float = 0.95
) -> Disagreement:
    """`first` minus `second`, each an estimate with the ends of its interval, of different subjects."""
    numbers = np.array([*first, *second], dtype=np.float64)
    if not np.isfinite(numbers[[0, 3]]).all():
        return Disagreement(reason="one of the two has no estimate")
    difference = float(numbers[0] - numbers[3])
    if not np.isfinite(numbers).all():
        return Disagreement(estimate=difference, reason="one of the two has no interval")
    a, b = Estimate(*numbers[:3].tolist()), Estimate(*numbers[3:].tolist())
    if not (a.low <= a.estimate <= a.high and b.low <= b.estimate <= b.high):
        raise BadInput(f"expected intervals that contain their estimates, got {tuple(first)} and {tuple(second)}")
    found, z = minus(a, b), float(ndtri((1 + confidence) / 2))
    error = float(np.hypot(a.high - a.low, b.high - b.low)) / (2 * z)
    if not error > 0:
        reason = "neither interval has a width: no test"
        return Disagreement(estimate=difference, low=found.low, high=found.high, reason=reason)
    smallest = (float(ndtri(0.975)) + float(ndtri(POWER))) * error
    p = float(2 * ndtr(-abs(difference) / error))
    return Disagreement(estimate=difference, low=found.low, high=found.high, p=p, smallest_found=smallest)


Standing = Literal["better", "worse", "differs", "no difference", "cannot tell", "not estimable"]
"""What is concluded of the second model against the first."""
SOURCES: Final = (
    intervals.BERGER,
    intervals.SCHUIRMANN,
    "Pagano and Tritchler 1983, On obtaining permutation distributions in polynomial time, "
    "doi:10.1080/01621459.1983.10477990",
    HOLM,
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
    images. reach, pairs: as `mean_difference_interval` takes them. binary: the outcome is 0 or 1. unseen: how far
    people whom nobody is like could move it (`unseen_people`), 0 of yes-or-no outcomes. who: the person of each
    subject, as `repeated.clusters_of` has it, where several photographs show one: the mean is over photographs, all
    that says how sure it is by person.
    """

    differences: Float[np.ndarray, " n"]
    first: float
    second: float
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
        return int(clusters.people_with(self.differences[:, None], self.who)[0])

    @property
    def p(self) -> float:
        """Two-sided p of the sign-flip test: both models are as likely to have either's answers of a subject."""
        d = self.differences[:, None]
        single = single_pairs(d, np.array([self.pairs]), np.array([self.reach]), binary=self.binary)
        return float(clusters.sign_flip(d, self.who, single=single, seed=self.seed)[0][0])

    @property
    def spread(self) -> float:
        """Upper 80 % limit of the standard deviation of subjects' differences; NaN below two subjects."""
        own, who = self.differences, self.who
        by_person = own if who is None else clusters.linearized(own[:, None], who)[:, 0]
        known = by_person[np.isfinite(by_person)]
        if len(known) < 2:
            return math.nan
        return upper_deviation(known) or math.sqrt(float(wilson(0, len(known))[1]))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval of the mean; NaN below two subjects."""
        side = side_of(self.differences)
        bounds = clusters.mean_difference_interval(
            (side or 1.0) * self.differences[:, None],
            self.who,
            binary=self.binary,
            reach=np.array([self.reach]),
            pairs=np.array([self.pairs]),
            confidence=confidence,
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
        known_mean(known_means(first, axis=1)),
        known_mean(known_means(second, axis=1)),
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
    pairs = 2.0 * ends[0].shape[2] * answers  # one of each model

    def of(values: Float[np.ndarray, " n"]) -> Difference:
        unseen = _unseen((first, second), values, binary, 2.0, who)
        return Difference(values, known_mean(before), known_mean(after), 2.0, pairs, binary, seed, unseen, who)

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
    return reach * float(unseen_people(np.stack(outcomes), clusters.people_with(differences[:, None], who))[0])


_FARTHEST: Final = 7.0
"""Normal quantile beyond which no p is looked for."""


@final
@dataclass(frozen=True, slots=True)
class PairedShares:
    """Images of one group by person: counts [s, 1], and of them those on which the number is 1 and those on which it is
    -1. People are independent; the images of one person need not be.
    """

    counts: Float[np.ndarray, "s 1"]
    positive: Float[np.ndarray, "s 1"]
    negative: Float[np.ndarray, "s 1"]

    @classmethod
    def of(cls, moved: Float[np.ndarray, " n"], people: Int[np.ndarray, " n"]) -> PairedShares:
        """From a number of each image in -1, 0 and 1 [n], NaN without one, and who is on the image [n]."""
        known = np.isfinite(moved)
        _, person = np.unique(people[known], return_inverse=True)
        columns = [np.bincount(person, weights=moved[known] == value)[:, None] for value in (1, -1)]
        return cls(np.bincount(person)[:, None].astype(np.float64), *columns)

    @property
    def mean(self) -> float:
        """The mean over images; NaN without one."""
        images = float(self.counts.sum())
        return float((self.positive - self.negative).sum()) / images if images else math.nan

    def interval(self, confidence: float) -> tuple[float, float]:
        """The paired score interval, of as many images as those of people are worth; NaN without an image."""
        images = float(self.counts.sum())
        if not images:
            return math.nan, math.nan
        worth = min(
            float(effective_images(side, self.counts, confidence)[1][0]) for side in (self.positive, self.negative)
        )
        low, high = paired_score_interval(
            self.positive.sum(), self.negative.sum(), images, design_effect=images / worth, confidence=confidence
        )
        return float(low), float(high)


class BetweenGroups(ABC):
    """What a `Quantity` says of groups, who are different people."""

    __slots__ = ()

    @abstractmethod
    def interval(self, confidence: float) -> tuple[float, float]: ...  # noqa: D102

    def cautious(self, confidence: float) -> tuple[float, float]:
        """The interval: limits of groups allow for people whom nobody is like."""
        return self.interval(confidence)

    @property
    def spread(self) -> float:
        """NaN: groups are different people, who have no differences of their own."""
        return math.nan

    @property
    def averaged(self) -> bool:
        """False: no average over a subject's levels is compared."""
        return False


@final
@dataclass(frozen=True, slots=True)
class RateDifference(BetweenGroups):
    """The difference between two groups in a number of each image in -1, 0 and 1; a `Quantity` of two models.

    origin, to: the groups, times `side`. first, second: each model's own difference.
    """

    origin: PairedShares
    to: PairedShares
    side: float
    first: float
    second: float
    n_subjects: int

    @property
    def estimate(self) -> float:
        """The mean of the second group less that of the first."""
        return (self.side or 1.0) * (self.to.mean - self.origin.mean)

    @property
    def p(self) -> float:
        """Two-sided p of no difference: 1 less the confidence at which the interval ends at 0."""
        toward = self.to.mean - self.origin.mean
        if not toward:
            return 1.0
        if math.isnan(toward):
            return math.nan
        end = 0 if toward > 0 else 1

        def beyond(z: float) -> float:
            return self._ends(2 * float(ndtr(z)) - 1)[end] * math.copysign(1.0, toward)

        if beyond(_FARTHEST) > 0:
            return 2 * float(ndtr(-_FARTHEST))
        return 2 * float(ndtr(-brentq(beyond, 1e-6, _FARTHEST, xtol=1e-6)))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The MOVER interval of both groups' score limits; mirrored to the last bit where the models are exchanged."""
        return back_to(self.side, *self._ends(confidence))

    def _ends(self, confidence: float) -> tuple[float, float]:
        origin, to = (Estimate(group.mean, *group.interval(confidence)) for group in (self.origin, self.to))
        moved = minus(to, origin)
        return moved.low, moved.high


_USUAL: Final = 0.95


@final
@dataclass(frozen=True, slots=True)
class GroupDifference(BetweenGroups):
    """One comparison of groups in a number of each image; a `Quantity` of two models.

    at: the difference at a level of confidence, times `side`. first, second: each model's own difference.
    """

    at: Callable[[float], Effect]
    side: float
    first: float
    second: float

    @property
    def estimate(self) -> float:
        """The difference between the groups."""
        return self.side * self.at(_USUAL).estimate

    @property
    def n_subjects(self) -> int:
        """People with an image in either group."""
        return self.at(_USUAL).n_subjects

    @property
    def p(self) -> float:
        """Of no difference between the groups, as `associations` tests it."""
        return self.at(_USUAL).p

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval of `associations`; mirrored to the last bit where the models are exchanged."""
        found = self.at(confidence)
        return back_to(self.side, found.low, found.high)


def gaps_between_groups(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    groups: Groups,
    column: Float[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
    is_binary: bool,
) -> list[tuple[str, Gap]]:
    """The gap of every comparison of groups that an audit makes, by its name, with the models' difference and sum."""
    if is_binary:
        return [
            (contrast_name(groups, to), _rate_gap(first, second, (groups.index == 0, groups.index == to), people))
            for to in compared_with_first(groups)
        ]
    return _score_gaps(first, second, groups, column, people)


def _rate_gap(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    masks: tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]],
    people: Int[np.ndarray, " n"],
) -> Gap:
    """The sum less 1 compares the first outcome with the second one turned round: again -1, 0 or 1 on each image."""
    either = masks[0] | masks[1]
    own = [known_mean(values[masks[1]]) - known_mean(values[masks[0]]) for values in (first, second)]
    n_subjects = len(np.unique(people[either & np.isfinite(first)]))

    def of(moved: Float[np.ndarray, " n"], side: float) -> RateDifference:
        origin, to = (PairedShares.of((side or 1.0) * moved[mask], people[mask]) for mask in masks)
        return RateDifference(origin, to, side, own[0], own[1], n_subjects)

    return Gap(of(second - first, side_of((second - first)[either])), of(second + first - 1, 1.0))


def _score_gaps(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    groups: Groups,
    column: Float[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
) -> list[tuple[str, Gap]]:
    def contrasts_of(values: Float[np.ndarray, " n"]) -> Callable[[float], list[Effect]]:
        reasons = np.where(np.isfinite(values), "", "not answered by both").astype(object)

        @functools.cache
        def at(confidence: float) -> list[Effect]:
            rows = associations(
                values, reasons, groups, column, is_binary=False, subjects=people, confidence=confidence
            )
            return [row for row in rows if row.kind == "contrast"]

        return at

    sides = side_of(second - first), side_of(second + first)
    both = contrasts_of((sides[0] or 1.0) * (second - first)), contrasts_of((sides[1] or 1.0) * (second + first))
    alone = zip(contrasts_of(first)(_USUAL), contrasts_of(second)(_USUAL), strict=True)
    return [
        (before.name, Gap(*(
            GroupDifference(_one(each, place), side, before.estimate, after.estimate)
            for each, side in zip(both, sides, strict=True)
        )))
        for place, (before, after) in enumerate(alone)
    ]  # fmt: skip


def _one(contrasts: Callable[[float], list[Effect]], place: int) -> Callable[[float], Effect]:
    return lambda confidence: contrasts(confidence)[place]


PairOfGroups: TypeAlias = tuple[GroupErrors, GroupErrors]
"""A group and the one that it is compared with, of one recognizer."""


def relative_gap(groups: PairOfGroups) -> float:
    """The difference of both groups' mean distances over their mean; NaN where a group has no genuine comparison."""
    one, other = (group.mean_genuine for group in groups)
    return (one - other) / _scale(groups) if _scale(groups) > 0 else math.nan


def gap_of_recognizers(first: PairOfGroups, second: PairOfGroups) -> Gap | None:
    """The size of the second recognizer's relative gap less that of the first; None where one is not known."""
    gaps = relative_gap(first), relative_gap(second)
    if not all(map(math.isfinite, gaps)):
        return None
    side = float(np.sign(gaps[1] - gaps[0]))
    apart = _combined(first, second, -(side or 1.0), side or 1.0)
    return Gap(
        GroupDifference(apart, side, *gaps),
        GroupDifference(_combined(first, second, 1.0, 1.0), 1.0, *gaps),
    )


def _combined(
    first: PairOfGroups, second: PairOfGroups, of_first: float, of_second: float
) -> Callable[[float], Effect]:
    """At a level of confidence, the difference between groups in a weighted sum of both relative distances."""
    weights = of_first / _scale(first), of_second / _scale(second)
    one, other = (_summed(*pair, *weights) for pair in zip(first, second, strict=True))
    return functools.cache(lambda confidence: difference_of_means(one, other, "", "", confidence))


def _summed(first: GroupErrors, second: GroupErrors, of_first: float, of_second: float) -> GroupErrors:
    sums = of_first * first.comparisons.genuine_sum + of_second * second.comparisons.genuine_sum
    mean = of_first * first.mean_genuine + of_second * second.mean_genuine
    return replace(first, comparisons=replace(first.comparisons, genuine_sum=sums), mean_genuine=mean)


def _scale(groups: PairOfGroups) -> float:
    return float(np.mean([group.mean_genuine for group in groups]))
