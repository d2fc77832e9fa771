"""How do outcomes differ between groups as they come in a population? Association, not causation.

Attributes of a population move together, so a difference between its groups mixes what an attribute causes with all
that comes along with it. These estimates are unadjusted, and every effect made from them has basis "observational".
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects import bootstrap, few_subjects, randomization, regression
from transect.effects.exclusions import Exclusions
from transect.effects.intervals import newcombe
from transect.effects.linear import ols
from transect.errors import BadInput
from transect.records import Attribute

NEWCOMBE: Final = "Newcombe hybrid score"
FISHER: Final = "Fisher exact"
SOURCES: Final = {
    NEWCOMBE: "Newcombe 1998, Interval estimation for the difference between independent proportions, "
    "doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I",
    FISHER: "Fisher 1935, The logic of inductive inference, doi:10.2307/2342435",
    regression.CLUSTERED: regression.CLUSTER_SOURCE,
    regression.WALD: regression.CLUSTER_SOURCE,
    few_subjects.CLUSTERED: few_subjects.SOURCE,
    few_subjects.WALD: few_subjects.SOURCE,
}


FEW_EVENTS: Final = 25
UNVARIED: Final = "the outcome does not vary: no interval"


@final
@dataclass(frozen=True, slots=True)
class Groups:
    """An attribute cut into groups.

    index: int64 [n], the group of each image, -1 without a value. centers: the level, or the median value of the
    group's images (the middle of its range where it has none). bounds: the range [low, high) of each group, the last
    one closed; empty where groups are levels.
    """

    attribute: Attribute
    index: Int[np.ndarray, " n"]
    centers: tuple[float, ...]
    bounds: tuple[tuple[float, float], ...] = ()

    def label(self, group: int) -> str:
        """How people read the group: its level, or its range."""
        if not self.bounds:
            return self.attribute.label(self.centers[group])
        low, high = (self.attribute.label(end) for end in self.bounds[group])
        return f"[{low}, {high}]" if group == len(self.bounds) - 1 else f"[{low}, {high})"


def cut(attribute: Attribute, values: Float[np.ndarray, " n"], edges: Sequence[float] | None = None) -> Groups:
    """Groups of an attribute: its levels where it is binary or categorical, else ranges between inner `edges`.

    Without edges a continuous or ordinal attribute is cut at the terciles of its values. Where so many values are
    equal that a tercile is the smallest value, that edge is moved just above it, so that the smallest value is a
    group of its own.

    Raises BadInput when the edges do not increase.

    >>> age = Attribute("age", "continuous", "apparent age", unit="years", low=18, high=80)
    >>> groups = cut(age, np.array([20.0, 30.0, 40.0, 50.0, 60.0, 70.0]))
    >>> groups.index, [groups.label(g) for g in range(3)]
    (array([0, 0, 1, 1, 2, 2]), ['[20, 36.67)', '[36.67, 53.33)', '[53.33, 70]'])
    """
    known = np.isfinite(values)
    if attribute.discrete:
        return Groups(attribute, np.where(known, values, -1).astype(np.int64), _levels(attribute))
    inner = _terciles(values[known]) if edges is None else np.array(edges, dtype=np.float64)
    if np.any(np.diff(inner) <= 0):
        raise BadInput(
            f"{attribute.name}: expected edges that increase, got {', '.join(f'{edge:g}' for edge in inner)}"
        )
    index = np.where(known, np.searchsorted(inner, values, side="right"), -1).astype(np.int64)
    ends = [values[known].min(), values[known].max()] if known.any() else list(attribute.bounds)
    outer = np.concatenate([[min([ends[0], *inner[:1]])], inner, [max([ends[1], *inner[-1:]])]])
    bounds = tuple((float(low), float(high)) for low, high in itertools.pairwise(outer))
    centers = tuple(
        float(np.median(values[index == group])) if (index == group).any() else (low + high) / 2
        for group, (low, high) in enumerate(bounds)
    )
    return Groups(attribute, index, centers, bounds)


def _levels(attribute: Attribute) -> tuple[float, ...]:
    return tuple(float(level) for level in range(len(attribute.levels)))


def _terciles(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " edges"]:
    """Inner edges; none where all values are equal."""
    if len(values) == 0 or values.min() == values.max():
        return np.empty(0)
    above = values[values > values.min()].min()
    return np.unique(np.maximum(np.quantile(values, [1 / 3, 2 / 3]), above))


@final
@dataclass(frozen=True, slots=True)
class Association:
    """One unadjusted estimate of a population, NaN with a reason where it cannot be made.

    kind: "contrast" (mean of the group at `to` minus that at `origin`) or "slope" (per unit of the attribute). scores:
    what each subject adds to the estimate where there is no difference, in the order of the subjects' names, NaN for
    one without a valid image there; they add up to the estimate, and flipping their signs makes the max-T bootstrap.
    """

    name: str
    attribute: str
    kind: str
    origin: float
    to: float
    per: str
    estimate: float
    low: float
    high: float
    p: float
    interval_method: str
    test_method: str
    n_subjects: int
    n_images: int
    excluded: Mapping[str, int]
    reason: str = ""
    scores: Float[np.ndarray, " s"] = field(default_factory=lambda: np.empty(0), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class _Estimate:
    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    interval_method: str = ""
    test_method: str = ""
    reason: str = ""


def associations(
    values: Float[np.ndarray, " n"],
    reasons: np.ndarray,
    groups: Groups,
    column: Float[np.ndarray, " n"],
    *,
    is_binary: bool,
    subjects: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[Association]:
    """Unadjusted differences between an attribute's groups, and for an attribute with a range the slope along its
    values.

    Levels: each minus the first; ranges: the last minus the first. column: the attribute's values [n]. Proportions have
    Newcombe's interval and Fisher's exact test, scores and slopes a BCa interval by image and a permutation test. The
    slope of a binary outcome with fewer than 25 images of either kind has no interval: BCa covers too little there.

    subjects: who is on each image. Where several images show one subject, images are no independent units: intervals
    and tests are then Student's t and Wald's on errors by subject, and the 25 are subjects.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> column, y = np.repeat([0.0, 1.0], 10), np.repeat([0.0, 1.0, 0.0], [10, 5, 5])
    >>> one = associations(y, np.full(20, "", dtype=object), cut(glasses, column), column, is_binary=True)[0]
    >>> one.name, one.estimate, round(one.p, 4)  # Fisher: 2 * C(10, 5) / C(20, 5)
    ('glasses: off to on', 0.5, 0.0325)
    """
    exclusions = Exclusions.of(values, reasons)
    who = np.arange(len(values)) if subjects is None else subjects
    clusters = None if len(np.unique(who)) == len(who) else who
    options: dict[str, Any] = {"clusters": clusters, "confidence": confidence, "resamples": resamples, "seed": seed}
    made = []
    attribute, last = groups.attribute, len(groups.centers) - 1
    for to in range(1, last + 1) if attribute.discrete else [last] * (last > 0):
        masks = groups.index == 0, groups.index == to
        names = groups.label(0), groups.label(to)
        result = _difference(values, masks, names, is_binary, **options)
        ends = "contrast", groups.centers[0], groups.centers[to], ""
        name = f"{attribute.name}: {names[0]} to {names[1]}"
        one = _association(name, attribute, ends, result, values, masks[0] | masks[1], exclusions, who)
        made.append(replace(one, scores=_scores(values, masks[1].astype(np.float64), masks[0] | masks[1], who)))
    if not attribute.discrete:
        known = np.isfinite(column)
        result = _slope(values, column, known, attribute.name, is_binary, **options)
        low, high = (float(np.min(column[known])), float(np.max(column[known]))) if known.any() else (np.nan, np.nan)
        ends = "slope", low, high, attribute.unit or "unit"
        one = _association(f"{attribute.name}: slope", attribute, ends, result, values, known, exclusions, who)
        made.append(replace(one, scores=_scores(values, column, known, who)))
    return made


def _association(
    name: str,
    attribute: Attribute,
    ends: tuple[str, float, float, str],
    result: _Estimate,
    values: Float[np.ndarray, " n"],
    rows: Bool[np.ndarray, " n"],
    exclusions: Exclusions,
    who: Int[np.ndarray, " n"],
) -> Association:
    kind, origin, to, per = ends
    valid = rows & np.isfinite(values)
    return Association(
        name=name,
        attribute=attribute.name,
        kind=kind,
        origin=origin,
        to=to,
        per=per,
        estimate=result.estimate,
        low=result.low,
        high=result.high,
        p=result.p,
        interval_method=result.interval_method,
        test_method=result.test_method,
        n_subjects=len(np.unique(who[valid])),
        n_images=int(valid.sum()),
        excluded=exclusions.count(rows),
        reason=result.reason,
    )


def _scores(
    values: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    rows: Bool[np.ndarray, " n"],
    who: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " s"]:
    """Each subject's share of the least-squares slope of the values on x, with the values centered at their mean."""
    valid = rows & np.isfinite(values)
    subjects, place = np.unique(who, return_inverse=True)
    scores = np.full(len(subjects), np.nan)
    if not valid.any() or np.ptp(x[valid]) == 0:
        return scores
    centered = x[valid] - x[valid].mean()
    moved = centered * (values[valid] - values[valid].mean()) / (centered @ centered)
    there = np.unique(place[valid])
    scores[there] = np.bincount(place[valid], weights=moved, minlength=len(subjects))[there]
    return scores


def _difference(
    values: Float[np.ndarray, " n"],
    masks: tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]],
    names: tuple[str, str],
    is_binary: bool,
    *,
    clusters: Int[np.ndarray, " n"] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> _Estimate:
    """Mean of the second group minus mean of the first."""
    first, second = (mask & np.isfinite(values) for mask in masks)
    for name, group in zip(names, (first, second), strict=True):
        if not group.any():
            return _Estimate(reason=f"no image with a valid answer where it is {name}")
    if clusters is not None:
        rows = first | second
        return _by_subject(values[rows], second[rows].astype(np.float64), clusters[rows], confidence, names)
    a, b = values[first], values[second]
    if is_binary:
        return _proportions(a, b, confidence)
    y, chosen = np.concatenate([a, b]), np.repeat([0.0, 1.0], [len(a), len(b)])
    weights = chosen / len(b) - (1 - chosen) / len(a)
    estimate = float(weights @ y)
    p = randomization.permutation(y, weights, resamples=randomization.FLIPS, seed=seed)
    columns = np.stack([y * chosen, chosen, y * (1 - chosen), 1 - chosen], axis=1)
    sums = np.concatenate([block @ columns for block in bootstrap.resample_counts(len(y), resamples, seed)])
    with np.errstate(invalid="ignore"):  # a resample may hold no image of a group: NaN, left out
        replicates = sums[:, [0]] / sums[:, [1]] - sums[:, [2]] / sums[:, [3]]
    influence = weights * (y - np.where(chosen == 1, b.mean(), a.mean()))
    few = min(len(a), len(b)) < 2
    return _with_interval(estimate, replicates, influence, p, confidence, "one image in a group" if few else "")


def _proportions(a: Float[np.ndarray, " a"], b: Float[np.ndarray, " b"], confidence: float) -> _Estimate:
    from scipy.stats import fisher_exact

    yes, n = (int(b.sum()), int(a.sum())), (len(b), len(a))
    low, high = newcombe(yes, n, confidence)
    p = fisher_exact([[yes[0], n[0] - yes[0]], [yes[1], n[1] - yes[1]]]).pvalue
    return _Estimate(float(b.mean() - a.mean()), float(low), float(high), float(p), NEWCOMBE, FISHER)


def _slope(
    values: Float[np.ndarray, " n"],
    column: Float[np.ndarray, " n"],
    known: Bool[np.ndarray, " n"],
    name: str,
    is_binary: bool,
    *,
    clusters: Int[np.ndarray, " n"] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> _Estimate:
    """Least-squares slope over images; no interval for a rare binary outcome, of which BCa covers some 90 %."""
    rows = known & np.isfinite(values)
    y, x = values[rows], column[rows]
    if len(y) < 3 or np.ptp(x) == 0:
        return _Estimate(reason=f"a slope needs three images and two values of {name}; got {len(y)} images")
    if clusters is not None:
        who = clusters[rows]
        made = _by_subject(y, x, who, confidence)
        kinds = [len(np.unique(who[y == kind])) for kind in (0, 1)]
        return _with_enough_events(made, min(kinds)) if is_binary else made
    x = x - x.mean()
    weights = x / (x @ x)
    p = randomization.permutation(y, weights, resamples=randomization.FLIPS, seed=seed)
    replicates, influence = slope_bootstrap(y[:, None], x, resamples=resamples, seed=seed)
    events = int(min(y.sum(), len(y) - y.sum())) if is_binary and np.ptp(y) > 0 else FEW_EVENTS
    few = f"too few events for an interval of the slope: {events}; at least {FEW_EVENTS} of each kind"
    reason = few if events < FEW_EVENTS else ""
    return _with_interval(float(weights @ y), replicates, influence[:, 0], p, confidence, reason)


def _by_subject(
    y: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    subjects: Int[np.ndarray, " n"],
    confidence: float,
    groups: tuple[str, ...] = (),
) -> _Estimate:
    """Least squares of y on x, errors by subject: a slope, or a difference of means where x is 0 or 1 for `groups`."""
    centered = x - x.mean()
    estimate = float(centered @ y / (centered @ centered))
    for level, name in enumerate(groups):
        if len(np.unique(subjects[x == level])) < 2:
            return _Estimate(estimate, reason=f"one subject where it is {name}: no interval")
    (effect,) = ols(y, x, clusters=subjects, confidence=confidence)
    if np.ptp(y) == 0 or not np.isfinite(effect.low):
        return _Estimate(estimate, reason=UNVARIED if np.ptp(y) == 0 else effect.reason)
    return _Estimate(estimate, effect.low, effect.high, effect.p, effect.interval_method, effect.test_method)


def _with_enough_events(made: _Estimate, events: int) -> _Estimate:
    if made.reason or events >= FEW_EVENTS:
        return made
    few = f"too few events for an interval of the slope: {events} subjects; at least {FEW_EVENTS} of each kind"
    return _Estimate(made.estimate, p=made.p, test_method=made.test_method, reason=few)


def slope_bootstrap(
    y: Float[np.ndarray, "n k"], x: Float[np.ndarray, " n"], *, resamples: int, seed: int
) -> tuple[Float[np.ndarray, "b k"], Float[np.ndarray, "n k"]]:
    """Replicates of the least-squares slope of each column of y on x (of mean 0), and each image's influence on it.

    All columns are on the same resamples; a replicate is NaN where the resample holds one value of x only. Influences
    are up to a constant factor.

    >>> replicates, influence = slope_bootstrap(np.array([[1.0], [2.0], [3.0]]), np.array([-1.0, 0.0, 1.0]),
    ...                                         resamples=50, seed=0)
    >>> bool(np.allclose(replicates[np.isfinite(replicates)], 1)), np.abs(influence).max()  # three points on a line
    (True, np.float64(0.0))
    """
    n, k = y.shape
    squares = float(x @ x)
    columns = np.hstack([np.stack([np.ones_like(x), x, x * x], axis=1), y, x[:, None] * y])
    sums = np.concatenate([block @ columns for block in bootstrap.resample_counts(n, resamples, seed)])
    sx, sy, sxy = sums[:, [1]], sums[:, 3 : 3 + k], sums[:, 3 + k :]
    spread = sums[:, [2]] - sx**2 / n
    varies = np.broadcast_to(spread > 1e-12 * squares, sy.shape)
    replicates = np.divide(sxy - sx * sy / n, spread, out=np.full(sy.shape, np.nan), where=varies)
    slope = x @ y / squares
    return replicates, x[:, None] * (y - y.mean(axis=0) - slope * x[:, None])


def _with_interval(
    estimate: float,
    replicates: Float[np.ndarray, "b 1"],
    influence: Float[np.ndarray, " n"],
    p: float,
    confidence: float,
    reason: str = "",
) -> _Estimate:
    units = np.array([len(influence)])
    low, high = bootstrap.bca_interval(np.array([estimate]), replicates, influence[:, None], confidence, units)
    if not reason and not np.isfinite(low[0]):
        reason = UNVARIED
    if reason:
        return _Estimate(estimate, p=p, test_method=randomization.PERMUTATION, reason=reason)
    return _Estimate(estimate, float(low[0]), float(high[0]), p, bootstrap.METHOD, randomization.PERMUTATION)
