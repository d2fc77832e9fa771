"""What every GAN's training has in common: the contract of one step, its optimizers, and the running average."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

Share = Callable[[Iterable[nn.Parameter]], None]
"""Averages gradients over processes; with one process, nothing."""


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Real pictures [b, 3, h, w] in -1..1 with their classes as one-hot [b, k] or None, and where the training stands.

    shown: pictures before this batch (of all processes); step: number of the step; chance: its own generator.
    """

    images: Float[Tensor, "b 3 h w"]
    classes: Float[Tensor, "b k"] | None
    shown: int
    step: int
    chance: torch.Generator

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers of the step's own chance, on the pictures' device."""
        return torch.randn(shape, generator=self.chance, device=self.images.device)

    def uniform(self, *shape: int) -> Tensor:
        """The same, uniform in 0..1."""
        return torch.rand(shape, generator=self.chance, device=self.images.device)


@runtime_checkable
class Recipe(Protocol):
    """An architecture with its objective. `parts` and `optimizers` are the whole state that a resume needs."""

    @property
    def parts(self) -> dict[str, nn.Module]:
        """generator, critic and average (of the generator)."""
        ...

    @property
    def optimizers(self) -> dict[str, torch.optim.Adam]:
        """Of generator and critic."""
        ...

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """Train on one batch; what to write down of it, by name."""
        ...

    def draw(self, seeds: list[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """The averaged generator's pictures of those seeds, at the size that it has grown to."""
        ...

    def metadata(self) -> dict[str, str]:
        """What a file of the averaged generator says of itself."""
        ...


def adam(
    parameters: Iterable[nn.Parameter], rate: float, second: float, interval: int | None = None
) -> torch.optim.Adam:
    """Adam without a first moment.

    interval: where a penalty is added each so many steps only, rate and moment are of as many more steps (Karras et
    al. 2020, arXiv:1912.04958, appendix B).
    """
    ratio = 1.0 if interval is None else interval / (interval + 1)
    return torch.optim.Adam(parameters, lr=rate * ratio, betas=(0.0, second**ratio), eps=1e-8)


@torch.no_grad()
def follow(
    average: nn.Module, network: nn.Module, batch: int, shown: int, half_life: float, ramp: float = 0.05
) -> None:
    """Move the average towards the network: its weights of `half_life` pictures ago count half.

    Early on the half-life is that share of the pictures shown, so that the first noise is forgotten. Buffers: copied.
    """
    life = min(half_life, ramp * shown) if ramp else half_life
    decay = 0.5 ** (batch / max(life, 1e-8))
    for mean, value in zip(average.parameters(), network.parameters(), strict=True):
        mean.lerp_(value, 1 - decay)
    for held, kept in zip(average.buffers(), network.buffers(), strict=True):
        held.copy_(kept)


def descend(optimizer: torch.optim.Adam, loss: Tensor, share: Share) -> None:
    """One step down; gradients that are not numbers count as none."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    parameters = [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
    share(parameters)
    for one in parameters:
        torch.nan_to_num(one.grad, nan=0.0, posinf=1e5, neginf=-1e5, out=one.grad)
    optimizer.step()
