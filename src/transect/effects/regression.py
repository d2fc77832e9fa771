"""Differences in means and least squares with errors by subject: the cluster sandwich, few subjects, few events.

Least squares of a 0/1 outcome is the linear probability model: its coefficients are differences of proportions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from transect.effects import clusters, resampling
from transect.effects.clusters import reduce
from transect.effects.intervals import NEWCOMBE_1998, ZOU_DONNER, minus, share_by_subject
from transect.effects.samples import Columns, Labels, Sample, complete, read_columns
from transect.errors import BadInput
from transect.records import Effect

INTERCEPT: Final = "intercept"
CLUSTERED: Final = "Student t on errors clustered by subject"
WALD: Final = "Wald test on errors clustered by subject"
CLUSTER_SOURCE: Final = (
    "Cameron and Miller 2015, A practitioner's guide to cluster-robust inference, doi:10.3368/jhr.50.2.317"
)
ONE_SUBJECT: Final = "one subject: no interval"

_DEPENDENT: Final = 1e-9
_LOADING: Final = 1e-6


@final
@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients [k], their covariance [k, k] and whether each is determined; reasons: why one is NaN, "" else.

    freedom: degrees of freedom [k] of bias-reduced errors, None where errors are the usual ones.
    """

    coefficients: Float[np.ndarray, " k"]
    covariance: Float[np.ndarray, "k k"]
    reasons: tuple[str, ...]
    details: Mapping[str, object] = field(default_factory=dict)
    freedom: Float[np.ndarray, " k"] | None = None

    @classmethod
    def expanded(
        cls,
        beta: Float[np.ndarray, " r"],
        covariance: Float[np.ndarray, "r r"],
        determined: Int[np.ndarray, " r"],
        reasons: tuple[str, ...],
        freedom: Float[np.ndarray, " r"] | None = None,
    ) -> Fit:
        """Of all columns, from the numbers of those that are determined: NaN for the others."""
        size = len(reasons)
        coefficients, whole, degrees = np.full(size, np.nan), np.full((size, size), np.nan), np.full(size, np.nan)
        coefficients[determined], whole[np.ix_(determined, determined)] = beta, covariance
        degrees[determined] = np.nan if freedom is None else freedom
        return cls(coefficients, whole, reasons, freedom=None if freedom is None else degrees)


def undetermined(x: Float[np.ndarray, "n k"], names: Sequence[str]) -> tuple[str, ...]:
    """For each column why its coefficient is not determined by the rows, "" where it is."""
    # Orthonormal rows that span the combinations of the (scaled) columns that are 0 in every row.
    size = np.linalg.norm(x, axis=0)
    scaled = x / np.where(size > 0, size, 1.0)
    _, singular, right = np.linalg.svd(scaled, full_matrices=len(x) < x.shape[1])
    null = np.asarray(right[int((singular > _DEPENDENT * singular.max(initial=1e-300)).sum()) :])
    reasons = [""] * x.shape[1]
    for place in np.flatnonzero((np.abs(null) > _LOADING).any(axis=0)).tolist():
        # Columns that move with this one inside the null space share a dependence with it.
        shared = np.flatnonzero(np.abs(null.T @ null[:, place]) > _LOADING**2).tolist()
        reasons[place] = _dependence([names[partner] for partner in shared])
    return tuple(reasons)


def independent(x: Float[np.ndarray, "n k"]) -> Int[np.ndarray, " r"]:
    """Places of a largest set of linearly independent columns, earlier ones first."""
    chosen: list[int] = []
    basis = np.empty(x.shape[::-1])
    for place, column in enumerate(x.T):
        known = basis[: len(chosen)]
        rest = column - (known @ column) @ known
        rest -= (known @ rest) @ known
        if float(np.linalg.norm(rest)) > _DEPENDENT * max(float(np.linalg.norm(column)), 1e-300):
            basis[len(chosen)] = rest / np.linalg.norm(rest)
            chosen.append(place)
    return np.array(chosen, dtype=np.int64)


def _dependence(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"not determined: {names[0]} is 0 in every row"
    return f"not determined: {', '.join(names[:-1])} and {names[-1]} are linearly dependent"


def with_intercept(x: Float[np.ndarray, "n k"], names: Sequence[str]) -> tuple[Float[np.ndarray, "n p"], list[str]]:
    """The columns with a first column of ones."""
    return np.column_stack([np.ones(len(x)), x]), [INTERCEPT, *names]


def group_sums(
    values: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"], n_groups: int
) -> Float[np.ndarray, "g k"]:
    """Sum of the rows of each group."""
    return np.stack([np.bincount(groups, weights=column, minlength=n_groups) for column in values.T], axis=1)


def clustered_covariance(
    scores: Float[np.ndarray, "n k"], bread: Float[np.ndarray, "k k"], sample: Sample, rank: int
) -> Float[np.ndarray, "k k"]:
    """Sandwich covariance of estimates whose estimating functions are `scores`, summed by subject; NaN with one."""
    n, g = len(sample), sample.n_groups
    if g < 2 or n <= rank:
        return np.full(bread.shape, np.nan)
    sums = group_sums(scores, sample.groups, g)
    factor = g / (g - 1) * (n - 1) / (n - rank)
    return np.asarray(factor * bread @ (sums.T @ sums) @ bread.T)


def student_interval(estimate: float, error: float, freedom: float, confidence: float) -> tuple[float, float, float]:
    """Low, high and two-sided p of estimate / error by Student's t; NaN where there is no error."""
    if not (error > 0 and freedom >= 1):
        return np.nan, np.nan, np.nan
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return estimate - half, estimate + half, float(2 * stdtr(freedom, -abs(estimate / error)))


def coefficient_effects(
    fit: Fit,
    sample: Sample,
    labels: Labels,
    *,
    method: str,
    per: Callable[[str], str],
    sources: Sequence[str],
    confidence: float,
) -> tuple[Effect, ...]:
    """One effect per column of the sample, whose coefficients are the fit's last ones in that order."""
    first = len(fit.coefficients) - len(sample.names)
    return tuple(
        coefficient_effect(
            name,
            fit,
            first + place,
            sample,
            labels,
            method=method,
            unit=per(name),
            sources=sources,
            confidence=confidence,
            details=fit.details,
        )
        for place, name in enumerate(sample.names)
    )


def coefficient_effect(
    name: str,
    fit: Fit,
    place: int,
    sample: Sample,
    labels: Labels,
    *,
    method: str,
    unit: str,
    sources: Sequence[str],
    confidence: float,
    details: Mapping[str, object],
    kind: str = "slope",
) -> Effect:
    """The effect of the coefficient at one place of a fit; NaN where it, or its error, is missing for a reason."""
    estimate, variance = float(fit.coefficients[place]), float(fit.covariance[place, place])
    freedom = None if fit.freedom is None else float(fit.freedom[place])
    stated = fit.reasons[place] or sample.reason
    error = float(np.sqrt(variance)) if variance > 0 else np.nan
    few, most = _few(sample, name)
    reduced = freedom is not None
    low, high, p = student_interval(
        estimate, np.nan if few else error, freedom if freedom is not None else most, confidence
    )
    if stated:
        estimate = low = high = p = np.nan
    alone = ONE_SUBJECT if sample.n_groups == 1 else "" if np.isfinite(low) else "the errors cannot be estimated"
    return Effect(
        name=f"{name}: {method}",
        attribute=name,
        target=labels.target,
        outcome=labels.outcome,
        estimate=estimate,
        low=low,
        high=high,
        p=p,
        unit=unit,
        n_subjects=sample.n_groups,
        n_images=len(sample),
        kind=kind,
        origin=0.0 if kind == "contrast" else np.nan,
        to=1.0 if kind == "contrast" else np.nan,
        basis=labels.basis,
        excluded=dict(sample.excluded),
        reason=stated or few or alone,
        interval_method=(clusters.CLUSTERED if reduced else CLUSTERED) if np.isfinite(low) else "",
        test_method=(clusters.WALD if reduced else WALD) if np.isfinite(p) else "",
        spec={"estimator": method, "confidence": confidence, "standard_error": error, **details},
        sources=(*sources, clusters.SOURCE if reduced else CLUSTER_SOURCE),
    )


def _few(sample: Sample, name: str) -> tuple[str, int]:
    """Why a column's coefficient has no interval ("" where it has), and its degrees of freedom by subjects."""
    freedom = sample.n_groups - 1
    arm = clusters.smaller_arm(sample.x[:, sample.names.index(name)], sample.groups) if name in sample.names else None
    if arm is None or freedom < 1:
        return "", freedom
    subjects, level = arm
    alone = f"one subject where {name} is {level:g}: no interval" if subjects < 2 else ""
    return alone, subjects - 1 if subjects < clusters.FEW else freedom


LEAST: Final = 25
"""Subjects with an error, and subjects with a right answer, in each group from which normal theory holds."""
FEWEST: Final = 5
"""The same, from which an adjusted difference has an interval."""
MOVER: Final = "MOVER of Wilson score limits by subject"
FISHER: Final = "Fisher exact"
SUBJECTS: Final = "Monte Carlo permutation of subjects"
SCORE: Final = "inverted MOVER of Wilson score limits by subject"
SOURCES: Final = {
    MOVER: ZOU_DONNER,
    FISHER: "Fisher 1935, The logic of inductive inference, doi:10.2307/2342435",
    SUBJECTS: resampling.SOURCES[resampling.PERMUTATION],
    SCORE: NEWCOMBE_1998,
}
_MOVED: Final = 50_000_000
_BISECTIONS: Final = 40


def comparable(sample: Sample, column: Float[np.ndarray, " n"]) -> bool:
    """Whether these are rates of two groups: outcomes and column of 0 and 1, both groups there."""
    binary = np.isin(sample.y, (0.0, 1.0)).all() and np.isin(column, (0.0, 1.0)).all()
    return bool(binary and len(column) > 0 and np.ptp(column) > 0)


def fewest(y: Float[np.ndarray, " n"], column: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]) -> int:
    """Subjects in the smallest of the four cells of an outcome and a column, both of 0 and 1."""
    cells = [(y == outcome) & (column == level) for outcome in (0.0, 1.0) for level in (0.0, 1.0)]
    return min(int(np.count_nonzero(np.bincount(groups[cell], minlength=1))) for cell in cells)


def difference_interval(sample: Sample, confidence: float) -> tuple[float, float]:
    """Interval of the rate where the first column is 1 minus the rate where it is 0, by subject, in [-1, 1]."""
    column = sample.x[:, 0]
    first, second = (share_by_subject(sample.y[column == v], sample.groups[column == v], confidence) for v in (0, 1))
    found = minus(second, first)
    return found.low, found.high


def difference_test(sample: Sample) -> tuple[float, str]:
    """Two-sided p of no association of a 0/1 outcome with the first column, of 0 and 1, and the test's name."""
    column = sample.x[:, 0]
    if sample.n_groups == len(sample):
        return fisher(sample.y, column), FISHER
    p = permuted(sample.y, column, sample.groups)
    return (p, SUBJECTS) if np.isfinite(p) else (_inverted(sample), SCORE)


def permuted(
    y: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> float:
    """Two-sided p of the score y'(x - mean) when values of x are permuted among subjects; x: one value a subject."""
    first = np.unique(groups, return_index=True)[1]
    own = x[first]
    if (own[groups] != x).any():
        return float("nan")
    residual = np.bincount(groups, weights=y - y.mean())
    draws = int(np.clip(_MOVED // len(own), 999, resampling.FLIPS))
    return resampling.permutation(residual, own - own.mean(), resamples=draws)


def fisher(y: Float[np.ndarray, " n"], column: Float[np.ndarray, " n"]) -> float:
    """Fisher's two-sided p of a 0/1 outcome and a column of 0 and 1."""
    from scipy.stats import fisher_exact

    table = [[int(((column == level) & (y == outcome)).sum()) for outcome in (1.0, 0.0)] for level in (1.0, 0.0)]
    return min(float(fisher_exact(table).pvalue), 1.0)


def _inverted(sample: Sample) -> float:
    """1 less the confidence at which the interval ends at 0, by bisection."""
    inside, outside = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        low, high = difference_interval(sample, middle)
        inside, outside = (inside, middle) if low <= 0 <= high else (middle, outside)
    return 1 - inside


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
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Least squares of the outcome on the columns and an intercept: one effect per column, errors by subject.

    y: outcomes [n]; x: array [n, k], columns by name or an Arrow table; clusters: the subject of each row. An effect is
    the change of the outcome per unit of its column, all other columns equal. Where a coefficient rests on fewer than
    50 effective subjects, errors are bias-reduced (CR2, Satterthwaite by leverage); with one subject in an arm
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
    sample = complete(y, x, names=names, clusters=clusters)
    effects = coefficient_effects(
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
    sample = complete(y, values, names=(name,), clusters=clusters)
    fit = least_squares(sample)
    effect = coefficient_effect(
        sample.names[0],
        replace(fit, reasons=(*fit.reasons[:-1], empty_group(sample) or fit.reasons[-1])),
        -1,
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
    if not comparable(sample, column):
        return effect
    if np.ptp(sample.y) == 0 and sample.x.shape[1] == 1 and not _few(sample, effect.attribute)[0]:
        effect = replace(effect, estimate=0.0, reason="")
    elif not np.isfinite(effect.low):
        return effect
    subjects = fewest(sample.y, column, sample.groups)
    if sample.x.shape[1] > 1:
        return effect if subjects >= FEWEST else _withheld(effect, subjects)
    if subjects >= LEAST:
        return effect
    low, high = difference_interval(sample, confidence)
    p, test = difference_test(sample)
    return replace(
        effect,
        low=low,
        high=high,
        p=p,
        interval_method=MOVER,
        test_method=test,
        spec={**effect.spec, "standard_error": np.nan},
        sources=tuple(dict.fromkeys([effect.sources[0], SOURCES[MOVER], SOURCES[test]])),
    )


def _withheld(effect: Effect, subjects: int) -> Effect:
    """Without interval and test, and why."""
    reason = (
        f"{subjects} subjects with or without the outcome at a level of {effect.attribute}, fewer than "
        f"{FEWEST}: no interval of an adjusted difference"
    )
    return replace(without_interval(effect, reason), spec={**effect.spec, "standard_error": np.nan})


def without_interval(effect: Effect, reason: str) -> Effect:
    """The effect without interval and test, for this reason."""
    return replace(effect, low=np.nan, high=np.nan, p=np.nan, interval_method="", test_method="", reason=reason)


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
    """Least squares with an intercept first, and its covariance by subject."""
    x, names = with_intercept(sample.x, sample.names)
    if sample.reason:
        return no_fit(len(names), sample.reason)
    if np.ptp(sample.y) == 0:
        return no_fit(len(names), f"no variation: all {len(sample)} outcomes are {sample.y[0]:g}")
    determined = independent(x)
    kept = x[:, determined]
    q, r = np.linalg.qr(kept)
    inverse = np.linalg.inv(r)
    beta = inverse @ (q.T @ sample.y)
    residual = sample.y - kept @ beta
    # A perfect fit leaves rounding alone, whose spread is no error.
    residual[np.abs(residual) <= ROUNDING * np.abs(sample.y).max()] = 0.0
    covariance = clustered_covariance(kept * residual[:, None], inverse @ inverse.T, sample, len(determined))
    freedom = reduce(covariance, kept, residual, sample.groups)
    return Fit.expanded(beta, covariance, determined, why_undetermined(sample), freedom)


def no_fit(size: int, reason: str) -> Fit:
    """NaN for all `size` coefficients, with one reason."""
    return Fit(np.full(size, np.nan), np.full((size, size), np.nan), (reason,) * size)


def why_undetermined(sample: Sample) -> tuple[str, ...]:
    """For the intercept and each column why the rows do not determine its coefficient, "" where they do."""
    constant = constant_columns(sample)
    x, names = with_intercept(sample.x, sample.names)
    # A constant column has its own reason and is no part of the others' dependences.
    others = np.where([bool(text) for text in constant], 0.0, x)
    dependent = undetermined(others, names)
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
