"""How many images are inverted a second, at equal loss? Batches and an encoder's start against one image at a time.

    python benchmarks/inversion.py [--images 16] [--steps 300] [--samples 2000] [--generator FILE.safetensors]

The peer is the loop that one would write first: for each image alone, from the mean code, all steps of Adam, with the
same generator, perceptual distance, schedule and step size; what the image looks like is computed once, as it should.
Ours are batches (the same steps, the same answers), and batches in bfloat16, from the mean and begun by the regression
encoder, that stop at the number of steps after which the median objective, computed in float32, is no higher than the
peer's. The encoder's fit is timed apart: it is done once for a generator. Without --generator a StyleGAN2 of 64 pixels
with random weights is inverted, on images of its own w+ that differ by layer. Times are of the processor, one core, so
that what else runs counts little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from transect.generators import load
from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.layouts import Weights
from transect.generators.stylegan2.network import Configuration, Network
from transect.inversion.encoder import fit_encoder
from transect.inversion.optimisation import Inverted, Search, invert
from transect.inversion.protocol import Invertible, invertible
from transect.perceptual import features
from transect.perceptual.distance import appearance_of

SHAPE = Configuration(128, 128, 0, 4, {4: 128, 8: 128, 16: 128, 32: 64, 64: 32})
PENALTY = 0.01
SHARES = (8, 12, 14, 16, 18)
"""Twentieths of the steps that are tried."""


def random_network() -> StyleGAN2:
    """Weights from seed 0; colors scaled so that images keep within 0..1."""
    torch.manual_seed(0)
    tensors = {name: value.detach() for name, value in Network(SHAPE).state_dict().items()}
    return StyleGAN2(
        Weights({name: value * (0.2 if name.endswith("torgb.weight") else 1) for name, value in tensors.items()}),
        name="random weights",
    )


def targets(generator: Invertible, count: int) -> np.ndarray:
    """Images of codes whose layers differ by a third of a spread."""
    plus, where = generator.sample("w+", count, seed=1000), generator.codes("w+")
    torch.manual_seed(1)
    with torch.no_grad():
        made = generator.show(plus + where.spread / 3 * torch.randn(plus.shape), "w+")
    return (made * 255).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).numpy()


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the seconds of processor time."""
    start = time.process_time()
    return work(), time.process_time() - start


def one_by_one(generator: Invertible, pixels: np.ndarray, search: Search, appearance: Any) -> np.ndarray:
    """Objectives at the end, of a loop over images."""
    return np.array(
        [invert(generator, pixels[i : i + 1], search, appearance, batch=1).history[0, -1] for i in range(len(pixels))]
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--samples", type=int, default=2000, help="images that the encoder is fitted on")
    parser.add_argument("--generator", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    generator = invertible(random_network() if given.generator is None else load(given.generator))
    appearance = appearance_of("features")
    pixels = targets(generator, given.images)
    search = Search("w+", PENALTY, given.steps)
    invert(generator, pixels[:1], Search("w+", PENALTY, 2), appearance, batch=1)  # to warm up
    alone, seconds = timed(lambda: one_by_one(generator, pixels, search, appearance))
    print(f"{generator.name}, {generator.image_size} pixels, {given.images} images, one core\n")
    print(f"{'':44}{'steps':>7}{'median loss':>13}{'images/s':>10}{'ratio':>7}")
    show("one by one", given.steps, alone, given.images / seconds, 1.0)
    batched, took = timed(lambda: invert(generator, pixels, search, appearance, batch=given.images))
    show("batched", given.steps, batched.history[:, -1], given.images / took, seconds / took)
    mixed = Search("w+", PENALTY, given.steps, mixed=True)
    encoder, fitting = timed(lambda: fit_encoder(generator, "w+", features.load().network, samples=given.samples))
    for name, start in (("batched, bfloat16", None), ("batched, bfloat16, begun by the encoder", encoder)):
        made, spent = fastest(generator, pixels, mixed, appearance, start, float(np.median(alone)))
        show(name, made.history_steps[-1], made.history[:, -1], given.images / spent, seconds / spent)
    print(f"\nfitting the encoder: {fitting:.1f} s, once for a generator; R2 {encoder.quality:.2f} on held-out images")


def fastest(
    generator: Invertible, pixels: np.ndarray, search: Search, appearance: Any, encoder: Any, wanted: float
) -> tuple[Inverted, float]:
    """The shortest tried search whose median objective is no higher than wanted, or the whole one, and its time."""
    for steps in (*(share * search.steps // 20 for share in SHARES), search.steps):
        asked = replace(search, steps=steps)
        found, spent = timed(
            lambda asked=asked: invert(generator, pixels, asked, appearance, encoder=encoder, batch=len(pixels))
        )
        if np.median(found.history[:, -1]) <= wanted:
            break
    return found, spent


def show(name: str, steps: int, losses: np.ndarray, rate: float, ratio: float) -> None:
    """One row."""
    print(f"{name:44}{steps:7d}{np.median(losses):13.4f}{rate:10.3f}{ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
