"""How does a yes-or-no outcome of two models differ between groups of observed images? Score limits of each group.

On an image the second model's outcome less the first's is -1, 0 or 1. Where few images differ, resamples and residuals
of a group say that its mean is known exactly. The paired score interval of each group keeps the doubt (Tango 1998), and
the variance-estimates-recovery rule (MOVER) makes an interval of the difference of both groups (Zou and Donner 2008).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import brentq
from scipy.special import ndtr

from transect.effects.intervals import effective_images, paired_score_interval
from transect.effects.paired_models import back_to

_FARTHEST: Final = 7.0
"""Normal quantile beyond which no p is looked for."""


@final
@dataclass(frozen=True, slots=True)
class PairedShares:
    """Images of one group by person: counts [s, 1], and of them those on which the number is 1 and those on which it is
    -1. People are independent; the images of one person need not be.
    """

    counts: Float[np.ndarray, "s 1"]
    positive: Float[np.ndarray, "s 1"]
    negative: Float[np.ndarray, "s 1"]

    @classmethod
    def of(cls, moved: Float[np.ndarray, " n"], people: Int[np.ndarray, " n"]) -> PairedShares:
        """From a number of each image in -1, 0 and 1 [n], NaN without one, and who is on the image [n]."""
        known = np.isfinite(moved)
        _, person = np.unique(people[known], return_inverse=True)
        columns = [np.bincount(person, weights=moved[known] == value)[:, None] for value in (1, -1)]
        return cls(np.bincount(person)[:, None].astype(np.float64), *columns)

    @property
    def mean(self) -> float:
        """The mean over images; NaN without one."""
        images = float(self.counts.sum())
        return float((self.positive - self.negative).sum()) / images if images else math.nan

    def interval(self, confidence: float) -> tuple[float, float]:
        """The paired score interval, of as many images as those of people are worth; NaN without an image."""
        images = float(self.counts.sum())
        if not images:
            return math.nan, math.nan
        worth = min(
            float(effective_images(side, self.counts, confidence)[1][0]) for side in (self.positive, self.negative)
        )
        low, high = paired_score_interval(
            self.positive.sum(), self.negative.sum(), images, design_effect=images / worth, confidence=confidence
        )
        return float(low), float(high)


class BetweenGroups(ABC):
    """What a `Quantity` says of groups, who are different people."""

    __slots__ = ()

    @abstractmethod
    def interval(self, confidence: float) -> tuple[float, float]: ...  # noqa: D102

    def cautious(self, confidence: float) -> tuple[float, float]:
        """The interval: limits of groups allow for people whom nobody is like."""
        return self.interval(confidence)

    @property
    def spread(self) -> float:
        """NaN: groups are different people, who have no differences of their own."""
        return math.nan

    @property
    def averaged(self) -> bool:
        """False: no average over a subject's levels is compared."""
        return False


@final
@dataclass(frozen=True, slots=True)
class RateDifference(BetweenGroups):
    """The difference between two groups in a number of each image in -1, 0 and 1; a `Quantity` of two models.

    origin, to: the groups, times `side`. first, second: each model's own difference.
    """

    origin: PairedShares
    to: PairedShares
    side: float
    first: float
    second: float
    n_subjects: int

    @property
    def estimate(self) -> float:
        """The mean of the second group less that of the first."""
        return (self.side or 1.0) * (self.to.mean - self.origin.mean)

    @property
    def p(self) -> float:
        """Two-sided p of no difference: 1 less the confidence at which the interval ends at 0."""
        toward = self.to.mean - self.origin.mean
        if not toward:
            return 1.0
        if math.isnan(toward):
            return math.nan
        end = 0 if toward > 0 else 1

        def beyond(z: float) -> float:
            return self._ends(2 * float(ndtr(z)) - 1)[end] * math.copysign(1.0, toward)

        if beyond(_FARTHEST) > 0:
            return 2 * float(ndtr(-_FARTHEST))
        return 2 * float(ndtr(-brentq(beyond, 1e-6, _FARTHEST, xtol=1e-6)))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The MOVER interval of both groups' score limits; mirrored to the last bit where the models are exchanged."""
        return back_to(self.side, *self._ends(confidence))

    def _ends(self, confidence: float) -> tuple[float, float]:
        (low0, high0), (low1, high1) = (group.interval(confidence) for group in (self.origin, self.to))
        before, after = self.origin.mean, self.to.mean
        moved = after - before
        return moved - math.hypot(after - low1, high0 - before), moved + math.hypot(high1 - after, before - low0)
