"""Penalised logistic regression by the bootstrap, many fits at once, and the published adjustment of Balakrishnan et
al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import expit

from transect.effects import resampling
from transect.effects.generalized import LOGIT, constant_outcome, maximise, separation
from transect.effects.regression import constant_columns, undetermined, with_intercept
from transect.effects.samples import Columns, Indicators, Sample, complete, one_hot
from transect.errors import BadInput

SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)

_STEP: Final = 1e-8
_STEPS: Final = 30
_NUMBERS_AT_ONCE: Final = 1 << 18  # resamples x patterns in a block: 2 MiB stay in a core's cache

Unit = Literal["subject", "image"]


@final
@dataclass(frozen=True, slots=True)
class LogisticBootstrap:
    """Penalised log odds per unit of each column, and the same on every resample.

    coefficients [k], intercept: on all rows. replicates [resamples, k + 1]: coefficients and, last, intercept; NaN
    where a resample has no solution (all outcomes equal). standard_deviations [k]: over the finite replicates. unit:
    what was resampled. notes: for each column what a reader must know, "" else: that it does not vary, or that it
    predicts the outcome without error so that only the penalty keeps the coefficient finite. reason: why there is
    nothing.
    """

    names: tuple[str, ...]
    coefficients: Float[np.ndarray, " k"]
    intercept: float
    replicates: Float[np.ndarray, "b p"]
    unit: Unit
    notes: tuple[str, ...]
    n_images: int
    n_subjects: int
    excluded: Mapping[str, int]
    reason: str = ""

    @property
    def standard_deviations(self) -> Float[np.ndarray, " k"]:
        """SD of each coefficient over the resamples that have a solution; NaN with fewer than two."""
        solved = self.replicates[np.isfinite(self.replicates[:, -1]), :-1]
        return np.std(solved, axis=0, ddof=1) if len(solved) > 1 else np.full(len(self.names), np.nan)

    @property
    def resamples_dropped(self) -> int:
        """Resamples without a solution."""
        return int((~np.isfinite(self.replicates[:, -1])).sum())


def logistic_bootstrap(
    y: ArrayLike,
    x: Columns,
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    unit: Unit | None = None,
    penalty: float = 1.0,
    resamples: int = 1000,
    seed: int = 0,
) -> LogisticBootstrap:
    """L2-penalised logistic regression of 0/1 outcomes on the columns, on all rows and on bootstrap resamples.

    x: usually the indicators of `one_hot`, which need not leave a level out: the penalty settles what redundant columns
    share. penalty: scikit-learn's C, the weight of the data. unit: "subject" resamples `clusters` (the default where
    they are given), "image" single rows, as published. Where all outcomes are equal everything is NaN with the reason;
    where a column predicts the outcome without error the penalised coefficient stands, with a note.
    """
    if not (penalty > 0 and resamples >= 1):
        raise BadInput(f"expected C above 0 and at least one resample, got {penalty:g} and {resamples}")
    sample = complete(y, x, names=names, clusters=clusters)
    if len(sample) and not np.isin(sample.y, (0.0, 1.0)).all():
        raise BadInput("logistic_bootstrap: expected outcomes 0 or 1")
    resampled: Unit = unit or ("image" if clusters is None else "subject")
    empty = _empty(sample, resamples, resampled)
    if sample.reason or np.ptp(sample.y) == 0:
        return replace(empty, reason=sample.reason or constant_outcome(sample))
    patterns = Patterns.of(sample)
    ridge = np.array([*np.full(len(sample.names), 1 / penalty), 0.0])
    whole = patterns.counts(np.ones(len(sample)), sample)
    start, _ = maximise(patterns.x, patterns.share(whole), whole.sum(axis=1), LOGIT, ridge)
    replicates = np.concatenate(
        [solve(patterns.x, block, ridge, start) for block in _draws(sample, patterns, resampled, resamples, seed)]
    )
    constant = np.ptp(sample.x, axis=0) == 0
    replicates[:, :-1][:, constant] = np.nan
    coefficients = np.where(constant, np.nan, start[:-1])
    return replace(
        empty, coefficients=coefficients, intercept=float(start[-1]), replicates=replicates, notes=_notes(sample)
    )


def penalised(y: ArrayLike, x: Columns) -> Float[np.ndarray, " k"]:
    """The coefficients of `logistic_bootstrap` alone: of complete rows; NaN where outcomes or a column are equal."""
    sample = complete(y, x)
    if sample.reason or np.ptp(sample.y) == 0:
        return np.full(len(sample.names), np.nan)
    patterns = Patterns.of(sample)
    counts = patterns.counts(np.ones(len(sample)), sample)
    ridge = np.array([*np.ones(len(sample.names)), 0.0])
    solution, _ = maximise(patterns.x, patterns.share(counts), counts.sum(axis=1), LOGIT, ridge)
    return np.where(np.ptp(sample.x, axis=0) == 0, np.nan, solution[:-1])


@final
@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct rows x [m, k + 1] (intercept last), and which pattern each row of the sample has."""

    x: Float[np.ndarray, "m p"]
    place: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, sample: Sample) -> Patterns:
        """Equal rows collapsed, whatever their outcomes."""
        rows, place = _distinct(sample.x)
        return cls(np.column_stack([rows, np.ones(len(rows))]), place)

    def cells(self, sample: Sample) -> Int[np.ndarray, " n"]:
        """2 * pattern + outcome of each row."""
        return 2 * self.place + sample.y.astype(np.int64)

    def counts(self, weights: Float[np.ndarray, " n"], sample: Sample) -> Float[np.ndarray, "m 2"]:
        """Weighted rows of each pattern with outcome 0 and 1."""
        cells = np.bincount(self.cells(sample), weights=weights, minlength=2 * len(self.x))
        return np.asarray(cells.reshape(-1, 2), dtype=np.float64)

    @staticmethod
    def share(counts: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, " m"]:
        """Share of outcome 1 in each pattern; 0 where it is empty."""
        whole = counts.sum(axis=1)
        return np.asarray(np.divide(counts[:, 1], whole, out=np.zeros(len(whole)), where=whole > 0))


def solve(
    x: Float[np.ndarray, "m p"],
    counts: Float[np.ndarray, "b m 2"],
    ridge: Float[np.ndarray, " p"],
    start: Float[np.ndarray, " p"],
) -> Float[np.ndarray, "b p"]:
    """Penalised coefficients of every resample by Newton's method, all together, from one starting point."""
    beta = np.tile(start, (len(counts), 1))
    mixed = (counts.sum(axis=1) > 0).all(axis=1)
    beta[~mixed] = np.nan
    active = np.flatnonzero(mixed)
    totals, ones = counts.sum(axis=2), np.ascontiguousarray(counts[:, :, 1])
    products = _Products.of(x)
    steps = 0
    while len(active) and steps < _STEPS:
        chosen = slice(None) if len(active) == len(beta) else active
        step = _newton_step(x, totals[chosen], ones[chosen], ridge, beta[chosen], products)
        beta[chosen] += step
        moving = np.abs(step).max(axis=1)
        active = active[~(moving <= _STEP)]
        steps += 1
        if not np.isfinite(beta[active]).all() or moving.max() > 1e3:
            break
    for row in active:
        share = np.divide(ones[row], totals[row], out=np.zeros(len(x)), where=totals[row] > 0)
        beta[row], _ = maximise(x, share, totals[row], LOGIT, ridge)
    return beta


@final
@dataclass(frozen=True, slots=True)
class _Products:
    """Products of two columns, for those pairs that are not 0 in every row: one-hot columns exclude each other."""

    values: Float[np.ndarray, "m q"]
    first: Int[np.ndarray, " q"]
    second: Int[np.ndarray, " q"]

    @classmethod
    def of(cls, x: Float[np.ndarray, "m p"]) -> _Products:
        first, second = np.triu_indices(x.shape[1])
        values = x[:, first] * x[:, second]
        some = values.any(axis=0)
        return cls(np.ascontiguousarray(values[:, some]), first[some], second[some])


def _newton_step(
    x: Float[np.ndarray, "m p"],
    totals: Float[np.ndarray, "b m"],
    ones: Float[np.ndarray, "b m"],
    ridge: Float[np.ndarray, " p"],
    beta: Float[np.ndarray, "b p"],
    products: _Products,
) -> Float[np.ndarray, "b p"]:
    expected = expit(beta @ x.T)
    weights = totals * expected
    gradient = (ones - weights) @ x - ridge * beta
    weights *= 1.0 - expected
    hessian = np.zeros((len(beta), x.shape[1], x.shape[1]))
    hessian[:, products.first, products.second] = hessian[:, products.second, products.first] = (
        weights @ products.values
    )
    diagonal = np.arange(x.shape[1])
    hessian[:, diagonal, diagonal] += ridge
    try:
        return np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return np.full(beta.shape, np.nan)


def _draws(
    sample: Sample, patterns: Patterns, unit: Unit, resamples: int, seed: int
) -> Iterator[Float[np.ndarray, "b m 2"]]:
    """Counts of patterns and outcomes in each resample, a block of resamples at a time."""
    m = len(patterns.x)
    if unit == "image":
        cells = patterns.cells(sample)
        for counts in resampling.resample_counts(len(sample), resamples, seed, cells, 2 * m):
            yield from _blocks(counts, m)
        return
    from scipy.sparse import csr_array

    shape = (2 * m, sample.n_groups)
    member = csr_array((np.ones(len(sample)), (patterns.cells(sample), sample.groups)), shape=shape)
    for drawn in resampling.resample_counts(sample.n_groups, resamples, seed):
        rows = max(1, _NUMBERS_AT_ONCE // (2 * m))
        for first in range(0, len(drawn), rows):
            yield from _blocks(np.ascontiguousarray((member @ drawn[first : first + rows].T).T), m)


def _blocks(counts: Float[np.ndarray, "b k"], m: int) -> Iterator[Float[np.ndarray, "_ m 2"]]:
    rows = max(1, _NUMBERS_AT_ONCE // (2 * m))
    for first in range(0, len(counts), rows):
        yield counts[first : first + rows].reshape(-1, m, 2)


def _distinct(x: Float[np.ndarray, "n k"]) -> tuple[Float[np.ndarray, "m k"], Int[np.ndarray, " n"]]:
    """Distinct rows in sorted order and each row's place among them."""
    order = np.lexsort(x.T[::-1])
    ordered = x[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    place = np.empty(len(x), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place


def _notes(sample: Sample) -> tuple[str, ...]:
    separated = _separated(sample)
    return tuple(
        constant or ("complete separation: only the penalty keeps it finite" if name in separated else "")
        for name, constant in zip(sample.names, constant_columns(sample)[1:], strict=True)
    )


def _separated(sample: Sample) -> Sequence[str]:
    """Columns that predict an outcome without error; of redundant ones (all levels of an attribute) each alone."""
    x, names = with_intercept(sample.x, sample.names)
    infinite = separation(x, sample.y, names).infinite
    redundant = dict(zip(names, undetermined(x, names), strict=True))
    columns = dict(zip(sample.names, sample.x.T, strict=True))
    separated = [
        name
        for name, column in columns.items()
        if (_alone(column, sample.y) if redundant[name] and np.isin(column, (0.0, 1.0)).all() else name in infinite)
    ]
    return separated or infinite


def _alone(column: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> bool:
    """Whether all images of a level have one outcome."""
    return bool((column == 1).any()) and bool(np.ptp(y[column == 1]) == 0)


def _empty(sample: Sample, resamples: int, unit: Unit) -> LogisticBootstrap:
    k = len(sample.names)
    return LogisticBootstrap(
        names=sample.names,
        coefficients=np.full(k, np.nan),
        intercept=np.nan,
        replicates=np.full((resamples, k + 1), np.nan),
        unit=unit,
        notes=("",) * k,
        n_images=len(sample),
        n_subjects=sample.n_groups,
        excluded=sample.excluded,
    )


RESAMPLES: Final = 1000


@final
@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """One row per level, sorted by the size of its coefficient: log odds of an error per unit (0 to 1).

    image_sd, subject_sd: SD over bootstraps of images (as published) and of subjects (as recommended). images: how many
    have the level. notes: what a reader must know of a row, "" else. reason: why there is no row at all.
    """

    names: tuple[str, ...]
    attributes: tuple[str, ...]
    coefficients: Float[np.ndarray, " k"]
    image_sd: Float[np.ndarray, " k"]
    subject_sd: Float[np.ndarray, " k"]
    images: np.ndarray
    notes: tuple[str, ...]
    by_image: LogisticBootstrap
    by_subject: LogisticBootstrap
    edges: Mapping[str, tuple[float, ...]]
    reason: str = ""
    source: str = SOURCE


def balakrishnan(
    errors: ArrayLike,
    perceived: Columns,
    clusters: ArrayLike,
    *,
    edges: Mapping[str, Sequence[float]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> CoefficientTable:
    """Penalised log odds of an error by perceived level, with both bootstraps, the largest coefficients first.

    errors: 0 or 1 per image, NaN where there is no valid answer; perceived: a column per attribute; clusters: the
    subject of each image; edges, levels: how columns are discretised, as in `one_hot`.

    Returns CoefficientTable; where all errors are equal its coefficients are NaN, with the reason.

    Raises BadInput or UnknownName as `one_hot` and `logistic_bootstrap` do.

    >>> beard = np.tile([0.0, 1.0], 40)
    >>> errors = np.where(np.arange(80) % 5 == 0, 1 - beard, beard)
    >>> result = balakrishnan(errors, {"beard": beard}, np.arange(80) // 2, resamples=50)
    >>> result.names[0] in ("beard: 0", "beard: 1"), bool(np.isclose(*np.abs(result.coefficients)))
    (True, True)
    """
    indicators = one_hot(perceived, edges=edges, levels=levels)
    by_image, by_subject = (
        logistic_bootstrap(
            errors,
            indicators.x,
            names=indicators.names,
            clusters=clusters,
            unit=unit,
            resamples=resamples,
            seed=seed,
        )
        for unit in ("image", "subject")
    )
    return _sorted(indicators, by_image, by_subject, _images(errors, indicators))


def _images(errors: ArrayLike, indicators: Indicators) -> np.ndarray:
    """How many complete images have each level."""
    complete = np.isfinite(np.asarray(errors, dtype=np.float64)) & np.isfinite(indicators.x).all(axis=1)
    return np.asarray(indicators.x[complete].sum(axis=0).astype(np.int64))


def _sorted(
    indicators: Indicators, by_image: LogisticBootstrap, by_subject: LogisticBootstrap, images: np.ndarray
) -> CoefficientTable:
    order = np.argsort(-np.abs(np.nan_to_num(by_image.coefficients)), kind="stable")
    return CoefficientTable(
        names=tuple(indicators.names[place] for place in order),
        attributes=tuple(indicators.attributes[place] for place in order),
        coefficients=by_image.coefficients[order],
        image_sd=by_image.standard_deviations[order],
        subject_sd=by_subject.standard_deviations[order],
        images=images[order],
        notes=tuple(by_image.notes[place] for place in order),
        by_image=by_image,
        by_subject=by_subject,
        edges=indicators.edges,
        reason=by_image.reason,
    )
