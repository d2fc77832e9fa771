"""How many faces per second? FaceWorld at 64 to 256 pixels, six cells of each subject.

    python benchmarks/faceworld.py [--subjects 16]

Images per second of one core's processor time, and of wall time with one worker and with two, with their ratio. The
cells of a subject differ in a smile or in glasses and share the rest. The best of several repeats counts: what else
runs on the machine only takes time away.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

from _records import FASTER, record

from transect.generators.faceworld.world import FaceWorld
from transect.records import Latents

SIZES = (64, 128, 256)
REPEATS = 7
FIRST_SEED = 9000
CELLS = 6


def rates(
    renders: Mapping[str, Callable[[], object]], images: int, clock: Callable[[], float], repeats: int = REPEATS
) -> dict[str, float]:
    """Images per second of each render, in turns, the best of the repeats after one to warm up."""
    best = dict.fromkeys(renders, float("inf"))
    for render in renders.values():
        render()
    for _ in range(repeats):
        for name, render in renders.items():
            start = clock()
            render()
            best[name] = min(best[name], clock() - start)
    return {name: images / seconds for name, seconds in best.items()}


def cells(world: FaceWorld, subjects: int) -> Latents:
    """Three smiles and three kinds of glasses of each subject, next to each other."""
    rows = world.sample([FIRST_SEED + number // CELLS for number in range(CELLS * subjects)])
    smiles, glasses = [0.0, 0.5, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]
    return world.set(rows, {"smile": smiles * subjects, "glasses": glasses * subjects})


def speed(size: int, subjects: int) -> dict[str, float]:
    """Images per second: of processor time (core) and of wall time (one and two workers)."""
    one, two = FaceWorld(size, threads=1), FaceWorld(size, threads=2)
    latents = cells(one, subjects)
    workers = {"one": lambda: one.render(latents), "two": lambda: two.render(latents)}
    core = rates({"core": workers["one"]}, len(latents), time.process_time)
    return core | rates(workers, len(latents), time.perf_counter)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", type=int, default=16, help="subjects of a batch, six pictures each")
    arguments = parser.parse_args()
    print("images per second: of one core's processor time, and with one and two workers of wall time")
    print(f"{'pixels':>8} {'one core':>10} {'one':>8} {'two':>8} {'scaling':>8}", flush=True)
    for size in SIZES:
        rate = speed(size, arguments.subjects)
        scaling = rate["two"] / rate["one"]
        print(f"{size:>8} {rate['core']:>10.1f} {rate['one']:>8.1f} {rate['two']:>8.1f} {scaling:>8.2f}", flush=True)
        record(f"FaceWorld, {size} pixels, two workers", "one worker", scaling, FASTER, REPEATS)


if __name__ == "__main__":
    main()
