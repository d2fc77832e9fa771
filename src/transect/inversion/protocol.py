"""What inversion needs of a generator: differentiable images of codes, and the distribution of codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.chance import exogenous_noise

if TYPE_CHECKING:
    from transect.generators.stylegan2.generator import StyleGAN2

SPACES = {
    "z": "the prior's space, one vector an image",
    "w": "restricted: one w an image, for all layers (StyleGAN2)",
    "w+": "expanded: one w a layer (StyleGAN2); with --penalty drawn towards their mean",
}
"""The latent spaces by name."""

_FOR_MOMENTS = 4096
_MOMENTS_SEED = 0


@final
@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of one space: their mean [...], and the root mean square of their coordinates' deviations."""

    mean: Tensor
    spread: float


@runtime_checkable
class Invertible(Protocol):
    """A generator whose images can be differentiated by their codes."""

    @property
    def name(self) -> str:
        """The name in tables."""

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces in which it can be inverted."""

    def codes(self, space: str) -> Codes:
        """Mean and spread of the codes of that space."""

    def sample(self, space: str, count: int, seed: int) -> Tensor:
        """Codes [count, ...] as the generator's prior has them, each from its own seed seed + i."""

    def show(self, codes: Tensor, space: str) -> Float[Tensor, "b 3 h w"]:
        """Images in 0..1, not cut, with gradients by the codes; each depends on its own code alone."""


@final
class InvertibleStyleGAN2:
    """A StyleGAN2 for inversion: spaces z, w and w+. Codes of w+ are [b, layers, w_dim]."""

    spaces = ("z", "w", "w+")

    def __init__(self, network: StyleGAN2) -> None:
        self.network, self.name, self.image_size = network, network.name, network.image_size

    def codes(self, space: str) -> Codes:
        """Z: mean 0 and spread 1. w, w+: the network's average, and the spread of the w of 4,096 z."""
        if space == "z":
            return Codes(torch.zeros(self.network.latent_dim), 1.0)
        average = self.network.average.cpu()
        w = self._drawn(_FOR_MOMENTS, _MOMENTS_SEED)
        spread = float((w - w.mean(dim=0)).square().mean().sqrt())
        return Codes(average.expand(self.network.layers, -1).clone() if space == "w+" else average, spread)

    def sample(self, space: str, count: int, seed: int) -> Tensor:
        """As the prior has them; those of w+ have one w for all layers."""
        if space == "z":
            return self._latents(count, seed)
        w = self._drawn(count, seed)
        return w.unsqueeze(1).repeat(1, self.network.layers, 1) if space == "w+" else w

    def show(self, codes: Tensor, space: str) -> Float[Tensor, "b 3 h w"]:
        """Images in 0..1 by the network's own noise."""
        if space == "z":
            plus = self.network.map(codes, gradients=True)
        else:
            plus = codes if space == "w+" else codes.unsqueeze(1).expand(-1, self.network.layers, -1)
        image: Tensor = self.network.synthesize(plus, gradients=True)
        return (image + 1) / 2

    def _latents(self, count: int, seed: int) -> Tensor:
        return torch.from_numpy(self.network.sample(seed + np.arange(count)).values).float()

    def _drawn(self, count: int, seed: int) -> Tensor:
        w: Tensor = self.network.map(self._latents(count, seed))[:, 0]
        return w.cpu().clone()  # inference tensors take no gradients


@final
class InvertibleNetwork:
    """Any differentiable network z [b, d] ► images in -1..1 with a standard normal prior, as of a progressive GAN."""

    spaces = ("z",)

    def __init__(
        self, network: Callable[[Tensor], Tensor], latent_dim: int, image_size: int, name: str = "network"
    ) -> None:
        self.network, self.latent_dim, self.image_size, self.name = network, latent_dim, image_size, name

    def codes(self, space: str) -> Codes:  # noqa: ARG002  (it has one space)
        """Mean 0, spread 1."""
        return Codes(torch.zeros(self.latent_dim), 1.0)

    def sample(self, space: str, count: int, seed: int) -> Tensor:  # noqa: ARG002
        """Z ~ N(0, I), the same as a generator's own `sample` gives."""
        return torch.from_numpy(exogenous_noise(seed + np.arange(count), self.latent_dim)).float()

    def show(self, codes: Tensor, space: str) -> Float[Tensor, "b 3 h w"]:  # noqa: ARG002
        """Images in 0..1."""
        return (self.network(codes) + 1) / 2


def invertible(generator: object) -> Invertible:
    """The generator as inversion sees it: itself, or an adapter of a network. Raises BadInput for others."""
    if isinstance(generator, Invertible):
        return generator
    from transect.generators.progressive.generator import Progressive
    from transect.generators.stylegan2.generator import StyleGAN2

    if isinstance(generator, StyleGAN2):
        return InvertibleStyleGAN2(generator)
    if isinstance(generator, Progressive) and not generator.attributes:
        return InvertibleNetwork(generator.generate, generator.latent_dim, generator.image_size, generator.name)
    raise BadInput(
        f"generator {getattr(generator, 'name', type(generator).__name__)}: expected a differentiable one (a "
        "file of a StyleGAN2, or of a progressive GAN without conditions, or an object with `codes`, "
        "`sample` and `show`)"
    )


def check_space(generator: Invertible, space: str) -> str:
    """The space itself. Raises UnknownName, and BadInput where the generator lacks it."""
    if space not in SPACES:
        raise UnknownName("space", space, SPACES)
    if space not in generator.spaces:
        raise BadInput(f"space: expected one of {', '.join(generator.spaces)} for {generator.name}, got {space}")
    return space
