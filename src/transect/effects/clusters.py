"""Several photographs of one person are one person: means, intervals and tests with the person as cluster, and errors
of few subjects (CR2).

The effect stays the mean over photographs. How sure it is comes from how people's sums scatter, and under the null
all differences of a person change their sign together. Where nobody repeats, all of this is what it was by subject.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri, stdtrit

from transect.effects import intervals, resampling
from transect.effects.intervals import FEW_AVERAGED, NO_INTERVAL, UNSEEN, Intervals

FEW_DISCORDANT: Final = 12
PAIRED_SCORE: Final = "paired score by person"
SOURCES: Final = {
    PAIRED_SCORE: intervals.SOURCES[intervals.PAIRED_SCORE] + "; on effective photographs as in Korn and Graubard "
    "1998, Survey Methodology 24(2)",
}


def clusters_of(people: Int[np.ndarray, " n"] | None) -> Int[np.ndarray, " n"] | None:
    """The number of the person of each subject, from 0; None where nobody repeats."""
    if people is None:
        return None
    names, who = np.unique(people, return_inverse=True)
    return None if len(names) == len(people) else who.ravel().astype(np.int64)


def by_person(
    values: Float[np.ndarray, "n ..."], who: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "p ..."], Float[np.ndarray, "p ..."]]:
    """Sums of the finite values of each person's rows, and how many there are."""
    known = np.isfinite(values)
    shape = (int(who.max(initial=-1)) + 1, *values.shape[1:])
    totals, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(totals, who, np.where(known, values, 0.0))
    np.add.at(counts, who, known.astype(np.float64))
    return totals, counts


def of_people(differences: Float[np.ndarray, "n ..."], who: Int[np.ndarray, " n"] | None) -> Float[np.ndarray, "p ..."]:
    """Each person's sum of differences, NaN where a person has none; the differences where nobody repeats."""
    if who is None:
        return differences
    totals, counts = by_person(differences, who)
    return np.where(counts > 0, totals, np.nan)


def people_with(differences: Float[np.ndarray, "n k"], who: Int[np.ndarray, " n"] | None) -> Int[np.ndarray, " k"]:
    """How many people have a difference, in each column."""
    return np.asarray(np.isfinite(of_people(differences, who)).sum(axis=0))


def sign_flip(
    differences: Float[np.ndarray, "n k"],
    who: Int[np.ndarray, " n"] | None = None,
    *,
    single: Bool[np.ndarray, " k"] | None = None,
    resamples: int = resampling.FLIPS,
    seed: int = 0,
) -> tuple[Float[np.ndarray, " k"], tuple[str, ...]]:
    """`resampling.sign_flip`, all differences of one person under one sign; no single pairs where people repeat."""
    d = of_people(differences, who)
    return resampling.sign_flip(d, single=single if who is None else None, resamples=resamples, seed=seed)


def mean_difference_interval(
    differences: Float[np.ndarray, "n k"],
    who: Int[np.ndarray, " n"] | None = None,
    *,
    binary: bool,
    reach: Float[np.ndarray, " k"] | None = None,
    pairs: Float[np.ndarray, " k"] | None = None,
    confidence: float = 0.95,
) -> Intervals:
    """`intervals.mean_difference_interval` of n photographs with the person as cluster; else the same."""
    if who is None:
        return intervals.mean_difference_interval(
            differences, binary=binary, reach=reach, pairs=pairs, confidence=confidence
        )
    if not binary:
        return intervals.mean_interval(*by_person(differences, who), confidence=confidence)
    k = differences.shape[1]
    scale = np.ones(k) if reach is None else reach
    low, high = paired_score(differences / scale, who, np.ones(k) if pairs is None else pairs, confidence)
    known = people_with(differences, who) >= 2
    methods = np.where(known, PAIRED_SCORE, NO_INTERVAL).tolist()
    return Intervals(np.where(known, scale * low, np.nan), np.where(known, scale * high, np.nan), tuple(methods))


def paired_score(
    d: Float[np.ndarray, "n k"], who: Int[np.ndarray, " n"], pairs: Float[np.ndarray, " k"], confidence: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Paired score interval of mean differences d in [-1, 1] of photographs (NaN: none), on effective photographs.

    Few people, or few who differ (fewer than `FEW_DISCORDANT` equal ones: Kish 1965), allow for one that was not drawn.
    """
    totals, counts = by_person(d, who)
    mean, residual = resampling.ratio(totals, counts)
    squares, photographs = intervals.scattered(residual, counts), counts.sum(axis=0)
    known = np.where(np.isfinite(d), d, 0.0)
    positive, negative = np.maximum(known, 0).sum(axis=0), np.maximum(-known, 0).sum(axis=0)
    some, people = np.maximum(photographs, 1.0), (counts > 0).sum(axis=0)
    multinomial = (positive + negative) / some - np.nan_to_num(mean) ** 2
    few = (people < FEW_AVERAGED) | (intervals.equally_large(np.abs(totals)) < FEW_DISCORDANT)
    size = (counts**2).sum(axis=0) / np.maximum(people, 1)
    tail = (1 + confidence) / 2
    wider = np.where(few, (stdtrit(intervals.degrees_of_freedom(counts), tail) / ndtri(tail)) ** 2, 1.0)
    between = (squares + np.where(few, UNSEEN * size, 0.0)) * wider
    alike = np.maximum((counts**2).sum(axis=0) / some, 1.0)
    effect = alike.copy()
    np.divide(between, some * multinomial, out=effect, where=(multinomial > 1e-12) & (squares > 0))
    effect = np.clip(effect, 1 / pairs, alike)
    return intervals.paired_score_interval(positive, negative, photographs, design_effect=effect, confidence=confidence)


def linearized(differences: Float[np.ndarray, "n k"], who: Int[np.ndarray, " n"]) -> Float[np.ndarray, "p k"]:
    """A value for each person whose mean is that of the photographs and whose spread is its error; NaN without any."""
    totals, counts = by_person(differences, who)
    mean, residual = resampling.ratio(totals, counts)
    people, photographs = (counts > 0).sum(axis=0), np.maximum(counts.sum(axis=0), 1.0)
    return np.where(counts > 0, mean + residual * people / photographs, np.nan)


def rows_of_people(values: Float[np.ndarray, "n ..."], who: Int[np.ndarray, " n"] | None) -> Float[np.ndarray, "p ..."]:
    """Outcomes [n, *shape] as [people, *shape, photographs], NaN where a person has fewer than another."""
    if who is None:
        return values
    order = np.argsort(who, kind="stable")
    starts = np.searchsorted(who[order], np.arange(int(who.max(initial=-1)) + 1))
    place = np.empty(len(who), dtype=np.int64)
    place[order] = np.arange(len(who)) - starts[who[order]]
    rows = np.full((len(starts), int(place.max(initial=-1)) + 1, *values.shape[1:]), np.nan)
    rows[who, place] = values
    return np.moveaxis(rows, 1, -1)


FEW: Final = 10
"""Least subjects in an arm for degrees of freedom by all subjects, where errors are not bias-reduced."""
MANY: Final = 50
"""Errors are bias-reduced where a coefficient rests on fewer subjects than this, counted as effective subjects."""
CLUSTERED: Final = "Student t on bias-reduced errors clustered by subject"
WALD: Final = "Wald test on bias-reduced errors clustered by subject"
SOURCE: Final = (
    "Bell and McCaffrey 2002, Bias reduction in standard errors for linear regression with multi-stage samples, "
    "Survey Methodology 28(2)"
)
_TAKEN: Final = 1e-9


def smaller_arm(column: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]) -> tuple[int, float] | None:
    """Subjects of the arm of a two-valued column that has fewer of them, and the arm's value; None for others."""
    values = np.unique(column)
    if len(values) != 2:
        return None
    return min((int(np.count_nonzero(np.bincount(groups[column == value]))), float(value)) for value in values)


def telling_subjects(x: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"]) -> float:
    """How many effective subjects the least supported slope rests on, (sum of s)² / sum of s² (Kish 1965)."""
    q, r = np.linalg.qr(x)
    weights = (q @ np.linalg.inv(r).T)[:, min(1, x.shape[1] - 1) :]
    shares = sums_by(weights**2, groups)
    return float((shares.sum(axis=0) ** 2 / (shares**2).sum(axis=0)).min())


def reduce(
    covariance: Float[np.ndarray, "k k"],
    x: Float[np.ndarray, "n k"],
    residual: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " k"] | None:
    """Puts `bias_reduced` in place of a covariance where few subjects carry a coefficient; its degrees of freedom."""
    if not np.isfinite(covariance).all() or telling_subjects(x, groups) >= MANY:
        return None
    covariance[:], freedom = bias_reduced(x, residual, groups)
    return freedom


def bias_reduced(
    x: Float[np.ndarray, "n k"], residual: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, " k"]]:
    """CR2 covariance of least-squares coefficients and the degrees of freedom of each, errors by subject."""
    q, r = np.linalg.qr(x)
    inverse = np.linalg.inv(r)
    moments = np.stack([sums_by(q * q[:, [place]], groups) for place in range(q.shape[1])], axis=1)
    eigenvalues, vectors = np.linalg.eigh(moments)
    remainder = 1 - eigenvalues
    scale = np.where(remainder > _TAKEN, np.maximum(remainder, _TAKEN) ** -0.5, 0.0)
    # On a subject's rows (I - QQ')^(-1/2) acts within the span of its Q alone: k by k, however many images it has.
    turned = np.einsum("gij,gj,gkj->gik", vectors, scale, vectors)
    scores = np.einsum("gij,gj->gi", turned, sums_by(q * residual[:, None], groups))
    covariance = inverse @ (scores.T @ scores) @ inverse.T
    return covariance, np.array([_freedom(turned @ row, moments) for row in inverse])


def _freedom(direction: Float[np.ndarray, "g k"], moments: Float[np.ndarray, "g k k"]) -> float:
    """(sum of λ)² / sum of λ², λ the eigenvalues of diag(size) - BB' whose quadratic form the variance is."""
    b = np.einsum("gij,gj->gi", moments, direction)
    size = (direction * b).sum(axis=1)
    squared_norms = (b**2).sum(axis=1)
    squares = float((size**2).sum() - 2 * (size * squared_norms).sum() + ((b.T @ b) ** 2).sum())
    trace = float((size - squared_norms).sum())
    return trace**2 / squares if squares > 0 else np.nan


def sums_by(values: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"]) -> Float[np.ndarray, "g k"]:
    """Sums of the rows of each group, groups numbered 0 to G - 1."""
    return np.stack([np.bincount(groups, weights=column) for column in values.T], axis=1)
