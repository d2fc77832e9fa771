"""The small residual network of the test bed, whose modules have names that hooks can take."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transect.errors import BadInput
from transect.mitigation.critics import ResidualBlock

WIDTHS: Final = (16, 32, 64)
CHANNELS_LAST_FROM: Final = 16
"""Fewest channels for which that layout is used: with 8, PyTorch 2.13 on a processor dies in the backward pass."""

_MIDDLE, _SPREAD = 0.5, 0.25


class SmallResNet(nn.Module):
    """A stem that halves, one basic residual block per width, each of which halves, an average, and a linear head.

    Modules: `stem`, `blocks.0` to the last block, `embedding` [b, last width], `head`. Raises BadInput without widths.
    """

    def __init__(self, outputs: int, widths: Sequence[int] = WIDTHS) -> None:
        super().__init__()
        if not widths or min(widths) < 1:
            raise BadInput(f"widths: expected at least one number of channels from 1, got {list(widths)}; change it")
        wide = min(widths) >= CHANNELS_LAST_FROM
        self._layout = torch.channels_last if wide else torch.contiguous_format  # a third faster on processors
        first = widths[0]
        self.stem = nn.Sequential(nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU())
        self.blocks = nn.Sequential(*(ResidualBlock(a, b, 2) for a, b in itertools.pairwise((first, *widths))))
        self.embedding = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(widths[-1], outputs)

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b k"]:
        """Logits of pictures in 0..1."""
        x = ((images - _MIDDLE) / _SPREAD).contiguous(memory_format=self._layout)
        logits: Tensor = self.head(self.embedding(self.blocks(self.stem(x))))
        return logits


def new_network(outputs: int, widths: Sequence[int], seed: int) -> SmallResNet:
    """A network whose weights come from the seed; PyTorch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SmallResNet(outputs, widths)
