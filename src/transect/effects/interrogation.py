"""How often does a target err, all in all and by condition (McDuff et al. 2019), and what could an effect be if
missing answers were known?
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri, stdtrit

from transect.effects import intervals
from transect.effects.clusters import by_person, clusters_of, mean_difference_interval, people_with
from transect.effects.curves import mean_band
from transect.effects.intervals import METHOD as COMBINED
from transect.errors import BadInput
from transect.records import Estimate
from transect.runs.json_records import named
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
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRate(Estimate):
    """One rate of the table: of one measure, in one group of a condition ("", "" for all images).

    uniform: whether it is over all groups of the condition `by`, weighted equally (`group` is then empty). estimate
    (in JSON "rate"), low and high lie in [0, 1]; NaN with a `reason` where there is none. errors, images and
    subjects are those that count; left_out: images of the group without a value of this measure. method: of the
    interval.
    """

    estimate: float = named("rate")
    measure: str
    by: str
    group: str
    uniform: bool
    errors: int
    images: int
    subjects: int
    left_out: int
    method: str


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
) -> tuple[ErrorRate, ...]:
    """The table: for each measure all images, each group of a condition, and all with equally weighted groups."""
    _check(missed, wrong, conditions, subjects)
    rows: list[ErrorRate] = []
    for measure, values in measures(missed, wrong).items():
        people = np.arange(len(values)) if subjects is None else np.unique(subjects, return_inverse=True)[1]
        rows.append(_rate(measure, "", "", values, people))
        for by, condition in conditions.items():
            rows += _of_condition(measure, by, condition, values, people)
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
        raise BadInput(f"expected columns of equal length, got {lengths}; give one value per image")
    for name, column in errors.items():
        if column is not None and not np.isin(column[np.isfinite(column)], (0.0, 1.0)).all():
            raise BadInput(f"{name}: expected 1 for an error, 0 for none, or NaN")


def _of_condition(
    measure: str, by: str, condition: Condition, values: _Column, people: Int[np.ndarray, " n"]
) -> Iterator[ErrorRate]:
    """A condition's groups in their order, images of none last, and all groups weighted equally."""
    for code, name in enumerate(condition.groups):
        rows = condition.codes == code
        yield _rate(measure, by, name, values[rows], people[rows])
    if (lost := condition.codes < 0).any():
        yield _rate(measure, by, UNKNOWN, values[lost], people[lost])
    if condition.groups:
        yield _uniform(measure, by, condition, values, people)


def _rate(measure: str, by: str, group: str, values: _Column, people: Int[np.ndarray, " n"]) -> ErrorRate:
    found, known = intervals.share_by_subject(values, people), np.isfinite(values)
    n, reason = int(known.sum()), "" if known.any() else NO_ANSWER
    method = (
        (intervals.WILSON_CLUSTERED if n > len(np.unique(people[known])) else intervals.WILSON)
        if n
        else intervals.NO_INTERVAL
    )
    return _row(measure, by, group, values, people, (found.estimate, found.low, found.high), method, reason)


def _row(
    measure: str,
    by: str,
    group: str,
    values: _Column,
    people: Int[np.ndarray, " n"],
    ends: tuple[float, float, float],
    method: str,
    reason: str,
    *,
    uniform: bool = False,
) -> ErrorRate:
    known = np.isfinite(values)
    estimate, low, high = ends
    return ErrorRate(
        estimate=estimate,
        low=low,
        high=high,
        measure=measure,
        by=by,
        group=group,
        uniform=uniform,
        errors=int(values[known].sum()),
        images=int(known.sum()),
        subjects=len(np.unique(people[known])),
        left_out=int((~known).sum()),
        method=method,
        reason=reason,
    )


def _uniform(
    measure: str,
    by: str,
    condition: Condition,
    values: _Column,
    people: Int[np.ndarray, " n"],
) -> ErrorRate:
    """All groups of a condition weighted equally; not estimable where one of them has no answer."""
    k, codes = len(condition.groups), condition.codes
    known = np.isfinite(values) & (codes >= 0)
    n = np.bincount(codes[known], minlength=k).astype(np.float64)
    hits = np.bincount(codes[known], weights=values[known], minlength=k).astype(np.float64)
    empty = [name for name, count in zip(condition.groups, n, strict=True) if not count]
    several = len(np.unique(people[known])) < known.sum()
    if empty:
        rate, low, high = (float("nan"),) * 3
    elif several:
        rate, low, high = _clustered(codes[known], values[known], people[known], k)
    else:
        rate, low, high = intervals.weighted_sum(np.full(k, 1 / k), hits, n)
    method = intervals.NO_INTERVAL if empty else intervals.WILSON_CLUSTERED if several else COMBINED
    reason = f"no image of {by}: {', '.join(empty)} has an answer" if empty else ""
    grouped = np.where(codes >= 0, values, np.nan)
    return _row(measure, by, "", grouped, people, (rate, low, high), method, reason, uniform=True)


def _clustered(
    codes: Int[np.ndarray, " n"], values: _Column, people: Int[np.ndarray, " n"], k: int
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
        quantile = (1 + intervals.CONFIDENCE) / 2
        effective = rate * (1 - rate) / variance * (ndtri(quantile) / stdtrit(s - 1, quantile)) ** 2
    effective = float(np.clip(effective, least, most))
    low, high = intervals.wilson(rate * effective, effective)
    return rate, float(low), float(high)


SOURCES: Final = (
    "Manski 1990, Nonparametric bounds on treatment effects, American Economic Review 80(2)",
    "Lee 2009, Training, wages, and sample selection: estimating sharp bounds on treatment effects, "
    "doi:10.1111/j.1467-937X.2009.00536.x",
    "Donner and Zou 2012, Closed-form confidence intervals for functions of the normal mean and standard deviation, "
    "doi:10.1177/0962280210383082",
)
FEW_SUBJECTS: Final = 10
TOO_FEW: Final = f"fewer than {FEW_SUBJECTS} subjects: no interval"
_NAN: Final = float("nan")


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest effect that the missing answers allow, in [-1, 1].

    low, high: a 95 % interval of the whole range; NaN with a reason. All NaN where nothing was sent.
    """

    smallest: float
    largest: float
    low: float
    high: float
    reason: str = ""


def paired_bounds(
    first: Float[np.ndarray, "n cells"],
    second: Float[np.ndarray, "n cells"],
    sent: Bool[np.ndarray, "n cells"] | None = None,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Bounds:
    """Worst-case bounds of the mean over subjects of second - first, outcomes of 0 and 1, NaN where missing."""
    counted = np.ones(first.shape, dtype=np.bool_) if sent is None else sent
    least = np.nan_to_num(second, nan=0.0) - np.nan_to_num(first, nan=1.0)
    most = np.nan_to_num(second, nan=1.0) - np.nan_to_num(first, nan=0.0)
    return bounded_effect(least, most, counted, pairs=float(first.shape[1]), people=people, seed=seed)


def bounded_effect(
    least: Float[np.ndarray, "n cells"],
    most: Float[np.ndarray, "n cells"],
    counted: Bool[np.ndarray, "n cells"],
    *,
    pairs: float,
    binary: bool = True,
    people: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Bounds:
    """Bounds of the mean over subjects from the smallest and largest difference that each pair can have, in [-1, 1]."""
    used = counted.any(axis=1)
    who = clusters_of(None if people is None else people[used])
    least, most, counted = (table[used] for table in (least, most, counted))
    if not least.size:
        return Bounds(_NAN, _NAN, _NAN, _NAN)
    ends = np.stack([np.where(counted, end, 0.0).sum(axis=1) / counted.sum(axis=1) for end in (least, most)], axis=1)
    smallest, largest = ends.mean(axis=0).tolist()
    if people_with(ends, who)[0] < FEW_SUBJECTS:
        return Bounds(smallest, largest, _NAN, _NAN, TOO_FEW)
    if not binary:
        sums = (ends, None) if who is None else by_person(ends, who)
        band = mean_band(*sums, seed=seed)
        return Bounds(smallest, largest, float(band.low[0]), float(band.high[1]), band.reason)
    interval = mean_difference_interval(ends, who, binary=True, pairs=np.full(2, pairs))
    return Bounds(smallest, largest, float(interval.low[0]), float(interval.high[1]))


def group_bounds(
    values: Float[np.ndarray, " n"], second: Bool[np.ndarray, " n"], subjects: Int[np.ndarray, " n"]
) -> tuple[Bounds, Bounds]:
    """Worst-case and trimming bounds of the difference of rates, second group minus first, of different people."""
    groups = [np.flatnonzero(~second), np.flatnonzero(second)]
    if not all(len(rows) for rows in groups):
        nothing = Bounds(_NAN, _NAN, _NAN, _NAN)
        return nothing, nothing
    few = min(len(np.unique(subjects[rows])) for rows in groups) < FEW_SUBJECTS
    return _worst(values, groups, subjects, few), _trimmed(values, groups, subjects, few)


def _worst(
    values: Float[np.ndarray, " n"], groups: list[np.ndarray], subjects: Int[np.ndarray, " n"], few: bool
) -> Bounds:
    least = [_part(values == 1, rows, subjects) for rows in groups]
    most = [_part(~(values == 0), rows, subjects) for rows in groups]
    smallest, largest = intervals.minus(least[1], most[0]), intervals.minus(most[1], least[0])
    return _bounds(smallest, largest, few)


def _trimmed(
    values: Float[np.ndarray, " n"], groups: list[np.ndarray], subjects: Int[np.ndarray, " n"], few: bool
) -> Bounds:
    answered = [_part(np.isfinite(values), rows, subjects) for rows in groups]
    if min(part.estimate for part in answered) == 0:
        return Bounds(_NAN, _NAN, _NAN, _NAN, "a group has no answer")
    if max(part.high / part.estimate for part in answered) >= 2:
        return Bounds(_NAN, _NAN, _NAN, _NAN, "too few answers")
    more = int(answered[1].estimate >= answered[0].estimate)  # the group that answers at least as often is trimmed
    share = answered[1 - more]
    rate = _part(values == 1, groups[1 - more][np.isfinite(values[groups[1 - more]])], subjects)
    yes = _inside(_over(_part(values == 1, groups[more], subjects), share))
    no = _inside(_over(_part(values == 0, groups[more], subjects), share))
    kept = Estimate(1 - no.estimate, 1 - no.high, 1 - no.low)
    smallest, largest = intervals.minus(kept, rate), intervals.minus(yes, rate)
    if not more:
        smallest, largest = intervals.minus(rate, yes), intervals.minus(rate, kept)
    return _bounds(smallest, largest, few)


def _bounds(smallest: Estimate, largest: Estimate, few: bool) -> Bounds:
    if few:
        return Bounds(smallest.estimate, largest.estimate, _NAN, _NAN, TOO_FEW)
    return Bounds(smallest.estimate, largest.estimate, smallest.low, largest.high)


def _part(hit: np.ndarray, rows: np.ndarray, subjects: Int[np.ndarray, " n"]) -> Estimate:
    """The share of the rows that hit, with Wilson's interval by subject."""
    return intervals.share_by_subject(hit[rows].astype(np.float64), subjects[rows])


def _over(a: Estimate, b: Estimate) -> Estimate:
    """A / b of independent estimates, b above 0."""
    product = a.estimate * b.estimate

    def end(x: float, y: float, sign: float) -> float:
        inside = max(product**2 - x * y * (2 * a.estimate - x) * (2 * b.estimate - y), 0.0)
        return (product + sign * math.sqrt(inside)) / (y * (2 * b.estimate - y))

    return Estimate(a.estimate / b.estimate, end(a.low, b.high, -1.0), end(a.high, b.low, 1.0))


def _inside(part: Estimate) -> Estimate:
    return Estimate(*np.clip([part.estimate, part.low, part.high], 0.0, 1.0).tolist())
