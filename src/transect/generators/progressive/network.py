"""The generator of a progressive GAN: from a latent through ever larger sizes, each with a separate color layer.

Sources: Karras et al. 2018, Progressive growing of GANs, arXiv:1710.10196, table 2 (as published: nearest neighbours,
pixel norm, equalised learning rate); McDuff et al. 2019, arXiv:1906.11891, section 3 (the condition).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.generators.stylegan2.layers import Dense, normalize

_HE = math.sqrt(2)
_SLOPE = 0.2


@dataclass(frozen=True, slots=True)
class Shape:
    """z_dim: coordinates of the latent; classes: of the condition, 0 for none; channels: by size 4, 8, ... image size.

    >>> Shape(128, 0, {4: 64, 8: 32}).image_size
    8
    """

    z_dim: int
    classes: int
    channels: dict[int, int]

    @property
    def image_size(self) -> int:
        """Width and height of the image."""
        return max(self.channels)


class Convolution(nn.Module):
    """A convolution whose weights are scaled at run time by He's constant, so that all learn at one rate."""

    def __init__(self, inputs: int, outputs: int, size: int, gain: float = _HE) -> None:
        super().__init__()
        self.gain = gain / math.sqrt(inputs * size**2)
        self.weight = nn.Parameter(torch.randn(outputs, inputs, size, size))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """The output, of the input's size and precision."""
        kernel, bias = (self.weight * self.gain).to(x.dtype), self.bias.to(x.dtype)
        return functional.conv2d(x, kernel, bias, padding=self.weight.shape[-1] // 2)


def rectify(x: Tensor) -> Tensor:
    """Leaky rectifier, not scaled."""
    return functional.leaky_relu(x, _SLOPE)


class Block(nn.Module):
    """One size: two convolutions, each followed by pixel norm; the smallest starts with a dense layer."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.first = size == 4
        self.conv0: nn.Module = Dense(inputs, outputs * 16) if self.first else Convolution(inputs, outputs, 3)
        self.conv1 = Convolution(outputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        if self.first:
            # He's constant for 16 outputs a pixel, as published: a gain of sqrt(2) / 4 over 1 / sqrt(inputs).
            x = (self.conv0(x) * (_HE / 4)).view(len(x), -1, 4, 4)
        else:
            x = self.conv0(functional.interpolate(x, scale_factor=2))
        x = normalize(rectify(x))
        return normalize(rectify(self.conv1(x)))


class Network(nn.Module):
    """Latent and condition ► image."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.sizes = sorted(shape.channels)
        widths = [shape.z_dim + shape.classes, *(shape.channels[size] for size in self.sizes)]
        self.blocks = nn.ModuleDict(
            {str(size): Block(widths[i], widths[i + 1], size) for i, size in enumerate(self.sizes)}
        )
        self.torgb = nn.ModuleDict({str(size): Convolution(shape.channels[size], 3, 1, gain=1) for size in self.sizes})

    def forward(
        self,
        z: Float[Tensor, "b z"],
        c: Float[Tensor, "b k"] | None = None,
        growth: tuple[int, float] | None = None,
        precision: torch.dtype = torch.float32,
    ) -> Float[Tensor, "b 3 s s"]:
        """Images float32 in about -1..1. c: one-hot. growth: while it grows, the size, and its share by now."""
        last, share = growth or (self.sizes[-1], 1.0)
        x = normalize(z) if c is None else torch.cat([normalize(z), c], dim=1)
        image: Tensor | None = None
        for size in self.sizes:
            if size > last:
                break
            x = self.blocks[str(size)](x).to(precision)
            if size == last:
                color = self.torgb[str(size)](x).float()
                image = (
                    color if image is None else torch.lerp(functional.interpolate(image, scale_factor=2), color, share)
                )
            elif 2 * size == last and share < 1:
                image = self.torgb[str(size)](x).float()
        if image is None:
            raise AssertionError("a network has the size that it grows to")
        return image
