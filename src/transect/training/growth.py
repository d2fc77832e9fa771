"""How a network grows: from small pictures to large ones, each new size faded in.

Source: Karras et al. 2018, Progressive growing of GANs, arXiv:1710.10196, section 2 and figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transect.errors import BadInput


@final
@dataclass(frozen=True, slots=True)
class Growth:
    """sizes: of the pictures, phase by phase, each twice the one before; shown: images of each phase but the last.

    In the first `fade` images of a phase its size comes in gradually; the first phase starts with it.
    """

    sizes: tuple[int, ...]
    shown: tuple[int, ...] = ()
    fade: int = 0

    def __post_init__(self) -> None:
        doubled = all(b == 2 * a for a, b in zip(self.sizes, self.sizes[1:], strict=False))
        if not self.sizes or not doubled or len(self.shown) != len(self.sizes) - 1 or min((0, *self.shown)) < 0:
            raise BadInput(
                f"growth: expected sizes that double and images for each but the last, got sizes {list(self.sizes)}"
                f" and images {list(self.shown)}; for example 16, 32, 64 and 50000, 50000"
            )

    def at(self, shown: int) -> tuple[int, float]:
        """The size after `shown` images, and how far it is faded in, 0 to 1."""
        start = 0
        for phase, size in enumerate(self.sizes):
            length = self.shown[phase] if phase < len(self.shown) else None
            if length is None or shown < start + length:
                whole = phase == 0 or self.fade == 0
                return size, 1.0 if whole else min(1.0, (shown - start) / self.fade)
            start += length
        raise AssertionError("the last phase does not end")


def even(sizes: Sequence[int], images: int) -> Growth:
    """The published plan over `images` images: half of each phase fades, half settles; all phases equally long.

    >>> even((4, 8, 16), 1200)
    Growth(sizes=(4, 8, 16), shown=(240, 480), fade=240)
    """
    part = images // (2 * len(sizes) - 1)
    return Growth(tuple(sizes), tuple(part if index == 0 else 2 * part for index in range(len(sizes) - 1)), part)


def shrunk(images: Float[Tensor, "b 3 h w"], size: int, share: float) -> Float[Tensor, "b 3 s s"]:
    """Real pictures as the network of that size sees them: averaged, and as blurred as its fading size still is."""
    small = functional.adaptive_avg_pool2d(images, size)
    if share >= 1:
        return small
    coarse = functional.interpolate(functional.avg_pool2d(small, 2), scale_factor=2)
    return torch.lerp(coarse, small, share)
