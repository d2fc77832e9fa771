"""A recognition benchmark in words, for the terminal and the page."""

from __future__ import annotations

from transect.jobs.recognition.numbers import RecognitionNumbers, Threshold
from transect.reports.columns import significant


def origin(numbers: RecognitionNumbers, limit: Threshold) -> str:
    """How a threshold was set: the rate that was wanted, the one that it has, and its interval."""
    if limit.false_match_rate is None:
        return "as stated"
    wanted, reached = (significant(None if x is None else 100 * x) for x in (limit.false_match_rate, limit.reached))
    compared = f"{numbers.impostor_comparisons:,} comparisons of different people"
    return f"at most {wanted} %: {reached} % of {compared} match; {_interval_of(limit)}"


def _interval_of(limit: Threshold) -> str:
    """The interval of a threshold that was set by a rate, or why it has none."""
    if limit.low is None or limit.high is None:
        return limit.reason
    ends = f"95 % interval {significant(limit.low, 4)} to {significant(limit.high, 4)}"
    return f"{ends}: {limit.reason}" if limit.reason else ends


def missing_intervals(numbers: RecognitionNumbers) -> list[str]:
    """Which rates have no interval, and why, each once."""
    found = (
        f"{name}, {group.group}: {rates.reason}"
        for name, sample in numbers.samples.items()
        for group in sample.groups
        for rates in group.rates
        if rates.reason
    )
    return list(dict.fromkeys(found))
