"""Models that look at the truth instead of the picture, so that their effects are known by hand."""

from __future__ import annotations

import numpy as np

from transect.generators.faceworld.world import FaceWorld
from validation.image_methods import POPULATION


def world():
    return FaceWorld(image_size=32, population=POPULATION, threads=1)


def planted(rule):
    """A model that sees a smile where rule(values by name) is true."""
    of = world()

    def scores(latents):
        table = of.read(latents)
        values = {column: table[column].to_numpy() for column in table.column_names}
        return np.where(rule(values), 1.0, -1.0)

    return scores


def sees_lipstick():
    return planted(lambda v: v["lipstick"] > 0.5)


def sees_lipstick_on_faint_smiles():
    return planted(lambda v: (v["lipstick"] > 0.5) & (v["smile"] > 0.3))
