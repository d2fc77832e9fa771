"""FaceWorld, used as a learned generator has to be: subjects are latents z = R u, whose coordinates mean nothing.

Attributes are set along directions that are fitted to labels, as in a GAN; unlike there, the causal model knows the
resulting value of each attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.latent_view import SPACE
from transect.generators.faceworld.world import FaceWorld
from transect.records import Attribute, Images, Latents

NAME: Final = "faceworld-latent"


@final
class LatentWorld:
    """A generator over the latent view of a FaceWorld; it has no controls, and knows the truth of every latent.

    >>> view = LatentWorld(FaceWorld(image_size=32))
    >>> subject = view.sample([7])
    >>> age = view.world.read(view.world.sample([7]))["age"][0].as_py()
    >>> subject.space, abs(view.truths(subject)["age"][0].as_py() - age) < 1e-9
    ('z', True)
    """

    def __init__(self, world: FaceWorld) -> None:
        self.world = world
        self.name, self.image_size, self.latent_dim = NAME, world.image_size, world.latent_dim

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What `truths` has a column of."""
        return self.world.attributes

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[object]) -> Latents:
        """FaceWorld's subjects of these seeds, in space z. Raises BadInput as FaceWorld does."""
        return self.world.to_z(self.world.sample(seeds))

    def render(self, latents: Latents) -> Images:
        """Their pictures. Raises BadInput for latents that are not of space z."""
        return self.world.render(self.world.from_z(latents))

    def truths(self, latents: Latents) -> pa.Table:
        """The causal model's values of each latent: every attribute and nuisance, float64 columns.

        The last bits of a value that the rotation moved may differ from FaceWorld's own.
        """
        return self.world.read(self.world.from_z(latents))

    def identities(self, latents: Latents) -> Float[np.ndarray, "n k"]:
        """The identity code of each latent, without its attributes."""
        return np.asarray(self.world.from_z(latents).values[:, IDENTITY_COLUMNS])

    def describe(self) -> dict[str, object]:
        """What recreates the pictures, for a run's spec."""
        return {**self.world.describe(), "name": self.name, "space": SPACE}

    def validity(self) -> dict[str, object]:
        """The validity of FaceWorld's pictures, which these are."""
        return self.world.validity()
