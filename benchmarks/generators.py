"""How fast does StyleGAN2 draw, against the paper's equations taken literally in the same run, on one core?

python benchmarks/generators.py

The literal form scales a copy of every kernel for every picture (Karras et al. 2020, equations 1 and 3); ours scales
inputs and outputs. Times are of the processor. The last column is
what the reference implementation took on one core of another machine. Exit 1 where ours is
slower than the literal form by more than a twentieth.
"""

# ruff: noqa: E402 -- libraries read the number of threads when they are imported

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
from unittest import mock

import torch
from _records import FASTER, QUICK, record
from torch.nn import functional

from transect.generators.stylegan2 import network as networks
from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.network import Configuration, Network, filter_up
from transect.generators.stylegan2.reading import Weights

SIZES = {64: (16_384, None), 256: (16_384, 0.52), 1024: (32_768, 3.98)}
"""Pixels: channels at size s are this over s, at most 512; seconds of the reference."""


def literal(x, weight, styles, taps=None, demodulate=True, power=None):  # noqa: ARG001  (it takes no short cut)
    """Equations 1 and 3 as printed: a kernel for every picture, as groups of one convolution."""
    b, _, h, w = x.shape
    kernels = weight * styles[:, None, :, None, None]
    if demodulate:
        kernels = kernels * (kernels.square().sum(dim=(2, 3, 4), keepdim=True) + 1e-8).rsqrt()
    out, size = weight.shape[0], weight.shape[-1]
    if taps is not None:
        turned = kernels.transpose(1, 2).flatten(0, 1)
        made = functional.conv_transpose2d(x.reshape(1, -1, h, w), turned, stride=2, groups=b)
        return filter_up(made.view(b, out, *made.shape[2:]), taps, 1, 1)
    made = functional.conv2d(x.reshape(1, -1, h, w), kernels.flatten(0, 1), padding=size // 2, groups=b)
    return made.view(b, out, h, w)


def made(size, base):
    """A network of random weights."""
    torch.manual_seed(0)
    channels = {4 << i: min(base // (4 << i), 512) for i in range(size.bit_length() - 2)}
    return StyleGAN2(Weights(dict(Network(Configuration(512, 512, 0, 8, channels)).state_dict()), None))


def processor_seconds(function, times=3):
    """Shortest processor time of a call, after one to warm up, and what it returned."""
    result, best = function(), float("inf")
    for _ in range(times):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def main():
    """Print the table; 1 where something is slower than it should be."""
    torch.set_num_threads(1)
    print(f"{'pixels':>8}{'ours':>10}{'literal':>10}{'ratio':>8}{'difference':>12}{'reference':>11}")
    slower = False
    for size, (base, reference) in list(SIZES.items())[: 1 if QUICK else None]:
        network = made(size, base)
        w = network.map(torch.randn(1, 512, generator=torch.Generator().manual_seed(1)))
        ours, image = processor_seconds(lambda network=network, w=w: network.synthesize(w))
        with mock.patch.object(networks, "modulated_convolution", literal):
            theirs, other = processor_seconds(lambda network=network, w=w: network.synthesize(w))
        known = f"{reference:.2f} s" if reference else ""
        difference = (image - other).abs().max().item() / 2
        print(f"{size:>8}{ours:>8.2f} s{theirs:>8.2f} s{theirs / ours:>8.2f}{difference:>12.1e}{known:>11}", flush=True)
        record(f"StyleGAN2, {size} pixels", "the equations taken literally", theirs / ours, FASTER, 3)
        slower |= theirs < 0.95 * ours  # what the clock leaves open
    return int(slower and not QUICK)


if __name__ == "__main__":
    sys.exit(main())
