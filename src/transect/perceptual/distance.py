"""Perceptual distances: how different two images look, as a squared distance between a network's activations.

LPIPS is one: at every place of every stage the activations are divided by their length, and their squared differences
are averaged over places and added up over stages. With φ an image's vector of all activations so divided, the
distance is |φ(x) - φ(y)|², so that φ of fixed images is computed once. Source: Zhang et al. 2018,
arXiv:1801.03924, eq. 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, final, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from transect.errors import UnknownName

Appearance: TypeAlias = Callable[[Tensor], Tensor]
"""From images [b, 3, h, w] in 0..1 to vectors [b, d], differentiable; a distance is their squared difference."""

_SMALLEST = 1e-10


@runtime_checkable
class Staged(Protocol):
    """A network that shows its activations."""

    def stages(self, images: Float[Tensor, "b 3 h w"]) -> list[Tensor]:
        """Activations [b, c, h, w] of each stage."""
        ...


@final
class StageAppearance:
    """φ of a network: normalized activations of all stages in one vector.

    heads: a weight of 0 or more per channel [c] for each stage, learned by LPIPS from judgements; ones without.
    """

    def __init__(self, network: Staged, heads: Sequence[Tensor] | None = None) -> None:
        self.network, self.heads = network, heads

    def __call__(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """The vectors; each image's depends on that image alone."""
        stages = []
        for index, x in enumerate(self.network.stages(images)):
            length = (x.square().sum(dim=1, keepdim=True) + _SMALLEST).sqrt()
            unit = x / length / math.sqrt(x.shape[2] * x.shape[3])
            if self.heads is not None:
                unit = unit * self.heads[index].to(unit).clamp(min=0).sqrt()[:, None, None]
            stages.append(unit.flatten(1))
        return torch.cat(stages, dim=1)


@final
class PixelAppearance:
    """φ of the pixels themselves: the distance is the mean squared difference of values in 0..1."""

    def __call__(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """The pixels, scaled."""
        flat = images.flatten(1)
        return flat / math.sqrt(flat.shape[1])


def distance(appearance: Appearance, images: Float[Tensor, "b 3 h w"], other: Float[Tensor, "b 3 h w"]) -> Tensor:
    """|φ(x) - φ(y)|² of each pair, 0 or more, float [b].

    >>> black, grey = torch.zeros(1, 3, 4, 4), torch.full((1, 3, 4, 4), 0.5)
    >>> round(distance(PixelAppearance(), black, grey).item(), 6)
    0.25
    """
    return (appearance(images) - appearance(other)).square().sum(dim=1)


DISTANCES = {
    "features": "the feature network that ships, trained on FaceWorld",
    "vgg16": "VGG16 from a file of yours in torchvision's layout, with --weights",
    "pixels": "mean squared difference of pixels alone",
}
"""The perceptual distances by name."""


def appearance_of(name: str, weights: Path | None = None, heads: Path | None = None, device: str = "cpu") -> Appearance:
    """The φ of that name. weights: of VGG16 or of another feature network; heads: LPIPS's, for VGG16.

    Raises UnknownName, and BadInput for files that do not fit.
    """
    if name == "pixels":
        return PixelAppearance()
    if name == "features":
        from transect.perceptual.features import WEIGHTS, load

        return StageAppearance(load(weights or WEIGHTS, device).network)
    if name == "vgg16":
        from transect.perceptual.vgg import load_heads, load_vgg16

        network = load_vgg16(weights, device)
        return StageAppearance(network, None if heads is None else load_heads(heads, device))
    raise UnknownName("distance", name, DISTANCES)
