"""Inversion of a renderer that cannot be differentiated, such as FaceWorld's latent view: Gauss-Newton on a surrogate.

A network's features of the images, y, are taken as linear in the latents z ~ N(0, I): y = a + J z + e, e ~ N(0, S),
fitted on images rendered from known latents. The latents of an image minimise

    (y - φ(G(z)))ᵀ S⁻¹ (y - φ(G(z))) + λ |z|²

with the true renderer in φ(G(z)), and the surrogate's J for its slope; a step that does not lower this is halved. λ = 1
is the most probable z if the surrogate were right; more draws towards the mean face, less fits noise. Source of
the method: Gauss-Newton with a fixed approximate Jacobian (Dennis and Schnabel 1996, doi:10.1137/1.9781611971200, §10).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.encoder import seen
from transect.perceptual.features import FeatureNetwork, as_tensor
from transect.records import Latents

SAMPLES = 4_000
FIRST_SEED = 8_000_000
_COMPONENTS = 192
_AT_ONCE = 64
_HALVINGS = 3
_LEAST_NOISE = 1e-3
"""Of a component's variance: the surrogate is never taken as exact."""


@final
@dataclass(frozen=True, slots=True)
class LatentView:
    """A renderer with a standard normal prior: latents of seeds [n, d], and pixels of latents."""

    name: str
    latent_dim: int
    image_size: int
    sample: Callable[[Int[np.ndarray, " n"]], Float[np.ndarray, "n d"]]
    render: Callable[[Float[np.ndarray, "n d"]], UInt8[np.ndarray, "n h w 3"]]


def latent_view(world: FaceWorld) -> LatentView:
    """FaceWorld's latent view z = R u. What is drawn from a subject's seed (textures, noise) is that of seed 0."""

    def render(z: Float[np.ndarray, "n d"]) -> UInt8[np.ndarray, "n h w 3"]:
        pixels: np.ndarray = world.render(world.from_z(Latents(np.zeros(len(z), np.int64), z, "z"))).pixels
        return pixels

    return LatentView(
        world.name,
        world.latent_dim,
        world.image_size,
        lambda seeds: np.asarray(world.to_z(world.sample(seeds)).values),
        render,
    )


@final
@dataclass(frozen=True, slots=True)
class Surrogate:
    """y = a + J z + e in whitened components: φ(x) = (seen(x) - center) basis, noise of variance 1 in each.

    slopes: J [components, d]; offset: a. explained: the share of the components' variance that J explains.
    """

    network: FeatureNetwork
    center: Float[np.ndarray, " f"]
    basis: Float[np.ndarray, "f c"]
    slopes: Float[np.ndarray, "c d"]
    offset: Float[np.ndarray, " c"]
    explained: float

    def look(self, pixels: UInt8[np.ndarray, "n h w 3"]) -> Float[np.ndarray, "n c"]:
        """φ of images."""
        return np.asarray((_rows(self.network, pixels) - self.center) @ self.basis)


@final
@dataclass(frozen=True, slots=True)
class Found:
    """Latents [n, d], their objective and misfit (without λ |z|²) [n], and how often each image was rendered [n]."""

    latents: Float[np.ndarray, "n d"]
    objective: Float[np.ndarray, " n"]
    misfit: Float[np.ndarray, " n"]
    renders: Int[np.ndarray, " n"]


def fit_surrogate(
    view: LatentView, network: FeatureNetwork, *, samples: int = SAMPLES, seed: int = FIRST_SEED
) -> Surrogate:
    """The linear surrogate from rendered images. Raises BadInput for fewer of them than twice the latent's size."""
    if samples < 2 * view.latent_dim:
        raise BadInput(f"samples: expected {2 * view.latent_dim} or more, got {samples}; give more")
    z = view.sample(seed + np.arange(samples))
    starts = range(0, samples, _AT_ONCE)
    rows = np.concatenate([_rows(network, view.render(z[s : s + _AT_ONCE])) for s in starts])
    return surrogate_of(network, rows, z)


def surrogate_of(network: FeatureNetwork, rows: Float[np.ndarray, "n f"], z: Float[np.ndarray, "n d"]) -> Surrogate:
    """The surrogate of features of images with known latents."""
    center = rows.mean(axis=0)
    _, _, vt = np.linalg.svd(rows - center, full_matrices=False)
    basis = vt[:_COMPONENTS].T
    y = (rows - center) @ basis
    design = np.column_stack([np.ones(len(z)), z])
    weights, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual, whole = (y - design @ weights).var(axis=0), y.var(axis=0)
    scale = 1 / np.sqrt(np.maximum(residual, _LEAST_NOISE * whole + 1e-12))
    slopes, offset = weights[1:].T * scale[:, None], weights[0] * scale
    return Surrogate(network, center, basis * scale, slopes, offset, float(1 - residual.sum() / whole.sum()))


def invert_view(
    view: LatentView,
    surrogate: Surrogate,
    pixels: UInt8[np.ndarray, "n h w 3"],
    *,
    penalty: float = 1.0,
    rounds: int = 8,
) -> Found:
    """The latents of images, each independent of the others. Raises BadInput for another size or a bad penalty.

    The first guess is the surrogate's alone, which is an encoder; every round renders each image that still moves.
    rounds = 0 gives that guess.
    """
    size = view.image_size
    if pixels.shape[1:] != (size, size, 3) or pixels.dtype != np.uint8:
        shape = f"{pixels.dtype} {list(pixels.shape)}"
        raise BadInput(f"images: expected uint8 [n, {size}, {size}, 3] for {view.name}, got {shape}; fit them first")
    if not (math.isfinite(penalty) and penalty > 0):
        raise BadInput(f"penalty: expected a number above 0, got {penalty}; the surrogate does not fix every direction")
    features = surrogate.look(pixels)
    solve = np.linalg.inv(surrogate.slopes.T @ surrogate.slopes + penalty * np.eye(view.latent_dim))
    z = (features - surrogate.offset) @ surrogate.slopes @ solve
    return _descend(view, surrogate, features, z, solve, penalty, rounds)


def _descend(
    view: LatentView,
    surrogate: Surrogate,
    wanted: Float[np.ndarray, "n c"],
    z: Float[np.ndarray, "n d"],
    solve: Float[np.ndarray, "d d"],
    penalty: float,
    rounds: int,
) -> Found:
    residual = wanted - surrogate.look(view.render(z))
    value = (residual**2).sum(axis=1) + penalty * (z**2).sum(axis=1)
    renders, length = np.ones(len(z), np.int64), np.ones(len(z))
    for _ in range(rounds):
        moving = np.flatnonzero(length > 0.5**_HALVINGS - 1e-9)
        if not len(moving):
            break
        step = (residual[moving] @ surrogate.slopes - penalty * z[moving]) @ solve
        tried = z[moving] + length[moving, None] * step
        misses = wanted[moving] - surrogate.look(view.render(tried))
        reached = (misses**2).sum(axis=1) + penalty * (tried**2).sum(axis=1)
        renders[moving] += 1
        better = reached < value[moving]
        improved = moving[better]
        z[improved], residual[improved], value[improved] = tried[better], misses[better], reached[better]
        length[moving[~better]] /= 2
    return Found(z, value, (residual**2).sum(axis=1), renders)


def _rows(network: FeatureNetwork, pixels: UInt8[np.ndarray, "n h w 3"]) -> Float[np.ndarray, "n f"]:
    with torch.inference_mode():
        parts = [seen(network, as_tensor(pixels[s : s + _AT_ONCE])) for s in range(0, len(pixels), _AT_ONCE)]
    return torch.cat(parts).double().numpy()
