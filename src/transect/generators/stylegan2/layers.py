"""The layers of StyleGAN2: equalised dense layers, modulated convolutions, filtered upsampling.

Parameters carry the names that checkpoints of the field use. Axes: b images, c channels, h and w pixels.
Sources: Karras et al. 2018, arXiv:1710.10196 (equalised learning rate); Karras et al. 2020, arXiv:1912.04958
(demodulation, equations 1 to 3); Karras et al. 2019, arXiv:1812.04948 (the filter).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

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
    """Twice as large: zeros between the samples, then the filter.

    A constant image keeps its value where the filter does not reach beyond the edge:
    """
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
