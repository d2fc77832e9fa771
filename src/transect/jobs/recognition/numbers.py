"""The numbers of a recognition benchmark: what `transect recognition --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from transect.effects.multiplicity import holm
from transect.effects.recognition import Differential, GapChange, GroupErrors, RateGap
from transect.jobs.recognition.enrolment import EnrolmentNumbers
from transect.records import Effect


@final
@dataclass(frozen=True, slots=True)
class LeftOut:
    """Images in no comparison, by reason and group."""

    reason: str
    group: str
    images: int


@final
@dataclass(frozen=True, slots=True)
class Threshold:
    """A distance below which two images match; how it was found, None where it was stated.

    false_match_rate: the rate that was wanted. reached: the share of comparisons of different people that match, less
    than that where distances tie. low, high: the 95 % interval of the threshold, by identity; the intervals of FNMR
    include it. reason: why a threshold that was set by a rate has none.
    """

    threshold: float
    false_match_rate: float | None
    reached: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Rates:
    """False non-match rate and false match rate of one group at one threshold, with 95 % intervals.

    reason: why one of them has no interval.
    """

    threshold: float
    fnmr: float
    fnmr_low: float
    fnmr_high: float
    fmr: float
    fmr_low: float
    fmr_high: float
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class GroupNumbers:
    """One group. genuine, impostor: comparisons of one person's images, and of two people's.

    mean_distance: of genuine comparisons.
    """

    group: str
    images: int
    identities: int
    genuine: int
    impostor: int
    mean_distance: float
    mean_distance_low: float
    mean_distance_high: float
    rates: tuple[Rates, ...]

    @classmethod
    def of(cls, errors: GroupErrors, thresholds: Sequence[float]) -> GroupNumbers:
        """The numbers of a group at these thresholds."""
        fnmr, fmr = (
            np.column_stack([errors.fnmr, errors.fnmr_interval]).tolist(),
            np.column_stack([errors.fmr, errors.fmr_interval]).tolist(),
        )
        rates = [
            replace(Rates(at, *misses, *matches), reason=errors.without_interval(place))
            for place, (at, misses, matches) in enumerate(zip(thresholds, fnmr, fmr, strict=True))
        ]
        return cls(
            group=str(errors.group),
            images=errors.images,
            identities=errors.identities,
            genuine=errors.genuine,
            impostor=errors.impostor,
            mean_distance=errors.mean_genuine,
            mean_distance_low=errors.mean_interval[0],
            mean_distance_high=errors.mean_interval[1],
            rates=tuple(rates),
        )


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """Mean distance of one person's images: `group` less `other`. p_adjusted: Holm's over a sample's groups."""

    name: str
    group: str
    other: str
    estimate: float
    low: float
    high: float
    p: float
    p_adjusted: float
    reason: str

    @classmethod
    def of_all(cls, effects: Mapping[str, Effect], other: str) -> tuple[Difference, ...]:
        """The same numbers without the rest of the effects, corrected over them. effects: by group, against `other`."""
        adjusted = holm(np.array([effect.p for effect in effects.values()], dtype=np.float64)).tolist()
        return tuple(
            cls(effect.name, group, other, effect.estimate, effect.low, effect.high, effect.p, p, effect.reason)
            for (group, effect), p in zip(effects.items(), adjusted, strict=True)
        )


@final
@dataclass(frozen=True, slots=True)
class Ratio:
    """One group's rate over the geometric mean of all groups'."""

    group: str
    ratio: float
    low: float
    high: float


@final
@dataclass(frozen=True, slots=True)
class DifferentialNumbers:
    """How unequal a rate is between groups at one threshold. rate: fmr or fnmr; gini: 0 for equal rates."""

    rate: str
    threshold: float
    ratios: tuple[Ratio, ...]
    largest_ratio: float
    gini: float
    reason: str

    @classmethod
    def of(cls, differential: Differential) -> DifferentialNumbers:
        """The same numbers, a ratio for each group."""
        rows = zip(differential.groups, differential.ratio, differential.ratio_interval, strict=True)
        ratios = tuple(Ratio(str(name), ratio, *ends) for name, ratio, ends in rows)
        return cls(
            differential.rate,
            differential.threshold,
            ratios,
            differential.largest,
            differential.gini,
            differential.reason,
        )


@final
@dataclass(frozen=True, slots=True)
class SampleNumbers:
    """All images, or the matched ones among them. largest_gaps: of each rate at each threshold."""

    groups: tuple[GroupNumbers, ...]
    largest_gaps: tuple[RateGap, ...]
    differences: tuple[Difference, ...]
    differentials: tuple[DifferentialNumbers, ...]


@final
@dataclass(frozen=True, slots=True)
class RecognitionNumbers:
    """A recognition benchmark in numbers. samples: `all`, and `matched` where pairs were passed.

    changes: of each gap between groups by matching, where pairs were passed. embeddings: the file or target that they
    come from. impostor_comparisons: number of comparisons of different people
    within groups, which set the thresholds. enrolment: failures to enrol by group, where some picture failed to.
    """

    embeddings: str
    identity: str
    group: str
    metric: str
    images: int
    left_out: tuple[LeftOut, ...]
    impostor_comparisons: int
    thresholds: tuple[Threshold, ...]
    samples: Mapping[str, SampleNumbers]
    changes: tuple[GapChange, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    seconds: float
    enrolment: tuple[EnrolmentNumbers, ...] = ()
