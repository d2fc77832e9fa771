"""Do the treated and the untreated resemble each other enough to be compared? Weights, their overlap, and refusals.

Inverse-probability weights that are divided by their sum (Hájek 1971) average residuals, so that the answer is never
farther out than the outcomes allow. Where few subjects carry an arm's weight, or many chances of treatment are near 0
or 1, there is no answer: nobody in one arm resembles them (Crump et al. 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.effects.regression import group_sums
from transect.effects.samples import Sample

SOURCE: Final = "Hájek 1971, comment on Basu, An essay on the logical foundations of survey sampling, part one"
OVERLAP_SOURCE: Final = (
    "Crump et al. 2009, Dealing with limited overlap in estimation of average treatment effects, "
    "doi:10.1093/biomet/asn055"
)
PROPENSITIES: Final = (0.01, 0.99)
"""Chances of treatment are clipped here."""
MOST_CLIPPED: Final = 0.05
"""The largest share of images whose chance of treatment is clipped."""
FEWEST_EFFECTIVE: Final = 20
"""The smallest effective number of subjects in an arm: below it intervals cover too little."""


@final
@dataclass(frozen=True, slots=True)
class Overlap:
    """How far the arms overlap. clipped: images whose chance of treatment is clipped, of `images`; untreated, treated:
    effective number of subjects in each arm, (Σ weight)² / Σ weight² (Kish 1965).
    """

    clipped: int
    images: int
    untreated: float
    treated: float

    def refusal(self, name: str) -> str:
        """Why there is no estimate of the attribute `name`, "" where there is one."""
        if self.clipped > MOST_CLIPPED * self.images:
            return (
                f"too little overlap: for {self.clipped} of {self.images} images the chance that {name} is 1 is "
                f"outside {PROPENSITIES[0]:g} to {PROPENSITIES[1]:g} (at most {100 * MOST_CLIPPED:g} %)"
            )
        for level, effective in ((0, self.untreated), (1, self.treated)):
            if effective < FEWEST_EFFECTIVE:
                return (
                    f"too little overlap: where {name} is {level} the weights leave {effective:.1f} effective subjects "
                    f"(at least {FEWEST_EFFECTIVE})"
                )
        return ""


@final
@dataclass(frozen=True, slots=True)
class Weighted:
    """A difference of two arms' means, its variance, degrees of freedom, and overlap."""

    estimate: float
    variance: float
    freedom: float
    overlap: Overlap


def augmented(sample: Sample, predicted: Float[np.ndarray, "2 n"], chance: Float[np.ndarray, " n"]) -> Weighted:
    """The mean predicted difference, corrected by each arm's weighted mean residual (AIPW with Hájek's weights)."""
    treated, bounded = sample.x[:, 0], np.clip(chance, *PROPENSITIES)
    share = sample.weights / sample.weights.sum()
    gain = predicted[1] - predicted[0]
    effect = float(share @ gain)
    moved = _sums(sample, share * (gain - effect))
    untreated, with_it = (
        _Arm.of(sample, sample.weights * chosen / odds, sample.y - outcome)
        for chosen, odds, outcome in (
            (1 - treated, 1 - bounded, predicted[0]),
            (treated, bounded, predicted[1]),
        )
    )
    overlap = Overlap(int((chance != bounded).sum()), len(sample), untreated.effective, with_it.effective)
    shift = with_it.mean - untreated.mean
    variance = _variance(moved, untreated, with_it)
    return Weighted(effect + shift, variance, min(overlap.untreated, overlap.treated) - 1, overlap)


@final
@dataclass(frozen=True, slots=True)
class _Arm:
    """The weighted mean of an arm's residuals; by subject [g] its weights, which sum to 1, and its part of the error.

    alike: each subject's mean residual, 0 without an image in the arm; images: how many it has there.
    """

    mean: float
    weights: Float[np.ndarray, " g"]
    part: Float[np.ndarray, " g"]
    alike: Float[np.ndarray, " g"]
    images: Float[np.ndarray, " g"]

    @classmethod
    def of(cls, sample: Sample, weights: Float[np.ndarray, " n"], residual: Float[np.ndarray, " n"]) -> _Arm:
        parts = weights / weights.sum()
        mean = float(parts @ residual)
        by_subject = _sums(sample, parts)
        totals = _sums(sample, parts * residual)
        left = np.maximum(1 - by_subject, 1e-9)
        own = np.divide(totals, by_subject, out=np.zeros(len(totals)), where=by_subject > 0)
        return cls(
            mean, by_subject, (totals - mean * by_subject) / left, own, _sums(sample, (weights > 0).astype(np.float64))
        )

    @property
    def effective(self) -> float:
        return float(1 / (self.weights**2).sum())

    @property
    def even(self) -> float:
        """Variance of the weighted mean if residuals are of one size, that of the average image's subject."""
        return float(self.images @ self.alike**2 / self.images.sum()) / self.effective


def _variance(moved: Float[np.ndarray, " g"], untreated: _Arm, treated: _Arm) -> float:
    """The jackknife's, or where it is larger that of residuals whose size is one for all subjects of an arm."""
    g = len(moved)
    if g < 2:
        return np.nan
    jackknife = float(((moved + treated.part - untreated.part) ** 2).sum()) * g / (g - 1)
    both = (untreated.weights > 0) & (treated.weights > 0)
    product = float((untreated.alike[both] * treated.alike[both]).mean()) if both.any() else 0.0
    even = float((moved**2).sum()) - 2 * product * float(untreated.weights @ treated.weights)
    return max(jackknife, even + untreated.even + treated.even)


def _sums(sample: Sample, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " g"]:
    return np.asarray(group_sums(values[:, None], sample.groups, sample.n_groups)[:, 0])
