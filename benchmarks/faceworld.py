"""How many faces per second? FaceWorld on one core at 64, 96 and 128 px, and on two.

    python benchmarks/faceworld.py [--images 60] [--prototype PATH]

`--prototype` names a Python file with `sample(n, seed)` and `render(parameters, S, seed, ss)`, an earlier renderer: it
is timed in the same run at 2 x 2 supersampling, on one core, in batches of four.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch

from transect.generators.faceworld.world import FaceWorld

SIZES = (64, 96, 128)
REPEATS = 3


def images_per_second(render: Callable[[], object], images: int) -> float:
    """The best of a few repeats, after one to warm up."""
    render()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        render()
        seconds.append(time.perf_counter() - start)
    return images / min(seconds)


def faceworld(size: int, images: int, threads: int) -> float:
    """Images per second of FaceWorld."""
    world = FaceWorld(image_size=size, threads=threads)
    latents = world.sample(range(images))
    return images_per_second(lambda: world.render(latents), images)


def prototype(module: ModuleType, size: int, batch: int = 4) -> float:
    """Images per second of the earlier renderer at 2 x 2 supersampling."""
    parameters = module.sample(batch, seed=0)
    return images_per_second(lambda: module.render(parameters, S=size, seed=0, ss=2), batch)


def load(path: Path) -> ModuleType:
    """The module in that file."""
    spec = importlib.util.spec_from_file_location("prototype", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: expected a Python file; give another --prototype")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--prototype", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    earlier = load(arguments.prototype) if arguments.prototype else None
    print(f"{'pixels':>8} {'one core':>10} {'two':>8} {'prototype':>10} {'ratio':>7}   images per second")
    for size in SIZES:
        one, two = faceworld(size, arguments.images, 1), faceworld(size, arguments.images, 2)
        old = prototype(earlier, size) if earlier else float("nan")
        print(f"{size:>8} {one:>10.1f} {two:>8.1f} {old:>10.1f} {one / old:>7.1f}")


if __name__ == "__main__":
    main()
