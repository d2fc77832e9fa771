"""A recognition benchmark in words, as `transect recognition` prints it."""

from __future__ import annotations

import math

from transect.effects.recognition import GapChange
from transect.jobs.recognition import numbers as enrolment
from transect.jobs.recognition.numbers import DifferentialNumbers, GroupNumbers, Rates, RecognitionNumbers, Threshold
from transect.reports.columns import probability


def headings(numbers: RecognitionNumbers) -> list[str]:
    """Headings of `rate_rows`."""
    return ["sample", numbers.group, "images", "identities", "mean distance, same person", "FNMR, %", "FMR, %"]


def rate_rows(numbers: RecognitionNumbers, place: int) -> list[list[str]]:
    """Errors by sample and group at one of the thresholds."""
    return [
        _row(name, group, group.rates[place]) for name, sample in numbers.samples.items() for group in sample.groups
    ]


def threshold_line(numbers: RecognitionNumbers, limit: Threshold) -> str:
    """A threshold, and how it was set: the rate that was wanted, and the one that it has."""
    origin = "stated"
    if limit.false_match_rate is not None:
        compared = f"{numbers.impostor_comparisons:,} comparisons of different people"
        reached = math.nan if limit.reached is None else limit.reached
        ends = limit.reason if limit.low is None else f"95 % interval {limit.low:.4g} to {limit.high:.4g}"
        ends += f": {limit.reason}" if limit.reason and limit.low is not None else ""
        origin = f"at most {100 * limit.false_match_rate:g} %: {100 * reached:.3g} % of {compared} match; {ends}"
    return f"threshold {limit.threshold:.4g} ({numbers.metric} distance; {origin})"


def differential_lines(numbers: RecognitionNumbers, place: int) -> list[str]:
    """How unequal both rates are between groups at one of the thresholds, in each sample."""
    return [
        f"{name}: {_ratios(differential)}"
        for name, sample in numbers.samples.items()
        for differential in sample.differentials[2 * place : 2 * place + 2]
    ]


def closing_lines(numbers: RecognitionNumbers) -> list[str]:
    """Differences of mean distances, images left out, notes."""
    lines = [
        f"{name}: mean distance of one person's images, {difference.name}: "
        f"{_ends(difference.estimate, difference.low, difference.high, 1, '+z.4g')}"
        f"{_p(difference.p_adjusted)}"
        for name, sample in numbers.samples.items()
        for difference in sample.differences
    ]
    lines += [_change_line(change) for change in numbers.changes]
    lines += list(dict.fromkeys(missing_intervals(numbers)))
    lines += enrolment.lines(numbers.enrolment)
    lines += [f"left out: {left.images} of {left.group} ({left.reason})" for left in numbers.left_out]
    return lines + [f"note: {note}" for note in numbers.notes]


def missing_intervals(numbers: RecognitionNumbers) -> list[str]:
    """Which rates have no interval, and why."""
    return [
        f"{name}, {group.group}: {rates.reason}"
        for name, sample in numbers.samples.items()
        for group in sample.groups
        for rates in group.rates
        if rates.reason
    ]


def _change_line(change: GapChange) -> str:
    scale, unit = (1, "") if change.measure == "mean distance" else (100, " points")
    at = "" if math.isnan(change.threshold) else f" at {change.threshold:.4g}"
    p = _p(change.p_adjusted) or f" ({change.reason})"
    measure = change.measure if scale == 1 else change.measure.upper()
    ends = _ends(change.change, change.low, change.high, scale, "+z.3g")
    return f"change by matching of the gap {change.group} - {change.reference} in {measure}{at}: {ends}{unit}{p}"


def _p(value: float) -> str:
    return f", p {'' if value < 5e-5 else '= '}{probability(value)} (Holm)" if math.isfinite(value) else ""


def _row(sample: str, group: GroupNumbers, rates: Rates) -> list[str]:
    mean = _ends(group.mean_distance, group.mean_distance_low, group.mean_distance_high, 1, ".4g")
    fnmr = _ends(rates.fnmr, rates.fnmr_low, rates.fnmr_high, 100, ".3g")
    fmr = _ends(rates.fmr, rates.fmr_low, rates.fmr_high, 100, ".3g")
    return [sample, group.group, f"{group.images:,}", f"{group.identities:,}", mean, fnmr, fmr]


def _ends(value: float, low: float, high: float, scale: int, digits: str) -> str:
    if not math.isfinite(value):
        return "unknown"
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"{scale * value:{digits}}"
    return f"{scale * value:{digits}} ({scale * low:{digits}} to {scale * high:{digits}})"


def _ratios(differential: DifferentialNumbers) -> str:
    name = f"{differential.rate.upper()} over the groups' geometric mean"
    if not math.isfinite(differential.largest_ratio):
        return f"{name}: not estimable: {differential.reason}"
    ratios = ", ".join(f"{row.group} {_ends(row.ratio, row.low, row.high, 1, '.3g')}" for row in differential.ratios)
    return f"{name}: {ratios}{f'; {differential.reason}' if differential.reason else ''}"
