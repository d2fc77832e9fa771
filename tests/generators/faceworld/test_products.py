"""Products of matrices: those of PyTorch, and to the last bit the same alone and in any company."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transect.generators.faceworld.rows import products


@pytest.mark.parametrize(("m", "k", "n"), [(9, 20, 80), (2, 16, 1024)])
def test_each_product_is_the_same_alone_and_with_others_wherever_it_lies(m, k, n):
    values = torch.from_numpy(np.random.default_rng(m).normal(size=(7, m * k + 5)).astype(np.float32))
    left = values[:, 3 : 3 + m * k].unflatten(1, (m, k))  # rows that begin off a vector's boundary
    right = torch.from_numpy(np.random.default_rng(n).normal(size=(1, k, n)).astype(np.float32))
    whole = products(left, right)
    np.testing.assert_allclose(whole, torch.matmul(left.double(), right.double()), rtol=0, atol=1e-4)
    for rows in ([0], [6], [2, 5], [6, 5, 4, 3]):
        assert torch.equal(products(left[rows], right), whole[rows])
        assert torch.equal(products(left[rows].clone(), right.expand(len(rows), -1, -1)), whole[rows])
