"""Does a face recognition model err more on one group? Verification errors by group, with intervals by identity.

A comparison of two images is genuine when they are of one identity and an impostor's otherwise; below a threshold of
the distance it is a match. FNMR: share of genuine comparisons that do not match; FMR: share of impostor comparisons
that do. Impostors are of the same group, as attackers would be. Comparisons that share an identity are not independent,
so that intervals of FNMR cluster by identity and those of FMR by both identities of a comparison (Aronow, Samii and
Assenova 2015); differentials are as NIST reports them (IR 8429).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from transect.designs.matching.sample import absent, codes
from transect.effects.comparisons import Comparisons, Metric, compare
from transect.effects.intervals import mean_interval, wilson, wilson_clustered
from transect.errors import BadInput
from transect.records import Effect

SOURCES: Final = (
    "Grother 2022, Face recognition vendor test part 8: summarizing demographic differentials, NIST IR 8429, "
    "doi:10.6028/NIST.IR.8429.ipd",
    "Aronow, Samii and Assenova 2015, Cluster-robust variance estimation for dyadic data, doi:10.1093/pan/mpv018",
    "Singh, Balakrishnan and Perona 2021, section 4.5",
)

CURVE_POINTS: Final = 500


@final
@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Verification errors of one group; arrays are [thresholds] with intervals [thresholds, 2], curves [points].

    genuine, impostor: numbers of comparisons. mean_genuine: mean distance of genuine comparisons and its interval, by
    identity. curve: distances at which fmr_curve and fnmr_curve are read (ROC and DET). fmr_variance: of fmr.
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
    fmr: Float[np.ndarray, " t"]
    fmr_interval: Float[np.ndarray, "t 2"]
    fmr_variance: Float[np.ndarray, " t"]
    fnmr_variance: Float[np.ndarray, " t"]
    mean_variance: float
    curve: Float[np.ndarray, " p"]
    fmr_curve: Float[np.ndarray, " p"]
    fnmr_curve: Float[np.ndarray, " p"]


@final
@dataclass(frozen=True, slots=True)
class Differential:
    """How unequal an error rate is over groups at one threshold.

    ratio: each group's rate over the geometric mean of all, with its interval (delta method on logarithms); largest:
    the largest ratio. gini: Gini coefficient with the factor n / (n - 1), 0 for equal rates, 1 when one group has all
    errors; it has no interval. reason: why there is no ratio (a rate of 0).
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
    rows: Int[np.ndarray, " m"] | None = None,
    confidence: float = 0.95,
    metric: Metric = "euclidean",
) -> list[GroupErrors]:
    """Errors of each group at each threshold (a match is a distance below it), groups in the order of their names.

    embeddings: failed images are rows of NaN and are left out, as are images without an identity or a group (None, NaN
    or an empty text). rows: the images that count, for example the matched ones; by default all. An identity with
    images in several groups counts in each. metric: Euclidean, or 1 - cosine.

    Returns one GroupErrors per group; NaN where a group has no genuine, or no impostor, comparison.

    Raises BadInput without thresholds or with lengths that differ.

    >>> x = np.array([[0.0], [0.4], [1.0], [3.0]])
    >>> result = verification(x, ["p", "p", "q", "q"], ["g"] * 4, [0.5])[0]
    >>> result.fnmr, result.fmr, result.mean_genuine  # genuine .4, 2.0; impostors 1.0, 3.0, .6, 2.6
    (array([0.5]), array([0.]), 1.2)
    """
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
    return [
        _errors_of(name, embeddings[mask], people[mask], limits, confidence, metric)
        for name in np.unique(names[usable])
        if (mask := usable & (names == name)).any()
    ]


def comparable(
    embeddings: Float[np.ndarray, "n d"], identity: ArrayLike, group: ArrayLike, metric: Metric = "euclidean"
) -> Bool[np.ndarray, " n"]:
    """Images with an embedding (for a cosine one of some length), an identity and a group."""
    known = np.isfinite(embeddings).all(axis=1) & ~absent(identity) & ~absent(group)
    return np.asarray(known & (embeddings != 0).any(axis=1) if metric == "cosine" else known)


def differentials(
    groups: Sequence[GroupErrors], thresholds: Sequence[float], confidence: float = 0.95
) -> list[Differential]:
    """FMR and FNMR differentials over groups at each threshold. Raises BadInput with fewer than two groups."""
    if len(groups) < 2:
        raise BadInput(f"differentials compare groups: expected at least two, got {len(groups)}")
    rows = []
    for index, threshold in enumerate(thresholds):
        for rate in ("fmr", "fnmr"):
            rates = np.array([getattr(group, rate)[index] for group in groups])
            variances = np.array([getattr(group, f"{rate}_variance")[index] for group in groups])
            rows.append(
                _differential(rate, threshold, tuple(group.group for group in groups), rates, variances, confidence)
            )
    return rows


def difference_of_means(first: GroupErrors, second: GroupErrors, target: str, attribute: str) -> Effect:
    """Mean genuine distance of `first` minus that of `second` (Fig. 7), with a normal interval by identity.

    With a positive difference the model places images of one identity farther apart in `first`.
    """
    estimate = first.mean_genuine - second.mean_genuine
    error = float(np.sqrt(first.mean_variance + second.mean_variance))
    known = np.isfinite(error) and error > 0
    p = float(2 * ndtr(-abs(estimate) / error)) if known else np.nan
    return Effect(
        name=f"{first.group} - {second.group}",
        attribute=attribute,
        target=target,
        outcome="distance of one identity's images",
        estimate=estimate,
        low=estimate - 1.959964 * error if known else np.nan,
        high=estimate + 1.959964 * error if known else np.nan,
        p=p,
        unit="distance",
        n_subjects=first.identities + second.identities,
        n_images=first.images + second.images,
        basis="observational",
        reason="" if np.isfinite(estimate) else "a group has no two images of one identity",
        interval_method="normal, clustered by identity",
        test_method="normal, clustered by identity",
        sources=SOURCES,
    )


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
    ends = mean_interval(comparisons.genuine_sum[:, None], comparisons.genuine[:, None], confidence=confidence)
    missed = comparisons.genuine[:, None] - comparisons.genuine_matches
    counts = np.broadcast_to(comparisons.genuine[:, None], missed.shape)
    fnmr = missed.sum(axis=0) / genuine if genuine else np.full(len(thresholds), np.nan)
    fmr = comparisons.impostor_matches.sum(axis=0) / 2 / impostor if impostor else np.full(len(thresholds), np.nan)
    variance = _dyadic_variance(comparisons, fmr, impostor)
    return GroupErrors(
        group=name,
        images=len(embeddings),
        identities=len(comparisons.genuine),
        genuine=int(genuine),
        impostor=int(impostor),
        mean_genuine=float(mean),
        mean_interval=(float(ends.low[0]), float(ends.high[0])),
        fnmr=fnmr,
        fnmr_interval=np.stack(wilson_clustered(missed, counts, confidence), axis=1),
        fmr=fmr,
        fmr_interval=effective_wilson(fmr, variance, len(comparisons.genuine), impostor, confidence),
        fmr_variance=variance,
        fnmr_variance=_ratio_variance(missed, counts),
        mean_variance=float(_ratio_variance(comparisons.genuine_sum[:, None], comparisons.genuine[:, None])[0]),
        curve=comparisons.curve,
        fmr_curve=comparisons.impostor_curve / impostor if impostor else np.full(CURVE_POINTS, np.nan),
        fnmr_curve=1 - comparisons.genuine_curve / genuine if genuine else np.full(CURVE_POINTS, np.nan),
    )


def _ratio_variance(totals: Float[np.ndarray, "g t"], counts: Float[np.ndarray, "g t"]) -> Float[np.ndarray, " t"]:
    """Variance of Σ totals / Σ counts over identities that have any, linearized; NaN with fewer than two."""
    n, whole = (counts > 0).sum(axis=0), counts.sum(axis=0)
    known = (n > 1) & (whole > 0)
    safe = np.where(known, whole, 1.0)
    residual = totals - totals.sum(axis=0) / safe * counts
    variance = (residual**2).sum(axis=0) * n / np.maximum(n - 1, 1) / safe**2
    return np.where(known, variance, np.nan)


def _dyadic_variance(
    comparisons: Comparisons, fmr: Float[np.ndarray, " t"], impostor: float
) -> Float[np.ndarray, " t"]:
    """Variance of the FMR when comparisons that share an identity are correlated; NaN without comparisons.

    Σ over identities of (its residual)² counts each pair of identities' own square twice; one is taken off. Where that
    leaves less than independent pairs of identities have, as it can with few, it is theirs.
    """
    if not impostor:
        return np.full(len(fmr), np.nan)
    residual = comparisons.impostor_matches - fmr * comparisons.impostor[:, None]
    same_pair = comparisons.squares[0] - 2 * fmr * comparisons.squares[1] + fmr**2 * comparisons.squares[2]
    return np.asarray(np.maximum((residual**2).sum(axis=0) - same_pair, same_pair) / impostor**2)


def effective_wilson(
    rate: Float[np.ndarray, " t"], variance: Float[np.ndarray, " t"], identities: int, n: float, confidence: float
) -> Float[np.ndarray, "t 2"]:
    """Wilson's interval on the number of independent comparisons that would vary as much.

    At 0 and 1, where no variance can be estimated, on half the identities, the number of comparisons that share none.
    """
    some = (variance > 0) & (rate > 0) & (rate < 1)
    effective = np.divide(rate * (1 - rate), variance, out=np.full(len(rate), identities / 2), where=some)
    effective = np.minimum(effective, n)
    return np.stack(wilson(rate * effective, effective, confidence), axis=1)


def _differential(
    rate: str,
    threshold: float,
    groups: tuple[str, ...],
    rates: Float[np.ndarray, " g"],
    variances: Float[np.ndarray, " g"],
    confidence: float,
) -> Differential:
    nothing = tuple((np.nan, np.nan) for _ in groups)
    if not (rates > 0).all():
        zero = [name for name, value in zip(groups, rates, strict=True) if not value > 0]
        reason = (
            f"no errors, or none that can be counted, in {', '.join(zero)}: a ratio to the geometric mean needs all"
        )
        return Differential(rate, threshold, groups, (np.nan,) * len(groups), nothing, np.nan, gini(rates), reason)
    logs, spread = np.log(rates), variances / rates**2
    log_ratio = logs - logs.mean()
    g = len(rates)
    error = np.sqrt(spread * (1 - 2 / g) + spread.sum() / g**2)
    half = float(ndtri((1 + confidence) / 2)) * error
    ends = np.exp(np.stack([log_ratio - half, log_ratio + half], axis=1))
    ratio = tuple(np.exp(log_ratio).tolist())
    return Differential(rate, threshold, groups, ratio, tuple(map(tuple, ends.tolist())), max(ratio), gini(rates))


def gini(rates: Float[np.ndarray, " g"]) -> float:
    """Gini coefficient of g rates times g / (g - 1), 0 to 1; NaN where all are 0 or one is unknown.

    >>> gini(np.array([0.0, 0.0, 0.3])), gini(np.array([0.2, 0.2]))
    (1.0, 0.0)
    """
    n, mean = len(rates), float(rates.mean())
    if not mean > 0:
        return float("nan")
    apart = float(np.abs(rates[:, None] - rates[None, :]).sum())
    return round(apart / (2 * n**2 * mean) * n / (n - 1), 12)
