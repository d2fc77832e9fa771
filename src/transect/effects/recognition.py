"""Error rates of recognition by group: FMR, FNMR, ratios, gaps, a threshold over all groups, and what matching
changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.designs.matching.sample import absent, codes
from transect.effects import clusters, verification
from transect.effects import verification as dyadic
from transect.effects.intervals import CONFIDENCE, FEWEST, ZOU_DONNER, wilson_clustered
from transect.effects.multiplicity import holm
from transect.effects.regression import student_interval
from transect.effects.verification import (
    FEWEST_IDENTITIES,
    TIE,
    Comparisons,
    Metric,
    compare,
    distances_between,
    dyadic_interval,
    placed,
)
from transect.errors import BadInput
from transect.records import Effect, Estimate
from transect.runs.json_records import named

SOURCES: Final = (
    "Grother 2022, Face recognition vendor test part 8: summarizing demographic differentials, NIST IR 8429, "
    "doi:10.6028/NIST.IR.8429.ipd",
    *dyadic.DYADIC_SOURCES,
    ZOU_DONNER,
    "Singh, Balakrishnan and Perona 2021, section 4.5",
)

CURVE_POINTS: Final = 500


@final
@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Verification errors of one group; arrays are [thresholds] with intervals [thresholds, 2], curves [points].

    genuine, impostor: numbers of comparisons. mean_genuine: mean distance of genuine comparisons and its interval, by
    identity. curve: distances at which fmr_curve and fnmr_curve are read (ROC and DET). fmr_variance and
    fmr_freedom: of fmr. people: numbers of the identities, the same in every sample of one column; comparisons: theirs.
    fnmr_held: the interval of fnmr with the threshold held, where fnmr_interval includes the threshold's.
    """

    group: str
    images: int
    identities: int
    genuine: int
    impostor: int
    mean_genuine: float
    mean_interval: tuple[float, float]
    fnmr: Float[np.ndarray, " t"]
    fnmr_interval: Float[np.ndarray, "t 2"]
    fnmr_held: Float[np.ndarray, "t 2"]
    fmr: Float[np.ndarray, " t"]
    fmr_interval: Float[np.ndarray, "t 2"]
    fmr_variance: Float[np.ndarray, " t"]
    fmr_freedom: Float[np.ndarray, " t"]
    people: Int[np.ndarray, " g"]
    comparisons: Comparisons
    curve: Float[np.ndarray, " p"]
    fmr_curve: Float[np.ndarray, " p"]
    fnmr_curve: Float[np.ndarray, " p"]

    def without_interval(self, place: int) -> str:
        """Why a rate at one of the thresholds has no interval, "" where both that are known have one."""
        compared = int((self.comparisons.impostor > 0).sum())
        lost = []
        if np.isfinite(self.fmr[place]) and not np.isfinite(self.fmr_interval[place]).all():
            lost.append(f"no interval of FMR: {compared} identities, at least {dyadic.FEWEST_IDENTITIES}")
        if np.isfinite(self.fnmr[place]) and not np.isfinite(self.fnmr_interval[place]).all():
            lost.append("no interval of FNMR: the threshold has none")
        return "; ".join(lost)


@final
@dataclass(frozen=True, slots=True)
class Differential:
    """How unequal an error rate is over groups at one threshold.

    ratio: each group's rate over the geometric mean of all, with its interval, from those of the rates; largest: the
    largest ratio. reason: why there is no ratio (a rate of 0) or no interval (a rate that has none).
    """

    rate: str
    threshold: float
    groups: tuple[str, ...]
    ratio: tuple[float, ...]
    ratio_interval: tuple[tuple[float, float], ...]
    largest: float
    reason: str = ""


def recognition_verification(
    embeddings: Float[np.ndarray, "n d"],
    identity: ArrayLike,
    group: ArrayLike,
    thresholds: Sequence[float],
    *,
    ends: Sequence[tuple[float, float] | None] | None = None,
    rows: Int[np.ndarray, " m"] | None = None,
    confidence: float = 0.95,
    metric: Metric = "euclidean",
) -> list[GroupErrors]:
    """Errors of each group at each threshold (a match is a distance below it), groups in the order of their names."""
    names = np.array([str(name) for name in np.asarray(group).tolist()])
    people = np.array(codes([identity], len(embeddings)))
    if not len(thresholds) or len(names) != len(embeddings):
        raise BadInput(
            f"verification: expected thresholds and a group for each of {len(embeddings)} images, got "
            f"{len(thresholds)} and {len(names)}"
        )
    usable = comparable(embeddings, identity, group, metric)
    if rows is not None:
        usable &= np.isin(np.arange(len(embeddings)), rows)
    limits = np.asarray(thresholds, dtype=np.float64)
    if ends is not None:
        held = partial(
            recognition_verification, embeddings, identity, group, rows=rows, confidence=confidence, metric=metric
        )
        return _at_estimated([*thresholds], ends, held)
    return [
        _errors_of(name, embeddings[mask], people[mask], limits, confidence, metric)
        for name in np.unique(names[usable])
        if (mask := usable & (names == name)).any()
    ]


def _at_estimated(
    thresholds: list[float],
    ends: Sequence[tuple[float, float] | None],
    errors: Callable[[Sequence[float]], list[GroupErrors]],
) -> list[GroupErrors]:
    """Errors at thresholds that have an interval: that of the FNMR moves with both, or is NaN without one."""
    t, stated = len(thresholds), [pair is None for pair in ends]
    outer = np.array([(at, at) if pair is None else pair for at, pair in zip(thresholds, ends, strict=True)])
    known = np.where(np.isfinite(outer), outer, np.array(thresholds)[:, None])
    groups = errors([*thresholds, *known[:, 0].tolist(), *known[:, 1].tolist()])
    lost = ~np.isfinite(outer).all(axis=1)
    return [replace(_first(group, t), fnmr_interval=_moved(group, t, np.array(stated), lost)) for group in groups]


_RATES: Final = ("fnmr", "fnmr_interval", "fnmr_held", "fmr", "fmr_interval", "fmr_variance", "fmr_freedom")
_COUNTS: Final = ("genuine_matches", "impostor_matches", "squares")
"""Columns by threshold."""


def _first(group: GroupErrors, t: int) -> GroupErrors:
    rates = {name: getattr(group, name)[:t] for name in _RATES}
    counts = {name: getattr(group.comparisons, name)[:, :t] for name in _COUNTS}
    return replace(group, **rates, comparisons=replace(group.comparisons, **counts))


def _moved(
    group: GroupErrors, t: int, stated: Bool[np.ndarray, " t"], lost: Bool[np.ndarray, " t"]
) -> Float[np.ndarray, "t 2"]:
    at_ends = np.stack([group.fnmr[t : 2 * t], group.fnmr[2 * t :]], axis=1)
    held = group.fnmr_interval[:t]
    moved = np.where(lost[:, None], np.nan, dyadic.moved(group.fnmr[:t], held, at_ends))
    return np.where(stated[:, None], held, moved)


def comparable(
    embeddings: Float[np.ndarray, "n d"], identity: ArrayLike, group: ArrayLike, metric: Metric = "euclidean"
) -> Bool[np.ndarray, " n"]:
    """Images with an embedding (for a cosine one of some length), an identity and a group."""
    known = np.isfinite(embeddings).all(axis=1) & ~absent(identity) & ~absent(group)
    return np.asarray(known & (embeddings != 0).any(axis=1) if metric == "cosine" else known)


def differentials(groups: Sequence[GroupErrors], thresholds: Sequence[float]) -> list[Differential]:
    """FMR and FNMR differentials over groups at each threshold, at the confidence of the groups' intervals."""
    if len(groups) < 2:
        raise BadInput(f"differentials compare groups: expected at least two, got {len(groups)}")
    rows = []
    for index, threshold in enumerate(thresholds):
        for rate, interval_of in (("fmr", "fmr_interval"), ("fnmr", "fnmr_held")):
            rates = np.array([getattr(group, rate)[index] for group in groups])
            ends = np.array([getattr(group, interval_of)[index] for group in groups])
            rows.append(_differential(rate, threshold, tuple(group.group for group in groups), rates, ends))
    return rows


def difference_of_means(
    first: GroupErrors, second: GroupErrors, target: str, attribute: str, confidence: float = 0.95
) -> Effect:
    """Mean genuine distance of `first` minus that of `second` (Fig. 7)."""
    estimate = first.mean_genuine - second.mean_genuine
    counts = [int((group.comparisons.genuine > 0).sum()) for group in (second, first)]
    low, high, p = _by_identity(first, second, estimate, confidence) if min(counts) > 1 else (np.nan,) * 3
    few = "" if np.isfinite(low) else "no interval: a group has one identity with two images, or distances do not vary"
    return Effect(
        name=f"{first.group} - {second.group}",
        attribute=attribute,
        target=target,
        outcome="distance of one identity's images",
        estimate=estimate,
        low=low,
        high=high,
        p=p,
        unit="distance",
        n_subjects=sum(counts),
        n_images=first.images + second.images,
        basis="observational",
        reason=few if np.isfinite(estimate) else "a group has no two images of one identity",
        interval_method=clusters.CLUSTERED if np.isfinite(low) else "",
        test_method=clusters.WALD if np.isfinite(low) else "",
        sources=(*SOURCES, clusters.SOURCE),
    )


def _by_identity(
    first: GroupErrors, second: GroupErrors, estimate: float, confidence: float
) -> tuple[float, float, float]:
    """The interval and p of a difference of mean distances, as Welch's: groups differ in spread and number."""
    (a, freedom_a), (b, freedom_b) = (_mean_error(group.comparisons, group.mean_genuine) for group in (first, second))
    _, *shared = np.intersect1d(first.people, second.people, return_indices=True)
    parts = [
        (group.comparisons.genuine_sum - group.mean_genuine * group.comparisons.genuine)[chosen] / group.genuine
        for group, chosen in zip((first, second), shared, strict=True)
    ]
    variance = a + b - 2 * float(parts[0] @ parts[1])
    fourth = a**2 / freedom_a + b**2 / freedom_b
    return student_interval(
        estimate, float(np.sqrt(max(variance, 0.0))), (a + b) ** 2 / fourth if fourth else 0.0, confidence
    )


def _mean_error(comparisons: Comparisons, mean: float) -> tuple[float, float]:
    """Bias-reduced variance of the mean genuine distance by identity, and its degrees of freedom."""
    n = comparisons.genuine
    root = np.sqrt(n)
    residual = (comparisons.genuine_sum - mean * n) / np.maximum(root, 1.0)
    covariance, freedom = clusters.bias_reduced(root[:, None], residual, np.arange(len(root)))
    return float(covariance[0, 0]), float(freedom[0])


def _mean_interval(comparisons: Comparisons, mean: float, confidence: float) -> tuple[float, float]:
    """Of the mean genuine distance; NaN with fewer than five identities that have such comparisons."""
    if (comparisons.genuine > 0).sum() < FEWEST:
        return np.nan, np.nan
    variance, freedom = _mean_error(comparisons, mean)
    return student_interval(mean, float(np.sqrt(variance)), freedom, confidence)[:2]


def _errors_of(
    name: str,
    embeddings: Float[np.ndarray, "n d"],
    people: Int[np.ndarray, " n"],
    thresholds: Float[np.ndarray, " t"],
    confidence: float,
    metric: Metric,
) -> GroupErrors:
    comparisons = compare(embeddings, people, thresholds, CURVE_POINTS, metric)
    genuine, impostor = comparisons.genuine.sum(), comparisons.impostor.sum() / 2
    mean = comparisons.genuine_sum.sum() / genuine if genuine else np.nan
    missed = comparisons.genuine[:, None] - comparisons.genuine_matches
    counts = np.broadcast_to(comparisons.genuine[:, None], missed.shape)
    fnmr = missed.sum(axis=0) / genuine if genuine else np.full(len(thresholds), np.nan)
    fmr = comparisons.impostor_matches.sum(axis=0) / 2 / impostor if impostor else np.full(len(thresholds), np.nan)
    variance, freedom = dyadic_variance(comparisons, fmr, impostor)
    held = np.stack(wilson_clustered(missed, counts, confidence), axis=1)
    return GroupErrors(
        group=name,
        images=len(embeddings),
        identities=len(comparisons.genuine),
        genuine=int(genuine),
        impostor=int(impostor),
        mean_genuine=float(mean),
        mean_interval=_mean_interval(comparisons, float(mean), confidence),
        fnmr=fnmr,
        fnmr_interval=held,
        fnmr_held=held,
        fmr=fmr,
        fmr_interval=dyadic.dyadic_interval(
            fmr, variance, freedom, int((comparisons.impostor > 0).sum()), float(impostor), confidence
        ),
        fmr_variance=variance,
        fmr_freedom=freedom,
        people=np.unique(people),
        comparisons=comparisons,
        curve=comparisons.curve,
        fmr_curve=comparisons.impostor_curve / impostor if impostor else np.full(CURVE_POINTS, np.nan),
        fnmr_curve=1 - comparisons.genuine_curve / genuine if genuine else np.full(CURVE_POINTS, np.nan),
    )


def dyadic_variance(
    comparisons: Comparisons, fmr: Float[np.ndarray, " t"], impostor: float
) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Variance of the FMR and its degrees of freedom when comparisons that share an identity are correlated."""
    if not impostor:
        return np.full(len(fmr), np.nan), np.full(len(fmr), np.nan)
    residual = comparisons.impostor_matches - fmr * comparisons.impostor[:, None]
    same_pair = comparisons.squares[0] - 2 * fmr * comparisons.squares[1] + fmr**2 * comparisons.squares[2]
    return dyadic.dyadic_variance(residual, same_pair, comparisons.impostor)


def _differential(
    rate: str,
    threshold: float,
    groups: tuple[str, ...],
    rates: Float[np.ndarray, " g"],
    ends: Float[np.ndarray, "g 2"],
) -> Differential:
    nothing = tuple((np.nan, np.nan) for _ in groups)
    if not (rates > 0).all():
        zero = [name for name, value in zip(groups, rates, strict=True) if not value > 0]
        reason = (
            f"no errors, or none that can be counted, in {', '.join(zero)}: a ratio to the geometric mean needs all"
        )
        return Differential(rate, threshold, groups, (np.nan,) * len(groups), nothing, np.nan, reason)
    logs = np.log(rates)
    log_ratio = logs - logs.mean()
    ratio = tuple(np.exp(log_ratio).tolist())
    interval = tuple(map(tuple, np.exp(log_ratio[:, None] + _log_distances(rates, ends)).tolist()))
    without = [name for name, pair in zip(groups, ends, strict=True) if not pair[0] > 0]
    reason = f"no interval: {', '.join(without)} has none" if without else ""
    return Differential(rate, threshold, groups, ratio, interval, max(ratio), reason)


def _log_distances(rates: Float[np.ndarray, " g"], ends: Float[np.ndarray, "g 2"]) -> Float[np.ndarray, "g 2"]:
    """How far the ends of each log ratio to the geometric mean are (Zou and Donner 2008)."""
    g = len(rates)
    known = np.where(ends[:, :1] > 0, ends, np.nan)
    down, up = np.log(rates / known[:, 0]) ** 2, np.log(known[:, 1] / rates) ** 2
    own, other = (1 - 1 / g) ** 2, 1 / g**2
    low = own * down + other * (up.sum() - up)
    high = own * up + other * (down.sum() - down)
    return np.stack([-np.sqrt(low), np.sqrt(high)], axis=1)


RateName = Literal["fnmr", "fmr"]
RATES: Final[tuple[RateName, ...]] = ("fnmr", "fmr")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RateGap(Estimate):
    """A rate of the group with the highest less that of the group with the lowest, at one threshold.

    low, high: of an interval that holds for all `pairs` of groups at once with 95 %, so at confidence 1 - 0.05 / pairs
    for one; NaN with the reason where one of the two rates has no interval.
    """

    rate: RateName
    threshold: float
    group: str
    other: str
    pairs: int


def rate_gaps(groups: Sequence[GroupErrors], thresholds: Sequence[float]) -> list[RateGap]:
    """The largest gap of each rate at each threshold, by threshold; none where fewer than two groups have the rate."""
    found = [_gap(groups, rate, place, at) for place, at in enumerate(thresholds) for rate in RATES]
    return [gap for gap in found if gap is not None]


def _gap(groups: Sequence[GroupErrors], rate: RateName, place: int, threshold: float) -> RateGap | None:
    known = [group for group in groups if math.isfinite(getattr(group, rate)[place])]
    if len(known) < 2:
        return None
    most, least = (pick(known, key=lambda group: getattr(group, rate)[place]) for pick in (max, min))
    pairs = math.comb(len(known), 2)
    (p, low, high), (q, other_low, other_high) = (
        _rate(group, rate, place, 1 - (1 - CONFIDENCE) / pairs) for group in (most, least)
    )
    ends = p - q - math.hypot(p - low, other_high - q), p - q + math.hypot(high - p, q - other_low)
    without = [str(group.group) for group, end in ((most, low), (least, other_low)) if math.isnan(end)]
    reason = f"no interval: {' and '.join(dict.fromkeys(without))} has none" if without else ""
    names: dict[str, Any] = {"group": str(most.group), "other": str(least.group)}
    return RateGap(p - q, *ends, reason, rate=rate, threshold=threshold, **names, pairs=pairs)


def _rate(group: GroupErrors, rate: RateName, place: int, confidence: float) -> tuple[float, float, float]:
    """A rate and its interval at a level; NaN ends where the rate has none at 95 % either."""
    value = float(getattr(group, rate)[place])
    if not np.isfinite(getattr(group, f"{rate}_interval")[place]).all():
        return value, math.nan, math.nan
    one = slice(place, place + 1)
    each = group.comparisons
    if rate == "fnmr":
        counts = each.genuine[:, None].astype(np.float64)
        low, high = wilson_clustered(counts - each.genuine_matches[:, one], counts, confidence)
        return value, float(low[0]), float(high[0])
    compared = int((each.impostor > 0).sum())
    spread = group.fmr[one], group.fmr_variance[one], group.fmr_freedom[one]
    low, high = verification.dyadic_interval(*spread, compared, float(group.impostor), confidence)[0]
    return value, float(low), float(high)


Measure = Literal["mean distance", "fnmr", "fmr"]
MEASURES: Final[tuple[Measure, ...]] = ("mean distance", "fnmr", "fmr")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GapChange(Estimate):
    """One gap, `group` minus `reference`, among all images (before) and among matched ones (after).

    estimate (in JSON "change"): after minus before, with its interval and p; p_adjusted: Holm's over all changes of one
    call. threshold: NaN for the mean distance. reason: why there is no change, or no interval.
    """

    estimate: float = named("change")
    group: str
    reference: str
    measure: Measure
    threshold: float
    before: float
    after: float
    p: float
    p_adjusted: float = math.nan


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """A group's number in one sample, and what each identity adds to its error: influence [g] by people [g]."""

    value: float
    influence: Float[np.ndarray, " g"]
    people: Int[np.ndarray, " g"]


def gap_changes(
    before: Sequence[GroupErrors], after: Sequence[GroupErrors], thresholds: Sequence[float]
) -> list[GapChange]:
    """The change of every group's gap to the first group: of mean distances, then of both rates at each threshold."""
    names = [group.group for group in before if group.group in {other.group for other in after}]
    samples = [{group.group: group for group in sample} for sample in (before, after)]
    rows = [
        _change(samples, (name, names[0]), measure, place, at)
        for name in names[1:]
        for measure in MEASURES
        for place, at in enumerate(thresholds if measure != "mean distance" else [np.nan])
    ]
    adjusted = holm(np.array([row.p for row in rows], dtype=np.float64))
    return [replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]


def _change(
    samples: Sequence[Mapping[str, GroupErrors]],
    names: tuple[str, str],
    measure: Measure,
    place: int,
    threshold: float,
) -> GapChange:
    parts = [[_part(sample[name], measure, place) for name in names] for sample in samples]
    before, after = (group.value - reference.value for group, reference in parts)
    change = after - before
    reason = (
        _few(samples, names, measure) if np.isfinite(change) else "a gap is unknown: no such comparisons in a group"
    )
    low = high = p = np.nan
    if not reason:
        error, freedom = _error([(1.0, parts[1]), (-1.0, parts[0])])
        low, high, p = student_interval(change, error, freedom, CONFIDENCE)
        reason = "" if np.isfinite(low) else "no interval: matching changes no identity's part in the gap"
    return GapChange(
        estimate=change,
        low=low,
        high=high,
        reason=reason,
        group=names[0],
        reference=names[1],
        measure=measure,
        threshold=threshold,
        before=before,
        after=after,
        p=p,
    )


def _part(errors: GroupErrors, measure: Measure, place: int) -> _Part:
    """A mean of an identity's comparisons, or of comparisons with others, left out one identity at a time."""
    each = errors.comparisons
    if measure == "fmr":
        counts, totals, halves = each.impostor, each.impostor_matches[:, place], 2
    else:
        missed = each.genuine - each.genuine_matches[:, place] if measure == "fnmr" else each.genuine_sum
        counts, totals, halves = each.genuine, missed, 1
    whole = float(counts.sum()) / halves
    if not whole:
        return _Part(np.nan, np.zeros(len(counts)), errors.people)
    value = float(totals.sum()) / halves / whole
    # Without an identity its comparisons are gone, those with others among them.
    left = np.maximum(whole - counts, 1.0)
    return _Part(value, (totals - value * counts) / left, errors.people)


def _error(sides: Sequence[tuple[float, Sequence[_Part]]]) -> tuple[float, float]:
    """Standard error and degrees of freedom of a change, from each identity's part in all four numbers."""
    terms = [
        (sign * side * part.influence, part.people)
        for sign, both in sides
        for side, part in zip((1.0, -1.0), both, strict=True)
    ]
    person, place = np.unique(np.concatenate([people for _, people in terms]), return_inverse=True)
    moved = np.bincount(place, np.concatenate([values for values, _ in terms]), len(person)).astype(np.float64)
    squares, fourth = float((moved**2).sum()), float((moved**4).sum())
    if not squares > 0:
        return np.nan, np.nan
    n = len(person)
    return float(np.sqrt(squares * (n - 1) / n)), max(squares**2 / fourth - 1, 1.0)


def _few(samples: Sequence[Mapping[str, GroupErrors]], names: tuple[str, str], measure: Measure) -> str:
    """Why there is no interval: too few identities with comparisons in one of the four."""
    for sample in samples:
        for name in names:
            each = sample[name].comparisons
            n = int(((each.impostor if measure == "fmr" else each.genuine) > 0).sum())
            if n < FEWEST_IDENTITIES:
                people = "identity" if n == 1 else "identities"
                return f"no interval: {n} {people} of {name}, at least {FEWEST_IDENTITIES}"
    return ""


_BLOCK = 512
_SIDES = np.array([-1.0, 1.0])
_OFFSETS = np.array([0.02, 0.05, 0.1]), np.array([0.2, 0.4, 0.8])
_FINER = 3


def pooled_thresholds(
    embeddings: Float[np.ndarray, "n d"],
    identity: ArrayLike,
    group: ArrayLike,
    rates: Sequence[float],
    metric: Metric = "euclidean",
) -> tuple[list[float], list[float], int]:
    """For each rate R the largest distance below which at most a share R of all impostor comparisons lie."""
    for rate in rates:
        if not 0 < rate < 1:
            raise BadInput(f"--false-match-rate: expected a share between 0 and 1, got {rate:g}")
    usable = comparable(embeddings, identity, group, metric)
    x = np.asarray(embeddings[usable], dtype=np.float64)
    x = placed(x, metric)
    people, groups = (codes([column], len(embeddings))[usable] for column in (identity, group))
    n = _impostors(people, groups)
    allowed = [int(np.floor(rate * n + 1e-9)) for rate in rates]
    if rates and min(allowed) < 1:
        least = min(rates)
        needed = int(np.ceil(round(1 / least, 9)))
        raise BadInput(
            f"--false-match-rate {least:g} needs at least {needed:,} comparisons of different people within "
            f"groups, got {n:,}: give a higher rate, or a --threshold"
        )
    near = _smallest(x, people, groups, max(allowed, default=0) + 1, metric)
    thresholds = [float(near[min(k, n - 1)]) for k in allowed]
    return thresholds, [int(np.searchsorted(near, threshold * (1 - TIE))) / n for threshold in thresholds], n


def threshold_ends(
    embeddings: Float[np.ndarray, "n d"],
    identity: ArrayLike,
    group: ArrayLike,
    threshold: float,
    rate: float,
    *,
    metric: Metric = "euclidean",
) -> tuple[float, float]:
    """The interval of a threshold that `pooled_thresholds` set for a rate: distances whose FMR may be that rate."""
    usable = comparable(embeddings, identity, group, metric)
    people, groups = (codes([column], len(embeddings))[usable] for column in (identity, group))
    x = np.asarray(embeddings[usable], dtype=np.float64)
    parts = [(x[groups == name], people[groups == name]) for name in np.unique(groups)]

    def interval_at(distances: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t 2"]:
        return _pooled_interval([compare(*part, distances, 0, metric) for part in parts])

    def excluded(offsets: Float[np.ndarray, "2 o"]) -> Bool[np.ndarray, "2 o"]:
        ends = interval_at((threshold * (1 + _SIDES[:, None] * offsets)).ravel())
        return ((ends[:, 0] > rate) | (ends[:, 1] < rate)).reshape(offsets.shape)

    if np.isnan(interval_at(np.array([threshold]))).any():
        return np.nan, np.nan
    inside, outside = np.zeros(2), np.full(2, np.nan)
    for offsets in _OFFSETS:
        out = excluded(np.tile(offsets, (2, 1)))
        for k in np.flatnonzero(np.isnan(outside)):
            first = int(out[k].argmax()) if out[k].any() else len(offsets)
            inside[k] = offsets[first - 1] if first else inside[k]
            outside[k] = offsets[first] if first < len(offsets) else np.nan
        if np.isfinite(outside).all():
            break
    outside = np.nan_to_num(outside, nan=1.0)
    between = np.linspace(inside, outside, _FINER + 2, axis=1)[:, 1:]
    out = excluded(between[:, :-1])
    last = [row[gone.argmax()] if gone.any() else row[-1] for row, gone in zip(between, out, strict=True)]
    low, high = (threshold * (1 + _SIDES * last)).tolist()
    return low, high


def _pooled_interval(groups: Sequence[Comparisons]) -> Float[np.ndarray, "t 2"]:
    """The interval of the FMR over all groups at each threshold: groups are fixed, their identities a sample."""
    compared = np.array([group.impostor.sum() / 2 for group in groups])
    share = compared / max(compared.sum(), 1.0)
    rates = [group.impostor_matches.sum(axis=0) / 2 / max(n, 1.0) for group, n in zip(groups, compared, strict=True)]
    spreads = [dyadic_variance(group, rate, n) for group, rate, n in zip(groups, rates, compared, strict=True)]
    parts = np.array([weight**2 * np.nan_to_num(spread) for weight, (spread, _) in zip(share, spreads, strict=True)])
    freedoms = np.array([np.nan_to_num(freedom, nan=1.0) for _, freedom in spreads])
    variance, fourth = parts.sum(axis=0), (parts**2 / freedoms).sum(axis=0)
    freedom = np.divide(variance**2, fourth, out=np.ones(len(variance)), where=fourth > 0)
    identities = sum(int((group.impostor > 0).sum()) for group in groups)
    return dyadic_interval(share @ np.array(rates), variance, freedom, identities, float(compared.sum()))


def _impostors(people: Int[np.ndarray, " m"], groups: Int[np.ndarray, " m"]) -> int:
    """Comparisons of two images of a group that are of two people."""

    def pairs(*columns: Int[np.ndarray, " m"]) -> int:
        sizes = np.bincount(codes(columns, len(people)))
        return int((sizes * (sizes - 1) // 2).sum())

    return pairs(groups) - pairs(groups, people) if len(people) else 0


def _smallest(
    x: Float[np.ndarray, "m d"], people: Int[np.ndarray, " m"], groups: Int[np.ndarray, " m"], k: int, metric: Metric
) -> Float[np.ndarray, " _"]:
    """The k smallest impostor distances, sorted; block by block, so that k of them are held and no matrix."""
    smallest = np.zeros(0)
    for start in range(0, len(x), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(x)))
        later = np.arange(start, len(x))
        counted = (groups[rows][:, None] == groups[later][None, :]) & (people[rows][:, None] != people[later][None, :])
        counted &= rows[:, None] < later[None, :]
        smallest = np.concatenate([smallest, distances_between(x[rows], x[later], metric)[counted]])
        smallest = np.partition(smallest, k - 1)[:k] if len(smallest) > k else smallest
    return np.sort(smallest)
