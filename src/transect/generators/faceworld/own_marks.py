"""The exact marks of FaceWorld's own pictures, by which finders are taught and measured."""

from __future__ import annotations

import numpy as np

from transect.generators.faceworld.world import FaceWorld
from transect.marks.records import MASKS, Marks
from transect.records import Latents


def own_marks(world: FaceWorld, latents: Latents) -> Marks:
    """Points and all masks of the pictures that the world renders of these latents, with confidence 1."""
    found = Marks.of_points(world.landmarks(latents), world.name)
    drawn = world.masks(latents, further=("hat",))
    masks = {name: drawn[name].astype(np.float32) for name in MASKS}
    return Marks(found.points, found.five, masks, found.confidence, found.reasons, world.name)
