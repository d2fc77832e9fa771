"""How many faces are inverted a second, at equal loss? Batches against the loop that one would write first.

    python benchmarks/inversion.py [--images 16] [--steps 300] [--samples 2000] [--generator FILE.safetensors]
    python benchmarks/inversion.py --stopping [the same options]

Faces of FaceWorld that the generator was never shown (by default the reference generator that ships) are inverted into
its w+, at the penalty that `transect invert` has by default. The peer takes one face after the other: PyTorch's Adam on
its code, begun at the mean code, at the rate and schedule of StyleGAN2's projector (Karras et al. 2020, appendix D) in
spreads of w; what the face looks like is computed once, and no weight asks for a gradient. Ours are batches, batches
with the first half of the steps in bfloat16, and these begun by the regression encoder. Each stops at the smallest
tried number of steps after which the median objective, computed in float32, is no higher than the peer's, or else says
that none is. The encoder's fit is timed apart: it is done once for a generator.

With --stopping it compares searches of `transect invert` with each other instead: all steps, stopped at a plateau, and
half as many from the encoder.

Times are of the processor, one core, so that what else runs counts little; the peer runs before and after the others,
and both are shown.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from _records import FASTER, record

from transect.generators import load
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.encoder import fit_encoder
from transect.inversion.optimisation import Inverted, Search, invert
from transect.inversion.protocol import Invertible, invertible
from transect.perceptual import features
from transect.perceptual.distance import appearance_of
from transect.perceptual.features import as_tensor

FIRST_FACE = 950_000_000
PENALTY, RATE = 0.1, 0.1
SHARES = (0.5, 0.7, 1.0)
"""Of the peer's steps, those that are tried."""


def peer_pace(share: float) -> float:
    """The projector's: a linear rise over 5 %, a cosine's fall over the last 25 %."""
    return (0.5 - 0.5 * math.cos(math.pi * min(1.0, (1 - share) / 0.25))) * min(1.0, share / 0.05)


def one_alone(generator: Invertible, pixels: np.ndarray, steps: int, appearance: Any) -> float:
    """The objective at the end, of one face: equation 1 of Singh et al. 2021, with the pixels' mean square."""
    image, where = as_tensor(pixels[None]), generator.codes("w+")
    with torch.no_grad():
        wanted = appearance(image)
    code = where.mean[None].clone().requires_grad_()
    optimizer = torch.optim.Adam([code])

    def objective() -> torch.Tensor:
        made = generator.show(code, "w+")
        apart = (code - code.mean(dim=1, keepdim=True)).square().sum()
        return (appearance(made) - wanted).square().sum() + (made - image).square().mean() + PENALTY * apart

    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * where.spread * peer_pace((step + 1) / (steps + 1))
        optimizer.zero_grad()
        objective().backward()
        optimizer.step()
    with torch.no_grad():
        return objective().item()


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the seconds of processor time."""
    start = time.process_time()
    return work(), time.process_time() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--samples", type=int, default=2000, help="images that the encoder is fitted on")
    parser.add_argument("--generator", default="reference", help="reference, or a safetensors file")
    parser.add_argument("--stopping", action="store_true", help="compare where searches stop")
    given = parser.parse_args()
    torch.set_num_threads(1)
    generator = invertible(load(given.generator))
    appearance = appearance_of("features")
    world = FaceWorld(image_size=generator.image_size, threads=1)
    pixels = world.render(world.sample(FIRST_FACE + np.arange(given.images))).pixels
    one_alone(generator, pixels[0], 2, appearance)  # to warm up
    if given.stopping:
        stopping(generator, pixels, appearance, given.steps, given.samples)
        return
    losses, seconds = timed(lambda: [one_alone(generator, face, given.steps, appearance) for face in pixels])
    wanted, rate = float(np.median(losses)), given.images / seconds
    print(f"{generator.name}, {generator.image_size} pixels, {given.images} faces, one core\n")
    print(f"{'':42}{'steps':>6}{'median loss':>13}{'faces/s':>9}{'ratio':>7}")
    show("one by one", given.steps, losses, rate, 1.0)
    encoder, fitting = timed(lambda: fit_encoder(generator, "w+", features.load().network, samples=given.samples))
    full, mixed = (Search("w+", PENALTY, given.steps, mixed=mixed) for mixed in (False, True))
    for name, search, start in (
        ("batched", full, None),
        ("batched, half in bfloat16", mixed, None),
        ("batched, half in bfloat16, encoder's start", mixed, encoder),
    ):
        made, spent = fastest(generator, pixels, search, appearance, start, wanted)
        reached = made.history[:, -1]
        show(name, made.history_steps[-1], reached, given.images / spent, given.images / spent / rate)
        equal = float(np.median(reached)) <= wanted
        record(f"inversion, {name}", "one by one", given.images / spent / rate if equal else math.nan, FASTER, 1)
        if not equal:
            print("    its loss is higher: no equal")
    _, again = timed(lambda: one_alone(generator, pixels[0], given.steps, appearance))
    print(f"\none by one, the first face again: {1 / again:.3f} a second")
    r2 = encoder.fitted.quality
    print(f"fitting the encoder: {fitting:.1f} s, once for a generator; R2 {r2:.2f} on held-out images")


def stopping(generator: Invertible, pixels: np.ndarray, appearance: Any, steps: int, samples: int) -> None:
    """Where searches stop, and what they reach there."""
    encoder, fitting = timed(lambda: fit_encoder(generator, "w+", features.load().network, samples=samples))
    r2 = encoder.fitted.quality
    print(f"fitting the encoder on {samples} images: {fitting:.1f} s, R2 {r2:.2f} on held-out images")
    print(f"{'':38}{'steps':>6}{'slowest':>9}{'median loss':>13}{'mean loss':>11}{'seconds':>9}")
    for name, start, most, plateau in (
        ("mean code, all steps", None, steps, 0.0),
        ("mean code, to a plateau", None, steps, 0.01),
        ("encoder, half of the steps, to a plateau", encoder, steps // 2, 0.01),
    ):
        search = Search("w+", PENALTY, most, plateau=plateau)
        made, spent = timed(
            lambda search=search, start=start: invert(
                generator, pixels, search, appearance, encoder=start, batch=len(pixels)
            )
        )
        reached, taken = made.history[:, -1], made.steps
        print(
            f"{name:42}{taken.mean():6.0f}{taken.max():9d}{np.median(reached):13.4f}{reached.mean():11.4f}{spent:9.1f}",
            flush=True,
        )


def fastest(
    generator: Invertible, pixels: np.ndarray, search: Search, appearance: Any, encoder: Any, wanted: float
) -> tuple[Inverted, float]:
    """The shortest tried search whose median objective is no higher than wanted, or the whole one, and its time."""
    for share in SHARES:
        asked = replace(search, steps=round(share * search.steps))
        found, spent = timed(
            lambda asked=asked: invert(generator, pixels, asked, appearance, encoder=encoder, batch=len(pixels))
        )
        if np.median(found.history[:, -1]) <= wanted:
            break
    return found, spent


def show(name: str, steps: int, losses: Any, rate: float, ratio: float) -> None:
    """One row."""
    print(f"{name:42}{steps:6d}{np.median(losses):13.4f}{rate:9.3f}{ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
