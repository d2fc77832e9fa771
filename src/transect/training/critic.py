"""The critic of a progressive GAN: the generator mirrored, with the deviation within the batch near its end.

With classes it has a second head that classifies the condition of a picture (McDuff et al. 2019, section 3), and its
score depends on the condition that the picture should show (a projection), as in the robust conditional GAN that they
follow.

Sources: Karras et al. 2018, arXiv:1710.10196, table 2; Miyato and Koyama 2018, arXiv:1802.05637; Thekumparampil et al.
2018, arXiv:1811.03205.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.generators.progressive.network import Convolution, rectify
from transect.generators.stylegan2.layers import Dense
from transect.training.discriminator import deviation


class Block(nn.Module):
    """Two convolutions, then half the size by averaging."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv0, self.conv1 = Convolution(inputs, inputs, 3), Convolution(inputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        return functional.avg_pool2d(rectify(self.conv1(rectify(self.conv0(x)))), 2)


class Critic(nn.Module):
    """channels: by size 4, 8, ... image size; classes: of the second head, 0 for none."""

    def __init__(self, channels: Mapping[int, int], classes: int = 0) -> None:
        super().__init__()
        self.sizes, self.classes = sorted(channels, reverse=True), classes
        self.fromrgb = nn.ModuleDict({str(size): Convolution(3, channels[size], 1) for size in self.sizes})
        self.blocks = nn.ModuleDict({str(size): Block(channels[size], channels[size // 2]) for size in self.sizes[:-1]})
        last = channels[4]
        self.conv = Convolution(last + 1, last, 3)
        self.fc = Dense(last * 16, last)
        self.out = Dense(last, 1 + 2 * classes)

    def forward(
        self,
        images: Float[Tensor, "b 3 s s"],
        share: float = 1.0,
        precision: torch.dtype = torch.float32,
        asked: Float[Tensor, "b k"] | None = None,
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """A score per picture, high for a real one of the class asked for, and the logits of the class that it shows.

        share: weight of the growing size. asked: one-hot; None where the score is of the picture alone.
        """
        size = images.shape[-1]
        x = self._enter(images, precision)
        for here in (known for known in self.sizes[:-1] if known <= size):
            x = self.blocks[str(here)](x)
            if here == size and share < 1:
                x = torch.lerp(self._enter(functional.avg_pool2d(images, 2), precision), x, share)
        x = x.float()
        x = rectify(self.conv(torch.cat([x, deviation(x)], dim=1)))
        outputs = self.out(rectify(self.fc(x.flatten(1)) * 2**0.5))
        score, fitting, named = outputs.split((1, self.classes, self.classes), dim=1)
        return (score[:, 0] if asked is None else score[:, 0] + (fitting * asked).sum(dim=1)), named

    def _enter(self, images: Tensor, precision: torch.dtype) -> Tensor:
        return rectify(self.fromrgb[str(images.shape[-1])](images.to(precision)))
