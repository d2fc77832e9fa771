"""How far does one run scale over workers, and what stops it first? Stage times, a schedule, and one and two workers.

    python benchmarks/scale.py                          # some minutes on two quiet cores
    python benchmarks/scale.py --images 4096 --repeats 7

Three questions, answered in turn:

1. What takes how long, in processor time of one core per image: rendering, asking a stock detector, the picture table
   (in a worker); receiving, compressing and writing a part (in the process of the run, the only one that writes).
2. How much faster are two workers of one core each than one? Runs in turns, and the median of the pairs: on a machine
   that does other work the clock says little. Efficiency by processor time is that of one core over that of both
   workers, less their start: what two free cores would reach.
3. What would N workers do? A simulation of the schedule (simpy) from the measured times: parts in order, at most two a
   worker begun and not yet taken, one process that stores them. Beside it the bound that needs no simulation:
   N workers, but no more than the storing process keeps up with.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from transect.designs import transect_design
from transect.engines.protocol import HERE, IN_FLIGHT, Engine, use_cores
from transect.engines.workers import Processes
from transect.experiment import study
from transect.experiment.recipes import StudyRecipe, TargetRecipe, WorldRecipe
from transect.experiment.study import MadePart, OpenedStudy, PartTask, StudyWork, facts_of
from transect.experiment.worlds import WorldSettings
from transect.runs.folder import RunFolder
from transect.targets import resolve

VARIED: Final = ("glasses=none,thick frame", "smile=0,1")
CELLS: Final = 4
TARGET: Final = "opencv:haarcascade_frontalface_default"
WORKERS: Final = (1, 2, 4, 16, 64, 256, 1024)
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds of one part: made by a worker, and stored by the process of the run. size: bytes stored."""

    made: tuple[float, ...]
    stored: float
    images: int
    size: int

    @property
    def made_mean(self) -> float:
        """Seconds that a worker takes for a part."""
        return float(np.mean(self.made))


def study_of(size: int, images: int) -> study.Study:
    """The study that is timed, with the recipe of its workers."""
    settings = WorldSettings(image_size=size)
    world, target = settings.open(), resolve(TARGET)
    design = transect_design(VARIED, world.attributes, subjects=images // CELLS)
    recipe = StudyRecipe(WorldRecipe(settings), (TargetRecipe(TARGET, {}),))
    return study.Study("scale", world, design, (target,), recipe=recipe)


def processor(work: Callable[[], object]) -> tuple[object, float]:
    """What work gives, and the processor time that it took."""
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


def stages(size: int, parts: int) -> Seconds:
    """Times of parts, on one core, in this process: first what a worker does, then what the process of the run does."""
    use_cores(1)
    one = study_of(size, parts * study.IMAGES_PER_PART)
    opened = OpenedStudy(one.world, one.design, one.targets, one.limits, None)
    warm = opened.make(PartTask(0, 1, True))
    with tempfile.TemporaryDirectory() as folder, RunFolder(folder, one.spec().to_json()) as run:
        _store(run, 0, warm)
    made, stored, written = [], [], 0
    with tempfile.TemporaryDirectory() as folder, RunFolder(folder, one.spec().to_json()) as run:
        for part in range(parts):
            span = one.subjects_of(part)
            result, seconds = processor(lambda span=span: opened.make(PartTask(span.start, span.stop, True)))
            made.append(seconds)
            sent = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
            stored.append(processor(lambda part=part, sent=sent: _store(run, part, pickle.loads(sent)))[1])
        written = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
    return Seconds(tuple(made), median(stored), len(one.subjects_of(0)) * CELLS, written // parts)


def _store(run: RunFolder, part: int, made: MadePart) -> None:
    run.write_part("images", part, made.images)
    (answers,) = made.answers
    assert answers is not None
    assert answers.rows is not None
    run.write_part("predictions/face", part, answers.rows)


@dataclass(frozen=True, slots=True)
class Run:
    """What a measured run took: seconds of the clock, and of the processor with its workers."""

    wall: float
    processor: float


def timed(size: int, images: int, engine: Engine, threads: int) -> Run:
    """A study without analysis, in a new folder."""
    use_cores(threads)
    one = study_of(size, images)
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.monotonic(), _processor()
        study.run(one, Path(folder) / "run", quiet=True, engine=engine)
        wall = time.monotonic() - began
        if isinstance(engine, Processes):
            engine.close()  # their processor time counts once they have ended
        return Run(wall, _processor() - used)


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def simulated(seconds: Seconds, workers: int, parts: int, seed: int = 0) -> float:
    """Seconds for all parts by discrete events, with part times drawn from those measured."""
    import simpy

    drawn = np.random.default_rng(seed).choice(seconds.made, parts)
    world = simpy.Environment()
    places, finished = simpy.Resource(world, workers), [world.event() for _ in range(parts)]
    room = simpy.Container(world, IN_FLIGHT * workers, init=IN_FLIGHT * workers)

    def make(part: int) -> Iterator[simpy.Event]:
        with places.request() as place:
            yield place
            yield world.timeout(float(drawn[part]))
        finished[part].succeed()

    def begin() -> Iterator[simpy.Event]:
        for part in range(parts):
            yield room.get(1)
            world.process(make(part))

    def store() -> Iterator[simpy.Event]:
        for part in range(parts):
            yield finished[part]
            yield room.put(1)
            yield world.timeout(seconds.stored)

    world.process(begin())
    world.run(world.process(store()))
    return float(world.now)


def bound(seconds: Seconds, workers: int, parts: int) -> float:
    """Seconds at best: the slower of the workers together and the process that stores."""
    return parts * max(seconds.made_mean / workers, seconds.stored)


def show_stages(size: int, seconds: Seconds) -> None:
    """The times of one size, and what a million images take."""
    made, stored = (1000 * value / seconds.images for value in (seconds.made_mean, seconds.stored))
    hours = seconds.made_mean / seconds.images * MILLION / 3600
    print(
        f"| {size} | {made:.2f} ms | {stored:.3f} ms | {seconds.made_mean / seconds.stored:.0f} | {hours:.1f} | "
        f"{seconds.size / seconds.images * MILLION / 1e9:.1f} GB |"
    )


def show_schedule(size: int, seconds: Seconds, parts: int) -> None:
    """Images a second by number of workers."""
    alone = simulated(seconds, 1, parts)
    for workers in WORKERS:
        count = max(parts, 8 * workers)
        took = simulated(seconds, workers, count)
        efficiency = alone / parts * count / took / workers
        rate = seconds.images * count / took
        print(
            f"| {size} | {workers} | {rate:,.0f} | {efficiency:.2f} | {bound(seconds, workers, count) / took:.2f} | "
            f"{1000 * MILLION / rate / 86400:,.1f} |"
        )


def starting(size: int) -> float:
    """Processor seconds that two workers take before their first part: the interpreter, PyTorch, world and model."""
    use_cores(2)
    one = study_of(size, 2 * study.IMAGES_PER_PART)
    assert one.recipe is not None
    work = StudyWork(one.recipe, one.design, one.limits, False, facts_of(one.world, one.targets, None))
    engine, used = Processes(2), _processor()
    list(engine.map(work, [PartTask(0, 1, True)] * 2))
    engine.close()
    return _processor() - used


def show_measured(size: int, images: int, repeats: int) -> None:
    """One process with one core, one with two threads, and two workers of one core each, in turns."""
    runs: dict[str, list[Run]] = {"one core": [], "two threads": [], "two workers": []}
    starts = []
    for _ in range(repeats):
        runs["one core"].append(timed(size, images, HERE, 1))
        runs["two threads"].append(timed(size, images, HERE, 2))
        runs["two workers"].append(timed(size, images, Processes(2), 2))
        starts.append(starting(size))
    for name, start in (("two threads", 0.0), ("two workers", median(starts))):
        pairs = list(zip(runs["one core"], runs[name], strict=True))
        gains = [one.wall / two.wall for one, two in pairs]
        works = [one.processor / (two.processor - start) for one, two in pairs]
        print(
            f"| {size} | {name} | {median(gains):.2f} ({min(gains):.2f} to {max(gains):.2f}) | {median(works):.2f} "
            f"({min(works):.2f} to {max(works):.2f}) | {start:.1f} s |"
        )


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=768, help="of each measured run")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--repeats", type=int, default=3, help="of the measured runs; 0 leaves them out")
    parser.add_argument("--parts", type=int, default=4, help="parts whose stages are timed")
    arguments = parser.parse_args()
    try:
        import simpy  # noqa: F401
    except ModuleNotFoundError:
        sys.exit("the simulation needs simpy: pip install simpy")
    measured = {size: stages(size, arguments.parts) for size in arguments.sizes}
    print("| pixels | a worker, per image | the storing process, per image | ratio | core hours per million | stored |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size, seconds in measured.items():
        show_stages(size, seconds)
    print("\n| pixels | workers | images a second | efficiency | bound over simulation | days for 10^9 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size, seconds in measured.items():
        show_schedule(size, seconds, 256)
    if not arguments.repeats:
        return
    print("\n| pixels | against one core | times as fast (pairs) | efficiency by processor time (pairs) | start |")
    print("| --- | --- | --- | --- | --- |")
    for size in arguments.sizes:
        show_measured(size, arguments.images, arguments.repeats)


if __name__ == "__main__":
    main()
