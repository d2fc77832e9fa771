"""How near a generator's pictures are to those it learned from, with what two samples of the latter differ by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput
from transect.perceptual.features import features
from transect.perceptual.sets import fid, kid, precision_recall
from transect.records import Images, Latents

FEWEST = 200
_AT_ONCE = 250
_FIRST_SEED = 1 << 44
"""Far from the seeds that trainings and audits draw, so that what is judged was not learned from."""


@runtime_checkable
class Draws(Protocol):
    """Anything that samples seeds and renders them."""

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Latents of those seeds."""
        ...

    def render(self, latents: Latents) -> Images:
        """Their pictures."""
        ...


def judge(real: Draws, generated: Draws, images: int, *, device: str = "cpu") -> dict[str, Any]:
    """FID, KID, precision and recall of `images` made pictures against as many real ones, by the shipped features.

    `floor` has the same of two samples of the real source, drawn for it: no generator does better. The features were
    learned on FaceWorld, so that figures of other networks are on another scale. Raises BadInput for fewer than 200.
    """
    if images < FEWEST:
        raise BadInput(f"images: expected at least {FEWEST}, got {images}; figures of fewer say nothing")
    rows = [features_of(source, first, images, device) for source, first in ((real, 0), (real, images), (generated, 0))]
    distances = {"images": images, **_compared(rows[0], rows[2]), "floor": _compared(rows[0], rows[1])}
    return distances


def features_of(source: Draws, first: int, images: int, device: str = "cpu") -> Float[np.ndarray, "n d"]:
    """Features of that many pictures, from the `first`-th on of those that are kept for judging."""
    seeds = np.arange(_FIRST_SEED + first, _FIRST_SEED + first + images)
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, images, _AT_ONCE)]
    return np.concatenate([features(source.render(source.sample(part)).pixels, device=device) for part in parts])


def _compared(real: Float[np.ndarray, "n d"], other: Float[np.ndarray, "n d"]) -> dict[str, Any]:
    near, shared = kid(real, other), precision_recall(real, other)
    shares = {name: _plain(value) for name, value in asdict(shared).items() if name in ("precision", "recall")}
    return {"fid": fid(real, other).value, "kid": near.value, "kid_error": _plain(near.standard_error), **shares}


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
