"""StyleGAN2 (Karras et al. 2020, arXiv:1912.04958): layers, mapping, synthesis, and the shape that weights tell."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput
from transect.runs.model_files import check_weights

SLOPE = 0.2
"""Of the leaky rectifiers below zero; their output is scaled by sqrt(2) to keep its variance."""

FILTER = (1.0, 3.0, 3.0, 1.0)
"""The binomial filter of all resampling, before it is scaled to sum 1."""

_SMALLEST = 1e-8


def normalize(x: Float[Tensor, "b d *rest"]) -> Float[Tensor, "b d *rest"]:
    """Each row, or pixel of a row, divided by its root mean square over the second axis."""
    return x * (x.square().mean(dim=1, keepdim=True) + _SMALLEST).rsqrt()


def rectify(x: Tensor, gain: float = math.sqrt(2), clamp: float | None = None) -> Tensor:
    """Leaky rectifier, scaled, and cut at ± clamp where networks were trained so; in place without gradients."""
    if torch.is_grad_enabled():
        x = functional.leaky_relu(x, SLOPE) * gain
    else:
        functional.leaky_relu_(x, SLOPE).mul_(gain)
    return x if clamp is None else x.clamp(-clamp, clamp)


class Dense(nn.Module):
    """y = x Wᵀ g + b r, with g = r / sqrt(inputs): the learning rate r is equalised by scaling at run time."""

    def __init__(self, inputs: int, outputs: int, rate: float = 1.0, bias: float = 0.0) -> None:
        super().__init__()
        self.rate = rate
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / rate)
        self.bias = nn.Parameter(torch.full((outputs,), bias / rate))

    def forward(self, x: Float[Tensor, "b i"]) -> Float[Tensor, "b o"]:
        """The output of each row."""
        gain = self.rate / math.sqrt(self.weight.shape[1])
        return functional.linear(x, self.weight * gain, self.bias * self.rate)


def make_filter(taps: tuple[float, ...] = FILTER) -> Float[Tensor, "k k"]:
    """The separable filter of sum 1."""
    row = torch.tensor(taps)
    return torch.outer(row, row) / row.sum() ** 2


def filter_up(x: Float[Tensor, "b c h w"], taps: Float[Tensor, "k k"], before: int, after: int) -> Tensor:
    """The image, padded before and after, convolved with four times the filter, as three of four samples are 0."""
    channels = x.shape[1]
    kernel = (4 * taps.flip((0, 1))).to(x.dtype).expand(channels, 1, -1, -1)
    return functional.conv2d(functional.pad(x, (before, after, before, after)), kernel, groups=channels)


def upsample(x: Float[Tensor, "b c h w"], taps: Float[Tensor, "k k"]) -> Tensor:
    """Twice as large: zeros between the samples, then the filter."""
    b, c, h, w = x.shape
    spread = torch.zeros(b, c, h, 2, w, 2, dtype=x.dtype, device=x.device)
    spread[:, :, :, 0, :, 0] = x
    k = taps.shape[0]
    return filter_up(spread.view(b, c, 2 * h, 2 * w), taps, (k + 1) // 2, (k - 2) // 2)


def modulated_convolution(
    x: Float[Tensor, "b i h w"],
    weight: Float[Tensor, "o i k k"],
    styles: Float[Tensor, "b i"],
    taps: Float[Tensor, "f f"] | None = None,
    demodulate: bool = True,
    power: Float[Tensor, "o i"] | None = None,
) -> Tensor:
    """Convolution whose kernels are scaled per image by the styles and, demodulated, back to unit variance.

    Scaling the inputs by the styles and the outputs by the demodulation is the same as scaling the kernels (Karras et
    al. 2020, equations 1 and 3); for one large picture the kernels are the smaller of the two. With a filter the output
    is twice as large. It is computed in the precision of x. power: `power_of(weight)`, where it is known.
    """
    scales = None
    if demodulate:
        scales = (styles.square() @ (power_of(weight) if power is None else power).T + _SMALLEST).rsqrt()
    if len(x) == 1 and weight.numel() < x.numel():
        weight = weight * styles.view(1, -1, 1, 1)
        weight = weight if scales is None else weight * scales.view(-1, 1, 1, 1)
        return _convolve(x, weight.to(x.dtype), taps)
    x = _convolve(x * styles[:, :, None, None].to(x.dtype), weight.to(x.dtype), taps)
    return x if scales is None else x * scales[:, :, None, None].to(x.dtype)


def power_of(weight: Float[Tensor, "o i k k"]) -> Float[Tensor, "o i"]:
    """The squared kernels, summed over their places."""
    return weight.square().sum(dim=(2, 3))


def _convolve(x: Tensor, kernel: Tensor, taps: Tensor | None) -> Tensor:
    k = kernel.shape[-1]
    if taps is None:
        return functional.conv2d(x, kernel, padding=k // 2)
    x = functional.conv_transpose2d(x, kernel.transpose(0, 1).contiguous(), stride=2)
    f = taps.shape[0]
    # The transposed convolution gives 2h + k - 2 rows, of which 2h remain.
    before, after = (f + 1) // 2 - (k - 1) // 2, (f - 2) // 2 - (k - 1) // 2 + 1
    return filter_up(x, taps, before, after)


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


class NetworkMapping(nn.Module):
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
        """The image of styles. growth: the size where a growing network ends, and the share of its last color."""
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
        self.mapping, self.synthesis = NetworkMapping(shape), Synthesis(shape)

    @property
    def average(self) -> Tensor:
        """The mean w of the training, [w_dim]."""
        return self.mapping.get_buffer("w_avg")


_AVERAGE = "mapping.w_avg"


def configuration_of(tensors: Mapping[str, Tensor], clamp: float | None, source: str) -> Configuration:
    """The configuration that fits tensors in official names. Raises BadInput when none does."""
    depth = len({name for name in tensors if re.fullmatch(r"mapping\.fc\d+\.weight", name)})
    embedded = "mapping.embed.weight" in tensors
    matrices = ["synthesis.b4.conv1.affine.weight", "mapping.fc0.weight", *["mapping.embed.weight"] * embedded]
    _need(tensors, source, "synthesis.b4.const", *matrices)
    check_axes(tensors, source, 2, *matrices)
    w_dim = tensors["synthesis.b4.conv1.affine.weight"].shape[1]
    classes = tensors["mapping.embed.weight"].shape[1] if embedded else 0
    z_dim = tensors["mapping.fc0.weight"].shape[1] - (w_dim if embedded else 0)
    sizes = sorted({int(match[1]) for name in tensors if (match := re.match(r"synthesis\.b(\d+)\.", name))})
    if sizes != [4 << index for index in range(len(sizes))]:
        raise BadInput(f"{source}: expected blocks of 4, 8, 16 ... pixels, found {', '.join(map(str, sizes))}")
    kernels = [f"synthesis.b{size}.conv1.weight" for size in sizes]
    _need(tensors, source, *kernels)
    check_axes(tensors, source, 4, *kernels)
    if z_dim < 1:
        raise BadInput(
            f"{source}: mapping.fc0.weight: expected more than {w_dim} inputs, of z and a class, got {w_dim + z_dim}"
        )
    channels = {size: tensors[name].shape[0] for size, name in zip(sizes, kernels, strict=True)}
    if any(name.endswith(".skip.weight") for name in tensors):
        raise BadInput(f"{source}: expected a generator with color layers (skip or orig), found the residual one")
    return Configuration(
        z_dim, w_dim, classes, depth, channels, skip="synthesis.b4.torgb.weight" in tensors, clamp=clamp
    )


def fitting_weights(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """The tensors of a network of that shape; w_avg, which can be estimated, and the paper's filters may lack."""
    known = {name: tensors[name] for name in expected if name in tensors}
    optional = {name for name in expected if name == _AVERAGE or name.endswith("resample_filter")}
    check_weights(known, {n: place for n, place in expected.items() if n in known or n not in optional}, source)
    return known


def check_axes(tensors: Mapping[str, Tensor], source: str, axes: int, *names: str) -> None:
    """Raises BadInput for a tensor of another number of axes, or an empty one."""
    for name in names:
        if tensors[name].dim() != axes or not tensors[name].numel():
            shape = list(tensors[name].shape)
            raise BadInput(f"{source}: {name}: expected {axes} axes that are not empty, got {shape}; it is damaged")


def _need(tensors: Mapping[str, Tensor], source: str, *names: str) -> None:
    missing = [name for name in names if name not in tensors]
    if missing:
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise BadInput(f"{source}: expected {', '.join(missing[:4])}{more}, which the file lacks; it is incomplete")
