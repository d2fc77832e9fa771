"""Codes that have one w for each layer (w+), as controls in w take them: read by their mean, moved in every layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.records import Latents

ONE, EACH = "w", "w+"


def takes(space: str, latent_space: str) -> bool:
    """Whether controls of `space` move latents of the space `given`: their own, and codes of w+ where they are of w.

    >>> takes("w", "w+"), takes("w+", "w")
    (True, False)
    """
    return latent_space == space or (space, latent_space) == (ONE, EACH)


def layered(latents: Latents, space: str, width: int) -> Float[np.ndarray, "n layers d"]:
    """The rows as controls of that space and number of coordinates see them: one layer, or those of w+ codes."""
    size = np.asarray(latents.values)[:1].size
    several = latents.space == EACH and space == ONE
    if not takes(space, latents.space) or (len(latents) and (size % width if several else size != width)):
        raise BadInput(
            f"latents: expected space {space} with {width} coordinates, got {latents.space} with {size}; map them first"
        )
    return np.asarray(latents.values, dtype=np.float64).reshape(len(latents), size // width if size else 1, width)


def of_one(latents: Latents, width: int) -> Latents:
    """Codes of w+ as their mean w, of `width` coordinates: what directions in w are fitted to.

    >>> of_one(Latents(np.zeros(1, np.int64), np.array([[0.0, 1.0, 2.0, 5.0]]), "w+"), 2).values.tolist()
    [[1.0, 3.0]]
    """
    return replace(latents, values=layered(latents, ONE, width).mean(axis=1), space=ONE)
