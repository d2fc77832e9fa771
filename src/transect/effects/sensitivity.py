"""How far does an attribute move a score, a class or what raters see? (Denton et al. 2019, and perception matrices)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.effects import intervals
from transect.effects.contrasts import known_means
from transect.effects.curves import Band, difference_band, mean_band, rate_band
from transect.effects.samples import Columns, read_columns
from transect.errors import BadInput
from transect.records import Annotations

SOURCE: Final = (
    "Denton et al. 2019, Detecting bias with generative counterfactual face attribute augmentation, arXiv:1906.06439"
)
NEAR: Final = (0.3, 0.7)
"""Near the decision boundary, as published: 0.3 < f < 0.7 at the subject's own image."""
OWN_IMAGE: Final = "the subject's own image"
NO_BASE: Final = "no valid answer at λ = 0"
NOT_NEAR: Final = "not near the boundary"
LEFT_OUT: Final = "left out on request"
NO_ANSWER: Final = "no valid answer"


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """One measure at every step: values [k] with pointwise intervals clustered by subject, subjects [k], reasons [k].

    name: "S", "E|Δ|", "S 0→1", … . At λ = 0 a change is 0 by construction and has no interval. band: of all steps at
    once, which contains the whole curve.
    """

    name: str
    steps: Float[np.ndarray, " k"]
    values: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    subjects: np.ndarray
    excluded: tuple[Mapping[str, int], ...]
    reasons: tuple[str, ...]
    methods: tuple[str, ...]
    unit: str
    band: Band


@final
@dataclass(frozen=True, slots=True)
class ScoreSensitivity:
    """signed: S(f∘G, λd; Z), Eq. 3. absolute: E|Δ|, the hypothesis stability of their footnote 1."""

    signed: Curve
    absolute: Curve


@final
@dataclass(frozen=True, slots=True)
class ClassificationSensitivity:
    """signed: S(y∘G, λd; Z), Eq. 6, in [-1, 1]. absolute: share of subjects whose answer flips either way.

    up_signed, down_signed: Eq. 6 over the subjects that answer 0 (its values are >= 0) and 1 (<= 0) at λ = 0, as the
    paper defines S0→1 and S1→0. up, down: the same as frequencies, as its Fig. 6 plots them.
    """

    threshold: float
    signed: Curve
    absolute: Curve
    up_signed: Curve
    down_signed: Curve
    up: Curve
    down: Curve


def score_sensitivity(
    scores: ArrayLike,
    steps: ArrayLike,
    *,
    near: tuple[float, float] | None = None,
    keep: ArrayLike | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> ScoreSensitivity:
    """Mean change of the score at each step λ, with subject-cluster bands: signed (Eq. 3) and absolute.

    scores: [n subjects, k steps], NaN where there is no valid answer. steps: λ of each column, usually from -1 to 1,
    with 0 among them. near: only subjects with near[0] < f < near[1] at λ = 0, as `NEAR`. keep: bool [n] or [n, k];
    what is not kept is counted as left out (see `validity`).

    Returns ScoreSensitivity. A step where no subject has both answers is NaN with the reason.

    Raises BadInput where shapes differ or λ = 0 is not among the steps.

    >>> result = score_sensitivity([[0.2, 0.5, 0.9], [0.4, 0.5, 0.5]], [-1.0, 0.0, 1.0])
    >>> result.signed.values, result.absolute.values
    (array([-0.2,  0. ,  0.2]), array([0.2, 0. , 0.2]))
    """
    grid = _Grid.of(scores, steps, near, keep)
    paired = functools.partial(intervals.mean_difference_interval, binary=False, confidence=confidence)
    band = functools.partial(mean_band, confidence=confidence, seed=seed)
    signed = _curve("S", grid, grid.differences(), paired, band, "score")
    mean = functools.partial(intervals.mean_interval, confidence=confidence)
    absolute = _curve("E|Δ|", grid, np.abs(grid.differences()), mean, band, "score")
    return ScoreSensitivity(signed, absolute)


def classification_sensitivity(
    scores: ArrayLike,
    steps: ArrayLike,
    *,
    threshold: float = 0.5,
    keep: ArrayLike | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> ClassificationSensitivity:
    """Mean change of the answer y = (score >= threshold) at each step λ, and the one-way flips 0→1 and 1→0.

    Arguments as in `score_sensitivity`. Binary answers may be given as they are, with the threshold 0.5.

    Returns ClassificationSensitivity; flips among subjects that answer 0 (or 1) are NaN where there is none, with the
    reason.

    >>> result = classification_sensitivity([[0.2, 0.4, 0.9], [0.1, 0.6, 0.7]], [-1.0, 0.0, 1.0])
    >>> result.signed.values, result.down_signed.values, result.down.values
    (array([-0.5,  0. ,  0.5]), array([-1.,  0.,  0.]), array([1., 0., 0.]))
    """
    grid = _Grid.of(scores, steps, None, keep).answers(threshold)
    change = grid.differences()
    paired = functools.partial(intervals.mean_difference_interval, binary=True, confidence=confidence)
    band = functools.partial(difference_band, confidence=confidence, seed=seed)
    signed = _curve("S", grid, change, paired, band, "proportion")
    base_no, base_yes = np.where(grid.base == 0, 1.0, np.nan)[:, None], np.where(grid.base == 1, 1.0, np.nan)[:, None]
    absolute, up, down = (
        _flips(name, grid, flipped, confidence, seed)
        for name, flipped in (
            ("flips", np.abs(change)),
            ("S 0→1 (frequency)", np.abs(change) * base_no),
            ("S 1→0 (frequency)", np.abs(change) * base_yes),
        )
    )
    return ClassificationSensitivity(
        threshold,
        signed,
        absolute,
        _renamed(up, "S 0→1 (signed)", 1.0),
        _renamed(down, "S 1→0 (signed)", -1.0),
        up,
        down,
    )


@final
@dataclass(frozen=True, slots=True)
class _Grid:
    """Scores [n, k] at steps [k], each subject's base [n], and why a cell does not count, "" where it does."""

    scores: Float[np.ndarray, "n k"]
    steps: Float[np.ndarray, " k"]
    base: Float[np.ndarray, " n"]
    reasons: np.ndarray

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        steps: ArrayLike,
        near: tuple[float, float] | None,
        keep: ArrayLike | None,
    ) -> _Grid:
        values, levels = _shaped(scores, steps)
        own_base = values[:, np.flatnonzero(levels == 0)[0]]
        reasons = np.where(np.isfinite(values), "", NO_ANSWER).astype(object)
        reasons[~np.isfinite(own_base)] = NO_BASE
        if near is not None:
            far = np.isfinite(own_base) & ~((own_base > near[0]) & (own_base < near[1]))
            reasons[far] = NOT_NEAR
        if keep is not None:
            mask = np.asarray(keep, dtype=bool)
            if mask.shape not in ((len(values),), values.shape):
                raise BadInput(
                    f"keep: expected shape {values.shape[:1]} or {values.shape}, got {mask.shape}; reshape it"
                )
            mask = np.broadcast_to(mask[:, None] if mask.ndim == 1 else mask, values.shape)
            reasons[~mask & (reasons == "")] = LEFT_OUT
        return cls(values, levels, own_base, reasons)

    def answers(self, threshold: float) -> _Grid:
        """The same with answers 0 and 1 in place of scores; NaN stays."""
        answers = np.where(np.isfinite(self.scores), (self.scores >= threshold).astype(float), np.nan)
        base_answers = np.where(np.isfinite(self.base), (self.base >= threshold).astype(float), np.nan)
        return _Grid(answers, self.steps, base_answers, self.reasons)

    def differences(self) -> Float[np.ndarray, "n k"]:
        """Each subject's change at each step; NaN where it does not count."""
        return np.where(self.reasons == "", self.scores - self.base[:, None], np.nan)

    def excluded(self, step: int, counted: Bool[np.ndarray, " n"]) -> dict[str, int]:
        """Reason -> subjects left out at a step."""
        texts, counts = np.unique(self.reasons[~counted, step].astype(str), return_counts=True)
        return {text: int(n) for text, n in zip(texts.tolist(), counts, strict=True) if text}


def _shaped(scores: ArrayLike, steps: ArrayLike) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, " k"]]:
    _, values = read_columns(scores, prefix="step")
    levels = np.asarray(steps, dtype=np.float64).reshape(-1)
    if len(levels) != values.shape[1] or not np.isfinite(levels).all() or len(np.unique(levels)) < len(levels):
        raise BadInput(
            f"steps: expected {values.shape[1]} different finite steps, got {len(levels)}; give each column's λ"
        )
    if not (levels == 0).any():
        raise BadInput("steps: expected λ = 0, the subject's own image, among them; add it")
    return values, levels


def _curve(
    name: str,
    grid: _Grid,
    values: np.ndarray,
    interval: Callable[[np.ndarray], intervals.Intervals],
    band: Callable[[np.ndarray], Band],
    unit: str,
) -> Curve:
    """Means over subjects with intervals by step, and the band of the steps other than 0."""
    counted = np.isfinite(values)
    n = counted.sum(axis=0)
    mean = known_means(values, axis=0)
    bounds = interval(values)
    at_base = grid.steps == 0
    reasons = tuple(
        "no subject counts" if not k else OWN_IMAGE if at_own else "" if np.isfinite(low) else intervals.no_interval(k)
        for k, at_own, low in zip(n.tolist(), at_base.tolist(), bounds.low.tolist(), strict=True)
    )
    low, high = np.where(at_base, np.nan, bounds.low), np.where(at_base, np.nan, bounds.high)
    methods = tuple("" if at_own else method for at_own, method in zip(at_base.tolist(), bounds.methods, strict=True))
    excluded = tuple(grid.excluded(step, counted[:, step]) for step in range(len(n)))
    return Curve(
        name,
        grid.steps,
        mean,
        low,
        high,
        n,
        excluded,
        reasons,
        methods,
        unit,
        _spread(band(values[:, ~at_base]), ~at_base),
    )


def _spread(band: Band, moved: Bool[np.ndarray, " k"]) -> Band:
    """The band of the moved steps with NaN at the other one."""
    low, high = np.full(len(moved), np.nan), np.full(len(moved), np.nan)
    low[moved], high[moved] = band.low, band.high
    return replace(band, low=low, high=high)


def _flips(name: str, grid: _Grid, flipped: Float[np.ndarray, "n k"], confidence: float, seed: int) -> Curve:
    """Shares of subjects with Wilson's interval: one image per subject and step."""

    def wilson(values: Float[np.ndarray, "n k"]) -> intervals.Intervals:
        counted = np.isfinite(values)
        low, high = intervals.wilson(np.nansum(values, axis=0), counted.sum(axis=0), confidence)
        names = tuple(intervals.WILSON if end == end else "" for end in low.tolist())
        return intervals.Intervals(np.asarray(low), np.asarray(high), names)

    def band(values: Float[np.ndarray, "n k"]) -> Band:
        counted = np.isfinite(values)
        return rate_band(np.where(counted, values, 0.0), counted.astype(np.float64), confidence=confidence, seed=seed)

    return _curve(name, grid, flipped, wilson, band, "proportion")


def _renamed(curve: Curve, name: str, sign: float) -> Curve:
    """The same curve under another name, turned upside down where sign is -1."""
    low, high = (curve.low, curve.high) if sign > 0 else (-curve.high, -curve.low)
    values = sign * curve.values + 0.0
    band = curve.band if sign > 0 else replace(curve.band, low=-curve.band.high, high=-curve.band.low)
    return replace(curve, name=name, values=values, low=low, high=high, band=band)


@final
@dataclass(frozen=True, slots=True)
class PerceptionMatrix:
    """Mean perceived change [manipulated, perceived] with intervals by subject, and the subjects that it rests on."""

    manipulated: tuple[str, ...]
    perceived: tuple[str, ...]
    values: Float[np.ndarray, "a p"]
    low: Float[np.ndarray, "a p"]
    high: Float[np.ndarray, "a p"]
    subjects: Int[np.ndarray, "a p"]
    missing: Int[np.ndarray, "a p"]
    methods: tuple[tuple[str, ...], ...]


def perception_sensitivity(
    before: Mapping[str, Columns],
    after: Mapping[str, Columns],
    *,
    confidence: float = 0.95,
) -> PerceptionMatrix:
    """The matrix of mean perceived changes: one row per manipulated attribute, one column per perceived one.

    before, after: manipulated attribute -> perceived values of the same subjects, row by row, at the two ends of the
    manipulation: a table with one column per perceived attribute, NaN where it was not rated (see `mean_ratings`).

    Returns PerceptionMatrix; a cell without a subject that was rated at both ends is NaN. Intervals are those of
    `intervals.mean_interval`.

    Raises BadInput where the two ends have other attributes, columns or numbers of subjects.

    >>> result = perception_sensitivity({"hair": {"hair": [0.0, 1.0], "beard": [0.0, 0.0]}},
    ...                               {"hair": {"hair": [1.0, 1.5], "beard": [0.5, np.nan]}})
    >>> result.values, result.missing
    (array([[0.75, 0.5 ]]), array([[0, 1]]))
    """
    if list(before) != list(after) or not before:
        raise BadInput(f"expected the same attributes at both ends, got {', '.join(before)} and {', '.join(after)}")
    rows = {name: _changes(name, before[name], after[name]) for name in before}
    perceived = tuple(dict.fromkeys(column for names, _ in rows.values() for column in names))
    by_attribute = {name: _row(rows[name], perceived, confidence) for name in rows}
    values, low, high, subjects, missing = (np.stack([row[part] for row in by_attribute.values()]) for part in range(5))
    methods = tuple(tuple(row[5]) for row in by_attribute.values())
    return PerceptionMatrix(tuple(before), perceived, values, low, high, subjects, missing, methods)


def _changes(name: str, before: Columns, after: Columns) -> tuple[tuple[str, ...], Float[np.ndarray, "n p"]]:
    names, first = read_columns(before, prefix="perceived")
    others, second = read_columns(after, prefix="perceived")
    if names != others or first.shape != second.shape:
        raise BadInput(
            f"{name}: expected the same columns and subjects at both ends, got {first.shape} and {second.shape}"
        )
    return names, second - first


def _row(
    changes: tuple[tuple[str, ...], Float[np.ndarray, "n p"]],
    perceived: Sequence[str],
    confidence: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    names, differences = changes
    table = np.full((len(differences), len(perceived)), np.nan)
    table[:, [list(perceived).index(name) for name in names]] = differences
    n = np.isfinite(table).sum(axis=0)
    bounds = intervals.mean_interval(table, confidence=confidence)
    return known_means(table, axis=0), bounds.low, bounds.high, n, len(table) - n, bounds.methods


def mean_ratings(annotations: Annotations, n_images: int) -> Float[np.ndarray, " n"]:
    """Each image's mean answer; NaN for an image that nobody answered.

    Raises BadInput for an answer about an image beyond `n_images`.

    >>> from transect.records import Question
    >>> ratings = np.array([30.0, 40.0, 20.0])
    >>> mean_ratings(Annotations(Question("age", "How old?"), np.array([0, 0, 2]), ("a", "b", "a"), ratings), 3)
    array([35., nan, 20.])
    """
    known = np.isfinite(annotations.value)
    image = _of_images(annotations.image[known], n_images)
    counts = np.bincount(image, minlength=n_images)
    sums = np.bincount(image, weights=annotations.value[known], minlength=n_images)
    return np.asarray(np.divide(sums, counts, out=np.full(n_images, np.nan), where=counts > 0))


def most_common_ratings(annotations: Annotations, n_images: int) -> Float[np.ndarray, " n"]:
    """Each image's most common answer, for levels in no order, whose numbers have no mean; NaN where several tie.

    NaN also for an image that nobody answered. Raises BadInput for an answer about an image beyond `n_images`.

    >>> from transect.records import Question
    >>> ratings = np.array([0.0, 2.0, 2.0, 0.0, 2.0])
    >>> image, raters = np.array([0, 0, 0, 1, 1]), ("a", "b", "c", "a", "b")
    >>> most_common_ratings(Annotations(Question("hair", "Which hair?"), image, raters, ratings), 2)
    array([ 2., nan])
    """
    known = np.isfinite(annotations.value)
    image = _of_images(annotations.image[known], n_images)
    levels, place = np.unique(annotations.value[known], return_inverse=True)
    counts = np.bincount(image * len(levels) + place, minlength=n_images * len(levels)).reshape(n_images, -1)
    if not len(levels):
        return np.full(n_images, np.nan)
    most = counts.max(axis=1, keepdims=True)
    alone = (most[:, 0] > 0) & ((counts == most).sum(axis=1) == 1)
    return np.where(alone, levels[counts.argmax(axis=1)], np.nan)


def _of_images(image: Int[np.ndarray, " r"], n_images: int) -> Int[np.ndarray, " r"]:
    """The images as they are. Raises BadInput for one beyond `n_images`."""
    if len(image) and not 0 <= image.min() <= image.max() < n_images:
        raise BadInput(f"expected answers about images 0 to {n_images - 1}, got one about {image.max()}; check the ids")
    return image


@final
@dataclass(frozen=True, slots=True)
class Correlations:
    """Pearson correlations [k, k] of columns, and the rows that each rests on; NaN where a column does not vary."""

    names: tuple[str, ...]
    values: Float[np.ndarray, "k k"]
    rows: Int[np.ndarray, "k k"]


def correlations(columns: Columns) -> Correlations:
    """Correlation of every pair of columns over the rows that have both (Denton et al. 2019, Fig. 3)."""
    names, x = read_columns(columns)
    known = np.isfinite(x).astype(np.float64)
    center = np.nanmean(np.where(known.any(axis=0), x, 0.0), axis=0)
    values = np.where(known > 0, x - center, 0.0)  # shifting changes no correlation and keeps sums exact
    n = known.T @ known
    first, second = values.T @ known, values.T @ values
    square = (values**2).T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = second / n - first * first.T / n**2
        spread = np.maximum(square / n - (first / n) ** 2, 0.0)
        scale = np.sqrt(spread * spread.T)
        matrix = np.where(
            scale > 1e-12 * np.sqrt(np.maximum(square * square.T, 0.0)) / np.maximum(n, 1), covariance / scale, np.nan
        )
    return Correlations(names, np.clip(matrix, -1.0, 1.0), n.astype(np.int64))
