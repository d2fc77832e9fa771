"""The published critics, which tell the protected class from a picture or a representation; and the mask that hides it.

Source: Wang et al. 2019, arXiv:1811.08489, section 5.3. At the image: a ResNet-18 behind a U-Net's mask (He et al.
2016, arXiv:1512.03385; Ronneberger et al. 2015, arXiv:1505.04597). At a middle block: three convolutions and four
linear layers. At the last block: the map as a vector into a four-layer perceptron. The paper says no widths; ours are
arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput, UnknownName

_SLOPE = 0.2


class MapCritic(nn.Module):
    """The vectorised map into four linear layers, with batch norm and leaky rectifiers between."""

    def __init__(self, inputs: int, classes: int, width: int = 300) -> None:
        super().__init__()
        self.layers = _perceptron((inputs, width, width, width, classes))

    def forward(self, x: Tensor) -> Float[Tensor, "b c"]:
        """Logits of the classes from a representation [b, ...] of that many numbers."""
        logits: Tensor = self.layers(x.flatten(1))
        return logits


class ConvolutionCritic(nn.Module):
    """Three convolutions, each of which halves, an average over the places, and four linear layers."""

    def __init__(self, channels: int, classes: int, width: int = 128) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        for inputs in (channels, width, width):
            blocks += [nn.Conv2d(inputs, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.LeakyReLU(_SLOPE)]
        self.convolutions = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.layers = _perceptron((width, width, width, width, classes))

    def forward(self, x: Float[Tensor, "b k h w"]) -> Float[Tensor, "b c"]:
        """Logits of the classes from a map."""
        logits: Tensor = self.layers(self.convolutions(x.contiguous()))
        return logits


class ResidualBlock(nn.Module):
    """The basic block of He et al."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.shortcut: nn.Module = nn.Identity()
        if not same:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        inner = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(inner + self.shortcut(x))


class ImageCritic(nn.Module):
    """A ResNet-18: eight basic blocks of four widths. small: a 3x3 stem without pooling, for small pictures."""

    def __init__(self, classes: int, width: int = 64, small: bool = True) -> None:
        super().__init__()
        stem: list[nn.Module] = [
            nn.Conv2d(3, width, 3 if small else 7, 1 if small else 2, 1 if small else 3, bias=False)
        ]
        stem += [nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        self.stem = nn.Sequential(*stem, *([] if small else [nn.MaxPool2d(3, 2, 1)]))
        widths = (width, width, 2 * width, 4 * width, 8 * width)
        blocks = []
        for stage, (a, b) in enumerate(itertools.pairwise(widths)):
            blocks += [ResidualBlock(a, b, 1 if stage == 0 else 2), ResidualBlock(b, b, 1)]
        self.blocks = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b c"]:
        """Logits of the classes from pictures."""
        logits: Tensor = self.head(self.blocks(self.stem(x.contiguous())))  # see network.CHANNELS_LAST_FROM
        return logits


class Mask(nn.Module):
    """A U-Net that says of each pixel how much of it stays, 0 to 1; at the start nearly all.

    widths: channels from the picture's size down; each but the first halves. Sides must be multiples of 2^(widths - 1).
    """

    def __init__(self, widths: Sequence[int] = (16, 32, 64, 64)) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.down = nn.ModuleList(_double(a, b) for a, b in itertools.pairwise((3, *widths)))
        self.up = nn.ModuleList(_double(a + b, b) for a, b in itertools.pairwise(reversed(widths)))
        self.head = nn.Conv2d(widths[0], 1, 1)
        nn.init.constant_(self.head.bias, 3.0)  # type: ignore[arg-type]

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b 1 h w"]:
        """The mask of each picture. Raises BadInput for sides that cannot be halved so often."""
        times = 2 ** (len(self.widths) - 1)
        if images.shape[2] % times or images.shape[3] % times:
            raise BadInput(f"mask: expected sides in multiples of {times}, got {list(images.shape[2:])}; pad or resize")
        x, seen = images.contiguous(), []
        for index, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if index else x)
            seen.append(x)
        for block, skip in zip(self.up, reversed(seen[:-1]), strict=True):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2), skip], dim=1))
        return torch.sigmoid(self.head(x))


def critic_for(kind: str, representation: Tensor, classes: int, width: int | None = None) -> nn.Module:
    """The critic of that kind for representations of that shape: map, convolution or image. width: none for its own."""
    if kind not in KINDS:
        raise UnknownName("critic", kind, KINDS)
    if kind != "map" and representation.dim() != 4:
        raise BadInput(f"critic {kind}: expected a representation [b, k, h, w], got {list(representation.shape)}")
    return KINDS[kind](representation, classes, {} if width is None else {"width": width})


KINDS: Final[Mapping[str, Callable[[Tensor, int, dict[str, int]], nn.Module]]] = MappingProxyType(
    {
        "map": lambda x, classes, options: MapCritic(x[0].numel(), classes, **options),
        "convolution": lambda x, classes, options: ConvolutionCritic(x.shape[1], classes, **options),
        "image": lambda x, classes, options: ImageCritic(classes, small=x.shape[-1] < 100, **options),
    }
)


def _perceptron(widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.LeakyReLU(_SLOPE)]
    return nn.Sequential(*layers[:-2])


def _double(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a in (inputs, outputs):
        layers += [nn.Conv2d(a, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)
