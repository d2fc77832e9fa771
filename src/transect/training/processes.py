"""One process, or several that share a training: each takes a part of every batch, and gradients are averaged.

Hugging Face Accelerate starts and connects the processes (`accelerate launch -m transect train gan ...`); it is needed
for several alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Int
from torch import nn

from transect.errors import BadInput, MissingExtra


@final
@dataclass(frozen=True)
class Processes:
    """count processes, of which this is the one of that number; device: where it computes."""

    count: int
    number: int
    device: str
    accelerator: Any = None

    @classmethod
    def alone(cls, device: str) -> Processes:
        """No other process."""
        return cls(1, 0, device)

    @classmethod
    def found(cls, device: str) -> Processes:
        """Those that this one was started among. Raises MissingExtra where there are several without Accelerate."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls.alone(device)
        try:
            from accelerate import Accelerator
        except ImportError:
            raise MissingExtra("several processes", "accelerate") from None
        accelerator = Accelerator(cpu=device == "cpu")
        return cls(accelerator.num_processes, accelerator.process_index, str(accelerator.device), accelerator)

    @property
    def first(self) -> bool:
        """Whether this one writes the files."""
        return self.number == 0

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[None]:
        """The first one does what stands in the block, and then the others."""
        if self.accelerator is not None and not self.first:
            self.accelerator.wait_for_everyone()
        yield
        if self.accelerator is not None and self.first:
            self.accelerator.wait_for_everyone()

    def together(self) -> None:
        """Wait until all are here."""
        if self.accelerator is not None:
            self.accelerator.wait_for_everyone()

    def part(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """The rows of this process. Raises BadInput for a batch that cannot be shared evenly."""
        if len(rows) % self.count:
            raise BadInput(f"batch: expected a multiple of {self.count} processes, got {len(rows)}; change it")
        return rows[self.number :: self.count]

    def share(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its mean over the processes."""
        if self.accelerator is None:
            return
        with_gradient = [one for one in parameters if one.grad is not None]
        whole = torch.cat([one.grad.flatten() for one in with_gradient if one.grad is not None])
        mean = self.accelerator.reduce(whole, "mean")
        for one, part in zip(with_gradient, mean.split([one.numel() for one in with_gradient]), strict=True):
            one.grad = part.view_as(one)
