"""Proposes how often and how much each population's pictures are blurred, so that they are as sharp as photographs.

python -m validation.sharpness [--subjects 150] [--populations balanced celebrity-like …]: prints quantiles of sharpness
of each population as it is, beside those of 3,547 portraits (see light_by_attribute.py), and the marginal of `blur`
under which they would be nearest. Subjects are rendered at several blurs; what lies between is interpolated.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping

import numpy as np

from transect.generators.faceworld.population import SHIPPED
from transect.generators.faceworld.world import FaceWorld
from validation.light_by_attribute import QUANTILES, photograph_sharpness, sharpness, sharpness_averaged

FIRST_SEED = 21_000_000
BLURS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""% of the width, as `blur` is set."""
SHARES = np.arange(0, 1.01, 0.1)
GREATEST = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
"""What is tried: shares of blurred pictures, and their greatest blurs; the least is 0."""
COLUMNS = ("at_256px", "at_128px")
_BATCH = 25


def measure(pixels: np.ndarray) -> np.ndarray:
    """Sharpness of each picture of 256 pixels, as it is and averaged to 128: float64 [n, 2]."""
    return np.array([(sharpness(picture), sharpness_averaged(picture)) for picture in pixels])


def measured(population: str, subjects: int) -> tuple[np.ndarray, np.ndarray]:
    """Sharpness with the population's own blur [n, 2], and at each of BLURS [blurs, n, 2]."""
    world, own, at_blurs = FaceWorld(256, population, threads=1), [], []
    for start in range(0, subjects, _BATCH):
        latents = world.sample(FIRST_SEED + np.arange(start, min(start + _BATCH, subjects)))
        own.append(measure(world.render(latents).pixels))
        at_blurs.append([measure(world.render(world.set(latents, {"blur": blur})).pixels) for blur in BLURS])
    return np.concatenate(own), np.concatenate([np.array(part) for part in at_blurs], axis=1)


def blurred(at_blurs: np.ndarray, share: float, high: float) -> np.ndarray:
    """Sharpness [n, 2] if a share of the subjects had blurs evenly between 0 and high and all others none."""
    n = at_blurs.shape[1]
    # Each subject's rank among the blurs: evenly spread, and unrelated to its place.
    rank = np.random.Generator(np.random.Philox(key=n)).permutation((np.arange(n) + 0.5) / n)
    inner = (rank - (1 - share)) / max(share, 1e-9)
    blur = high * np.clip(inner, 0, None)
    above = np.clip(np.searchsorted(BLURS, blur, side="right"), 1, len(BLURS) - 1)
    left, right = np.take(BLURS, above - 1), np.take(BLURS, above)
    part = ((blur - left) / (right - left))[:, None]
    logs = np.log(at_blurs)
    each = np.arange(n)
    return np.exp((1 - part) * logs[above - 1, each] + part * logs[above, each])


def distance(values: np.ndarray, wanted: np.ndarray) -> float:
    """Root of the mean squared difference of logarithms of quantiles; values [n, 2], wanted [2, quantiles]."""
    found = np.quantile(values, QUANTILES, axis=0).T
    return float(np.sqrt((np.log(found / wanted) ** 2).mean()))


def proposal(at_blurs: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Share and greatest blur of the marginal whose quantiles are nearest to those wanted."""
    tried = itertools.product(SHARES, GREATEST)
    return min(tried, key=lambda marginal: distance(blurred(at_blurs, *marginal), wanted))


def _print(words: str, values: np.ndarray, wanted: np.ndarray) -> None:
    found = np.quantile(values, QUANTILES, axis=0).T
    rows = "  ".join(" ".join(f"{value:.3f}" for value in row) for row in found)
    print(f"  {words:28} {rows}  distance {distance(values, wanted):.3f}")


def main(subjects: int, populations: tuple[str, ...], photographs: Mapping[str, np.ndarray]) -> None:
    """Measures and prints."""
    wanted = np.array([photographs[column] for column in COLUMNS])
    print(f"quantiles {QUANTILES} at 256 pixels, then averaged to 128")
    print("  photographs" + " " * 18 + "  ".join(" ".join(f"{value:.3f}" for value in row) for row in wanted))
    for population in populations:
        own, at_blurs = measured(population, subjects)
        share, high = proposal(at_blurs, wanted)
        print(population)
        _print("as it is", own, wanted)
        _print("without blur", at_blurs[0], wanted)
        _print("as proposed", blurred(at_blurs, share, high), wanted)
        print(
            f'  blur = {{ distribution = "sometimes", share = {share:.1f}, low = 0, high = {high:g} }}',
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", type=int, default=150)
    parser.add_argument("--populations", nargs="+", default=list(SHIPPED))
    given = parser.parse_args()
    main(given.subjects, tuple(given.populations), photograph_sharpness())
