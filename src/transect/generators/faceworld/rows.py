"""The rows of a tile: one subject's parameters each, under names, and which of them a layer is for.

Layers are written for a tile of b rows. What a pixel becomes must not depend on its mates, so layer code keeps to this:
what is transcendental in a parameter alone (its sine, a power of it) is computed by parameters.py in float64, and
between tensors of one number per row there are only sums, products, quotients, roots, minima and maxima, which every
processor rounds in the same way. Images may go through any function: their windows have sides that fill whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

Parameters: TypeAlias = Mapping[str, Tensor]
"""Attributes, identity code and what follows from them, by name: float32 [b, 1, 1], colors [b, 3, 1, 1]."""

Pick: TypeAlias = slice | Tensor
"""Some of a tile's rows: a slice where they are neighbors, else their numbers."""


class Rows(Mapping[str, Tensor]):
    """Parameters of b rows as tensors of a device, and as numbers on the host, where decisions are made."""

    def __init__(
        self,
        scalars: Mapping[str, Float[np.ndarray, " b"]],
        colors: Mapping[str, Float[np.ndarray, "b 3"]],
        device: torch.device | str = "cpu",
    ) -> None:
        self._scalars = {name: number for number, name in enumerate(scalars)}
        self._colors = {name: number for number, name in enumerate(colors)}
        self._host = np.stack(list(scalars.values())).astype(np.float32)
        stacked = np.stack(list(colors.values())).astype(np.float32)
        self._device = torch.device(device)
        self._columns = torch.from_numpy(self._host).to(self._device)
        self._tints = torch.from_numpy(stacked).to(self._device)
        self._read: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        value = self._read.get(name)
        if value is None:
            column = self._scalars.get(name)
            value = self._tints[self._colors[name]].view(-1, 3, 1, 1) if column is None else self._column(column)
            self._read[name] = value
        return value

    def _column(self, number: int) -> Tensor:
        return self._columns[number].view(-1, 1, 1)

    def __iter__(self) -> Iterator[str]:
        yield from self._scalars
        yield from self._colors

    def __len__(self) -> int:
        return len(self._scalars) + len(self._colors)

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self._host.shape[1])

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self._device

    def host(self, *names: str) -> Float[np.ndarray, "k b"]:
        """Those scalars on the host, float32 [k, b]."""
        return self._host[[self._scalars[name] for name in names]]

    def take(self, pick: Pick) -> Rows:
        """Some of the rows, in that order."""
        part = object.__new__(Rows)
        part._scalars, part._colors, part._device = self._scalars, self._colors, self._device
        part._host = np.ascontiguousarray(self._host[:, pick if isinstance(pick, slice) else pick.numpy()])
        part._columns, part._tints = some(self._columns, pick, 1), some(self._tints, pick, 1)
        part._read = {}
        return part

    def to(self, device: torch.device) -> Rows:
        """The same rows with tensors of that device."""
        if device == self._device:
            return self
        copy = self.take(slice(None))
        copy._device = device
        copy._columns, copy._tints = copy._columns.to(device), copy._tints.to(device)
        return copy

    def with_any(self, *names: str) -> Pick | None:
        """The rows in which one of those scalars is above 0; None where there is no such row."""
        return picked(self.host(*names).max(axis=0) > 0)


def picked(wanted: Bool[np.ndarray, " b"]) -> Pick | None:
    """The wanted rows: a slice where they are neighbors, None where there are none.

    >>> picked(np.array([False, True, True])), picked(np.array([False]))
    (slice(1, 3, None), None)
    """
    numbers = np.flatnonzero(wanted)
    if len(numbers) == 0:
        return None
    first, last = int(numbers[0]), int(numbers[-1])
    return slice(first, last + 1) if last - first + 1 == len(numbers) else torch.from_numpy(numbers)


def some(values: Tensor, pick: Pick, dim: int = 0) -> Tensor:
    """Those rows of a tensor, which lie along `dim`: a view where they are neighbors."""
    if isinstance(pick, slice):
        start, stop, _ = pick.indices(values.shape[dim])
        return values.narrow(dim, start, stop - start)
    return values.index_select(dim, pick.to(values.device))


def put(values: Tensor, pick: Pick, part: Tensor) -> None:
    """Writes those rows of a tensor."""
    if isinstance(pick, slice):
        values[pick] = part
    else:
        values.index_copy_(0, pick.to(values.device), part)
