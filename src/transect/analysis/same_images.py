"""Which finished runs showed the same images, so that models can be compared on them?"""

from __future__ import annotations

from pathlib import Path

from transect.analysis import finished_run
from transect.analysis.finished_run import Run
from transect.runs.places import runs_of


def runs_in(folder: Path) -> list[Run]:
    """The finished runs of a folder. Raises CorruptedPart or BadInput (no run, or not finished)."""
    return [finished_run.read(path) for path in runs_of(folder)]


def same_images(run: Run, other: Run) -> bool:
    """Whether two runs showed the same images: one generator, one design, the same ids."""
    same = (run.spec.generator, run.design) == (other.spec.generator, other.design)
    return same and run.images["id"].to_pylist() == other.images["id"].to_pylist()
