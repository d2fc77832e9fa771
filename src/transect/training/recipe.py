"""Common parts of every GAN's training: the contract of one step, its optimizers, and the running average."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

Share = Callable[[Iterable[nn.Parameter]], None]
"""Averages gradients over processes; with one process, nothing."""

_AT_A_TIME = 8


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Real pictures [b, 3, h, w] in -1..1 with their classes as one-hot [b, k] or None, and the training's place.

    shown: pictures before this batch (of all processes); step: number of the step; chance: its own generator; whole:
    pictures of the step in all processes, of which `images` are this one's. latents: whose pictures these are, or None.
    """

    images: Float[Tensor, "b 3 h w"]
    classes: Float[Tensor, "b k"] | None
    shown: int
    step: int
    chance: torch.Generator
    whole: int
    latents: Float[Tensor, "b d"] | None = None

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers of the step's own chance, on the pictures' device."""
        return torch.randn(shape, generator=self.chance, device=self.images.device)

    def uniform(self, *shape: int) -> Tensor:
        """The same, uniform in 0..1."""
        return torch.rand(shape, generator=self.chance, device=self.images.device)


@runtime_checkable
class Recipe(Protocol):
    """An architecture with its objective. `parts` and `optimizers` are the whole state for resuming.

    parts: what is trained, and `average`: the running average of what is written.
    """

    parts: dict[str, nn.Module]
    optimizers: dict[str, torch.optim.Adam]

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """Train on one batch; returns its metrics by name."""

    def draw(self, seeds: list[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """The averaged generator's pictures of those seeds, at the size that it has grown to."""

    def metadata(self) -> dict[str, str]:
        """The metadata of the averaged generator's file."""


def adam(
    parameters: Iterable[nn.Parameter], rate: float, second: float, interval: int | None = None
) -> torch.optim.Adam:
    """Adam without a first moment.

    interval: steps between penalties, where one is added lazily; rate and moment are those of more steps (Karras et
    al. 2020, arXiv:1912.04958, appendix B).
    """
    ratio = 1.0 if interval is None else interval / (interval + 1)
    return torch.optim.Adam(parameters, lr=rate * ratio, betas=(0.0, second**ratio), eps=1e-8)


def quicken(optimizer: torch.optim.Adam, parameters: Iterable[nn.Parameter], times: float) -> None:
    """Multiply the learning rate of the parameters, which have to be the optimizer's first: a state keeps its order."""
    (group,) = optimizer.param_groups
    faster = list(parameters)
    rest = group["params"][len(faster) :]
    if any(one is not other for one, other in zip(faster, group["params"], strict=False)):
        raise AssertionError("they are not the optimizer's first parameters")
    optimizer.param_groups[:] = [
        {**group, "params": faster, "lr": times * group["lr"]},
        {**group, "params": rest},
    ]


def in_parts(rows: Tensor) -> list[Tensor]:
    """A few rows at a time, for the pictures of a sheet: large networks do not fit all at once in memory."""
    return [rows[start : start + _AT_A_TIME] for start in range(0, len(rows), _AT_A_TIME)]


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
    for averaged, current in zip(average.buffers(), network.buffers(), strict=True):
        averaged.copy_(current)


def descend(optimizer: torch.optim.Adam, loss: Tensor, share: Share) -> int:
    """One optimizer step; NaN gradients count as 0 and infinite ones as large. Returns their number."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    parameters = [
        parameter for group in optimizer.param_groups for parameter in group["params"] if parameter.grad is not None
    ]
    share(parameters)
    replaced = _replace_non_finite([parameter.grad for parameter in parameters if parameter.grad is not None])
    optimizer.step()
    return replaced


def replacements(network: str, replaced: int) -> dict[str, float]:
    """The metric of replaced gradients, where there are any."""
    return {f"{network}_gradients_replaced": float(replaced)} if replaced else {}


def _replace_non_finite(gradients: list[Tensor]) -> int:
    """A sum is finite only where every number is, so that only broken steps look at each number."""
    if not gradients or bool(torch.isfinite(torch.stack([gradient.sum() for gradient in gradients])).all()):
        return 0
    count = sum(int((~torch.isfinite(gradient)).sum()) for gradient in gradients)
    for gradient in gradients:
        torch.nan_to_num(gradient, nan=0.0, posinf=1e5, neginf=-1e5, out=gradient)
    return count
