"""Do the groups with the highest and the lowest error rate differ? The two are picked by the rates that they differ in.

The largest of many gaps is large by chance alone. So the interval holds for all pairs of groups at once (Bonferroni),
whichever two are picked: it is made of both rates' intervals at that level, by the variance-estimates-recovery rule
(Zou and Donner 2008), which allows for groups of unlike sizes. The threshold is held, since it is one for all groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np

from transect.effects import dyadic
from transect.effects.intervals import wilson_clustered
from transect.effects.recognition import GroupErrors

RateName = Literal["fnmr", "fmr"]
RATES: Final[tuple[RateName, ...]] = ("fnmr", "fmr")


@final
@dataclass(frozen=True, slots=True)
class RateGap:
    """A rate of the group with the highest less that of the group with the lowest, at one threshold.

    low, high: of an interval that holds for all `pairs` of groups at once with 95 %, so at confidence 1 - 0.05 / pairs
    for one; NaN with the reason where one of the two rates has no interval.
    """

    rate: RateName
    threshold: float
    group: str
    other: str
    estimate: float
    low: float
    high: float
    pairs: int
    reason: str = ""


def rate_gaps(groups: Sequence[GroupErrors], thresholds: Sequence[float], confidence: float = 0.95) -> list[RateGap]:
    """The largest gap of each rate at each threshold, by threshold; none where fewer than two groups have the rate."""
    found = [_gap(groups, rate, place, at, confidence) for place, at in enumerate(thresholds) for rate in RATES]
    return [gap for gap in found if gap is not None]


def _gap(
    groups: Sequence[GroupErrors], rate: RateName, place: int, threshold: float, confidence: float
) -> RateGap | None:
    known = [group for group in groups if math.isfinite(getattr(group, rate)[place])]
    if len(known) < 2:
        return None
    most, least = (pick(known, key=lambda group: getattr(group, rate)[place]) for pick in (max, min))
    pairs = math.comb(len(known), 2)
    (p, low, high), (q, other_low, other_high) = (
        _rate(group, rate, place, 1 - (1 - confidence) / pairs) for group in (most, least)
    )
    ends = p - q - math.hypot(p - low, other_high - q), p - q + math.hypot(high - p, q - other_low)
    without = [str(group.group) for group, end in ((most, low), (least, other_low)) if math.isnan(end)]
    reason = f"no interval: {' and '.join(dict.fromkeys(without))} has none" if without else ""
    return RateGap(rate, threshold, str(most.group), str(least.group), p - q, *ends, pairs, reason)


def _rate(group: GroupErrors, rate: RateName, place: int, confidence: float) -> tuple[float, float, float]:
    """A rate and its interval at a level; NaN ends where the rate has none at 95 % either."""
    value = float(getattr(group, rate)[place])
    if not np.isfinite(getattr(group, f"{rate}_interval")[place]).all():
        return value, math.nan, math.nan
    one = slice(place, place + 1)
    each = group.comparisons
    if rate == "fnmr":
        counts = each.genuine[:, None].astype(np.float64)
        low, high = wilson_clustered(counts - each.genuine_matches[:, one], counts, confidence)
        return value, float(low[0]), float(high[0])
    compared = int((each.impostor > 0).sum())
    spread = group.fmr[one], group.fmr_variance[one], group.fmr_freedom[one]
    low, high = dyadic.interval(*spread, compared, float(group.impostor), confidence)[0]
    return value, float(low), float(high)
