"""What a mitigation learns from: pictures with labels and a protected class, in batches dealt from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from transect.errors import BadInput


@runtime_checkable
class Pixels(Protocol):
    """Pictures by row."""

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Those of the rows, in that order."""


@final
@dataclass(frozen=True)
class TaskData:
    """labels: yes or no for each item and label; protected: the class of each; names: of the labels."""

    pictures: Pixels
    labels: Bool[np.ndarray, "n k"]
    protected: Int[np.ndarray, " n"]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.protected) or self.labels.shape[1] != len(self.names):
            got = f"{list(self.labels.shape)}, {len(self.protected)} and {len(self.names)}"
            raise BadInput(f"expected labels [n, k] with n protected classes and k names, got {got}")
        if len(np.unique(self.protected)) < 2:
            raise BadInput("protected: expected at least two classes, got one; there is nothing to hide")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        """How many protected classes, numbered from 0."""
        return int(self.protected.max()) + 1

    def images(self, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Float[Tensor, "m 3 h w"]:
        """Pictures of the rows in 0..1."""
        pixels = np.ascontiguousarray(self.pictures.pixels(rows))
        return torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float() / 255

    def targets(self, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Float[Tensor, "m k"]:
        """Their labels as 0 and 1."""
        return torch.from_numpy(self.labels[rows]).to(device).float()

    def hidden(self, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Tensor:
        """Their protected classes."""
        return torch.from_numpy(self.protected[rows]).to(device).long()


def batches(rows: Int[np.ndarray, " n"], size: int, seed: int, epoch: int) -> Iterator[Int[np.ndarray, " m"]]:
    """Every row once, in an order of the epoch's own; a rest of one is left out, since it has no batch statistics.

    >>> sorted(np.concatenate(list(batches(np.arange(5), 2, 0, 0))).tolist()) == [0, 1, 2, 3, 4]
    False
    """
    order = _generator(seed, epoch, 0).permutation(rows)
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        if len(batch) > 1:
            yield batch


def balanced_batches(
    rows: Int[np.ndarray, " n"], protected: Int[np.ndarray, " all"], size: int, seed: int, epoch: int
) -> Iterator[Int[np.ndarray, " m"]]:
    """As many batches as `batches` gives, each with as many of every protected class; rows of rarer ones come again."""
    classes = np.unique(protected[rows])
    if size % len(classes) or size < 2 * len(classes):
        least = 2 * len(classes)
        raise BadInput(f"batch: expected a multiple of {len(classes)} classes from {least}, got {size}; change it")
    chance, each = _generator(seed, epoch, 1), size // len(classes)
    count = -(-len(rows) // size)
    members = []
    for group in classes:
        group_rows = rows[protected[rows] == group]
        dealt = [chance.permutation(group_rows) for _ in range(-(-count * each // len(group_rows)))]
        members.append(np.concatenate(dealt)[: count * each].reshape(count, each))
    yield from np.concatenate(members, axis=1)


def _generator(seed: int, epoch: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, epoch, stream])))
