"""Arrays of many rows: columns by name, products that are bitwise the same in every batch, and soft coverage."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

_ALIGNMENT = 64
"""Bytes at whose multiples an operand begins."""


def products(left: Tensor, right: Tensor) -> Tensor:
    """The matrix product of each pair [b, m, k], [b, k, n], one of which may be single; on a GPU, all at once."""
    b = max(len(left), len(right))
    if left.device.type != "cpu":
        return torch.bmm(left.expand(b, -1, -1), right.expand(b, -1, -1))
    lefts, rights = _align(left), _align(right)
    product = torch.empty(b, left.shape[1], right.shape[2], dtype=left.dtype, device=left.device)
    each = zip(lefts * (b // len(lefts)), rights * (b // len(rights)), product.unbind(0), strict=True)
    for factor, other, place in each:
        torch.mm(factor, other, out=place)
    return product


def _align(matrices: Tensor) -> tuple[Tensor, ...]:
    """Each of them, beginning at a multiple of _ALIGNMENT bytes."""
    matrices = matrices.contiguous()
    first, each = matrices.data_ptr(), matrices[0].numel() * matrices.element_size()
    if first % _ALIGNMENT == each % _ALIGNMENT == 0:
        return matrices.unbind(0)
    return tuple(matrix.clone() for matrix in matrices.unbind(0))


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
        self._host_tints = stacked
        self._tints = torch.from_numpy(stacked).to(self._device)
        self._read: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        value = self._read.get(name)
        if value is None:
            column = self._scalars.get(name)
            if column is None:
                value = self._tints[self._colors[name]].view(-1, 3, 1, 1)
            else:
                value = self._columns[column].view(-1, 1, 1)
            self._read[name] = value
        return value

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

    def of_row(self, row: int) -> tuple[dict[str, float], dict[str, Float[np.ndarray, " 3"]]]:
        """One row's scalars and colors by name, on the host."""
        scalars = dict(zip(self._scalars, self._host[:, row].tolist(), strict=True))
        tints = self._host_tints[:, row]
        return scalars, dict(zip(self._colors, tints, strict=True))

    def take(self, pick: Pick) -> Rows:
        """Some of the rows, in that order."""
        part = object.__new__(Rows)
        part._scalars, part._colors, part._device = self._scalars, self._colors, self._device
        rows = pick if isinstance(pick, slice) else pick.numpy()
        part._host, part._host_tints = (np.ascontiguousarray(of[:, rows]) for of in (self._host, self._host_tints))
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
    """The wanted rows: a slice where they are neighbors, None where there are none."""
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


def smoothstep(value: Tensor, low: float | Tensor, high: float | Tensor) -> Tensor:
    """0 below low, 1 above high, 3t² - 2t³ in between."""
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        t = (value - low) / (high - low)
    else:
        t = (value - low).mul_(1 / (high - low))
    t = t.clamp_(0, 1)
    return (t * -2).add_(3).mul_(t).mul_(t)


LEAST = 25.0
"""Exponents end at -LEAST. Below -87 lie denormal numbers, which take a hundred times as long, and their products begin
before; e⁻²⁵ = 1e-11 is negligible next to 1 in float32."""


def bump(value: Tensor, width: float | Tensor) -> Tensor:
    """exp(-(value / width)²), and no less than exp(-LEAST)."""
    if isinstance(width, Tensor):
        t = value / width
        return t.mul_(t).neg_().clamp_(min=-LEAST).exp_()
    return (value * value).mul_(-1 / (width * width)).clamp_(min=-LEAST).exp_()


def power(value: Tensor, exponent: float | Tensor) -> Tensor:
    """A non-negative number to the power of another, by logarithms, which take a fifth of the time of a power."""
    return value.clamp(min=1e-20).log_().mul_(exponent).exp_()


def tint(reflectance: Tensor, shade: Tensor) -> Tensor:
    """A color [b, 3, 1, 1] under a shade [b, h, w]."""
    return reflectance * shade.unsqueeze(1)


def color(like: Tensor, red: float, green: float, blue: float) -> Tensor:
    """A constant linear RGB color [1, 3, 1, 1]."""
    return _color((red, green, blue), like.dtype, like.device)


@functools.lru_cache(maxsize=256)
def _color(rgb: tuple[float, float, float], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(rgb, dtype=dtype, device=device).view(1, 3, 1, 1)
