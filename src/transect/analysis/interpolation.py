"""From the finished lines between subjects to the section on what the target says along them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from transect.analysis import findings, finished_run
from transect.analysis.sections import between
from transect.experiment.interpolation import FOLDER, has_classes
from transect.report.records import Section
from transect.runs.folder import FinishedRun, slug


def sections(folder: Path) -> list[Section]:
    """A section per target that has classes; none where lines were not asked for, one that says so if unfinished.

    Raises CorruptedPart where a part is not as it was written, BadInput where tables do not belong together.
    """
    path = folder / FOLDER
    if not (path / "run.json").exists():
        return []
    if not _finished(FinishedRun(path)):
        return [between.unfinished()]
    run = finished_run.read(path)
    found = [findings.answers_of(run, target) for target in run.spec.targets if has_classes(target.task)]
    return [between.section(replace(one, study="")) for one in found]


def _finished(run: FinishedRun) -> bool:
    """Whether every image was made and every target that has classes asked about it."""
    parts, targets = run.spec.parts, [target for target in run.spec.targets if has_classes(target.task)]
    return all(run.has_all(table, parts) for table in ["images", *[f"predictions/{slug(t.name)}" for t in targets]])
