"""A retrieval in words and rows, as `transect retrieve` prints it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from transect.effects.pair_perception import Bounded
from transect.effects.retrieval import FirstImages
from transect.jobs.retrieve.numbers import QuerySkew, RetrieveNumbers
from transect.reports.builder import probability, significant
from transect.runs.wording import counted, spaced

SURE: Final = 0.05


def headline(numbers: RetrieveNumbers) -> str:
    """For how many of the queries the levels are ranked unequally."""
    sure = sum(one.p_adjusted < SURE for one in numbers.queries)
    known = sum(math.isfinite(one.p_adjusted) for one in numbers.queries)
    return (
        f"{numbers.model} ranks {numbers.images:,} images of {numbers.run}: in {sure} of "
        f"{counted(known, 'ranking')} (a query and an attribute) the levels lie further apart than chance would put "
        "them (NDKL, p below 0.05, corrected over all)"
    )


def headings(numbers: RetrieveNumbers) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headings and a row per query and attribute, with the first K that can be told."""
    shown = ("query", "attribute", "NDKL", "by chance", "p, corrected", "K", "largest share", "MaxSkew@K", "by chance")
    return shown, [_row(one) for one in numbers.queries]


def table_rows(numbers: RetrieveNumbers) -> Iterator[dict[str, Any]]:
    """A row per query, attribute, K and level."""
    for one in numbers.queries:
        for top in one.skew.first:
            for level, share, p in zip(one.levels, top.shares, top.p, strict=True):
                yield {
                    "query": one.query, "study": one.study, "attribute": one.attribute, "k": top.k, "level": level,
                    "share": share.estimate, "low": share.low, "high": share.high, "p": p,
                    "max_skew": top.max_skew.estimate, "min_skew": top.min_skew.estimate, "reason": top.reason,
                }  # fmt: skip


def largest(one: QuerySkew, top: FirstImages) -> tuple[str, Bounded] | None:
    """The level with the largest share among the first K, and the share; None where it cannot be told."""
    if top.reason:
        return None
    place = max(range(len(one.levels)), key=lambda level: top.shares[level].estimate)
    return one.levels[place], top.shares[place]


def with_interval(value: Bounded, scale: float = 1) -> str:
    """A number and its interval, or why there is none.

    >>> with_interval(Bounded(0.5, 0.25, 0.75), 100), with_interval(Bounded(math.nan, math.nan, math.nan, "none"))
    ('50 (25 to 75)', 'none')
    """
    if math.isnan(value.estimate):
        return value.reason or "not estimable"
    shown = number(scale * value.estimate)
    if math.isnan(value.low):
        return f"{shown} ({value.reason})" if value.reason else shown
    return f"{shown} ({number(scale * value.low)} to {number(scale * value.high)})"


def number(value: float) -> str:
    """A number to three digits, as text.

    >>> number(-math.inf), number(math.nan)
    ('-∞', 'unknown')
    """
    if not math.isfinite(value):
        return "-∞" if value < 0 else "unknown"
    return str(significant(value))


def _row(one: QuerySkew) -> list[str]:
    top = next((top for top in one.skew.first if not top.reason), None)
    p = probability(one.p_adjusted) if math.isfinite(one.p_adjusted) else one.skew.reason
    ndkl = [number(one.skew.ndkl.estimate), number(one.skew.ndkl_by_chance)]
    start = [one.query, spaced(one.attribute), *ndkl, p]
    found = None if top is None else largest(one, top)
    if top is None or found is None:
        return [*start, "", one.skew.first[0].reason if one.skew.first else "", "", ""]
    level, share = found
    skew = with_interval(top.max_skew)
    return [*start, str(top.k), f"{level}: {with_interval(share, 100)} %", skew, number(top.max_skew_by_chance)]
