"""Teaching a generator a world: it learns to draw, from the world's own latents, the picture that the world draws.

A GAN has to find every kind of picture by itself; a generator that is shown the picture of each latent starts with all
of them. Its pictures are then the mean of what one latent may look like, hence smooth: the adversarial loss, which
fades in afterwards, adds what that mean lacks. Sources: Hinton et al. 2015, arXiv:1503.02531 (distillation); Isola et
al. 2017, arXiv:1611.07004 (an adversarial loss with an absolute distance from the picture wanted); Johnson et al. 2016,
arXiv:1603.08155 (a distance between a network's activations).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from transect.errors import BadInput
from transect.records import Latents
from transect.training.pictures import Pictures

TAUGHT_MAPPING: Final = 300.0
"""How many times faster than in a GAN the mapping network learns, which has to read the teacher's latents."""


@runtime_checkable
class Teacher(Protocol):
    """A world with a latent view: standard normal latents of a fixed dimension, each of which is one picture."""

    @property
    def latent_dim(self) -> int:
        """Numbers of a latent."""

    def to_z(self, latents: Latents) -> Latents:
        """Its latents in the latent view."""


@final
@dataclass(frozen=True, slots=True)
class Likeness:
    """What has to be alike beside pixels, by that network; smallest: width of the smallest pictures it compares."""

    appearance: Callable[[Tensor], Tensor]
    name: str
    smallest: int = 1


@final
@dataclass(frozen=True, slots=True)
class Distillation:
    """images: by the distance from the teacher's pictures alone; blend: images over which the other loss fades in.

    weight: of the distance, beside an adversarial loss of weight 1. likeness: None where pixels alone are compared.
    """

    images: int
    blend: int
    weight: float
    likeness: Likeness | None = None

    def adversarial(self, shown: int) -> float:
        """The weight, 0 to 1, of the adversarial loss after that many images."""
        if shown < self.images:
            return 0.0
        return min(1.0, (shown - self.images) / self.blend) if self.blend else 1.0

    def distance(self, images: Float[Tensor, "b 3 s s"], wanted: Float[Tensor, "b 3 s s"]) -> Tensor:
        """How far pictures in -1..1 are from those wanted: mean |difference|, plus the squared distance of likeness."""
        pixels = (images - wanted).abs().mean()
        if self.likeness is None or images.shape[-1] < self.likeness.smallest:
            return pixels
        with torch.no_grad():
            there = self.likeness.appearance(wanted / 2 + 0.5)
        return pixels + (self.likeness.appearance(images / 2 + 0.5) - there).square().sum(dim=1).mean()


@final
class Pairs:
    """Pictures with the latents, float32 [m, d], of which they are the pictures."""

    def __init__(self, data: Pictures) -> None:
        self._data, self._teacher = data, teacher_of(data.source)

    def __len__(self) -> int:
        return len(self._data)

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows."""
        return self._data.pixels(rows)

    def latents(self, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
        """Their latents in the teacher's latent view."""
        return self._teacher.to_z(self._data.source.sample(rows)).values.astype(np.float32)


def teacher_of(source: object) -> Teacher:
    """The source as a teacher. Raises BadInput where it has no latent view, as data sets and pixels have none."""
    if not isinstance(source, Teacher):
        raise BadInput("--distil needs pictures with latents; use faceworld or leave it out")
    return source


def kept(images: Tensor, whole: Bool[Tensor, " b"]) -> Tensor:
    """The pictures of one latent: those of two, which style mixing makes, are no picture of the teacher's."""
    return images if bool(whole.all()) else images[whole]
