"""The errors of a face recognizer by group: the records that `transect recognition --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from transect.datasets import features as files
from transect.effects.intervals import wilson_clustered
from transect.effects.multiplicity import holm
from transect.effects.recognition import (
    SOURCES,
    Differential,
    GapChange,
    GroupErrors,
    RateGap,
    comparable,
    difference_of_means,
    differentials,
    gap_changes,
    pooled_thresholds,
    rate_gaps,
    recognition_verification,
    threshold_ends,
)
from transect.effects.verification import FEWEST_IDENTITIES, Metric, directions_of
from transect.errors import BadInput
from transect.experiment.picture_embeddings import NO_PICTURE
from transect.records import Estimate, declared
from transect.runs.json_records import hidden
from transect.runs.table_inputs import TableLike, as_table

MOST_GROUPS: Final = 20
REFERENCES: Final = ("a_reference", "b_reference")


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

    def of(self, rate: str) -> Estimate:
        """The rate `fnmr` or `fmr` with its interval."""
        return Estimate(*(getattr(self, f"{rate}{end}") for end in ("", "_low", "_high")))


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
        return cls(differential.rate, differential.threshold, ratios, differential.largest, differential.reason)


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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionNumbers:
    """A recognition benchmark in numbers. samples: `all`, and `matched` where pairs were passed.

    changes: of each gap between groups by matching, where pairs were passed. embeddings: the file or target that they
    come from. impostor_comparisons: number of comparisons of different people within groups, which set the
    thresholds. enrolment: failures to enrol by group, where some picture failed to.
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
    errors: Mapping[str, list[GroupErrors]] = hidden()
    """Of each sample those of each group, with their curves."""
    benchmark: Benchmark = hidden()


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


@final
@dataclass(frozen=True, slots=True)
class Request:
    """What is measured. name: of the embeddings. rates: false match rates whose thresholds are wanted.

    matched: of pairs, the rows of their images, and whether reference images are among them.
    """

    name: str
    identity: str
    group: str
    people: NDArray[np.object_]
    groups: NDArray[np.object_]
    metric: Metric
    thresholds: tuple[float, ...]
    rates: tuple[float, ...]
    matched: tuple[Int[np.ndarray, " m"], bool] | None


def people_of(table: pa.Table, column: str) -> NDArray[np.object_]:
    """The person of each row, None where nobody is named."""
    return _texts(table, column, "identity")


def groups_of(table: pa.Table, column: str) -> NDArray[np.object_]:
    """The group of each row, None where it has none; a bare number needs its column: "Male 1"."""
    return _named(_texts(table, column, "group"), column)


def measured(
    request: Request, embeddings: Float[np.ndarray, "n d"], reasons: Sequence[str], seconds: Callable[[], float]
) -> RecognitionNumbers:
    """The errors of each group, before and after matching. reasons: why a row has no embedding, "" where it has one."""
    people, groups, metric = request.people, request.groups, request.metric
    usable = comparable(embeddings, people, groups, metric)
    _check_groups(groups[usable], request.group)
    _check_variation(embeddings[usable], metric)
    limits, compared = _limits(request, embeddings, people, groups)
    matched = request.matched
    samples = {"all": None} if matched is None else {"all": None, "matched": matched[0]}
    values = [limit.threshold for limit in limits]
    ends = [None if limit.false_match_rate is None else _ends(limit) for limit in limits]
    errors = {
        name: recognition_verification(embeddings, people, groups, values, ends=ends, rows=rows, metric=metric)
        for name, rows in samples.items()
    }
    return RecognitionNumbers(
        embeddings=request.name,
        identity=request.identity,
        group=request.group,
        metric=metric,
        images=len(people),
        left_out=_left_out(usable, reasons, people, groups),
        impostor_comparisons=compared,
        thresholds=limits,
        samples={name: _sample(sample, values, request.group) for name, sample in errors.items()},
        changes=tuple(gap_changes(errors["all"], errors["matched"], values)) if matched is not None else (),
        notes=_notes(errors, matched),
        sources=SOURCES,
        seconds=seconds(),
        enrolment=enrolment(reasons, people, groups, NO_PICTURE),
        errors=errors,
        benchmark=Benchmark(embeddings, people, groups, usable, samples, metric),
    )


def _check_groups(group: NDArray[np.object_], name: str) -> None:
    """At least one comparable image, and at most 20 groups. Raises BadInput otherwise."""
    counts = Counter(group.tolist())
    if not counts:
        raise BadInput(f"no image has an embedding, an identity and a {name}: fix the files, or choose other columns")
    if len(counts) > MOST_GROUPS:
        raise BadInput(f"--group {name}: expected at most {MOST_GROUPS} groups, got {len(counts)}; merge some of them")


def _check_variation(embeddings: Float[np.ndarray, "m d"], metric: Metric) -> None:
    """Embeddings that differ; directions are equal up to rounding. Raises BadInput otherwise."""
    compared, rounding = (directions_of(embeddings), 1e-12) if metric == "cosine" else (embeddings, 0.0)
    if len(compared) > 1 and float(np.ptp(compared, axis=0).max()) <= rounding:
        raise BadInput(
            f"embeddings: all {len(compared)} are the same, so every {metric} distance is 0; use another model"
        )


def _texts(table: pa.Table, name: str, role: str) -> NDArray[np.object_]:
    """Texts, None where there is none; 1, 1.0 and True are equal."""

    def text(value: object) -> str | None:
        return None if value is None or value != value or value == "" else files.text_of(value)

    return np.array([*map(text, files.objects(table, name, role)), None], dtype=object)[:-1]


def _named(group: NDArray[np.object_], column: str) -> NDArray[np.object_]:
    """A bare number needs its column: "Male 1"."""

    def name(value: str | None) -> str | None:
        bare = value is not None and value.replace(".", "").lstrip("-").isdigit()
        return f"{column} {value}" if bare else value

    return np.array([*map(name, group), None], dtype=object)[:-1]


def matched_rows(pairs: TableLike, n: int) -> tuple[Int[np.ndarray, " m"], bool]:
    """The rows of the images in pairs, their reference images among them, and whether there are any of these."""
    table = as_table(pairs, "--pairs")
    name = f"--pairs {pairs}" if isinstance(pairs, str | Path) else "--pairs"
    columns = [column for column in ("a", "b", *REFERENCES) if column in table.column_names]
    if not {"a", "b"} <= set(columns):
        raise BadInput(
            f"{name}: expected columns a and b, as in pairs of transect match, got {', '.join(table.column_names[:6])}"
        )
    rows = np.unique(np.concatenate([files.numbers(table, column, "pair") for column in columns]))
    if not np.isin(rows, np.arange(n)).all():
        raise BadInput(f"{name}: expected row numbers from 0 to {n - 1}; were the pairs made from this --table?")
    return rows.astype(np.int64), len(columns) > 2


def _limits(
    request: Request, embeddings: Float[np.ndarray, "n d"], people: NDArray[np.object_], groups: NDArray[np.object_]
) -> tuple[tuple[Threshold, ...], int]:
    """The thresholds, stated or set by a false match rate in all images, and how many comparisons set them."""
    values, reached, compared = pooled_thresholds(embeddings, people, groups, request.rates, request.metric)
    stated = [Threshold(value, None, None) for value in request.thresholds]
    pooled = []
    for value, rate, share in zip(values, request.rates, reached, strict=True):
        low, high = threshold_ends(embeddings, people, groups, value, rate, metric=request.metric)
        known = bool(np.isfinite(low))
        reason = "" if known else f"no interval: fewer than {FEWEST_IDENTITIES} identities are compared"
        reason = "too few identities to bound it from below, so that FNMR may be up to 100 %" if low == 0 else reason
        pooled.append(Threshold(value, rate, share, low if known else None, high if known else None, reason))
    return (*stated, *pooled), compared


def _ends(limit: Threshold) -> tuple[float, float]:
    return (np.nan, np.nan) if limit.low is None or limit.high is None else (limit.low, limit.high)


def _left_out(
    usable: Bool[np.ndarray, " n"], reasons: Sequence[str], people: NDArray[np.object_], groups: NDArray[np.object_]
) -> tuple[LeftOut, ...]:
    """Images that are in no comparison: how many of which group, and why."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in np.flatnonzero(~usable).tolist():
        reason = reasons[row] or ("no identity" if people[row] is None else "no group" if groups[row] is None else "")
        counts[reason or "embedding of zeros", "unknown" if groups[row] is None else str(groups[row])] += 1
    return tuple(LeftOut(reason, group, n) for (reason, group), n in sorted(counts.items()))


def _sample(errors: list[GroupErrors], thresholds: Sequence[float], group: str) -> SampleNumbers:
    """The errors of one sample: by group, largest gaps, differences of mean distances, differentials."""
    unequal = differentials(errors, thresholds) if len(errors) > 1 else []
    return SampleNumbers(
        groups=tuple(GroupNumbers.of(part, thresholds) for part in errors),
        largest_gaps=tuple(rate_gaps(errors, thresholds)),
        differences=differences_of(errors, group),
        differentials=tuple(map(DifferentialNumbers.of, unequal)),
    )


def _notes(
    errors: Mapping[str, list[GroupErrors]], matched: tuple[Int[np.ndarray, " m"], bool] | None
) -> tuple[str, ...]:
    """What cannot be estimated, and why."""
    notes = []
    for name, sample in errors.items():
        alone = [part.group for part in sample if not part.genuine]
        if alone:
            notes.append(
                f"{name}: no identity of {', '.join(alone)} has two images, so that its FNMR and mean distance are "
                "unknown"
            )
        if len(sample) < 2:
            notes.append(f"{name}: only one group, so that no groups are compared")
    if matched is not None and not matched[1]:
        notes.append(
            "matched: the pairs name no reference images; with transect match --references each person has a second one"
        )
    return tuple(notes)
