"""How often does a target err, all in all and by condition? The table of McDuff et al. 2019 (Table 2), with intervals.

A face may be missed, and an attribute of a found face may be answered wrongly. So there are three rates: of misses, of
wrong attributes given detection, and of wrong attributes with misses counted as errors. Who is sampled more often
moves the rate over all images; the table also has the rate with every group of a condition weighted equally.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri, stdtrit

from transect.effects.combinations import METHOD as COMBINED
from transect.effects.combinations import weighted_sum
from transect.effects.intervals import NO_INTERVAL, WILSON, WILSON_CLUSTERED, wilson, wilson_clustered
from transect.errors import BadInput
from transect.runs.wording import spaced

SOURCE: Final = (
    "McDuff, Ma, Song and Kapoor 2019, Characterizing bias in classifiers using generative models, NeurIPS, Table 2"
)
DETECTION: Final = "detection"
ATTRIBUTE: Final = "attribute"
GIVEN: Final = "attribute given detection"
COUNTED: Final = "attribute, misses counted as errors"
UNKNOWN: Final = "not known"
CROSSED: Final = " × "
"""Between the names of attributes whose combinations are one condition."""
NO_ANSWER: Final = "no image has an answer"

_Column = Float[np.ndarray, " n"]


@final
@dataclass(frozen=True, slots=True)
class ErrorRate:
    """One rate of the table: of one measure, in one group of a condition ("", "" for all images).

    uniform: whether it is over all groups of the condition `by`, weighted equally (`group` is then empty). rate, low
    and high lie in [0, 1]; NaN with a `reason` where there is no estimate. errors, images and subjects are those that
    count; left_out: images of the group without a value of this measure. method: of the interval.
    """

    measure: str
    by: str
    group: str
    uniform: bool
    rate: float
    low: float
    high: float
    errors: int
    images: int
    subjects: int
    left_out: int
    method: str
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that groups images: groups in their order; codes int64 [n], each image's index, -1 for none."""

    groups: tuple[str, ...]
    codes: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, named: Sequence[str] | np.ndarray) -> Condition:
        """From each image's group as a text, "" for none; groups in alphabetical order."""
        groups = tuple(sorted({str(name) for name in named if name}))
        return cls(groups, np.array([groups.index(str(name)) if name else -1 for name in named], dtype=np.int64))


def crossed(conditions: Mapping[str, Condition]) -> Condition:
    """All combinations of conditions as one, also those that no image has; -1 where an image lacks a group of any."""
    parts = list(conditions.values())
    called = [[f"{spaced(name)} {group}" for group in condition.groups] for name, condition in conditions.items()]
    groups = tuple(", ".join(names) for names in itertools.product(*called))
    codes = np.zeros(len(parts[0].codes), dtype=np.int64)
    for condition in parts:
        codes = codes * len(condition.groups) + condition.codes
    return Condition(groups, np.where(np.any([condition.codes < 0 for condition in parts], axis=0), -1, codes))


def crossing(names: Sequence[str]) -> str:
    """How combinations of these are called."""
    return CROSSED.join(names)


def measures(missed: _Column | None, wrong: _Column | None) -> dict[str, _Column]:
    """The measures that follow from misses and wrong attributes; float64 [n], 1 an error, 0 none, NaN not known."""
    if missed is None:
        return {} if wrong is None else {ATTRIBUTE: wrong}
    if wrong is None:
        return {DETECTION: missed}
    wrong_if_detected = np.where(missed == 0, wrong, np.nan)
    return {DETECTION: missed, GIVEN: wrong_if_detected, COUNTED: np.where(missed == 1, 1.0, wrong_if_detected)}


def error_rates(
    missed: _Column | None,
    wrong: _Column | None,
    conditions: Mapping[str, Condition],
    subjects: Int[np.ndarray, " n"] | None = None,
    *,
    confidence: float = 0.95,
) -> tuple[ErrorRate, ...]:
    """The table: for each measure all images, each group of a condition, and all with equally weighted groups."""
    _check(missed, wrong, conditions, subjects)
    rows: list[ErrorRate] = []
    for measure, values in measures(missed, wrong).items():
        people = np.arange(len(values)) if subjects is None else np.unique(subjects, return_inverse=True)[1]
        rows.append(_rate(measure, "", "", values, people, confidence))
        for by, condition in conditions.items():
            rows += _of_condition(measure, by, condition, values, people, confidence)
    return tuple(rows)


def _check(
    missed: _Column | None,
    wrong: _Column | None,
    conditions: Mapping[str, Condition],
    subjects: Int[np.ndarray, " n"] | None,
) -> None:
    errors = {"missed": missed, "wrong": wrong}
    codes = {name: condition.codes for name, condition in conditions.items()}
    columns = {**errors, **codes, "subjects": subjects}
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise BadInput(f"expected columns of one length, got {lengths}; give one value per image")
    for name, column in errors.items():
        if column is not None and not np.isin(column[np.isfinite(column)], (0.0, 1.0)).all():
            raise BadInput(f"{name}: expected 0, 1 or NaN, got other numbers; say which answers are errors")


def _of_condition(
    measure: str, by: str, condition: Condition, values: _Column, people: Int[np.ndarray, " n"], confidence: float
) -> Iterator[ErrorRate]:
    """A condition's groups in their order, images of none last, and all groups weighted equally."""
    for code, name in enumerate(condition.groups):
        rows = condition.codes == code
        yield _rate(measure, by, name, values[rows], people[rows], confidence)
    if (lost := condition.codes < 0).any():
        yield _rate(measure, by, UNKNOWN, values[lost], people[lost], confidence)
    if condition.groups:
        yield _uniform(measure, by, condition, values, people, confidence)


def _rate(
    measure: str, by: str, group: str, values: _Column, people: Int[np.ndarray, " n"], confidence: float
) -> ErrorRate:
    known = np.isfinite(values)
    _, person = np.unique(people[known], return_inverse=True)
    counts = np.bincount(person).astype(np.float64)
    hits = np.bincount(person, weights=values[known]).astype(np.float64)
    n, errors = int(known.sum()), int(hits.sum())
    low, high = wilson_clustered(hits[:, None], counts[:, None], confidence) if n else (np.array([np.nan]),) * 2
    return ErrorRate(
        measure=measure,
        by=by,
        group=group,
        uniform=False,
        rate=errors / n if n else float("nan"),
        low=float(low[0]),
        high=float(high[0]),
        errors=errors,
        images=n,
        subjects=len(counts),
        left_out=len(values) - n,
        method=(WILSON_CLUSTERED if n > len(counts) else WILSON) if n else NO_INTERVAL,
        reason="" if n else NO_ANSWER,
    )


def _uniform(
    measure: str,
    by: str,
    condition: Condition,
    values: _Column,
    people: Int[np.ndarray, " n"],
    confidence: float,
) -> ErrorRate:
    """All groups of a condition weighted equally; not estimable where one of them has no answer."""
    k, codes = len(condition.groups), condition.codes
    known = np.isfinite(values) & (codes >= 0)
    n = np.bincount(codes[known], minlength=k).astype(np.float64)
    hits = np.bincount(codes[known], weights=values[known], minlength=k).astype(np.float64)
    empty = [name for name, count in zip(condition.groups, n, strict=True) if not count]
    subjects = len(np.unique(people[known]))
    several = subjects < known.sum()
    if empty:
        rate, low, high = (float("nan"),) * 3
    elif several:
        rate, low, high = _clustered(codes[known], values[known], people[known], k, confidence)
    else:
        rate, low, high = weighted_sum(np.full(k, 1 / k), hits, n, confidence)
    return ErrorRate(
        measure=measure,
        by=by,
        group="",
        uniform=True,
        rate=rate,
        low=low,
        high=high,
        errors=int(hits.sum()),
        images=int(known.sum()),
        subjects=subjects,
        left_out=len(values) - int(known.sum()),
        method=NO_INTERVAL if empty else WILSON_CLUSTERED if several else COMBINED,
        reason=f"no image of {by}: {', '.join(empty)} has an answer" if empty else "",
    )


def _clustered(
    codes: Int[np.ndarray, " n"], values: _Column, people: Int[np.ndarray, " n"], k: int, confidence: float
) -> tuple[float, float, float]:
    """The equally weighted rate where subjects have images in several groups, so that groups are not independent."""
    n = np.bincount(codes, minlength=k)
    rates = np.bincount(codes, weights=values, minlength=k) / n
    weight, (_, person) = 1 / (k * n[codes]), np.unique(people, return_inverse=True)
    rate, s = float(rates.mean()), int(person.max()) + 1
    least = 1 / (np.bincount(person, weights=weight) ** 2).sum()
    most = 1 / (weight**2).sum()
    residual = np.bincount(person, weights=weight * (values - rates[codes]))
    variance = float((residual**2).sum()) * s / max(s - 1, 1)
    effective = least
    if s > 1 and variance > 1e-9 * rate * (1 - rate) / most:  # more than rounding
        quantile = (1 + confidence) / 2
        effective = rate * (1 - rate) / variance * (ndtri(quantile) / stdtrit(s - 1, quantile)) ** 2
    effective = float(np.clip(effective, least, most))
    low, high = wilson(rate * effective, effective, confidence)
    return rate, float(low), float(high)
