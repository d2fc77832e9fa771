"""How certain is an estimate when other subjects and other raters could have answered?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.special import stdtrit

from transect.effects.clusters import sums_by
from transect.effects.intervals import CONFIDENCE, ZOU_DONNER
from transect.errors import BadInput
from transect.records import Annotations

SOURCES: Final = (
    "Henderson 1953, Estimation of variance and covariance components, doi:10.2307/3001853",
    "Cameron, Gelbach & Miller 2011, Robust inference with multiway clustering, doi:10.1198/jbes.2010.07136",
)


@final
@dataclass(frozen=True, slots=True)
class CrossedVariance:
    """The variance of an estimate, its degrees of freedom, and the share of it that the choice of raters adds, 0 to 1.

    Degrees of freedom are the number of subjects or of raters, whichever is smaller, less one: two or three raters may
    agree by chance, and Satterthwaite's would then take their variance for known (simulated: 95 % intervals for a share
    covered 75 to 90 %). NaN with the reason where the variance is not estimable.
    """

    variance: float
    freedom: float
    rater_share: float
    reason: str = ""


def crossed_variance(
    x: Float[np.ndarray, "n k"],
    residual: Float[np.ndarray, " n"],
    spread: Float[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    contrast: Float[np.ndarray, " k"],
    subject: Int[np.ndarray, " n"],
    rater: Int[np.ndarray, " n"],
) -> CrossedVariance:
    """Variance of contrast · coefficients of a fit that solves Σ weight · x · residual = 0."""
    cell = np.unique(subject * (int(rater.max(initial=0)) + 1) + rater, return_inverse=True)[1].reshape(-1)
    clusters = subject, rater, cell
    sizes = [int(each.max(initial=-1)) + 1 for each in clusters]
    if reason := _unknown_variance(*sizes):
        return CrossedVariance(np.nan, np.nan, np.nan, reason)
    scaled = weight[:, None] * x
    solved = np.linalg.solve(scaled.T @ (spread[:, None] * x), scaled.T)  # how each answer moves the coefficients
    parts = _Parts(contrast @ solved, np.sqrt(spread), spread[:, None] * x, solved)
    seen = np.array([_square(parts.moves * residual, each) for each in clusters])
    expected = np.array([[parts.expectation(of, each) for each in clusters] for of in clusters])
    scale = np.diag(expected)
    components = nnls(expected / scale[:, None], seen / scale)[0]
    adds = components * [_square(parts.moves * parts.root, each) for each in clusters]
    variance = float(adds.sum())
    return CrossedVariance(variance, min(sizes[:2]) - 1.0, float(adds[1]) / variance if variance else np.nan)


def _unknown_variance(subjects: int, raters: int, cells: int) -> str:
    if subjects < 2:
        return "fewer than two subjects"
    if raters < 2:
        return "fewer than two raters: how far raters differ is not estimable"
    if cells == subjects:
        return "one rater a subject: how far raters differ is not estimable"
    return "one subject a rater: how far subjects differ is not estimable" if cells == raters else ""


@final
@dataclass(frozen=True, slots=True)
class _Parts:
    """moves [n]: how an error moves the estimate; root: its scale; tangent [n, k]; solved [k, n]."""

    moves: Float[np.ndarray, " n"]
    root: Float[np.ndarray, " n"]
    tangent: Float[np.ndarray, "n k"]
    solved: Float[np.ndarray, "k n"]

    def expectation(self, of: Int[np.ndarray, " n"], errors: Int[np.ndarray, " n"]) -> float:
        """The mean over errors of variance 1 by one kind of cluster of the summed squares of another's residuals."""
        both = np.unique(of * (int(errors.max()) + 1) + errors, return_inverse=True)[1].reshape(-1)
        error = _square(self.moves * self.root, both)
        influence = sums_by((self.solved * self.root).T, errors)
        shared = influence[errors] * self.root[:, None]
        tangent, crossed = (sums_by(self.moves[:, None] * each, of) for each in (self.tangent, shared))
        fitted = float((tangent @ (influence.T @ influence) * tangent).sum())
        return error - 2 * float((tangent * crossed).sum()) + fitted


def _square(values: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]) -> float:
    """The sum over groups of the squared sum of each."""
    return float((np.bincount(groups, weights=values) ** 2).sum())


METHOD: Final = "bootstrap by subject and by rater"
LEAST_RATERS: Final = 3
"""Two raters agree by chance so often that intervals of 95 % covered 79 to 93 %."""
SOURCE: Final = (
    "Cameron, Gelbach & Miller 2011, Robust inference with multiway clustering, doi:10.1198/jbes.2010.07136; Owen "
    "2007, The pigeonhole bootstrap, doi:10.1214/07-AOAS122"
)
SQUARED: Final = ZOU_DONNER

Statistic = Callable[[Float[np.ndarray, "n p"], Float[np.ndarray, " n"]], Float[np.ndarray, " k"]]
"""From mean ratings of each image (NaN: not rated) and weights of images to k estimates; NaN where there is none."""


@final
@dataclass(frozen=True, slots=True)
class RaterUncertainty:
    """Estimates [k] with intervals that hold for other subjects and other raters.

    error: standard errors; by_subject: those if the raters were the only ones there are; rater_share: of the variance,
    0 to 1, due to the choice of raters. NaN with the reason where it is not estimable.
    """

    estimate: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    error: Float[np.ndarray, " k"]
    by_subject: Float[np.ndarray, " k"]
    rater_share: Float[np.ndarray, " k"]
    subjects: int
    raters: int
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class AddedByRaters:
    """What the choice of raters adds to the variance of k estimates: 0 where they differ by noise alone.

    variance [k]: NaN with the reason where it is not estimable, and of an estimate that fewer than half of the
    resamples have.
    """

    variance: Float[np.ndarray, " k"]
    raters: int
    reason: str = ""

    def widened(
        self, estimate: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Ends of intervals by subject, moved outwards by what raters add; NaN where that is not known."""
        middle, down, up = (np.asarray(x, dtype=np.float64) for x in (estimate, low, high))
        half = stdtrit(max(self.raters - 1, 1), (1 + CONFIDENCE) / 2) * np.sqrt(self.variance)
        return middle - np.hypot(middle - down, half), middle + np.hypot(up - middle, half)


class _Answers(NamedTuple):
    """One question's answers: image, rater and cell (a rater about a subject) of each, and the answer."""

    image: Int[np.ndarray, " r"]
    rater: Int[np.ndarray, " r"]
    cell: Int[np.ndarray, " r"]
    value: Float[np.ndarray, " r"]


def raters_resampled(
    statistic: Statistic,
    annotations: Sequence[Annotations],
    subjects: Int[np.ndarray, " n"],
    *,
    resamples: int = 400,
    seed: int = 0,
) -> RaterUncertainty:
    """The estimate from mean ratings, with the uncertainty of subjects and of raters carried through."""
    answers, n_raters, n_cells = _read(annotations, subjects)
    places = np.unique(subjects, return_inverse=True)[1].reshape(-1)
    n, n_subjects = len(subjects), int(places.max(initial=-1)) + 1
    means, ones = _means(answers, n, None), np.ones(n)
    estimate = np.atleast_1d(np.asarray(statistic(means, ones), dtype=np.float64))
    answers_per_image = _answers_each(answers, n)
    if reason := _reason(n_subjects, n_raters, answers, answers_per_image, estimate):
        no = np.full(len(estimate), np.nan)
        return RaterUncertainty(estimate, no, no, no, no, no, n_subjects, n_raters, reason)
    rng = np.random.default_rng(seed)
    by_subject = _variance(statistic(means, c[places]) for c in _counts(rng, n_subjects, resamples))
    by_subject *= n_subjects / (n_subjects - 1)
    sizes = n_raters, n_cells
    added = _added(rng, statistic, answers, n, sizes, answers_per_image, resamples)
    whole = by_subject + added
    half = stdtrit(min(n_subjects, n_raters) - 1.0, (1 + CONFIDENCE) / 2) * np.sqrt(whole)
    share = np.divide(added, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    low, high = estimate - half, estimate + half
    return RaterUncertainty(
        estimate, low, high, np.sqrt(whole), np.sqrt(by_subject), share, n_subjects, n_raters
    )  # fmt: skip


def added_by_raters(
    statistic: Statistic,
    annotations: Sequence[Annotations],
    subjects: Int[np.ndarray, " n"],
    *,
    resamples: int = 200,
    seed: int = 0,
) -> AddedByRaters:
    """The variance that other raters would add to estimates whose intervals by subject are known already."""
    answers, n_raters, n_cells = _read(annotations, subjects)
    n, answers_per_image = len(subjects), _answers_each(answers, len(subjects))
    estimate = np.atleast_1d(np.asarray(statistic(_means(answers, n, None), np.ones(n)), dtype=np.float64))
    n_subjects = len(np.unique(subjects))
    if reason := _reason(n_subjects, n_raters, answers, answers_per_image, np.zeros(1)):
        return AddedByRaters(np.full(len(estimate), np.nan), n_raters, reason)
    rng = np.random.default_rng(seed)
    added = _added(rng, statistic, answers, n, (n_raters, n_cells), answers_per_image, resamples)
    return AddedByRaters(np.where(np.isfinite(estimate), added, np.nan), n_raters)


def _added(
    rng: np.random.Generator,
    statistic: Statistic,
    answers: Sequence[_Answers],
    n: int,
    sizes: tuple[int, int],
    answers_per_image: float,
    resamples: int,
) -> Float[np.ndarray, " k"]:
    """V_R - V_E of the module's text, at least 0. sizes: raters and cells."""
    of_rater, of_cell = (
        _variance(
            statistic(_means(answers, n, [c[getattr(question, way)] for question in answers]), np.ones(n))
            for c in _counts(rng, size, resamples)
        )
        for way, size in zip(("rater", "cell"), sizes, strict=True)
    )
    # A rater's habit is measured against the mean of those who rated the same image, themselves among them: once where
    # all rated all images; elsewhere the square to first order, less with few answers (simulated: 1.5 fits 3 to 8).
    correction = answers_per_image / (answers_per_image - 1)
    everybody = answers_per_image > sizes[0] - 1e-9
    return np.asarray(np.maximum(of_rater - of_cell, 0.0) * (correction if everybody else correction**1.5))


def _read(annotations: Sequence[Annotations], subjects: Int[np.ndarray, " n"]) -> tuple[list[_Answers], int, int]:
    """Answers with raters and cells as numbers, the same for all questions."""
    names = {
        name: place
        for place, name in enumerate(dict.fromkeys(rater for question in annotations for rater in question.rater))
    }
    places = np.unique(subjects, return_inverse=True)[1].reshape(-1)
    answers, used = [], set()
    for question in annotations:
        known = np.isfinite(question.value)
        image = question.image[known]
        if len(image) and not 0 <= image.min() <= image.max() < len(subjects):
            raise BadInput(f"expected answers about images 0 to {len(subjects) - 1}, got {image.max()}; check the ids")
        rater = np.array(
            [names[name] for name, is_known in zip(question.rater, known, strict=True) if is_known], dtype=np.int64
        )
        used |= set(rater.tolist())
        answers.append(
            _Answers(image, rater, rater * (int(places.max(initial=0)) + 1) + places[image], question.value[known])
        )
    cells = {
        cell: place for place, cell in enumerate(sorted({c for question in answers for c in question.cell.tolist()}))
    }
    raters = {rater: place for place, rater in enumerate(sorted(used))}
    numbered = [
        question._replace(
            rater=np.array([raters[r] for r in question.rater.tolist()], dtype=np.int64),
            cell=np.array([cells[c] for c in question.cell.tolist()], dtype=np.int64),
        )
        for question in answers
    ]
    return numbered, len(raters), len(cells)


def _answers_each(answers: Sequence[_Answers], n: int) -> float:
    """Answers about an image that has any: the harmonic mean over images and questions."""
    counts = np.concatenate([np.bincount(question.image, minlength=n) for question in answers])
    return float(1 / (1 / counts[counts > 0]).mean()) if counts.any() else 0.0


def _reason(
    subjects: int,
    raters: int,
    answers: Sequence[_Answers],
    answers_per_image: float,
    estimate: Float[np.ndarray, " k"],
) -> str:
    if not np.isfinite(estimate).all():
        return "not estimable from these ratings"
    if subjects < 2:
        return "fewer than two subjects"
    if raters < LEAST_RATERS:
        return "fewer than three raters: their variance is not known"
    if not answers_per_image > 1:
        return "one answer per image: the variance of raters is not estimable"
    nameless = all(len(np.unique(question.rater)) == len(question.rater) for question in answers)
    return "nobody gave two answers: raters are not named, and their variance is not estimable" if nameless else ""


def _means(answers: Sequence[_Answers], n: int, weights: list[np.ndarray] | None) -> Float[np.ndarray, "n p"]:
    """Weighted mean answers of each image; NaN without any."""
    columns = []
    for k, question in enumerate(answers):
        weight = np.ones(len(question.value)) if weights is None else weights[k]
        below = np.bincount(question.image, weights=weight, minlength=n)
        above = np.bincount(question.image, weights=weight * question.value, minlength=n)
        columns.append(np.divide(above, below, out=np.full(n, np.nan), where=below > 0))
    return np.stack(columns, axis=1)


def _counts(rng: np.random.Generator, n: int, resamples: int) -> Iterator[Float[np.ndarray, " n"]]:
    """How often each of n units enters each resample."""
    for _ in range(resamples):
        yield np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)


def _variance(replicates: Iterator[Float[np.ndarray, " k"]]) -> Float[np.ndarray, " k"]:
    """Variance of each estimate over the resamples that have it; NaN where fewer than half of them do."""
    rows = np.stack(list(replicates))
    known = np.isfinite(rows)
    n = known.sum(axis=0)
    mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0)
    return np.where(n >= max(2, len(rows) / 2), squares / np.maximum(n - 1, 1), np.nan)


def instrumented(
    y: Float[np.ndarray, " n"], instruments: Float[np.ndarray, "n q"], exogenous: Float[np.ndarray, "n r"]
) -> Statistic:
    """Two-stage least squares of y on mean ratings, with intended values as instruments; exogenous: held equal."""
    ones = np.ones((len(y), 1))
    outside = np.column_stack([ones, exogenous])
    z = np.column_stack([outside, instruments])

    def estimate(means: Float[np.ndarray, "n p"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        usable = np.isfinite(y) & np.isfinite(means).all(axis=1) & (weights > 0)
        root = np.sqrt(weights[usable])[:, None]
        x = np.column_stack([means, outside])[usable] * root
        fitted = _projected(z[usable] * root, x)
        if fitted is None or np.linalg.matrix_rank(fitted) < x.shape[1]:
            return np.full(means.shape[1], np.nan)
        return np.linalg.solve(fitted.T @ x, fitted.T @ (y[usable] * root[:, 0]))[: means.shape[1]]

    return estimate


def _projected(z: Float[np.ndarray, "m q"], x: Float[np.ndarray, "m p"]) -> Float[np.ndarray, "m p"] | None:
    """The part of the columns x that the instruments predict."""
    if len(z) <= x.shape[1]:
        return None
    return np.asarray(z @ np.linalg.lstsq(z, x, rcond=None)[0])


def error_difference(
    answers: Float[np.ndarray, " n"],
    label: Callable[[Float[np.ndarray, "n p"]], Float[np.ndarray, " n"]],
    first: np.ndarray,
    last: np.ndarray,
) -> Statistic:
    """Error rate in the last group minus the first, where raters say what is right."""

    def estimate(means: Float[np.ndarray, "n p"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        wrong = np.abs(answers - label(means))
        known = np.isfinite(wrong) & (weights > 0)
        rates = []
        for group in (first, last):
            rows = known & group
            rates.append(np.average(wrong[rows], weights=weights[rows]) if rows.any() else np.nan)
        return np.array([rates[1] - rates[0]])

    return estimate
