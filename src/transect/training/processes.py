"""One process, or several that share a training: each takes a part of every batch, and gradients are averaged.

Hugging Face Accelerate starts and connects the processes (`accelerate launch -m transect train gan ...`); it is needed
for several processes alone.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from transect.errors import BadInput, MissingExtra


@runtime_checkable
class Accelerator(Protocol):
    """What is used of Hugging Face Accelerate's class of that name."""

    def wait_for_everyone(self) -> None:
        """Return once all processes have called it."""

    def reduce(self, tensor: Tensor, reduction: str) -> Tensor:
        """The tensor reduced over the processes."""


@final
@dataclass(frozen=True)
class Processes:
    """A group of processes. count: how many; number: of this one, from 0; device: where it computes."""

    count: int
    number: int
    device: str
    accelerator: Accelerator | None = None

    @classmethod
    def alone(cls, device: str) -> Processes:
        """One process, without others."""
        return cls(1, 0, device)

    @classmethod
    def from_environment(cls, device: str) -> Processes:
        """The processes that the launcher started. Raises MissingExtra where there are several without Accelerate."""
        if process_count() == 1:
            return cls.alone(device)
        try:
            import accelerate
        except ImportError:
            raise MissingExtra("accelerate", "training in several processes") from None
        accelerator = accelerate.Accelerator(cpu=device == "cpu")
        return cls(accelerator.num_processes, accelerator.process_index, str(accelerator.device), accelerator)

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.number == 0

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[None]:
        """The first process runs the block, then the others."""
        if self.accelerator is not None and not self.first:
            self.accelerator.wait_for_everyone()
        yield
        if self.accelerator is not None and self.first:
            self.accelerator.wait_for_everyone()

    def together(self) -> None:
        """Wait until all processes are here."""
        if self.accelerator is not None:
            self.accelerator.wait_for_everyone()

    def part(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """The rows of this process. Raises BadInput for a batch that cannot be shared evenly."""
        self.check(len(rows))
        return rows[self.number :: self.count]

    def check(self, batch: int) -> None:
        """Raise BadInput for a batch that cannot be shared evenly."""
        if batch % self.count:
            raise BadInput(f"batch: expected a multiple of {self.count} processes, got {batch}; change it")

    def share(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its mean over the processes."""
        self.average([parameter.grad for parameter in parameters if parameter.grad is not None])

    @torch.no_grad()
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor's numbers by their mean over the processes."""
        if self.accelerator is None or not tensors:
            return
        mean = self.accelerator.reduce(torch.cat([tensor.flatten() for tensor in tensors]), "mean")
        for tensor, part in zip(tensors, torch.split(mean, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))


def is_first() -> bool:
    """Whether this process prints, by the launcher's RANK."""
    return os.environ.get("RANK", "0") == "0"


def process_count() -> int:
    """The number of processes that the launcher started, by WORLD_SIZE. Raises BadInput where it is not a number."""
    text = os.environ.get("WORLD_SIZE", "1")
    if not re.fullmatch(r"0*[1-9][0-9]{0,5}", text):
        raise BadInput(
            f"WORLD_SIZE: expected the number of processes, got {text[:40]!r}; unset it, or use: accelerate launch"
        )
    return int(text)
