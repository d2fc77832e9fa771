"""Does a face recognition model err more on one group? Verification errors by group, with intervals by identity.

A comparison of two images is genuine when they are of one identity and an impostor's otherwise; below a threshold of
the distance it is a match. FNMR: share of genuine comparisons that do not match; FMR: share of impostor comparisons
that do. Impostors are of the same group, as attackers would be. Comparisons that share an identity are not independent,
so that intervals of FNMR cluster by identity and those of FMR by both identities of a comparison (`dyadic`);
differentials are as NIST reports them (IR 8429).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.designs.matching.sample import absent, codes
from transect.effects import dyadic, few_subjects
from transect.effects.comparisons import Comparisons, Metric, compare
from transect.effects.intervals import wilson_clustered
from transect.effects.regression import interval
from transect.errors import BadInput
from transect.records import Effect

SOURCES: Final = (
    "Grother 2022, Face recognition vendor test part 8: summarizing demographic differentials, NIST IR 8429, "
    "doi:10.6028/NIST.IR.8429.ipd",
    *dyadic.SOURCES,
    "Zou and Donner 2008, Construction of confidence limits about effect measures: a general approach, "
    "doi:10.1002/sim.3095",
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
    largest ratio. gini: Gini coefficient with the factor n / (n - 1), 0 for equal rates, 1 when one group has all
    errors; it has no interval. reason: why there is no ratio (a rate of 0) or no interval (a rate that has none).
    """

    rate: str
    threshold: float
    groups: tuple[str, ...]
    ratio: tuple[float, ...]
    ratio_interval: tuple[tuple[float, float], ...]
    largest: float
    gini: float
    reason: str = ""


def verification(
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
        held = partial(verification, embeddings, identity, group, rows=rows, confidence=confidence, metric=metric)
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


def _first(group: GroupErrors, t: int) -> GroupErrors:
    """The errors at the first t thresholds."""
    return replace(
        group,
        fnmr=group.fnmr[:t],
        fnmr_interval=group.fnmr_interval[:t],
        fnmr_held=group.fnmr_held[:t],
        fmr=group.fmr[:t],
        fmr_interval=group.fmr_interval[:t],
        fmr_variance=group.fmr_variance[:t],
        fmr_freedom=group.fmr_freedom[:t],
        comparisons=replace(
            group.comparisons,
            genuine_matches=group.comparisons.genuine_matches[:, :t],
            impostor_matches=group.comparisons.impostor_matches[:, :t],
            squares=group.comparisons.squares[:, :t],
        ),
    )


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
        interval_method=few_subjects.CLUSTERED if np.isfinite(low) else "",
        test_method=few_subjects.WALD if np.isfinite(low) else "",
        sources=(*SOURCES, few_subjects.SOURCE),
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
    return interval(estimate, float(np.sqrt(max(variance, 0.0))), (a + b) ** 2 / fourth if fourth else 0.0, confidence)


def _mean_error(comparisons: Comparisons, mean: float) -> tuple[float, float]:
    """Bias-reduced variance of the mean genuine distance by identity, and its degrees of freedom."""
    n = comparisons.genuine
    root = np.sqrt(n)
    residual = (comparisons.genuine_sum - mean * n) / np.maximum(root, 1.0)
    covariance, freedom = few_subjects.bias_reduced(root[:, None], residual, np.arange(len(root)))
    return float(covariance[0, 0]), float(freedom[0])


def _mean_interval(comparisons: Comparisons, mean: float, confidence: float) -> tuple[float, float]:
    """Of the mean genuine distance; NaN with fewer than two identities that have such comparisons."""
    if (comparisons.genuine > 0).sum() < 2:
        return np.nan, np.nan
    variance, freedom = _mean_error(comparisons, mean)
    return interval(mean, float(np.sqrt(variance)), freedom, confidence)[:2]


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
        fmr_interval=dyadic.interval(
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
    return dyadic.variance(residual, same_pair, comparisons.impostor)


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
        return Differential(rate, threshold, groups, (np.nan,) * len(groups), nothing, np.nan, gini(rates), reason)
    logs = np.log(rates)
    log_ratio = logs - logs.mean()
    ratio = tuple(np.exp(log_ratio).tolist())
    interval = tuple(map(tuple, np.exp(log_ratio[:, None] + _log_distances(rates, ends)).tolist()))
    without = [name for name, pair in zip(groups, ends, strict=True) if not pair[0] > 0]
    reason = f"no interval: {', '.join(without)} has none" if without else ""
    return Differential(rate, threshold, groups, ratio, interval, max(ratio), gini(rates), reason)


def _log_distances(rates: Float[np.ndarray, " g"], ends: Float[np.ndarray, "g 2"]) -> Float[np.ndarray, "g 2"]:
    """How far the ends of each log ratio to the geometric mean are (Zou and Donner 2008)."""
    g = len(rates)
    known = np.where(ends[:, :1] > 0, ends, np.nan)
    down, up = np.log(rates / known[:, 0]) ** 2, np.log(known[:, 1] / rates) ** 2
    own, other = (1 - 1 / g) ** 2, 1 / g**2
    low = own * down + other * (up.sum() - up)
    high = own * up + other * (down.sum() - down)
    return np.stack([-np.sqrt(low), np.sqrt(high)], axis=1)


def gini(rates: Float[np.ndarray, " g"]) -> float:
    """Gini coefficient of g rates times g / (g - 1), 0 to 1; NaN where all are 0 or one is unknown."""
    n, mean = len(rates), float(rates.mean())
    if not mean > 0:
        return float("nan")
    apart = float(np.abs(rates[:, None] - rates[None, :]).sum())
    return round(apart / (2 * n**2 * mean) * n / (n - 1), 12)
