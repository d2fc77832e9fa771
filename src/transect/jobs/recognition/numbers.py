"""The numbers of a recognition benchmark, which `transect recognition --json` prints: errors, failures to enrol, and
distances on the images that several recognizers embedded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from transect.effects.intervals import wilson_clustered
from transect.effects.multiplicity import holm
from transect.effects.recognition import (
    Differential,
    GapChange,
    GroupErrors,
    RateGap,
    difference_of_means,
    recognition_verification,
)
from transect.effects.verification import Metric
from transect.errors import BadInput
from transect.records import declared
from transect.reports.blocks import TextTable
from transect.reports.columns import significant

if TYPE_CHECKING:
    from transect.jobs.recognition.run import RecognitionResult


@final
@dataclass(frozen=True, slots=True)
class EnrolmentNumbers:
    """One group: its pictures that were shown, how many failed to enrol, the share in [0, 1] and its 95 % interval."""

    group: str
    images: int
    failures: int
    rate: float
    low: float
    high: float


def enrolment(
    reasons: Sequence[str], people: NDArray[np.object_], groups: NDArray[np.object_], absent: str
) -> tuple[EnrolmentNumbers, ...]:
    """The failures to enrol of each group; () where every picture was enrolled.

    reasons: why each row has no embedding, "" where it has one. absent: the reason of rows without a picture, which
    were not shown. Rows without a group are left out; those without an identity count as one of their own.
    """
    failed = np.array([declared(reason) for reason in reasons], dtype=np.bool_)
    shown = np.array([reason != absent for reason in reasons], dtype=np.bool_)
    if not failed.any():
        return ()
    names = sorted({str(group) for group in groups[shown] if group is not None})
    return tuple(_of(name, failed, people, shown & (groups == name)) for name in names)


def _of(name: str, failed: np.ndarray, people: NDArray[np.object_], rows: np.ndarray) -> EnrolmentNumbers:
    places = np.flatnonzero(rows)
    clusters = [f"row {row}" if people[row] is None else f"person {people[row]}" for row in places.tolist()]
    _, codes = np.unique(np.array(clusters, dtype=str), return_inverse=True)
    counts, hits = np.bincount(codes), np.bincount(codes, weights=failed[places])
    low, high = wilson_clustered(hits[:, None], counts[:, None].astype(np.float64))
    total, lost = len(places), int(hits.sum())
    return EnrolmentNumbers(name, total, lost, lost / total, float(low[0]), float(high[0]))


def enrolment_table(numbers: Sequence[EnrolmentNumbers], group: str) -> TextTable:
    """The failures of each group, for terminal and page."""
    rows = []
    for one in numbers:
        rate, low, high = (significant(100 * share) for share in (one.rate, one.low, one.high))
        rows.append((one.group, f"{one.images:,}", f"{one.failures:,}", f"{rate} ({low} to {high})"))
    return TextTable("Failures to enrol", (group, "pictures", "not enrolled", "share, %"), rows)


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
    """FNMR and FMR of one group at one threshold, with 95 % intervals. reason: why one of them has no interval."""

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
    """One group. genuine, impostor: comparisons of one person's images, and of two people's."""

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
    """How unequal a rate is between groups at one threshold. rate: fmr or fnmr."""

    rate: str
    threshold: float
    ratios: tuple[Ratio, ...]
    largest_ratio: float
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


@final
@dataclass(frozen=True, slots=True)
class Benchmark:
    """What one recognizer was measured on. people, groups: of each row, None where there is none.

    usable: rows with an embedding, a person and a group. samples: the rows of each sample, None for all.
    """

    embeddings: Float[np.ndarray, "n d"]
    people: NDArray[np.object_]
    groups: NDArray[np.object_]
    usable: Bool[np.ndarray, " n"]
    samples: Mapping[str, Int[np.ndarray, " m"] | None]
    metric: Metric


NOT_SHARED: Final = "no images of both groups that every recognizer embedded"


@final
@dataclass(frozen=True, slots=True)
class GroupDistances:
    """One sample: mean distance of one person's images by group, its differences between groups, and the groups."""

    means: Mapping[str, float]
    differences: tuple[Difference, ...]
    groups: tuple[GroupErrors, ...]


def differences_of(errors: Sequence[GroupErrors], group: str) -> tuple[Difference, ...]:
    """Mean distances of each group but the first less those of the first, p corrected over them. group: the column."""
    if not errors:
        return ()
    first, *others = errors
    found = [difference_of_means(part, first, "", group) for part in others]
    adjusted = holm(np.array([effect.p for effect in found], dtype=np.float64)).tolist()
    return tuple(
        Difference(each.name, part.group, first.group, each.estimate, each.low, each.high, each.p, p, each.reason)
        for part, each, p in zip(others, found, adjusted, strict=True)
    )


def in_common(results: Mapping[str, RecognitionResult]) -> Bool[np.ndarray, " n"]:
    """Rows usable for every recognizer. Raises BadInput for results of other images, people, groups or pairs."""
    first, *others = results.values()
    for name, other in zip([*results][1:], others, strict=True):
        if not _same(first, other):
            raise BadInput(f"{name}: expected a result of the same images and groups, got another; run it again")
    return np.asarray(np.logical_and.reduce([result.benchmark.usable for result in results.values()]), dtype=bool)


def _same(first: RecognitionResult, other: RecognitionResult) -> bool:
    one, two = first.benchmark, other.benchmark
    return (
        first.numbers.group == other.numbers.group
        and one.samples.keys() == two.samples.keys()
        and np.array_equal(one.people, two.people)
        and np.array_equal(one.groups, two.groups)
        and all(np.array_equal(_rows(one, name), _rows(two, name)) for name in one.samples)
    )


def _rows(benchmark: Benchmark, sample: str) -> Int[np.ndarray, " m"]:
    rows = benchmark.samples[sample]
    return np.arange(len(benchmark.people)) if rows is None else rows


def gap_names(results: Mapping[str, RecognitionResult], sample: str) -> list[str]:
    """Every gap that a recognizer has by itself in a sample, each once."""
    own = [each.name for result in results.values() for each in result.numbers.samples[sample].differences]
    return list(dict.fromkeys(own))


def distances_on(result: RecognitionResult, sample: str, rows: Bool[np.ndarray, " n"]) -> GroupDistances:
    """The distances of one recognizer in one sample, on these rows alone."""
    benchmark = result.benchmark
    if np.array_equal(rows, benchmark.usable):
        errors = result.errors[sample]
    else:
        sampled = benchmark.samples[sample]
        common = np.flatnonzero(rows)
        errors = recognition_verification(
            benchmark.embeddings,
            benchmark.people,
            benchmark.groups,
            [result.numbers.thresholds[0].threshold],  # any: distances do not depend on it
            rows=common if sampled is None else np.intersect1d(sampled, common),
            metric=benchmark.metric,
        )
    means = {str(group.group): group.mean_genuine for group in errors}
    return GroupDistances(means, differences_of(errors, result.numbers.group), tuple(errors))
