"""How do outcomes differ between groups of a population? Association, not causation.

Attributes of a population move together, so a difference between its groups mixes what an attribute causes with all
that varies with it. These estimates are unadjusted, and every effect made from them has basis "observational".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.exclusions import Exclusions
from transect.effects.group_estimates import Estimate, Resampled, difference, settled, slope
from transect.errors import BadInput
from transect.records import Attribute


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


def compared_with_first(groups: Groups) -> list[int]:
    """The groups that are compared with the first one: every other level, or the last range."""
    last = len(groups.centers) - 1
    return list(range(1, last + 1)) if groups.attribute.discrete else [last] * (last > 0)


def contrast_name(groups: Groups, to: int) -> str:
    """The comparison of a group with the first one in words."""
    return f"{groups.attribute.name}: {groups.label(0)} to {groups.label(to)}"


def pairs(groups: Groups) -> Iterator[Groups]:
    """Every two groups by themselves, as the two levels of a binary attribute; other images are in neither."""
    observed = groups.attribute
    for first, second in itertools.combinations(range(len(groups.centers)), 2):
        index = np.where(groups.index == first, 0, np.where(groups.index == second, 1, -1)).astype(np.int64)
        labels = groups.label(first), groups.label(second)
        two = Attribute(observed.name, "binary", observed.meaning, levels=labels)
        yield Groups(two, index, (0.0, 1.0))


def cut(attribute: Attribute, values: Float[np.ndarray, " n"], edges: Sequence[float] | None = None) -> Groups:
    """Groups of an attribute: its levels where it is binary or categorical, else ranges between inner `edges`.

    Without edges a continuous or ordinal attribute is cut at the terciles of its values. Where many values are
    equal that a tercile is the smallest value, that edge is moved just above it, so that the smallest value is a
    separate group.

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
    >>> result = associations(y, np.full(20, "", dtype=object), cut(glasses, column), column, is_binary=True)[0]
    >>> result.name, result.estimate, round(result.p, 4)  # Fisher: 2 * C(10, 5) / C(20, 5)
    ('glasses: off to on', 0.5, 0.0325)
    """
    cuts, columns = {groups.attribute.name: groups}, {groups.attribute.name: column}
    return all_associations(
        values,
        reasons,
        cuts,
        columns,
        is_binary=is_binary,
        subjects=subjects,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )


def all_associations(
    values: Float[np.ndarray, " n"],
    reasons: np.ndarray,
    cuts: Mapping[str, Groups],
    columns: Mapping[str, Float[np.ndarray, " n"]],
    *,
    is_binary: bool,
    subjects: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    answers: int = 1,
) -> list[Association]:
    """`associations` of several attributes, one after another; they share their shuffles and resamples."""
    exclusions = Exclusions.of(values, reasons)
    who = np.arange(len(values)) if subjects is None else subjects
    clusters = None if len(np.unique(who)) == len(who) else who
    plans = [
        plan
        for name, groups in cuts.items()
        for plan in _plans(
            values,
            groups,
            columns[name],
            is_binary=is_binary,
            clusters=clusters,
            confidence=confidence,
            answers=answers,
        )
    ]
    results = settled([plan.result for plan in plans], resamples=resamples, seed=seed)
    return [
        replace(
            _association(plan.name, plan.attribute, plan.ends, result, values, plan.rows, exclusions, who),
            scores=_scores(values, plan.x, plan.rows, who),
        )
        for plan, result in zip(plans, results, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Plan:
    """An association before its shuffles and resamples. x [n]: what its scores are the slope on, in the rows."""

    name: str
    attribute: Attribute
    ends: tuple[str, float, float, str]
    result: Estimate | Resampled
    rows: Bool[np.ndarray, " n"]
    x: Float[np.ndarray, " n"]


def _plans(
    values: Float[np.ndarray, " n"],
    groups: Groups,
    column: Float[np.ndarray, " n"],
    *,
    is_binary: bool,
    clusters: Int[np.ndarray, " n"] | None,
    confidence: float,
    answers: int,
) -> Iterator[_Plan]:
    attribute = groups.attribute
    how = partial(difference, is_binary=is_binary, clusters=clusters, confidence=confidence, answers=answers)
    for to in compared_with_first(groups):
        masks = groups.index == 0, groups.index == to
        names = groups.label(0), groups.label(to)
        result = how(values, masks, names)
        ends = "contrast", groups.centers[0], groups.centers[to], ""
        name = contrast_name(groups, to)
        yield _Plan(name, attribute, ends, result, masks[0] | masks[1], masks[1].astype(np.float64))
    if not attribute.discrete:
        known = np.isfinite(column)
        result = slope(
            values, column, known, attribute.name, is_binary, clusters=clusters, confidence=confidence, answers=answers
        )
        low, high = (float(np.min(column[known])), float(np.max(column[known]))) if known.any() else (np.nan, np.nan)
        ends = "slope", low, high, attribute.unit or "unit"
        yield _Plan(f"{attribute.name}: slope", attribute, ends, result, known, column)


def _association(
    name: str,
    attribute: Attribute,
    ends: tuple[str, float, float, str],
    result: Estimate,
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
