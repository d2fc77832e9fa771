"""A small network from a picture to the marks of the face on it: heat maps of 68 points, masks of parts, and doubts.

An encoder halves the picture four times, and a decoder adds what each stage saw, from the coarsest to half of the
picture's size (Lin et al. 2017, feature pyramids, arXiv:1612.03144). A point is the mean place under the softmax of its
heat map (Sun et al. 2018, integral regression, arXiv:1711.08229), masks are brought to the picture's size by
rearranged channels (Shi et al. 2016, arXiv:1609.05158), and beside each point stands the error that is expected of it
(Kumar et al. 2020, arXiv:2004.02980). Axes: b pictures, c channels, h and w pixels.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from transect.marks.records import MASKS, POINTS

SIZE: Final = 64
"""Width and height at which the network looks, in pixels."""
FACES: Final = ("none", "one", "several")
"""How many faces a picture shows, the columns of `faces`."""
_CHANNELS: Final = (24, 64, 128, 160)
_DECODED: Final = (48, 64, 96)
_STEM: Final = 16
_CENTER, _SPREAD = 0.45, 0.25


class Answers(NamedTuple):
    """What the network says of each picture.

    heat: logits [b, 68, s/2, s/2]. points: [b, 68, 2], x and y in widths of the picture. errors: logarithms [b, 68] of
    each point's expected distance from the truth, in widths. masks: logits [b, masks, s, s]. faces: logits [b, 3].
    """

    heat: Float[Tensor, "b 68 h w"]
    points: Float[Tensor, "b 68 2"]
    errors: Float[Tensor, "b 68"]
    masks: Float[Tensor, "b m s s"]
    faces: Float[Tensor, "b 3"]


def _unit(before: int, after: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)
    )


class MarksNetwork(nn.Module):
    """From pictures [b, 3, SIZE, SIZE] in 0..1 to `Answers`; in evaluation each depends on its own picture alone."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _unit(3, _STEM)
        stages, before = [], _STEM
        for after in _CHANNELS:
            stages.append(nn.Sequential(_unit(before, after, 2), _unit(after, after)))
            before = after
        self.stages = nn.ModuleList(stages)
        self.beside = nn.ModuleList(nn.Conv2d(c, d, 1) for c, d in zip(_CHANNELS, _DECODED, strict=False))
        coarser = (*_DECODED[1:], _CHANNELS[-1])
        self.down = nn.ModuleList(nn.Conv2d(c, d, 1) for c, d in zip(coarser, _DECODED, strict=True))
        self.mix = nn.ModuleList(_unit(d, d) for d in _DECODED)
        self.heat = nn.Conv2d(_DECODED[0], POINTS, 1)
        self.masks = nn.Conv2d(_DECODED[0], 4 * len(MASKS), 1)
        self.whole = nn.Sequential(nn.Linear(_CHANNELS[-1] * 16, 96), nn.ReLU(inplace=True))
        self.errors = nn.Linear(96 + POINTS, POINTS)
        self.faces = nn.Linear(96, len(FACES))

    def folded(self) -> MarksNetwork:
        """The network with batch norms folded into the convolutions, for evaluation alone; its answers are the same."""
        self.eval()
        for part in self.modules():
            if isinstance(part, nn.Sequential) and len(part) > 1 and isinstance(part[1], nn.BatchNorm2d):
                part[0], part[1] = fuse_conv_bn_eval(cast(nn.Conv2d, part[0]), part[1]), nn.Identity()
        return self

    def forward(self, pictures: Float[Tensor, "b 3 s s"]) -> Answers:
        """The answers."""
        x = self.stem((pictures - _CENTER) / _SPREAD)
        seen = []
        for stage in self.stages:
            x = stage(x)
            seen.append(x)
        whole = self.whole(seen[-1].flatten(1))
        for level in reversed(range(len(_DECODED))):
            larger = functional.interpolate(self.down[level](x), scale_factor=2.0, mode="nearest")
            x = self.mix[level](larger + self.beside[level](seen[level]))
        heat = self.heat(x)
        points, spread = placed(heat.float())
        errors = self.errors(torch.cat([whole.float(), spread.detach()], dim=1).to(whole.dtype))
        masks = functional.pixel_shuffle(self.masks(x), 2)
        return Answers(heat, points, errors, masks, self.faces(whole))


def placed(heat: Float[Tensor, "b k h w"]) -> tuple[Float[Tensor, "b k 2"], Float[Tensor, "b k"]]:
    """The mean place under the softmax of each map, in widths, and the logarithm of its spread."""
    side = heat.shape[-1]
    shares = heat.flatten(2).softmax(dim=2).reshape(heat.shape)
    middles = (torch.arange(side, dtype=heat.dtype, device=heat.device) + 0.5) / side
    across, down = shares.sum(dim=2), shares.sum(dim=3)
    x, y = (across * middles).sum(dim=2), (down * middles).sum(dim=2)
    width = (across * (middles - x[..., None]).square()).sum(dim=2)
    height = (down * (middles - y[..., None]).square()).sum(dim=2)
    return torch.stack([x, y], dim=2), (width + height + 1e-6).log() / 2
