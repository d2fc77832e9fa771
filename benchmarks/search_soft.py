"""How many soft failures do 400 calls find? Failures of the renderer itself, where outcomes have noise.

    python benchmarks/search_soft.py [--subjects 30000] [--seeds 24] [--pool FILE.npz]

A target fails on the faces that are darkest in their middle (base rates 2.5 and 5.5 %). Six attributes are searched:
skin_tone, light_level from -4 to 0, hair_length, smile, yaw and facial_hair; the others of each subject, and the
camera's exposure, act as noise. Subjects at random points are rendered once and kept in FILE. A call is answered by the
subject nearest in skin_tone, light_level, yaw and facial_hair that the search has not used. Rates by cell come first,
then failures by strategy: mean, standard error and ratio to random points.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import MORE, record
from planted_failures import conduct
from scipy.spatial import cKDTree

from transect.designs.search import Harvest, History, Random, apart, eager
from transect.designs.search.history import stream
from transect.designs.search.phases import ConfirmedSearch
from transect.designs.search.space import space_of
from transect.experiment import worlds

VARY = ["skin_tone", "light_level=-4:0", "hair_length", "smile", "yaw=-35:35", "facial_hair"]
NEAR = [0, 1, 4, 5]
RATES = (0.025, 0.055)
BUDGET, BATCH, RENDERED, CANDIDATES = 400, 8, 50, 256
STRATEGIES = {
    "random": Random,
    "follow-ups alone": eager,
    "goal regions": lambda seed: ConfirmedSearch(seed, BUDGET),
    "goal failures": Harvest,
}


def rendered(subjects):
    """Points of the cube, and the brightness of the middle fifth of each face rendered there."""
    world = worlds.WorldSettings("faceworld", "balanced", 48, "cpu").open()
    space = space_of(world, VARY)
    points, brightness = stream(15, 2).random((subjects, len(VARY))), []
    for start in range(0, subjects, RENDERED):
        some = points[start : start + RENDERED]
        seeds = np.arange(start, start + len(some)) + (1 << 49)
        pixels = world.render(space.subjects(world, seeds, some)).pixels / 255
        low, high = int(0.4 * pixels.shape[1]), int(0.6 * pixels.shape[1])
        brightness.append(pixels[:, low:high, low:high].mean(axis=(1, 2)) @ [0.299, 0.587, 0.114])
    return points, np.concatenate(brightness)


class Pool:
    """Answers each call with a rendered subject that was not used before."""

    def __init__(self, points, failures):
        self.failures, self.tree, self.used = failures, cKDTree(points[:, NEAR]), set()

    def __call__(self, points):
        """1 for a failure, 0 for none."""
        return np.array([self._answer(point) for point in points])

    def _answer(self, point):
        nearest = self.tree.query(point[NEAR], k=CANDIDATES)[1].tolist()
        row = next(row for row in nearest if row not in self.used)
        self.used.add(row)
        return self.failures[row]


def rates(points, failures):
    """Failure rates of the darkest tenth of skin tones, and there in the dimmest quarter of the light."""
    dark = points[:, 0] > 0.9
    return failures[dark].mean(), failures[dark & (points[:, 1] < 0.25)].mean()


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--pool", type=Path, default=Path("soft-pool.npz"))
    given = parser.parse_args()
    if not given.pool.exists():
        points, brightness = rendered(given.subjects)
        np.savez(given.pool, points=points, brightness=brightness)
    pool = np.load(given.pool)
    for rate in RATES:
        failures = (pool["brightness"] <= np.quantile(pool["brightness"], rate)).astype(float)
        dark, dim = rates(pool["points"], failures)
        print(f"base rate {rate:.1%}, darkest tenth {dark:.0%}, there in dim light {dim:.0%}")
        base, answers = None, (pool["points"], failures)
        for name, strategy in STRATEGIES.items():
            histories = [
                conduct(strategy(seed), History.empty(len(VARY)), Pool(*answers), budget=BUDGET, batch=BATCH)
                for seed in range(1000, 1000 + given.seeds)
            ]
            found = np.array([history.failed.sum() for history in histories])
            far = np.mean([len(apart(history.found)) for history in histories])
            base = base or found.mean()
            error = found.std(ddof=1) / len(found) ** 0.5
            print(
                f"| {name} | {found.mean():.1f} ± {error:.1f} | {found.mean() / base:.1f}× | {far:.1f} apart |",
                flush=True,
            )
            if name != next(iter(STRATEGIES)):
                ratio = found.mean() / base if base > 0 else np.nan
                record(f"{name}, soft failures, {rate:.1%}", next(iter(STRATEGIES)), ratio, MORE, given.seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
