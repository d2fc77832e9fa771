"""Why no pixel depends on its mates: every operation that rounds by how it is vectorised sees whole vectors alone.

Sums, products, quotients, roots and choices are rounded by IEEE 754, the same wherever a number stands. All else is
computed one way in full vectors and another way in what is left over: it must get images whose rows times columns fill
vectors of 16 floats twice, and never numbers of one per row.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from transect.generators.faceworld.world import FaceWorld

ROUNDED_BY_THE_STANDARD = {
    *("abs", "add", "sub", "rsub", "mul", "div", "neg", "sqrt", "reciprocal", "sign", "floor", "maximum", "minimum", "clamp"),
    *("amax", "amin", "any", "gt", "ge", "lt", "le", "ne", "bitwise_not", "__and", "__or", "nonzero"),
}  # fmt: skip
MOVED = {
    *("alias", "arange", "cat", "clone", "contiguous", "copy", "detach", "empty", "empty_like", "empty_strided", "expand"),
    *("fill", "flip", "full_like", "index", "index_copy", "index_select", "lift_fresh", "linspace", "narrow", "ones_like"),
    *("pad", "constant_pad_nd", "permute", "reshape", "resolve_conj", "resolve_neg", "select", "slice", "split", "squeeze"),
    *("split_with_sizes", "stack", "to", "_to_copy", "transpose", "unbind", "unsqueeze", "view", "zeros_like", "zero", "t"),
    *("_unsafe_view", "_local_scalar_dense", "item", "new_zeros", "flatten", "expand_as", "numpy_T"),
}  # fmt: skip
BY_ROW = {"mm", "grid_sampler", "grid_sampler_2d", "upsample_bilinear2d"}
"""One computation per row and of the row's shape alone; that its place does not matter is for test_determinism."""

IN_VECTORS = {
    "exp",
    "log",
    "sin",
    "cos",
    "lerp",
    "addcmul",
    "addcdiv",
    "pow",
    "tanh",
    "sigmoid",
    "asin",
    "exp2",
    "frac",
}


class Judge(TorchDispatchMode):
    """Collects operations that could round by place."""

    def __init__(self):
        super().__init__()
        self.wrong, self.judged = set(), set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1].rstrip("_")
        result = func(*args, **(kwargs or {}))
        operands = [a for a in (*args, result) if isinstance(a, torch.Tensor) and a.dim() > 1]
        squared = name == "pow" and args[1] == 2  # a product
        if name in IN_VECTORS and not squared:
            self.judged.add(name)
            if not all(map(fills_vectors, operands)) or result.shape[-1] * result.shape[-2] % 32:
                self.wrong.add((name, tuple(tuple(o.shape) for o in operands)))
        elif not squared and name not in ROUNDED_BY_THE_STANDARD | MOVED | BY_ROW:
            self.wrong.add((name, "unknown: say in this test how it rounds"))
        return result


def fills_vectors(operand):
    """One number for a whole image, or an image without gaps."""
    h, w = operand.shape[-2:]
    return h * w == 1 or operand.stride()[-2:] in ((w, 1), (0, 0)) or (h == 1 and operand.stride(-1) == 1)


def worlds_of_all_kinds(size, n=24):
    world = FaceWorld(size, threads=1)
    latents = world.sample(np.arange(600, 600 + n))
    kinds = {"hair_style": 8, "hat": 3, "facial_hair_style": 4, "background": 4, "clothing": 4, "clothing_pattern": 3}
    values = {name: np.arange(n) % levels * 1.0 for name, levels in kinds.items()}
    values |= {"facial_hair": np.arange(n) % 5 / 4, "glasses": np.arange(n) % 5 * 1.0, "earrings": 1.0, "blur": 1.0}
    return world, world.set(latents, values)


@pytest.mark.integration
@pytest.mark.parametrize("size", [33, 64])
def test_what_is_not_rounded_by_the_standard_gets_whole_vectors(size):
    world, latents = worlds_of_all_kinds(size)
    with Judge() as judge:
        world.render(latents)
        world.masks(latents)
        world.landmarks(latents)
    assert judge.wrong == set()
    assert {"exp", "log", "addcmul"} <= judge.judged


@pytest.mark.parametrize(
    "operation",
    [
        lambda: torch.rand(4, 3, 11).exp(),
        lambda: torch.sin(torch.rand(16, 1, 1)),
        lambda: torch.lerp(
            torch.rand(2, 64, 64), torch.rand(2, 64, 64)[:, ::2].repeat(1, 2, 1), torch.rand(2, 64, 64).mT
        ),
        lambda: torch.rand(3, 8, 8).cumsum(1),
        lambda: torch.rand(2, 16, 9)[:, :, :8].exp(),
    ],
)
def test_the_judge_sees_what_is_wrong(operation):
    with Judge() as judge:
        operation()
    assert judge.wrong
