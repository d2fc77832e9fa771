"""Does an audit of 100,000 images stay within its memory, and are its page and its resumption quick?

python benchmarks/large_run.py --images 100000    # about 25 minutes on two cores
python benchmarks/large_run.py                    # 5,000 images: a first impression

The command `transect audit` asks a function about images of 64 pixels, four of each subject, and writes its page. Each
command runs in a process of its own, whose largest memory the operating system states. The peer is the same audit with
a tenth of the images: memory that stays flat is no larger with ten times as many. `transect report` then writes the
page alone. The audit is run again with nothing left to do, and once more after the last answers were deleted: what
these take beyond the report is what resuming costs, in processor time: on a machine that does other work it says more
than the clock.

Exit 1 where a mark is missed: 1.5 GB of memory, a page of 5 MB written in 20 s, 2 % of the run's time to resume.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CELLS = 4
SIZE = 64
MEMORY, PAGE, SECONDS, SHARE = 1.5e9, 5e6, 20.0, 0.02
"""The marks: bytes of memory, bytes of the page, seconds that writing it takes, share of the run's time to resume."""


def bright(pixels: np.ndarray) -> np.ndarray:
    """The target: a yes for a bright lower half, whoever is shown."""
    return np.asarray(pixels[:, SIZE // 2 :].mean(axis=(1, 2, 3)) / 255)


@dataclass(frozen=True, slots=True)
class Used:
    """What a command took: seconds of the clock and of the processor, the largest memory of its process in bytes."""

    seconds: float
    processor: float
    memory: int


def used(*arguments: str) -> Used:
    """Run a command of Transect in a process of its own."""
    here = Path(__file__)
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), os.environ.get("PYTHONPATH", "")])}
    began = time.monotonic()
    child = subprocess.Popen([sys.executable, "-m", "transect", *arguments], env=paths, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"transect {' '.join(arguments)}: exit code {child.returncode}")
    return Used(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def audit(folder: Path, images: int) -> Used:
    """The audit, from its start to its page, or what it takes to resume one."""
    varied = ["--vary", "smile=0,1", "--vary", "glasses=none,thick frame"]
    asked = [f"{Path(__file__).stem}:bright", "--name", "bright", "--task", "binary", "--truth", "smile>0.5"]
    counted = ["--subjects", str(images // CELLS), "--size", str(SIZE), "--no-control"]
    return used("audit", *asked, *varied, *counted, "--out", str(folder))


def without_last(folder: Path) -> None:
    """Delete the last part of the answers, as a kill leaves a run."""
    sorted((folder / "predictions" / "bright").glob("part-*.parquet"))[-1].unlink()


def main() -> int:
    """Print the table; 1 where a mark is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=5000, help="images of the audit")
    images = parser.parse_args().images
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "large"
        peer, whole = audit(Path(scratch) / "small", images // 10), audit(folder, images)
        print(f"{images} images of {SIZE} pixels: {whole.seconds:.0f} s, {images / whole.seconds:.0f} images a second")
        written = used("report", str(folder))
        again = audit(folder, images)
        without_last(folder)
        resumed = audit(folder, images)
        page = (folder / "report.html").stat().st_size
    memory = max(whole.memory, written.memory, again.memory)
    print(f"memory: audit {whole.memory / 1e6:.0f} MB, report {written.memory / 1e6:.0f} MB, ", end="")
    print(f"again {again.memory / 1e6:.0f} MB; audit of {images // 10} images {peer.memory / 1e6:.0f} MB, ", end="")
    print(f"ratio {whole.memory / peer.memory:.2f}")
    print(f"page: {page / 1e6:.2f} MB, written in {written.seconds:.1f} s, {written.processor:.1f} s of the processor")
    waits = {"nothing": again.processor - written.processor, "one part": resumed.processor - written.processor}
    for what, seconds in waits.items():
        share = 100 * seconds / whole.processor
        print(f"resumed with {what} left: {seconds:.1f} s beyond the report, {share:.2f} % of the run")
    slow = max(waits.values()) > SHARE * whole.processor
    return int(memory > MEMORY or page > PAGE or written.seconds > SECONDS or slow)


if __name__ == "__main__":
    sys.exit(main())
