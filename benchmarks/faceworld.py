"""How many faces per second, and how near are they to the scene? FaceWorld at 64 to 512 pixels.

    python benchmarks/faceworld.py [--images 96] [--prototype PATH] [--subjects 200] [--device cuda]

Speed: images per second of processor time on one core, and of wall time with one worker and with two, with their ratio.
`--prototype` names a Python file with `sample(n, seed)` and `render(parameters, S, seed, ss)`, an earlier renderer: it
is timed in turns with FaceWorld, on one core at 2 x 2 supersampling in batches of four. The best of several repeats
counts: what else runs on the machine only takes time away.

Error: FaceWorld computes one sample a pixel. The mean absolute difference, in 8-bit sRGB levels, to the same scene
rendered four times as wide and high, averaged over 4 x 4 pixels in linear light, then seen by the same camera without
blur and JPEG; once without sensor noise and once with the same noise in both.

GPU: images per second by batch on `--device`, and how many values lie within 1/255 of the CPU's.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from _records import FASTER, record
from torch.nn import functional

from transect.errors import BadInput
from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.camera import expose
from transect.generators.faceworld.canvas import canvas_of
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.renderer import Tile, draw_noise, radiance
from transect.generators.faceworld.world import FaceWorld

SIZES = (64, 96, 128)
FEWER = {64: 1, 96: 1, 128: 1, 256: 8, 512: 24}
"""Sizes whose error is measured, and by what the number of subjects is divided there."""
REPEATS = 7
TILE = 4
FIRST_SEED = 9000
BATCHES = (64, 256, 1024, 4096)


def rates(
    renders: Mapping[str, tuple[Callable[[], object], int]], clock: Callable[[], float], repeats: int = REPEATS
) -> dict[str, float]:
    """Images per second of each (render, images), in turns, the best of the repeats after one to warm up."""
    best = dict.fromkeys(renders, float("inf"))
    for render, _ in renders.values():
        render()
    for _ in range(repeats):
        for name, (render, _) in renders.items():
            start = clock()
            render()
            best[name] = min(best[name], clock() - start)
    return {name: images / best[name] for name, (_, images) in renders.items()}


def speed(size: int, images: int, earlier: ModuleType | None) -> dict[str, float]:
    """Images per second: of processor time (faceworld, prototype) and of wall time (one and two workers)."""
    world, two = FaceWorld(size, threads=1), FaceWorld(size, threads=2)
    latents = world.sample(range(images))
    renders: dict[str, tuple[Callable[[], object], int]] = {"faceworld": (lambda: world.render(latents), images)}
    if earlier:
        drawn = earlier.sample(TILE, seed=0)
        renders["prototype"] = (lambda: earlier.render(drawn, S=size, seed=0, ss=2), TILE)
    workers = {"one": (lambda: world.render(latents), images), "two": (lambda: two.render(latents), images)}
    return rates(renders, time.process_time) | rates(workers, time.perf_counter)


def errors(size: int, subjects: int) -> tuple[float, float]:
    """Mean absolute difference to 4 x 4 supersampling, in levels of 255: without noise, and with the same noise."""
    world = FaceWorld(size, threads=1)
    latents = world.sample(range(FIRST_SEED, FIRST_SEED + subjects))
    p = parameters(world.model.solve(latents), latents.values[:, : len(IDENTITY)])
    found = []
    with torch.inference_mode():
        tile_of = TILE if size <= 128 else 1  # the fine picture of a large one fills the memory
        for start in range(0, subjects, tile_of):
            rows = slice(start, min(start + tile_of, subjects))
            seeds = [int(seed) for seed in latents.seeds[rows]]
            tile, fine = (Tile(p.take(rows), seeds, canvas_of(width)) for width in (size, 4 * size))
            averaged = functional.avg_pool2d(scene(fine), 4)
            found.append([apart(scene(tile), averaged, tile, noise) for noise in (0.0, 1.0)])
    quiet, noisy = np.concatenate(found, axis=1).mean(axis=1)
    return float(quiet), float(noisy)


def scene(tile: Tile) -> torch.Tensor:
    """Light [b, 3, size, size] of the scene, before the camera."""
    size = tile.canvas.size
    return radiance(tile).clamp_(min=0)[:, :, :size, :size].contiguous()


def apart(light: torch.Tensor, other: torch.Tensor, tile: Tile, noise: float) -> np.ndarray:
    """Mean absolute difference of each picture, as the camera takes them with that much of the subject's noise."""
    size = tile.canvas.size
    field = noise * draw_noise(tile)[:, :, :size, :size]
    one, two = (expose(image, tile.p, field).to(torch.float32) for image in (light, other))
    return (one - two).abs().mean(dim=(1, 2, 3)).numpy()


def on_gpu(size: int, device: str) -> tuple[dict[int, float], float]:
    """Images per second by batch, and the share of values before JPEG that lie within 1/255 of the CPU's."""
    cpu, gpu = FaceWorld(size), FaceWorld(size, device=device)
    latents = {batch: gpu.sample(range(batch)) for batch in BATCHES}
    renders = {str(batch): (lambda batch=batch: gpu.render(latents[batch]), batch) for batch in BATCHES}
    found = rates(renders, time.perf_counter, repeats=2)
    few = cpu.set(latents[BATCHES[0]], {"jpeg_quality": 100.0})
    near = np.abs(cpu.render(few).pixels.astype(int) - gpu.render(few).pixels) <= 1
    return {int(batch): rate for batch, rate in found.items()}, float(near.mean())


def load(path: Path) -> ModuleType:
    """The module in that file."""
    spec = importlib.util.spec_from_file_location("prototype", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: expected a Python file; give another --prototype")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=96, help="images of a batch")
    parser.add_argument("--prototype", type=Path, help="a renderer to compare with")
    parser.add_argument("--subjects", type=int, default=200, help="subjects of the error, 0 for none")
    parser.add_argument("--device", default="cuda", help="the GPU, if there is one")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    earlier = load(arguments.prototype) if arguments.prototype else None
    print("images per second: of one core's processor time, and with one and two workers of wall time")
    print(
        f"{'pixels':>8} {'one core':>10} {'prototype':>10} {'ratio':>7} {'one':>8} {'two':>8} {'scaling':>8}",
        flush=True,
    )
    for size in SIZES:
        rate = {"prototype": float("nan")} | speed(size, arguments.images, earlier)
        print(
            f"{size:>8} {rate['faceworld']:>10.1f} {rate['prototype']:>10.1f}"
            f" {rate['faceworld'] / rate['prototype']:>7.1f} {rate['one']:>8.1f} {rate['two']:>8.1f}"
            f" {rate['two'] / rate['one']:>8.2f}",
            flush=True,
        )
        record(f"FaceWorld, {size} pixels, two workers", "one worker", rate["two"] / rate["one"], FASTER, REPEATS)
        if earlier:
            ratio = rate["faceworld"] / rate["prototype"]
            record(f"FaceWorld, {size} pixels, one core", "an earlier renderer", ratio, FASTER, REPEATS)
    if arguments.subjects:
        print("\nmean absolute error against 4 x 4 supersampling, of 255 levels")
        print(f"{'pixels':>8} {'subjects':>9} {'scene':>8} {'with the same noise':>20}", flush=True)
        for size, fewer in FEWER.items():
            subjects = max(arguments.subjects // fewer, 1)
            quiet, noisy = errors(size, subjects)
            print(f"{size:>8} {subjects:>9} {quiet:>8.2f} {noisy:>20.2f}", flush=True)
    report_gpu(arguments.device)


def report_gpu(device: str) -> None:
    """Print the GPU's table, or why there is none."""
    try:
        FaceWorld(SIZES[0], device=device)
    except BadInput as error:
        print(f"\nno GPU measured: {error}")
        return
    print(f"\nimages per second on {device}, by images of a batch, and values within 1/255 of the CPU's")
    for size in SIZES:
        found, near = on_gpu(size, device)
        shown = ", ".join(f"{batch}: {rate:.0f}" for batch, rate in found.items())
        print(f"{size:>8} best {max(found.values()):.0f} ({shown}), {near:.2%}", flush=True)


if __name__ == "__main__":
    main()
