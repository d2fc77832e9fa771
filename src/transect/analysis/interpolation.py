"""From a finished interpolation check to the section on the target's answers between subjects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from transect.analysis import findings, finished_run
from transect.analysis.sections import between
from transect.experiment.interpolation import has_classes
from transect.reports.records import Section
from transect.runs.folder import FinishedRun
from transect.runs.places import INTERPOLATION


def sections(folder: Path) -> list[Section]:
    """A section per target that has classes; none without the check, one that states it where it is unfinished."""
    path = folder / INTERPOLATION
    if not (path / "run.json").exists():
        return []
    if not _finished(FinishedRun(path)):
        return [between.unfinished()]
    run = finished_run.read(path)
    targets = [target for target in run.spec.targets if has_classes(target.task)]
    return [between.section(replace(findings.answers_of(run, target), study="")) for target in targets]


def _finished(run: FinishedRun) -> bool:
    """Whether every image and every prediction of a target that has classes is there."""
    targets = [target for target in run.spec.targets if has_classes(target.task)]
    tables = ["images", *(table for target in targets for table in target.tables)]
    return all(run.has_all(table, run.spec.parts) for table in tables)
