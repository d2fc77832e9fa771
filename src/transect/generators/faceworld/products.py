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
    left, right = left.contiguous().expand(b, -1, -1), right.contiguous().expand(b, -1, -1)
    if left.device.type != "cpu":
        return torch.bmm(left, right)
    return torch.stack([torch.mm(_aligned(one), _aligned(other)) for one, other in zip(left, right, strict=True)])


def _aligned(matrix: Tensor) -> Tensor:
    matrix = matrix.contiguous()
    return matrix.clone() if matrix.data_ptr() % _ALIGNMENT else matrix
