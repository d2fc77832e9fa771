"""How near a generator's pictures are to those that it learned from, and how near two samples of the latter are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput
from transect.perceptual.features import features
from transect.perceptual.sets import fid, kid, precision_recall
from transect.records import Images, Latents

FEWEST = 200
_AT_ONCE = 250
_FIRST_SEED = 1 << 44
"""Far from the seeds that trainings and audits draw, so that pictures that are judged were not trained on."""


@runtime_checkable
class Draws(Protocol):
    """Anything that samples latents from seeds and renders them."""

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Latents of those seeds."""
        ...

    def render(self, latents: Latents) -> Images:
        """Their pictures."""
        ...


@dataclass(frozen=True, slots=True)
class SetDistances:
    """How near two sets of images are. kid_error: standard error of kid; NaN for what cannot be estimated."""

    fid: float
    kid: float
    kid_error: float
    precision: float
    recall: float


@final
@dataclass(frozen=True, slots=True)
class Judgement(SetDistances):
    """Generated images against real ones. images: of each set; floor: the same of two sets of real images."""

    images: int
    floor: SetDistances


def judge(real: Draws, generated: Draws, images: int, *, device: str = "cpu") -> Judgement:
    """FID, KID, precision and recall of `images` generated pictures against as many real ones, by the shipped features.

    `floor` has the same of two samples of the real source, drawn for it: no generator does better. The features were
    learned on FaceWorld, so that figures of other networks are on another scale. Raises BadInput for fewer than 200.
    """
    if images < FEWEST:
        raise BadInput(f"images: expected at least {FEWEST}, got {images}; figures of fewer are unreliable")
    rows = [features_of(source, first, images, device) for source, first in ((real, 0), (real, images), (generated, 0))]
    return Judgement(*_figures(rows[0], rows[2]), images, SetDistances(*_figures(rows[0], rows[1])))


def features_of(source: Draws, first: int, images: int, device: str = "cpu") -> Float[np.ndarray, "n d"]:
    """Features of that many pictures, from the `first`-th on of those that are reserved for judging."""
    seeds = np.arange(_FIRST_SEED + first, _FIRST_SEED + first + images)
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, images, _AT_ONCE)]
    return np.concatenate([features(source.render(source.sample(part)).pixels, device=device) for part in parts])


def _figures(
    real: Float[np.ndarray, "n d"], other: Float[np.ndarray, "n d"]
) -> tuple[float, float, float, float, float]:
    discrepancy, shares = kid(real, other), precision_recall(real, other)
    return fid(real, other).value, discrepancy.value, discrepancy.standard_error, shares.precision, shares.recall
