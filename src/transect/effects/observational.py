"""Associations of outcomes with observed attributes: groups, slopes, their intervals and tests by person."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects import intervals, regression
from transect.effects.clusters import CLUSTERED, SOURCE, WALD, bias_reduced, telling_subjects
from transect.effects.regression import difference_in_means
from transect.effects.samples import Exclusions
from transect.errors import BadInput
from transect.records import Attribute, Effect, EstimateWithTest

NEWCOMBE: Final = "Newcombe hybrid score"
SOURCES: Final = {
    NEWCOMBE: intervals.NEWCOMBE_1998,
    regression.CLUSTERED: regression.CLUSTER_SOURCE,
    regression.WALD: regression.CLUSTER_SOURCE,
    CLUSTERED: SOURCE,
    WALD: SOURCE,
    **regression.SOURCES,
}


FEW_EVENTS: Final = 25
TELLING: Final = 6
"""Equally telling subjects (Kish 1965), times the share whose scores differ, from which a slope has an interval."""
FEW_FAR: Final = 0.45
MOST_PAIRED: Final = 500
UNVARIED: Final = "the outcome does not vary: no interval"


def difference(
    values: Float[np.ndarray, " n"],
    masks: tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]],
    names: tuple[str, str],
    is_binary: bool,
    *,
    clusters: Int[np.ndarray, " n"] | None,
    confidence: float,
    answers: int = 1,
) -> EstimateWithTest:
    """Mean of the second group minus mean of the first. answers: as `samples.Measure` has it, 1 of other values."""
    first, second = (mask & np.isfinite(values) for mask in masks)
    for name, group in zip(names, (first, second), strict=True):
        if not group.any():
            return EstimateWithTest(reason=f"no image with a valid answer where it is {name}")
    rows = first | second
    y, x, who = values[rows], second[rows].astype(np.float64), _people(clusters, rows)
    if answers > 1 and not is_binary and not _in_both(first, second, clusters):
        return _shares(y, x, who, answers, confidence)
    if clusters is None and is_binary:
        return _proportions(values[first], values[second], confidence)
    for level, name in enumerate(names):
        if reason := _unshown(y[x == level], who[x == level], name, is_binary):
            return EstimateWithTest(float(y[x == 1].mean() - y[x == 0].mean()), reason=reason)
    if not is_binary:
        return _least_squares(y, x, who, confidence)
    effect = difference_in_means(y, x, clusters=who, confidence=confidence)
    return effect


def _people(clusters: Int[np.ndarray, " n"] | None, rows: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """The subject of each of these rows, from 0."""
    if clusters is None:
        return np.arange(int(rows.sum()))
    return np.unique(clusters[rows], return_inverse=True)[1]


def _unshown(y: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"], name: str, is_binary: bool) -> str:
    """Why a group does not show how far its subjects differ, "" where it does."""
    counts = np.bincount(who).astype(np.float64)[:, None]
    people = int((counts > 0).sum())
    if people > 1 and (is_binary or intervals.shows_spread(np.bincount(who, weights=y)[:, None], counts)[0]):
        return ""
    return f"where it is {name}: {intervals.no_interval(people)}"


def _in_both(
    first: Bool[np.ndarray, " n"], second: Bool[np.ndarray, " n"], clusters: Int[np.ndarray, " n"] | None
) -> bool:
    """Whether a subject is in both groups."""
    return clusters is not None and bool(np.isin(clusters[first], clusters[second]).any())


def _shares(
    y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"], answers: int, confidence: float
) -> EstimateWithTest:
    """A difference of shares of several answers between groups of different subjects."""
    first, second = (intervals.share_by_subject(y[x == v], who[x == v], confidence, answers) for v in (0, 1))
    found, p = intervals.minus(second, first), regression.permuted(y, x, who)
    return EstimateWithTest(
        found.estimate, found.low, found.high, p=p, interval_method=regression.MOVER, test_method=regression.SUBJECTS
    )


def _proportions(a: Float[np.ndarray, " a"], b: Float[np.ndarray, " b"], confidence: float) -> EstimateWithTest:
    yes, n = (int(b.sum()), int(a.sum())), (len(b), len(a))
    low, high = intervals.newcombe(yes, n, confidence)
    p = regression.fisher(np.concatenate([a, b]), np.repeat([0.0, 1.0], [len(a), len(b)]))
    difference = float(b.mean() - a.mean())
    return EstimateWithTest(
        difference, float(low), float(high), p=p, interval_method=NEWCOMBE, test_method=regression.FISHER
    )


def slope(
    values: Float[np.ndarray, " n"],
    column: Float[np.ndarray, " n"],
    known: Bool[np.ndarray, " n"],
    name: str,
    is_binary: bool,
    *,
    clusters: Int[np.ndarray, " n"] | None,
    confidence: float,
    answers: int = 1,
) -> EstimateWithTest:
    """Least-squares slope over images; no interval for a rare binary outcome."""
    rows = known & np.isfinite(values)
    y, x = values[rows], column[rows]
    if len(y) < 3 or np.ptp(x) == 0:
        return EstimateWithTest(reason=f"a slope needs three images and two values of {name}; got {len(y)} images")
    who = _people(clusters, rows)
    events = min(len(np.unique(who[some])) for some in (y < 1, y > 0))
    shared = is_binary or answers > 1
    if shared and events < FEW_EVENTS:
        return _slope_of_few(y, x, who, events)
    if not shared and (reason := _few_telling(y, x, who)):
        return EstimateWithTest(_slope(y, x), reason=reason)
    return _least_squares(y, x, who, confidence, cautious=not shared)


def _few_telling(y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"]) -> str:
    """Why too few subjects carry a slope of scores for an interval, "" where enough do.

    They count as the effective subjects of the column (Kish 1965), times the share whose mean differs from the middle
    one, and lies off the line of most: where most scores are equal, or in proportion to the column, the subjects with
    the most weight are likely to be among them.
    """
    (scores, rounding), off = _by_subject(y, who), _off_line(y, x, who)
    differ = np.abs(scores - np.sort(scores)[len(scores) // 2]) > rounding
    share = min(float(differ.mean()), float((off > 0).mean()))
    if not differ.any():
        return UNVARIED
    telling = share * telling_subjects(np.column_stack([np.ones_like(x), x]), who)
    few = f"the slope rests on {telling:.1f} effective subjects: an interval needs {TELLING}"
    return few if telling < TELLING else ""


def _by_subject(values: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"]) -> tuple[Float[np.ndarray, " p"], float]:
    """Each subject's mean, and the distance that is rounding."""
    means = np.bincount(who, weights=values) / np.bincount(who)
    return means, float(regression.ROUNDING * np.abs(means).max())


def _off_line(
    y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " p"]:
    """How far each subject's mean lies from the line of most: the median slope of pairs, and the median height.

    Theil 1950; of more than `MOST_PAIRED` subjects, each is paired with the one half of them further. 0 for rounding.
    """
    (scores, rounding), (places, _) = _by_subject(y, who), _by_subject(x, who)
    order, half = np.argsort(places, kind="stable"), (len(places) + 1) // 2
    first, second = np.triu_indices(len(order), 1)
    if len(order) > MOST_PAIRED:
        first, second = np.arange(len(order) - half), np.arange(half, len(order))
    apart = places[order[second]] - places[order[first]]
    risen = scores[order[second]] - scores[order[first]]
    height = scores - places * (np.median(risen[apart > 0] / apart[apart > 0]) if apart.any() else 0.0)
    off = np.abs(height - np.median(height))
    return np.where(off > rounding, off, 0.0)


def _slope(y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"]) -> float:
    centered = x - x.mean()
    return float(centered @ y / (centered @ centered))


def _least_squares(
    y: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    who: Int[np.ndarray, " n"],
    confidence: float,
    *,
    cautious: bool = False,
) -> EstimateWithTest:
    """The slope of y on x: Student's t on errors by subject, with a skewness one standard error further than seen.

    Few subjects, of whom some weigh much, show too little skewness. They count as the effective subjects that the
    column has, or as twice those of their shares in the variance (Kish 1965), if these are fewer. cautious: the shares
    are how far the slope moves without each subject (the jackknife: MacKinnon and White 1985), and the skewness one and
    a half standard errors further, or two where it is seen to be over half of one. Where few lie far off the line of
    most, the variance allows for a subject that was not drawn.
    """
    design, centered = np.column_stack([np.ones_like(x), x]), x - x.mean()
    weights = centered / (centered @ centered)
    estimate = float(weights @ y)
    residual = y - y.mean() - estimate * centered
    residual[np.abs(residual) <= regression.ROUNDING * np.abs(y).max()] = 0.0
    covariance, freedom = bias_reduced(design, residual, who)
    error = float(np.sqrt(covariance[1, 1]))
    if not (error > 0 and freedom[1] >= 1):
        return EstimateWithTest(estimate, reason=UNVARIED if np.ptp(y) == 0 else "the errors cannot be estimated")
    shares: Float[np.ndarray, " p"] = np.bincount(who, weights=weights * residual)
    if cautious:
        shares = estimate - _without_each(centered, y - y.mean(), who)
        error = float(np.hypot(np.sqrt(shares @ shares), _undrawn(y, x, who, weights, residual)))
    fewest = 2 * float((shares**2).sum() ** 2 / (shares**4).sum())
    telling = max(min(telling_subjects(design, who), fewest), 3.0)
    skewed, unseen = float(intervals.skewness(shares, telling)), math.sqrt(6) / telling
    if cautious:
        unseen *= 2.0 if abs(skewed) > unseen / 2 else 1.5
    low, high = intervals.skewed_interval(estimate, error, freedom[1], skewed, confidence, unseen)
    p = intervals.skewed_p(estimate / error, float(freedom[1]), skewed, unseen)
    return EstimateWithTest(
        estimate, float(low), float(high), p=p, interval_method=intervals.STUDENT, test_method=intervals.STUDENT
    )


def _undrawn(
    y: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    who: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    residual: Float[np.ndarray, " n"],
) -> float:
    """How far one more subject would move the slope, as far off as any is, with the mean weight of the heaviest tenth.

    0 unless few lie far off the line of most: less than the share `FEW_FAR`, further than half the mean distance.
    """
    off = _off_line(y, x, who)
    if not np.mean(off > off.mean() / 2) < FEW_FAR:
        return 0.0
    heaviest = np.sort(np.abs(np.bincount(who, weights=weights)))[-max(1, len(off) // 10) :]
    return float(heaviest.mean() * np.abs(_by_subject(residual, who)[0]).max())


def _without_each(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " p"]:
    """The slope without each of the subjects."""
    n, a, b, ab, aa = (w.sum() - np.bincount(who, weights=w) for w in (np.ones_like(x), x, y, x * y, x * x))
    return np.asarray((ab - a * b / n) / (aa - a**2 / n))


def _slope_of_few(
    y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], who: Int[np.ndarray, " n"], events: int
) -> EstimateWithTest:
    """The slope of a rare binary outcome: no interval, and a test by permutation where each subject has one x."""
    estimate = _slope(y, x)
    if np.ptp(y) == 0:
        return EstimateWithTest(estimate, reason=UNVARIED)
    p = regression.permuted(y, x, who)
    few = f"too few events for an interval of the slope: {events} subjects; at least {FEW_EVENTS} of each kind"
    return EstimateWithTest(estimate, p=p, test_method=regression.SUBJECTS if np.isfinite(p) else "", reason=few)


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

    Without edges a continuous or ordinal attribute is cut at the terciles of its values; where a tercile is the
    smallest value, that edge is moved just above it, so that the smallest value is a separate group.
    """
    known = np.isfinite(values)
    if attribute.discrete:
        levels = tuple(float(level) for level in range(len(attribute.levels)))
        return Groups(attribute, np.where(known, values, -1).astype(np.int64), levels)
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


def _terciles(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " edges"]:
    """Inner edges; none where all values are equal."""
    if len(values) == 0 or values.min() == values.max():
        return np.empty(0)
    above = values[values > values.min()].min()
    return np.unique(np.maximum(np.quantile(values, [1 / 3, 2 / 3]), above))


def associations(
    values: Float[np.ndarray, " n"],
    reasons: np.ndarray,
    groups: Groups,
    column: Float[np.ndarray, " n"],
    *,
    is_binary: bool,
    subjects: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    answers: int = 1,
) -> list[Effect]:
    """Unadjusted differences and slope of an attribute, without target and outcome; their unit is per what.

    An effect is NaN with a reason where it cannot be estimated. kind: "contrast" (mean of the group at `to` minus that
    at `origin`) or "slope" (per unit of the attribute).
    """
    exclusions = Exclusions.of(values, reasons)
    who = np.arange(len(values)) if subjects is None else subjects
    clusters = None if len(np.unique(who)) == len(who) else who
    how = {"is_binary": is_binary, "clusters": clusters, "confidence": confidence, "answers": answers}
    made: list[Effect] = []
    for title, (kind, origin, to, per), result, rows in _estimates(values, groups, column, how):
        valid = rows & np.isfinite(values)
        made.append(
            Effect(
                **{entry.name: getattr(result, entry.name) for entry in fields(EstimateWithTest)},
                name=title,
                attribute=groups.attribute.name,
                target="",
                outcome="",
                unit=per,
                n_subjects=len(np.unique(who[valid])),
                n_images=int(valid.sum()),
                kind=kind,
                origin=origin,
                to=to,
                basis="observational",
                excluded=exclusions.count(rows),
            )
        )
    return made


def _estimates(
    values: Float[np.ndarray, " n"], groups: Groups, column: Float[np.ndarray, " n"], how: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, float, float, str], EstimateWithTest, Bool[np.ndarray, " n"]]]:
    """Name, kind and ends of each association of an attribute, with the rows that it is of."""
    attribute = groups.attribute
    for to in compared_with_first(groups):
        masks = groups.index == 0, groups.index == to
        result = difference(values, masks, (groups.label(0), groups.label(to)), **how)
        ends = "contrast", groups.centers[0], groups.centers[to], ""
        yield contrast_name(groups, to), ends, result, masks[0] | masks[1]
    if not attribute.discrete:
        known = np.isfinite(column)
        result = slope(values, column, known, attribute.name, **how)
        low, high = (float(np.min(column[known])), float(np.max(column[known]))) if known.any() else (np.nan, np.nan)
        yield f"{attribute.name}: slope", ("slope", low, high, attribute.unit or "unit"), result, known
