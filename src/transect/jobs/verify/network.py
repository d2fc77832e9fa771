"""A small network that looks at a face as people do: once at the whole, then closely at eyes, ears, nose, mouth, hair.

A residual trunk sees the whole picture and says where the parts lie; a few small networks see those parts at full
resolution. An iris of five pixels is lost on a network of this size and training that sees the whole alone. About a
million and a half weights, trained from nothing. Sources: He et al. 2016, Deep residual learning for image recognition,
arXiv:1512.03385; Jaderberg et al. 2015, Spatial transformer networks, arXiv:1506.02025 (sampling at predicted places).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTHS = (20, 40, 80, 160)
"""Channels of the trunk's stages; each halves the picture."""


class Part(NamedTuple):
    """What is looked at closely: its kind, half the window's side in widths of the picture, whether it is turned round.

    Kinds share a network; the right-hand one of a pair is mirrored first.
    """

    kind: str
    reach: float
    turned: bool = False


PARTS: tuple[Part, ...] = (
    Part("eye", 0.10),
    Part("eye", 0.10, turned=True),
    Part("ear", 0.10),
    Part("ear", 0.10, turned=True),
    Part("nose", 0.12),
    Part("mouth", 0.16),
    Part("hair", 0.18),
)
"""The parts, in the order of the predicted places."""

DESCRIPTION = {"widths": list(WIDTHS), "parts": [list(part) for part in PARTS], "design": 2}
"""What a kept network was; another design is another network."""

PLACES = 2 * len(PARTS)
"""Answers that say where the parts lie: x and y of each, in widths of the picture."""


def _convolution(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class _Block(nn.Module):
    """Two convolutions added to the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = _convolution(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(self.first(x)))


class Network(nn.Module):
    """From pictures [b, 3, h, w] in 0..1 to float32 [b, outputs + PLACES]; h and w of at least 32.

    outputs: the answers; after them come the places of PARTS. places: where the parts lie on average, PLACES numbers,
    from which the network starts.
    """

    GRID, WINDOW = 4, 28

    def __init__(
        self, outputs: int, places: Tensor | None = None, widths: tuple[int, ...] = WIDTHS, hidden: int = 256
    ) -> None:
        super().__init__()
        stages: list[nn.Module] = [_convolution(3, widths[0], 2, 5)]
        for before, after in itertools.pairwise(widths):
            stages += [_convolution(before, after, 2), _Block(after)]
        self.trunk = nn.Sequential(*stages, nn.Conv2d(widths[-1], 32, 1), nn.AdaptiveAvgPool2d(self.GRID))
        seen = 32 * self.GRID**2
        self.where = nn.Linear(seen, PLACES)
        nn.init.zeros_(self.where.weight)
        with torch.no_grad():
            self.where.bias.copy_(torch.full((PLACES,), 0.5) if places is None else places)
        self.close = nn.ModuleDict({kind: _close_look() for kind in dict.fromkeys(part.kind for part in PARTS)})
        self.hidden = nn.Sequential(nn.Linear(seen + CLOSE * len(PARTS), hidden), nn.ReLU(inplace=True))
        self.head = nn.Linear(hidden, outputs)

    def forward(self, pictures: Tensor) -> Tensor:
        """The answers and places; those of a picture do not depend on the others in evaluation mode."""
        pictures = (pictures - 0.45) / 0.25
        whole = self.trunk(pictures).flatten(1).float()
        with torch.autocast(whole.device.type, enabled=False):
            places: Tensor = self.where(whole)
            windows = [
                _window(pictures, places[:, 2 * i : 2 * i + 2].detach(), part, self.WINDOW)
                for i, part in enumerate(PARTS)
            ]
        closely = [self.close[part.kind](window).float() for part, window in zip(PARTS, windows, strict=True)]
        with torch.autocast(whole.device.type, enabled=False):
            answers: Tensor = self.head(self.hidden(torch.cat([whole, *closely], dim=1)))
            return torch.cat([answers, places], dim=1)


CLOSE = 48
"""Numbers that a close look gives."""


def _close_look() -> nn.Sequential:
    return nn.Sequential(
        _convolution(3, 16),
        _convolution(16, 32, 2),
        _convolution(32, 32, 2),
        nn.Flatten(),
        nn.Linear(32 * (Network.WINDOW // 4) ** 2, CLOSE),
        nn.ReLU(inplace=True),
    )


def _window(pictures: Tensor, place: Tensor, part: Part, side: int) -> Tensor:
    """[b, 3, side, side]: the picture around a place, x and y in widths."""
    steps = torch.linspace(-part.reach, part.reach, side, device=pictures.device)
    across = -steps if part.turned else steps
    x = place[:, 0].view(-1, 1, 1) + across.view(1, 1, -1)
    y = place[:, 1].view(-1, 1, 1) + steps.view(1, -1, 1)
    grid = 2 * torch.stack([x.expand(-1, side, -1), y.expand(-1, -1, side)], dim=3) - 1
    return functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)


def new_network(outputs: int, seed: int, places: Tensor | None = None, widths: tuple[int, ...] = WIDTHS) -> Network:
    """A network whose weights come from the seed, and its first places from those given."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(outputs, places, widths)
