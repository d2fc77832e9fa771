"""The critics of GANs: StyleGAN2's residual discriminator, and the progressive GAN's mirrored generator.

Sources: Karras et al. 2020, arXiv:1912.04958 (residual blocks); Karras et al. 2018, arXiv:1710.10196, table 2 (the
deviation within the batch as a feature; growing); Miyato and Koyama 2018, arXiv:1802.05637 (the score of the class
that was asked for); McDuff et al. 2019, section 3, and Thekumparampil et al. 2018, arXiv:1811.03205 (a head that
classifies the condition).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.generators.progressive.generator import Convolution as PlainConvolution
from transect.generators.progressive.generator import rectify as plain_rectify
from transect.generators.stylegan2.network import Dense, make_filter, rectify

_GROUP = 4
_HALF = math.sqrt(0.5)


class Convolution(nn.Module):
    """An equalised convolution in the precision of its input, with the filter and a stride of two where it halves."""

    def __init__(self, inputs: int, outputs: int, size: int, *, down: bool = False, bias: bool = True) -> None:
        super().__init__()
        self.down = down
        self.gain = 1 / math.sqrt(inputs * size**2)
        self.weight = nn.Parameter(torch.randn(outputs, inputs, size, size))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.register_buffer("filter", make_filter(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """The output; half as large where it halves."""
        size = self.weight.shape[-1]
        kernel = (self.weight * self.gain).to(x.dtype)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        if not self.down:
            return functional.conv2d(x, kernel, bias, padding=size // 2)
        return functional.conv2d(_filter(x, self.get_buffer("filter"), size), kernel, bias, stride=2)


class Block(nn.Module):
    """Two convolutions parallel to a shortcut, to half the size."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv0 = Convolution(inputs, inputs, 3)
        self.conv1 = Convolution(inputs, outputs, 3, down=True)
        self.skip = Convolution(inputs, outputs, 1, down=True, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output, of the variance of its input."""
        inner = rectify(self.conv1(rectify(self.conv0(x))))
        whole: Tensor = inner + self.skip(x)
        return whole * _HALF


class Discriminator(nn.Module):
    """channels: by resolution 4, 8, ...; grows: judges every size."""

    def __init__(self, channels: Mapping[int, int], grows: bool = False) -> None:
        super().__init__()
        self.sizes = sorted(channels, reverse=True)
        entries = self.sizes[:-1] if grows else self.sizes[:1]
        self.fromrgb = nn.ModuleDict({str(size): Convolution(3, channels[size], 1) for size in entries})
        self.blocks = nn.ModuleDict({str(size): Block(channels[size], channels[size // 2]) for size in self.sizes[:-1]})
        last = channels[4]
        self.conv = Convolution(last + 1, last, 3)
        self.fc = Dense(last * 16, last)
        self.out = Dense(last, 1)

    def forward(
        self, images: Float[Tensor, "b 3 h w"], precision: torch.dtype = torch.float32, share: float = 1.0
    ) -> Float[Tensor, " b"]:
        """One score a picture. share: of the block of the pictures' own size while it grows."""
        size = images.shape[-1]
        x = self._enter(images, precision)
        for here in (known for known in self.sizes[:-1] if known <= size):
            x = self.blocks[str(here)](x)
            if here == size and share < 1:
                x = share * x + (1 - share) * self._enter(functional.avg_pool2d(images, 2), precision)
        x = x.float()
        x = rectify(self.conv(torch.cat([x, deviation(x)], dim=1)))
        scores: Tensor = self.out(rectify(self.fc(x.flatten(1))))
        return scores[:, 0]

    def _enter(self, images: Tensor, precision: torch.dtype) -> Tensor:
        return rectify(self.fromrgb[str(images.shape[-1])](images.to(precision)))


def deviation(x: Float[Tensor, "b c h w"], group: int = _GROUP) -> Float[Tensor, "b 1 h w"]:
    """The mean deviation over a group as a channel; pictures i, i + b/g, i + 2b/g ... form one of g, up to `group`."""
    b, _, h, w = x.shape
    g = next(size for size in range(min(group, b), 0, -1) if b % size == 0)
    grouped = x.reshape(g, b // g, -1)
    spread = (grouped - grouped.mean(dim=0)).square().mean(dim=0)
    mean = (spread + 1e-8).sqrt().mean(dim=1)
    return mean.repeat(g).view(b, 1, 1, 1).expand(b, 1, h, w)


def _filter(x: Tensor, taps: Tensor, size: int) -> Tensor:
    """The picture through the filter, padded so that a stride of two with a kernel of that size halves it."""
    channels, pad = x.shape[1], 1 + size // 2
    kernel = taps.to(x.dtype).expand(channels, 1, -1, -1)
    return functional.conv2d(functional.pad(x, (pad,) * 4), kernel, groups=channels)


class PlainBlock(nn.Module):
    """Two convolutions, then half the size by averaging."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv0, self.conv1 = PlainConvolution(inputs, inputs, 3), PlainConvolution(inputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        return functional.avg_pool2d(plain_rectify(self.conv1(plain_rectify(self.conv0(x)))), 2)


class Critic(nn.Module):
    """channels: by size 4, 8, ... image size; classes: of the second head, 0 for none."""

    def __init__(self, channels: Mapping[int, int], classes: int = 0) -> None:
        super().__init__()
        self.sizes, self.classes = sorted(channels, reverse=True), classes
        self.fromrgb = nn.ModuleDict({str(size): PlainConvolution(3, channels[size], 1) for size in self.sizes})
        self.blocks = nn.ModuleDict(
            {str(size): PlainBlock(channels[size], channels[size // 2]) for size in self.sizes[:-1]}
        )
        last = channels[4]
        self.conv = PlainConvolution(last + 1, last, 3)
        self.fc = Dense(last * 16, last)
        self.out = Dense(last, 1 + 2 * classes)

    def forward(
        self,
        images: Float[Tensor, "b 3 s s"],
        share: float = 1.0,
        precision: torch.dtype = torch.float32,
        asked: Float[Tensor, "b k"] | None = None,
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """A score per picture, high for a real one of the class `asked` (one-hot), and the logits of what it shows."""
        size = images.shape[-1]
        x = self._enter(images, precision)
        for here in (known for known in self.sizes[:-1] if known <= size):
            x = self.blocks[str(here)](x)
            if here == size and share < 1:
                x = torch.lerp(self._enter(functional.avg_pool2d(images, 2), precision), x, share)
        x = x.float()
        x = plain_rectify(self.conv(torch.cat([x, deviation(x)], dim=1)))
        outputs = self.out(plain_rectify(self.fc(x.flatten(1)) * 2**0.5))
        score, fitting, named = outputs.split((1, self.classes, self.classes), dim=1)
        return (score[:, 0] if asked is None else score[:, 0] + (fitting * asked).sum(dim=1)), named

    def _enter(self, images: Tensor, precision: torch.dtype) -> Tensor:
        return plain_rectify(self.fromrgb[str(images.shape[-1])](images.to(precision)))
