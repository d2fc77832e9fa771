"""The latent view of FaceWorld, z = R u with a fixed random rotation R: there, directions have to be learned.

A direction d of u (one attribute's coordinate, say) is R d in z, so that a learned direction has a known truth. Source
of the construction: Stewart 1980, The efficient generation of random orthogonal matrices, doi:10.1137/0717034.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.generators.faceworld.causal_model import LATENT_DIM, check_latents
from transect.records import Latents

SPACE = "z"
_ROTATION_KEY = 0x7A


@functools.lru_cache(maxsize=1)
def rotation() -> Float[np.ndarray, "d d"]:
    """R: orthogonal, determinant 1, uniformly distributed, the same in every process.

    >>> R = rotation()
    >>> bool(np.allclose(R @ R.T, np.eye(LATENT_DIM), rtol=0, atol=1e-12)), round(float(np.linalg.det(R)), 9)
    (True, 1.0)
    """
    draws = np.random.Generator(np.random.Philox(key=_ROTATION_KEY)).standard_normal((LATENT_DIM, LATENT_DIM))
    q, r = np.linalg.qr(draws)
    q = q * np.sign(np.diag(r))  # without the signs, Q is not uniformly distributed
    q[:, 0] *= np.sign(np.linalg.det(q))
    q.setflags(write=False)
    return q


def rotate(latents: Latents) -> Latents:
    """The latents in space z; raises BadInput when they are not FaceWorld's, of space u."""
    check_latents(latents)
    return replace(latents, values=_rows(rotation(), latents.values), space=SPACE)


def rotate_back(latents: Latents) -> Latents:
    """The latents in space u; raises BadInput when they are not FaceWorld's, of space z."""
    shape = latents.values.shape
    if latents.space != SPACE or len(shape) != 2 or shape[1] != LATENT_DIM:
        raise BadInput(
            f"expected latents of FaceWorld's latent view (space z, [n, {LATENT_DIM}]), got space {latents.space}"
            f" and shape {list(shape)}; make them with FaceWorld.to_z"
        )
    return replace(latents, values=_rows(rotation().T, latents.values), space="u")


def _rows(matrix: Float[np.ndarray, "d d"], values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    # Row by row: the last bit of one product of all rows would depend on their number.
    return np.array([matrix @ row for row in values]).reshape(values.shape)
