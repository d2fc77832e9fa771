"""Products of matrices whose last bit does not depend on how many are computed together.

A batched product takes other code paths for one matrix than for several, and by the place of its operands in memory.
One product at a time, from operands that begin where a vector does, is repeatable on a machine (Intel oneMKL
Developer Reference, "Conditional Numerical Reproducibility").
"""

from __future__ import annotations

import torch
from torch import Tensor

_ALIGNMENT = 64
"""Bytes at whose multiples an operand begins."""


def products(left: Tensor, right: Tensor) -> Tensor:
    """The matrix product of each pair: float32 [b, m, k] and [b, k, n] to [b, m, n]; on a GPU, all at once.

    One of them may be a single matrix [1, ., .] for all.

    >>> products(torch.eye(2).unsqueeze(0), torch.arange(8.0).view(2, 2, 2)).tolist()
    [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]
    """
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
