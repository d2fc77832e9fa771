"""What does an audit take beyond its generator and its target? Ratios of time to both of them alone.

    python benchmarks/audit.py [--images 6000] [--sizes 64 128] [--repeats 3]

Alone: subjects are sampled, rendered and shown to a function that averages pixels, in parts as an audit makes them, and
nothing is kept. Audit: the command `transect audit` with the same design and function in a process of its own;
the whole is from start to finished page. Rendering and asking is the same study without its analysis, in this process.
The three run in turns, and medians count. Processor time is of all threads; on a machine that does other work it says
more than wall time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median

import numpy as np
from _records import LONGER, record

from transect.designs import transect_design, transect_latents
from transect.experiment import study
from transect.generators.faceworld.world import FaceWorld
from transect.targets import as_target

VARIED = ("glasses=none,thick frame", "smile=0,1")
CELLS = 4
IMAGES_PER_PART = 256


def brightness(pixels: np.ndarray) -> np.ndarray:
    """The target: the mean of all values."""
    return np.asarray(pixels.mean(axis=(1, 2, 3)) / 255)


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds of the clock, and of the processor."""

    wall: float
    processor: float


def alone(size: int, subjects: int) -> Seconds:
    """Generator and target, and nothing else."""
    world = FaceWorld(size)
    design = transect_design(VARIED, world.attributes, subjects=subjects)
    world.render(world.sample([0]))
    began, processor = time.monotonic(), time.process_time()
    step = IMAGES_PER_PART // CELLS
    for start in range(0, subjects, step):
        seeds = design.subject_seeds(start, min(start + step, subjects))
        brightness(world.render(transect_latents(design, world.sample(seeds), world)).pixels)
    return Seconds(time.monotonic() - began, time.process_time() - processor)


def rendering(size: int, subjects: int, folder: Path) -> Seconds:
    """Rendering and asking as the command does it, without analysis."""
    world = FaceWorld(size)
    design = transect_design(VARIED, world.attributes, subjects=subjects)
    world.render(world.sample([0]))
    target = as_target(brightness, task="regression", name="brightness")
    began, processor = time.monotonic(), time.process_time()
    study.run(study.Study("audit", world, design, (target,)), folder, quiet=True)
    return Seconds(time.monotonic() - began, time.process_time() - processor)


def audit(size: int, subjects: int, folder: Path) -> Seconds:
    """The command, from start to page."""
    here = Path(__file__)
    varied = [word for text in VARIED for word in ("--vary", text)]
    command = [sys.executable, "-m", "transect", "audit", f"{here.stem}:brightness", "--task", "regression", *varied]
    command += ["--subjects", str(subjects), "--size", str(size), "--no-control", "--out", str(folder)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), os.environ.get("PYTHONPATH", "")])}
    before, began = _children(), time.monotonic()
    subprocess.run(command, env=paths, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Seconds(time.monotonic() - began, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(size: int, subjects: int, repeats: int) -> tuple[Seconds, Seconds, Seconds]:
    """Medians of generator and target alone, of rendering and asking, and of the whole audit, in turns."""
    runs: list[tuple[Seconds, Seconds, Seconds]] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            times = rendering(size, subjects, place / "part"), audit(size, subjects, place / "whole")
            runs.append((alone(size, subjects), *times))
            print(f"{size} px: {runs[-1]}", file=sys.stderr, flush=True)
    peer, part, whole = (
        Seconds(*map(median, zip(*map(astuple, column), strict=True))) for column in zip(*runs, strict=True)
    )
    return peer, part, whole


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=6000, help="images of the audit")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128], help="widths of the images, in pixels")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind, in turns")
    arguments = parser.parse_args()
    subjects = max(1, arguments.images // CELLS)
    print(f"{subjects * CELLS} images; times of generator and target alone, and the others as multiples of them")
    print(f"{'pixels':>8} {'time':>10} {'alone, s':>9} {'rendering and asking':>22} {'whole command':>15}")
    for size in arguments.sizes:
        peer, part, whole = measure(size, subjects, arguments.repeats)
        for kind in ("processor", "wall"):
            own = getattr(peer, kind)
            ratios = f"{getattr(part, kind) / own:>22.2f} {getattr(whole, kind) / own:>15.2f}"
            print(f"{size:>8} {kind:>10} {own:>9.1f} {ratios}", flush=True)
            for what, taken in (("rendering and asking", part), ("whole command", whole)):
                name = f"{what}, {size} pixels, {kind} time"
                record(name, "generator and target alone", getattr(taken, kind) / own, LONGER, arguments.repeats)


if __name__ == "__main__":
    main()
