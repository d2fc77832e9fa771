"""A small feature network: five convolutional stages that halve the image, taught to answer FaceWorld's attributes.

Stages are plain pairs of 3x3 convolutions, as in VGG (Simonyan and Zisserman 2015, arXiv:1409.1556), since perceptual
distances work on such networks whatever they were trained for (Zhang et al. 2018, arXiv:1801.03924, §4). Batch norm
(Ioffe and Szegedy 2015, arXiv:1502.03167) helps the training and is folded into the convolutions afterwards. Axes: b
images, c channels, h and w pixels.
"""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

SIZE = 64
"""Width and height at which the network looks, in pixels."""

CHANNELS = (16, 32, 64, 128, 192)
"""Of the five stages; the first sees every pixel, each further one half as many in both directions."""

FEATURES = 128
"""Numbers that describe an image as a whole."""

_REDUCED = 32
_CENTER, _SPREAD = 0.45, 0.25


class _Unit(nn.Module):
    """A 3x3 convolution, batch norm while it is trained, and a rectifier."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, stride, 1)
        self.norm: nn.Module = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.convolution(x)))

    def fold(self) -> None:
        """Make the convolution do what the norm does in evaluation: y = γ (x - μ) / σ + β."""
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm2d):
            return
        scale = norm.weight / (norm.get_buffer("running_var") + norm.eps).sqrt()
        bias = cast(Tensor, self.convolution.bias)
        with torch.no_grad():
            self.convolution.weight.mul_(scale[:, None, None, None])
            bias.copy_(norm.bias + (bias - norm.get_buffer("running_mean")) * scale)
        self.norm = nn.Identity()


class FeatureNetwork(nn.Module):
    """From images [b, 3, h, w] in 0..1 to stages, features and answers; in evaluation, of each image alone.

    outputs: number of answers. h and w are any; the image is resized to SIZE.

    >>> network = FeatureNetwork(2).eval()
    >>> network.features(torch.zeros(1, 3, 80, 80)).shape
    torch.Size([1, 128])
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        units, before = [], 3
        for index, after in enumerate(CHANNELS):
            units.append(nn.Sequential(_Unit(before, after, stride=2 if index else 1), _Unit(after, after)))
            before = after
        self.units = nn.ModuleList(units)
        self.reduce = nn.Conv2d(before, _REDUCED, 1)
        side = SIZE >> (len(CHANNELS) - 1)
        self.hidden = nn.Linear(_REDUCED * side**2, FEATURES)
        self.head = nn.Linear(FEATURES, outputs)

    def stages(self, images: Float[Tensor, "b 3 h w"]) -> list[Tensor]:
        """The activations [b, c, h, w] of every stage, largest first; differentiable in the images."""
        x = (resized(images, SIZE) - _CENTER) / _SPREAD
        stages = []
        for unit in self.units:
            x = unit(x)
            stages.append(x)
        return stages

    def features(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b 128"]:
        """Features of the whole image, zero or more each."""
        return torch.relu(self.hidden(self.reduce(self.stages(images)[-1]).flatten(1)))

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b k"]:
        """The answers."""
        answers: Tensor = self.head(self.features(images))
        return answers

    def folded(self) -> FeatureNetwork:
        """The network with batch norms folded in, for evaluation alone; its answers are the same."""
        for unit in self.modules():
            if isinstance(unit, _Unit):
                unit.fold()
        return self.eval()


def resized(images: Float[Tensor, "b 3 h w"], size: int) -> Float[Tensor, "b 3 s s"]:
    """The images at that size, averaged where they shrink; unchanged where they have it."""
    if images.shape[2:] == (size, size):
        return images
    return functional.interpolate(images, (size, size), mode="bilinear", antialias=True, align_corners=False)
