"""How do two recognizers differ in the gap between two groups? Paired by identity, on the same images.

Recognizers measure in units of their own, so that a gap is relative: the difference of two groups' mean distances of
one person's images over the mean of both, which is taken as known. On the same images every identity has as many
genuine comparisons for both, so that a sum of two recognizers' distances is itself a distance, and has the interval by
identity of `recognition.difference_of_means`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from transect.effects.paired_groups import GroupDifference
from transect.effects.paired_models import Gap
from transect.effects.recognition import GroupErrors, difference_of_means
from transect.records import Effect

Groups: TypeAlias = tuple[GroupErrors, GroupErrors]
"""A group and the one that it is compared with, of one recognizer."""


def relative_gap(groups: Groups) -> float:
    """The difference of both groups' mean distances over their mean; NaN where a group has no genuine comparison."""
    one, other = (group.mean_genuine for group in groups)
    return (one - other) / _scale(groups) if _scale(groups) > 0 else math.nan


def gap_of_recognizers(first: Groups, second: Groups) -> Gap | None:
    """The size of the second recognizer's relative gap less that of the first; None where one is not known."""
    gaps = relative_gap(first), relative_gap(second)
    if not all(map(math.isfinite, gaps)):
        return None
    side = float(np.sign(gaps[1] - gaps[0]))
    apart = _combined(first, second, -(side or 1.0), side or 1.0)
    return Gap(
        GroupDifference(apart, side, *gaps),
        GroupDifference(_combined(first, second, 1.0, 1.0), 1.0, *gaps),
    )


def _combined(first: Groups, second: Groups, of_first: float, of_second: float) -> Callable[[float], Effect]:
    """At a level of confidence, the difference between groups in a weighted sum of both relative distances."""
    weights = of_first / _scale(first), of_second / _scale(second)
    one, other = (_summed(*pair, *weights) for pair in zip(first, second, strict=True))
    return functools.cache(lambda confidence: difference_of_means(one, other, "", "", confidence))


def _summed(first: GroupErrors, second: GroupErrors, of_first: float, of_second: float) -> GroupErrors:
    sums = of_first * first.comparisons.genuine_sum + of_second * second.comparisons.genuine_sum
    mean = of_first * first.mean_genuine + of_second * second.mean_genuine
    return replace(first, comparisons=replace(first.comparisons, genuine_sum=sums), mean_genuine=mean)


def _scale(groups: Groups) -> float:
    return float(np.mean([group.mean_genuine for group in groups]))
