"""How much does the outcome change with an attribute, others held equal? Differences in means and least squares.

Least squares of a 0/1 outcome is the linear probability model: its coefficients are differences of proportions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.effects import few_events, few_subjects, regression
from transect.effects.regression import Fit
from transect.effects.samples import Columns, Labels, Sample, complete, read_columns
from transect.errors import BadInput
from transect.records import Effect

ROUNDING: Final = 1e-10
"""Residuals below this share of the largest outcome are 0 but for rounding."""
OLS_SOURCE: Final = "Freedman 2008, On regression adjustments to experimental data, doi:10.1016/j.aam.2006.12.003"
MEANS_SOURCE: Final = (
    "Neyman 1923, On the application of probability theory to agricultural experiments, doi:10.1214/ss/1177012031"
)


def ols(
    y: ArrayLike,
    x: Columns,
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Least squares of the outcome on the columns and an intercept: one effect per column, errors by subject.

    y: outcomes [n]; x: array [n, k], columns by name or an Arrow table; clusters: the subject of each row. An effect is
    the change of the outcome per unit of its column, all other columns equal. Where a coefficient rests on fewer than
    50 equally telling subjects, errors are bias-reduced (CR2, Satterthwaite by leverage); with one subject in an arm
    there is no interval. Of a 0/1 outcome a single column of 0 and 1 is `difference_in_means`; one beside others has no
    interval where fewer than 5 subjects have, or lack, the outcome at one of its levels. Effects of columns that the
    rows do not determine (constant, or linearly dependent) are NaN with the columns named; so are all where the outcome
    does not vary or no row is complete. Rows left out are counted in `excluded`.

    Returns one Effect per column, in order.

    Raises BadInput where lengths differ or a column is text.

    >>> beard, hat = [0.0, 0.0, 1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    >>> effects = ols([0.0, 1.0, 2.0, 3.0, 0.5, 2.5], {"beard": beard, "hat": hat})
    >>> [round(effect.estimate, 3) for effect in effects]  # cells 1/4, 1, 2 and 11/4 add up exactly
    [1.75, 0.75]
    """
    sample = complete(y, x, names=names, clusters=clusters, weights=weights)
    effects = regression.coefficient_effects(
        least_squares(sample),
        sample,
        labels or Labels(),
        method="OLS",
        per=lambda name: f"{(labels or Labels()).unit} per unit of {name}",
        sources=(OLS_SOURCE,),
        confidence=confidence,
    )
    return tuple(_where_few(effect, sample, place, confidence) for place, effect in enumerate(effects))


def difference_in_means(
    y: ArrayLike,
    treatment: Columns,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> Effect:
    """Mean outcome where the treatment is 1 minus that where it is 0, unadjusted, errors by subject.

    treatment: 0 or 1 [n], or a table of one such column. Errors of few subjects are bias-reduced as in `ols`; with one
    subject in an arm there is no interval. Where fewer than 25 subjects of an arm have, or lack, a 0/1 outcome, the
    interval is made of both rates' Wilson limits by subject (MOVER), and the test is Fisher's, or permutes subjects.
    NaN with the reason where a group is empty.

    Raises BadInput where lengths differ or the treatment has other values.

    >>> round(difference_in_means([0.0, 1.0, 1.0, 1.0], {"beard": [0.0, 0.0, 1.0, 1.0]}).estimate, 6)
    0.5
    """
    name, values = one_treatment(treatment)
    sample = complete(y, values, names=(name,), clusters=clusters, weights=weights)
    coefficient = regression.Coefficient.of(least_squares(sample), -1, sample.names[0])
    effect = regression.coefficient_effect(
        replace(coefficient, reason=empty_group(sample) or coefficient.reason),
        sample,
        labels or Labels(),
        method="difference in means",
        unit=(labels or Labels()).unit,
        sources=(MEANS_SOURCE,),
        confidence=confidence,
        details={},
        kind="contrast",
    )
    return _where_few(effect, sample, 0, confidence)


def _where_few(effect: Effect, sample: Sample, place: int, confidence: float) -> Effect:
    """The effect of a column of 0 and 1 on a 0/1 outcome with intervals that hold where few subjects have an event."""
    column = sample.x[:, place]
    if not np.isfinite(effect.low) or not few_events.comparable(sample, column):
        return effect
    subjects = few_events.fewest(sample.y, column, sample.groups)
    if sample.x.shape[1] > 1:
        return effect if subjects >= few_events.FEWEST else _withheld(effect, subjects)
    if subjects >= few_events.LEAST:
        return effect
    low, high = few_events.difference_interval(sample, confidence)
    p, test = few_events.difference_test(sample)
    return replace(
        effect,
        low=low,
        high=high,
        p=p,
        interval_method=few_events.MOVER,
        test_method=test,
        spec={**effect.spec, "standard_error": np.nan},
        sources=tuple(
            dict.fromkeys([effect.sources[0], few_events.SOURCES[few_events.MOVER], few_events.SOURCES[test]])
        ),
    )


def _withheld(effect: Effect, subjects: int) -> Effect:
    """Without interval and test, and why."""
    reason = (
        f"{subjects} subjects with or without the outcome at a level of {effect.attribute}, fewer than "
        f"{few_events.FEWEST}: no interval of an adjusted difference"
    )
    spec = {**effect.spec, "standard_error": np.nan}
    effect = replace(effect, low=np.nan, high=np.nan, p=np.nan, interval_method="", test_method="")
    return replace(effect, reason=reason, spec=spec)


def one_treatment(treatment: Columns) -> tuple[str, Float[np.ndarray, "n 1"]]:
    """Name and values [n, 1] of a treatment of 0 and 1, NaN where missing."""
    names, values = read_columns(treatment, prefix="treatment")
    if len(names) != 1:
        raise BadInput(f"treatment: expected one column, got {', '.join(names)}; analyse one at a time")
    known = values[np.isfinite(values)]
    if odd := known[~np.isin(known, (0.0, 1.0))].tolist():
        raise BadInput(
            f"{names[0]}: expected a treatment of 0 and 1, got {odd[0]:g}; compare the attribute with a number"
        )
    return ("treatment" if names[0] == "treatment1" else names[0]), values


def empty_group(sample: Sample) -> str:
    """Why the first column cannot be compared as a treatment of 0 and 1, "" where both its groups have images."""
    name, column = sample.names[0], sample.x[:, 0]
    counts = int((column == 0).sum()), int((column == 1).sum())
    if len(sample) and not all(counts):
        gone = counts.index(0)
        return f"one group empty: no image where {name} is {gone}, {counts[1 - gone]} where it is {1 - gone}"
    return ""


def least_squares(sample: Sample) -> Fit:
    """Weighted least squares with an intercept first, and its covariance by subject."""
    x, names = regression.with_intercept(sample.x, sample.names)
    if sample.reason:
        return no_fit(len(names), sample.reason)
    if np.ptp(sample.y) == 0:
        return no_fit(len(names), f"no variation: all {len(sample)} outcomes are {sample.y[0]:g}")
    root = np.sqrt(sample.weights)
    determined = regression.independent(root[:, None] * x)
    bread, coefficients = _solve(x, sample, determined)
    residual = sample.y - x @ coefficients
    # A perfect fit leaves rounding alone, whose spread is no error.
    residual[np.abs(residual) <= ROUNDING * np.abs(sample.y).max()] = 0.0
    scores = x * (sample.weights * residual)[:, None]
    covariance = regression.clustered_covariance(scores, bread, sample, len(determined))
    freedom = _reduce(covariance, x, residual, sample, determined)
    return Fit(coefficients, covariance, why_undetermined(sample), freedom=freedom)


def _reduce(
    covariance: Float[np.ndarray, "k k"],
    x: Float[np.ndarray, "n k"],
    residual: Float[np.ndarray, " n"],
    sample: Sample,
    determined: np.ndarray,
) -> Float[np.ndarray, " k"] | None:
    """Where few subjects carry a coefficient, puts CR2 in place of the covariance; degrees of freedom."""
    root, places = np.sqrt(sample.weights), np.ix_(determined, determined)
    block = covariance[places]
    reduced = few_subjects.reduce(block, root[:, None] * x[:, determined], root * residual, sample.groups)
    if reduced is None:
        return None
    covariance[places], freedom = block, np.full(x.shape[1], np.nan)
    freedom[determined] = reduced
    return freedom


def _solve(
    x: Float[np.ndarray, "n k"], sample: Sample, determined: np.ndarray
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, " k"]]:
    """Inverse of X'WX and coefficients on the kept columns; 0 on the others."""
    root = np.sqrt(sample.weights)
    q, r = np.linalg.qr(root[:, None] * x[:, determined])
    inverse = np.linalg.inv(r)
    bread, coefficients = np.zeros((x.shape[1],) * 2), np.zeros(x.shape[1])
    bread[np.ix_(determined, determined)] = inverse @ inverse.T
    coefficients[determined] = inverse @ (q.T @ (root * sample.y))
    return bread, coefficients


def no_fit(size: int, reason: str) -> Fit:
    """NaN for all `size` coefficients, with one reason."""
    return Fit(np.full(size, np.nan), np.full((size, size), np.nan), (reason,) * size)


def why_undetermined(sample: Sample) -> tuple[str, ...]:
    """For the intercept and each column why the rows do not determine its coefficient, "" where they do."""
    constant = constant_columns(sample)
    x, names = regression.with_intercept(sample.x, sample.names)
    # A constant column has its own reason and is no part of the others' dependences.
    others = np.where([bool(text) for text in constant], 0.0, x)[sample.weights > 0]
    dependent = regression.undetermined(others, names)
    return tuple(reason or dependence for reason, dependence in zip(constant, dependent, strict=True))


def constant_columns(sample: Sample) -> tuple[str, ...]:
    """For the intercept and each column: that it does not vary, "" where it does."""
    return (
        "",
        *(
            "" if np.ptp(column) > 0 else f"no variation: {name} is {column[0]:g} in all {len(sample)} rows"
            for name, column in zip(sample.names, sample.x.T, strict=True)
        ),
    )
