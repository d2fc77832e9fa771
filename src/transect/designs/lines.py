"""Lines between two subjects: the sanity check of Denton et al. 2019 on a latent space and a classifier.

A line joins the latents of two subjects, drawn as any others; images are rendered at even shares of the way. Where a
target puts both ends into one class, the images between should be of that class too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from transect.designs.steps import interpolated
from transect.designs.transects import transect_design
from transect.errors import BadInput
from transect.protocols import Table, World
from transect.records import Attribute, Design, Images, Latents
from transect.runs import capabilities

SHARE: Final = "share_of_the_way"
BETWEEN: Final = 9
"""Images between the two ends of a line."""


class Lines:
    """A world whose subjects are lines: subject s joins the world's subjects 2s and 2s + 1."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.name, self.image_size, self.latent_dim = world.name, world.image_size, world.latent_dim
        self.attributes = (
            Attribute(SHARE, "continuous", "share of the way from one subject to another", low=0.0, high=1.0),
            *world.attributes,
        )

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The first end of each line; its seed is the line's."""
        wanted = np.asarray(seeds, dtype=np.int64)
        first: Latents = self.world.sample(2 * wanted)
        return replace(first, seeds=wanted)

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:  # noqa: ARG002  (nothing to hold)
        """Latents at a share of the way from each line's first end to its second."""
        second = self.world.sample(2 * latents.seeds + 1)
        both = replace(
            latents,
            seeds=np.concatenate([latents.seeds, latents.seeds]),
            values=np.concatenate([latents.values, second.values]),
        )
        n = len(latents)
        return interpolated(both, np.arange(n), np.arange(n, 2 * n), np.asarray(values[SHARE], dtype=np.float64))

    def render(self, latents: Latents) -> Images:
        """The world's images."""
        return self.world.render(latents)

    def read(self, latents: Latents) -> pa.Table:
        """The world's values."""
        return self.world.read(latents)

    def truths(self, latents: Latents) -> pa.Table:
        """What each attribute became, where the world tells it apart from what was set."""
        return capabilities.truths(self.world, latents)

    def describe(self) -> dict[str, Any]:
        """The world's description, and that its subjects are lines."""
        return {**capabilities.description(self.world), "lines": {"between": BETWEEN}}

    def validity(self) -> dict[str, Any]:
        """The world's validity; none stated where it states none."""
        return capabilities.validity(self.world)


def lines_design(world: Lines, lines: int, *, seed: int = 0, population: str = "balanced") -> Design:
    """A design of `lines` lines, each with its two ends and nine images between.

    Raises BadInput for no line, or a bad seed.
    """
    if lines < 1:
        raise BadInput(f"--interpolate: expected at least one line, got {lines}; give for example --interpolate 100")
    shares = {SHARE: np.linspace(0.0, 1.0, BETWEEN + 2).tolist()}
    return transect_design(shares, world.attributes, subjects=lines, seed=seed, population=population)
