"""What do people see change when one attribute is manipulated? Perception sensitivity, correlations.

Denton et al. 2019, Eq. 4: the mean perceived change in a′ when a is manipulated. A clean manipulation changes its own
row's diagonal only. Their Fig. 3 (correlations of attributes) shows which attributes will be hard to separate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.effects import intervals
from transect.effects.samples import Columns, Labels, read_columns
from transect.effects.sensitivity import SOURCE
from transect.errors import BadInput
from transect.records import Annotations, Effect

NO_PAIR: Final = "no subject has both ratings"


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

    def effects(self, labels: Labels | None = None) -> tuple[Effect, ...]:
        """One Effect per cell; its attribute is the manipulated one, its outcome the perceived one."""
        names = labels or Labels(basis="experimental", unit="rating")
        return tuple(
            _effect(self, row, column, names)
            for row in range(len(self.manipulated))
            for column in range(len(self.perceived))
        )


def perception_sensitivity(
    before: Mapping[str, Columns],
    after: Mapping[str, Columns],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PerceptionMatrix:
    """The matrix of mean perceived changes: one row per manipulated attribute, one column per perceived one.

    before, after: manipulated attribute -> perceived values of the same subjects, row by row, at the two ends of the
    manipulation: a table with one column per perceived attribute, NaN where it was not rated (see `mean_ratings`).

    Returns PerceptionMatrix; a cell without a subject that was rated at both ends is NaN. Intervals are BCa by subject,
    Student's t below ten.

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
    by_attribute = {name: _row(rows[name], perceived, confidence, resamples, seed) for name in rows}
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
    resamples: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    names, differences = changes
    table = np.full((len(differences), len(perceived)), np.nan)
    table[:, [list(perceived).index(name) for name in names]] = differences
    known = np.isfinite(table)
    n = known.sum(axis=0)
    mean = np.divide(np.where(known, table, 0.0).sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    bounds = intervals.mean_interval(table, confidence=confidence, resamples=resamples, seed=seed)
    return mean, bounds.low, bounds.high, n, len(table) - n, bounds.methods


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


def share_of_yes(
    means: ArrayLike, *, low: float = 0.0, high: float = 1.0, reverse: bool = False
) -> Float[np.ndarray, " n"]:
    """Mean ratings between the ends of their scale as shares of a yes, 0 to 1; reverse: the low end is the yes.

    NaN for an image without a rating. Raises BadInput for a rating beyond the scale, or a scale of no length.

    >>> share_of_yes([1.0, 4.0, 5.0], low=1, high=5)
    array([0.  , 0.75, 1.  ])
    """
    values = np.asarray(means, dtype=np.float64)
    known = values[np.isfinite(values)]
    if not low < high or (len(known) and not low <= known.min() <= known.max() <= high):
        span = f"{known.min():g} to {known.max():g}" if len(known) else "none"
        raise BadInput(f"expected mean ratings from {low:g} to {high:g}, got {span}; give the scale's ends")
    share = (values - low) / (high - low)
    return 1.0 - share if reverse else share


def fractional_errors(scores: ArrayLike, shares: ArrayLike) -> Float[np.ndarray, " n"]:
    """|score - mean rating| of each image, both from 0 to 1 (Balakrishnan et al. 2020, Fig. 15); NaN without either.

    What a fractional logit takes (`logit`). Raises BadInput for lengths that differ or numbers beyond 0 and 1.

    >>> fractional_errors([0.75, 0.5], [1.0, np.nan])
    array([0.25,  nan])
    """
    score, share = np.asarray(scores, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    if score.shape != share.shape:
        raise BadInput(f"expected one mean rating for each of {len(score)} scores, got {len(share)}; pass NaN for none")
    for name, values in (("scores", score), ("mean ratings", share)):
        known = values[np.isfinite(values)]
        if len(known) and not 0 <= known.min() <= known.max() <= 1:
            raise BadInput(f"{name}: expected 0 to 1, got {known.min():g} to {known.max():g}; see share_of_yes")
    return np.asarray(np.abs(score - share))


@final
@dataclass(frozen=True, slots=True)
class Correlations:
    """Pearson correlations [k, k] of columns, and the rows that each rests on; NaN where a column does not vary."""

    names: tuple[str, ...]
    values: Float[np.ndarray, "k k"]
    rows: Int[np.ndarray, "k k"]


def correlations(columns: Columns) -> Correlations:
    """Correlation of every pair of columns over the rows that have both (Denton et al. 2019, Fig. 3).

    >>> correlations({"beard": [0.0, 1.0, 1.0, np.nan], "hat": [0.0, 1.0, 1.0, 0.0]}).values.round(6)
    array([[1., 1.],
           [1., 1.]])
    """
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


def _effect(matrix: PerceptionMatrix, row: int, column: int, labels: Labels) -> Effect:
    n, low = int(matrix.subjects[row, column]), float(matrix.low[row, column])
    manipulated, seen = matrix.manipulated[row], matrix.perceived[column]
    method = matrix.methods[row][column]
    return Effect(
        name=f"{manipulated}: perceived {seen}",
        attribute=manipulated,
        target=labels.target or "raters",
        outcome=f"perceived {seen}",
        estimate=float(matrix.values[row, column]),
        low=low,
        high=float(matrix.high[row, column]),
        p=np.nan,
        unit=labels.unit,
        n_subjects=n,
        n_images=2 * n,
        basis=labels.basis,
        excluded={"not rated at both ends": int(matrix.missing[row, column])} if matrix.missing[row, column] else {},
        reason=NO_PAIR if not n else "" if np.isfinite(low) else "no interval: nothing varies",
        interval_method=method,
        spec={"measure": "perception sensitivity"},
        sources=tuple(source for source in (SOURCE, intervals.SOURCES.get(method, "")) if source),
    )
