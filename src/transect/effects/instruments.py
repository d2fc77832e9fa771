"""What does the perceived attribute cause, where the manipulation also changes others? Two-stage least squares, and
effects at equal readings.

The intended values are set by us, so they are as good as randomised: they are instruments for the perceived values.
The exclusion restriction must hold: an intended value changes the answer only through the perceived attributes in
the model.

Below a first-stage F of 104.7 the estimate has no interval: Student's is too short for weaker instruments (Lee et al.
2022). From 10 on, as was usual, those printed missed in 11 to 87 % where noise is alike and the median F is 2 to 14.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.effects import regression
from transect.effects.regression import OLS_SOURCE, Fit, no_fit, ols
from transect.effects.samples import Columns, Labels, Sample, complete, read_columns
from transect.errors import BadInput
from transect.records import Effect
from transect.runs.json_records import plain

SOURCE: Final = (
    "Angrist, Imbens and Rubin 1996, Identification of causal effects using instrumental variables, "
    "doi:10.1080/01621459.1996.10476902"
)
CONDITIONAL_F: Final = (
    "Sanderson and Windmeijer 2016, A weak instrument F-test in linear IV models with multiple endogenous variables, "
    "doi:10.1016/j.jeconom.2015.06.004"
)
WEAK_SOURCE: Final = (
    "Lee, McCrary, Moreira and Porter 2022, Valid t-ratio inference for IV, American Economic Review 112(10), "
    "doi:10.1257/aer.20211063"
)
WEAK: Final = 104.7
"""First-stage F below which there is no interval (Lee et al. 2022)."""


@final
@dataclass(frozen=True, slots=True)
class Instruments:
    """Complete rows, parted: endogenous [n, p], instruments [n, q], exogenous [n, r] with an intercept first."""

    sample: Sample
    endogenous: Float[np.ndarray, "n p"]
    instruments: Float[np.ndarray, "n q"]
    exogenous: Float[np.ndarray, "n r"]
    names: tuple[str, ...]
    instrument_names: tuple[str, ...]
    exogenous_names: tuple[str, ...]

    @property
    def all_instruments(self) -> Float[np.ndarray, "n z"]:
        """Exogenous columns and instruments."""
        return np.column_stack([self.exogenous, self.instruments])


def instrumental(
    y: ArrayLike,
    endogenous: Columns,
    instruments: Columns,
    *,
    exogenous: Columns | None = None,
    clusters: ArrayLike | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Two-stage least squares: the effect of each perceived attribute, with intended values as instruments.

    y: outcomes [n]; endogenous: perceived values, one column or several; instruments: intended values, at least as many
    columns; exogenous: columns that need no instrument. Errors by subject. Each spec holds the first-stage F (of
    Sanderson and Windmeijer where several are endogenous).

    Returns one Effect per endogenous column, in order, with basis "experimental" unless `labels` says otherwise. NaN
    with the reason where the instruments do not determine it; no interval and no p, with the reason, where one of
    these F is below 104.7.

    Raises BadInput where lengths differ, a column is text, or there are fewer instruments than endogenous columns.

    >>> z, u = np.tile([0.0, 1.0], 4), np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    >>> beard = z + u
    >>> instrumental(3 * beard - 2 * u, {"beard": beard}, {"intended": z})[0].estimate.__round__(6)
    3.0
    """
    parted = part(y, endogenous, instruments, exogenous, clusters)
    names = labels or Labels(basis="experimental")
    fit = two_stage(parted)
    strengths = first_stage(parted) if np.isfinite(fit.coefficients).any() else np.full(len(parted.names), np.nan)
    weakest, effects = float(strengths.min()), []
    for place, name in enumerate(parted.names):
        details = {
            "first_stage_f": plain(strengths[place]),
            "instruments": list(parted.instrument_names),
            "endogenous": list(parted.names),
        }
        effect = regression.coefficient_effect(
            name,
            fit,
            place,
            parted.sample,
            names,
            method="two-stage least squares",
            unit=f"{names.unit} per unit of {name}",
            sources=(SOURCE, CONDITIONAL_F, WEAK_SOURCE),
            confidence=confidence,
            details=details,
        )
        weak = f"the instruments are too weak for an interval: first-stage F {weakest:.1f}, below {WEAK:g}"
        effects.append(regression.without_interval(effect, weak) if weakest < WEAK and effect.estimable else effect)
    return tuple(effects)


def part(
    y: ArrayLike,
    endogenous: Columns,
    instruments: Columns,
    exogenous: Columns | None,
    clusters: ArrayLike | None,
) -> Instruments:
    """Complete rows of the three blocks. Raises BadInput for too few instruments or blocks of different lengths."""
    names, inner = read_columns(endogenous, prefix="perceived")
    outer_names, outer = read_columns(instruments, prefix="intended")
    other_names, other = ((), inner[:, :0]) if exogenous is None else read_columns(exogenous, prefix="exogenous")
    if len(outer_names) < len(names):
        raise BadInput(
            f"expected at least as many instruments as endogenous attributes, {len(names)}, got {len(outer_names)}; "
            "vary as many intended attributes, or instrument fewer perceived ones"
        )
    if not len(inner) == len(outer) == len(other):
        raise BadInput(
            f"expected blocks of equal length, got {len(inner)}, {len(outer)} and {len(other)} rows; align them"
        )
    every = (*names, *(f"instrument {name}" for name in outer_names), *other_names)
    sample = complete(y, np.column_stack([inner, outer, other]), names=every, clusters=clusters)
    first, last = len(names), len(names) + len(outer_names)
    ones = np.ones((len(sample), 1))
    exog = np.column_stack([ones, sample.x[:, last:]])
    return Instruments(
        sample, sample.x[:, :first], sample.x[:, first:last], exog, names, outer_names, tuple(other_names)
    )


def two_stage(parted: Instruments) -> Fit:
    """Coefficients of the endogenous columns, and then of the exogenous ones."""
    sample, p = parted.sample, len(parted.names)
    size = p + parted.exogenous.shape[1]
    if sample.reason or np.ptp(sample.y) == 0:
        return no_fit(size, sample.reason or f"no variation: all {len(sample)} outcomes are {sample.y[0]:g}")
    z = parted.all_instruments[:, regression.independent(parted.all_instruments)]
    x = np.column_stack([parted.endogenous, parted.exogenous])
    q, _ = np.linalg.qr(z)
    fitted = q @ (q.T @ x)
    # Rounding leaves something of a projection that is 0; it must not pass for a first stage.
    fitted[np.abs(fitted) < 1e-12 * np.abs(x).max(axis=0, initial=1e-300)] = 0.0
    order = [*range(p, size), *range(p)]
    determined = np.sort(np.array(order)[regression.independent(fitted[:, order])])
    names = (*parted.names, regression.INTERCEPT, *parted.exogenous_names)
    reasons = tuple(
        text and f"{text} as far as the instruments tell" for text in regression.undetermined(fitted, names)
    )
    q, r = np.linalg.qr(fitted[:, determined])
    inverse = np.linalg.inv(r)
    beta, bread = inverse @ (q.T @ sample.y), inverse @ inverse.T
    residual = sample.y - x[:, determined] @ beta
    covariance = regression.clustered_covariance(
        fitted[:, determined] * residual[:, None], bread, sample, len(determined)
    )
    return Fit.expanded(beta, covariance, determined, reasons)


def first_stage(parted: Instruments) -> Float[np.ndarray, " p"]:
    """First-stage F of each endogenous column, errors by subject."""
    strengths = np.full(len(parted.names), np.nan)
    for place in range(len(parted.names)):
        others = [other for other in range(len(parted.names)) if other != place]
        column = parted.endogenous[:, place]
        if others:
            column = column - _purged(parted, column, others)
        strengths[place] = _wald_f(column, parted, len(parted.instrument_names) - len(others))
    return strengths


def _purged(parted: Instruments, column: Float[np.ndarray, " n"], others: list[int]) -> Float[np.ndarray, " n"]:
    """The part of a column that two-stage least squares ascribes to the other endogenous ones."""
    z, x = parted.all_instruments, np.column_stack([parted.endogenous[:, others], parted.exogenous])
    fitted = z @ np.linalg.lstsq(z, x, rcond=None)[0]
    beta = np.linalg.lstsq(fitted, column, rcond=None)[0]
    return np.asarray(parted.endogenous[:, others] @ beta[: len(others)])


def _wald_f(column: Float[np.ndarray, " n"], parted: Instruments, freedom: int) -> float:
    """Wald statistic of the instruments' coefficients over its degrees of freedom."""
    z = parted.all_instruments
    determined = regression.independent(z)
    tested = np.flatnonzero(determined >= parted.exogenous.shape[1])
    if not len(tested) or freedom < 1 or parted.sample.n_groups < 2:
        return np.nan
    bread = np.linalg.pinv(z[:, determined].T @ z[:, determined], hermitian=True)
    beta = bread @ (z[:, determined].T @ column)
    scores = z[:, determined] * (column - z[:, determined] @ beta)[:, None]
    covariance = regression.clustered_covariance(scores, bread, parted.sample, len(determined))[np.ix_(tested, tested)]
    return float(beta[tested] @ np.linalg.pinv(covariance, hermitian=True) @ beta[tested]) / freedom


PER_SUBJECTS: Final = 5
"""Subjects, of several images of a person people, for each reading; with fewer, those that drifted most are taken."""
SOURCES: Final = (OLS_SOURCE,)


@final
@dataclass(frozen=True, slots=True)
class DriftAdjusted:
    """One attribute's effect two ways, on the same images.

    raw: as it is. adjusted: at equal readings. readings: what was adjusted for; left_out: what drifted less than these,
    where there are too few subjects for all.
    """

    raw: Effect
    adjusted: Effect
    readings: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def drift_adjusted(
    y: Float[np.ndarray, " n"],
    treatment: Mapping[str, Float[np.ndarray, " n"]],
    readings: Mapping[str, Float[np.ndarray, " n"]],
    subjects: Int[np.ndarray, " n"],
    *,
    people: Int[np.ndarray, " n"] | None = None,
    labels: Labels | None = None,
) -> DriftAdjusted:
    """The effect of the first column of `treatment`, raw and at equal readings of what was not set."""
    if not treatment:
        raise BadInput("treatment: expected columns of the levels set, got none; give one for each level but the first")
    whole = complete(y, {**treatment, **readings}, clusters=subjects if people is None else people)
    codes = np.unique(np.asarray(subjects)[whole.rows], return_inverse=True)[1]
    columns = _within(np.column_stack([whole.y, whole.x]), codes, int(codes.max(initial=-1)) + 1)
    outcome, known = columns[:, 0], dict(zip(whole.names, columns[:, 1:].T, strict=True))
    spreads = dict(zip(whole.names, whole.x.std(axis=0), strict=True)) if len(whole) else {}
    drifts = {name: _drift(known[name], known[next(iter(treatment))], spreads.get(name, 0.0)) for name in readings}
    order, most = sorted(drifts, key=lambda name: -drifts[name]), whole.n_groups // PER_SUBJECTS
    named, levels = labels or Labels(basis="experimental"), {name: known[name] for name in treatment}
    together = {**levels, **{name: known[name] for name in order[:most]}}
    raw, adjusted = (ols(outcome, each, clusters=whole.groups, labels=named)[0] for each in (levels, together))
    return DriftAdjusted(raw, adjusted, tuple(order[:most]), tuple(order[most:]))


def _within(values: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"], count: int) -> Float[np.ndarray, "n k"]:
    """Deviations from the mean of each subject."""
    sizes = np.maximum(np.bincount(groups, minlength=count), 1)
    return np.asarray(values - (regression.group_sums(values, groups, count) / sizes[:, None])[groups])


def _drift(reading: Float[np.ndarray, " n"], level: Float[np.ndarray, " n"], spread: float) -> float:
    """How far a reading moves with what was set, in standard deviations over all images. Outcomes do not count."""
    length = float(level @ level)
    return abs(float(reading @ level)) / length / spread if length > 0 and spread > 0 else 0.0
