"""The two networks of StyleGAN2: z ► w, and one w per layer ► image, with the names that checkpoints use.

Sources: Karras et al. 2019, arXiv:1812.04948 (mapping, truncation, noise, mixing); Karras et al. 2020, arXiv:1912.04958
(skip generator); Karras et al. 2020, arXiv:2006.06676 (class condition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transect.generators.stylegan2.layers import (
    Dense,
    make_filter,
    modulated_convolution,
    normalize,
    power_of,
    rectify,
    upsample,
)

Noise: TypeAlias = Callable[[int], "Tensor | None"] | None
"""For the i-th noisy layer its noise [b or 1, 1, h, w], or None for the layer's own constant noise."""

MAPPING_RATE = 0.01
"""Learning rate of the mapping network, relative to the rest's."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The shape of a network. channels: by resolution 4, 8, ... image_size. clamp: where activations are cut."""

    z_dim: int
    w_dim: int
    classes: int
    mapping_layers: int
    channels: dict[int, int]
    skip: bool = True
    clamp: float | None = None

    @property
    def image_size(self) -> int:
        """Width and height of the image."""
        return max(self.channels)

    @property
    def layers(self) -> int:
        """How many w an image takes: one per convolution, one for the last color layer."""
        return 2 * len(self.channels)


class Mapping(nn.Module):
    """z ► w: dense layers on the normalized latent; a class is embedded, normalized and appended."""

    def __init__(self, shape: Configuration) -> None:
        super().__init__()
        self.depth, self.classes = shape.mapping_layers, shape.classes
        inputs = shape.z_dim
        if shape.classes:
            self.embed = Dense(shape.classes, shape.w_dim)
            inputs += shape.w_dim
        for index in range(self.depth):
            self.add_module(f"fc{index}", Dense(shape.w_dim if index else inputs, shape.w_dim, MAPPING_RATE))
        self.register_buffer("w_avg", torch.zeros(shape.w_dim))

    def forward(self, z: Float[Tensor, "b z"], c: Float[Tensor, "b k"] | None = None) -> Float[Tensor, "b w"]:
        """The w of each z; c: one-hot classes, for networks that have them."""
        x = normalize(z)
        if self.classes:
            x = torch.cat([x, normalize(self.embed(c))], dim=1)
        for index in range(self.depth):
            x = rectify(self.get_submodule(f"fc{index}")(x))
        return x


class Layer(nn.Module):
    """A modulated 3x3 convolution, noise, bias and rectifier."""

    def __init__(self, inputs: int, outputs: int, shape: Configuration, size: int, *, up: bool = False) -> None:
        super().__init__()
        self.up, self.clamp = up, shape.clamp
        self.affine = Dense(shape.w_dim, inputs, bias=1.0)
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 3, 3))
        self.noise_strength = nn.Parameter(torch.zeros([]))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.power: Tensor | None = None
        self.register_buffer("noise_const", torch.randn(size, size))
        self.register_buffer("resample_filter", make_filter())

    def forward(self, x: Tensor, styles: Tensor, noise: Tensor | None) -> Tensor:
        """The layer's output; without noise, its own constant noise is used."""
        taps = self.get_buffer("resample_filter") if self.up else None
        x = modulated_convolution(x, self.weight, styles, taps, power=self.power)
        strength = (self.get_buffer("noise_const") if noise is None else noise) * self.noise_strength
        return rectify(x.add_(strength).add_(self.bias[:, None, None]), clamp=self.clamp)


class ToRGB(nn.Module):
    """A modulated 1x1 convolution to color, not demodulated."""

    def __init__(self, inputs: int, shape: Configuration) -> None:
        super().__init__()
        self.clamp = shape.clamp
        self.affine = Dense(shape.w_dim, inputs, bias=1.0)
        self.weight = nn.Parameter(torch.randn(3, inputs, 1, 1))
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x: Tensor, styles: Tensor) -> Tensor:
        """The layer's share of the color, in full precision."""
        scaled = styles / math.sqrt(self.weight.shape[1])
        color = modulated_convolution(x, self.weight, scaled, demodulate=False).float() + self.bias[:, None, None]
        return color if self.clamp is None else color.clamp(-self.clamp, self.clamp)


class Block(nn.Module):
    """One resolution: two convolutions (the first block has one, on a learned constant) and, as a rule, color."""

    def __init__(self, shape: Configuration, size: int) -> None:
        super().__init__()
        here = shape.channels[size]
        if size == 4:
            self.const = nn.Parameter(torch.randn(here, 4, 4))
        else:
            self.conv0 = Layer(shape.channels[size // 2], here, shape, size, up=True)
        self.conv1 = Layer(here, here, shape, size)
        self.register_buffer("resample_filter", make_filter())
        if shape.skip or size == shape.image_size:
            self.torgb = ToRGB(here, shape)

    @property
    def parts(self) -> list[Layer | ToRGB]:
        """What takes a style, in order."""
        named = (getattr(self, name, None) for name in ("conv0", "conv1", "torgb"))
        return [part for part in named if part is not None]


class Synthesis(nn.Module):
    """Styles ► image. A color layer shares its w with the convolution that follows it."""

    def __init__(self, shape: Configuration) -> None:
        super().__init__()
        self.sizes = sorted(shape.channels)
        for size in self.sizes:
            self.add_module(f"b{size}", Block(shape, size))

    @property
    def blocks(self) -> list[Block]:
        """The blocks, smallest first."""
        return [getattr(self, f"b{size}") for size in self.sizes]

    def styles(self, w: Float[Tensor, "b layers w"]) -> list[Tensor]:
        """Style space: of each part of each block its styles [b, channels]."""
        styles, first = [], 0
        for block in self.blocks:
            styles += [part.affine(w[:, first + index]) for index, part in enumerate(block.parts)]
            first += sum(isinstance(part, Layer) for part in block.parts)
        return styles

    def freeze(self) -> None:
        """Compute once what does not change while the weights do not."""
        for block in self.blocks:
            for part in block.parts:
                if isinstance(part, Layer):
                    part.power = power_of(part.weight.detach())

    def forward(
        self,
        styles: Sequence[Tensor],
        noise: Noise = None,
        precision: torch.dtype = torch.float32,
        growth: tuple[int, float] | None = None,
    ) -> Float[Tensor, "b 3 h w"]:
        """The image of styles as `styles` gives them; precision: of the convolutions, colors are added in float32.

        growth: while a network grows, the size where it ends and the share, 0 to 1, that its last color has by now.
        """
        last, share = growth or (self.sizes[-1], 1.0)
        ask = noise or (lambda _: None)
        rest, noisy = iter(styles), iter(range(len(styles)))
        image: Tensor | None = None
        x = self.blocks[0].const.to(precision).expand(len(styles[0]), -1, -1, -1)
        for size, block in zip(self.sizes, self.blocks, strict=True):
            if size > last:
                break
            if image is not None:
                image = upsample(image, block.get_buffer("resample_filter"))
            for part in block.parts:
                if isinstance(part, Layer):
                    x = part(x, next(rest), ask(next(noisy)))
                else:
                    color = part(x, next(rest))
                    image = color if image is None else image + (color * share if size == last else color)
        if image is None:
            raise AssertionError("the last block has a color layer")
        return image


class Network(nn.Module):
    """Both networks, so that their weights carry the official names."""

    def __init__(self, shape: Configuration) -> None:
        super().__init__()
        self.mapping, self.synthesis = Mapping(shape), Synthesis(shape)

    @property
    def average(self) -> Tensor:
        """The mean w of the training, [w_dim]."""
        return self.mapping.get_buffer("w_avg")
