"""A small study beside an audit: do images between two subjects of one class keep that class? In a folder of its own.

The sanity check of Denton et al. 2019 on the latent space that an audit moves in, and on the target's classes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from transect.analysis import findings, finished_run
from transect.analysis.sections import between
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Task
from transect.runs.folder import FinishedRun

FOLDER: Final = "interpolation"


def check(lines: int | None, targets: Sequence[Target], *, world: bool) -> None:
    """Raises BadInput where lines are asked for and there is no world to join, or no target that has classes."""
    if lines is None:
        return
    if not world:
        raise BadInput(
            "--interpolate: expected --vary, --steps or --observe beside it, whose world has latents to join, got "
            "none; give one"
        )
    if not any(has_classes(target.task) for target in targets):
        raise BadInput(
            "--interpolate: expected a target that answers with a class, got numbers or vectors; leave it out"
        )


def has_classes(task: Task | str) -> bool:
    """Whether a task says yes or no.

    >>> has_classes("detection"), has_classes("regression")
    (True, False)
    """
    return Task(task) not in (Task.REGRESSION, Task.EMBEDDING)


def sections(folder: Path) -> list[dict[str, Any]]:
    """A section per target that has classes; none where lines were not asked for, one that says so if unfinished.

    Raises CorruptedPart where a part is not as it was written, BadInput where tables do not belong together.
    """
    path = folder / FOLDER
    if not (path / "run.json").exists():
        return []
    if not _finished(FinishedRun(path)):
        return [between.unfinished()]
    run = finished_run.read(path)
    found = [findings.answers_of(run, target) for target in run.spec["targets"] if has_classes(target["task"])]
    return [between.section(replace(one, study="")) for one in found]


def _finished(run: FinishedRun) -> bool:
    """Whether every image was made and every target that has classes asked about it."""
    parts = -(-int(run.spec["design"]["subjects"]) // int(run.spec["subjects_per_part"]))
    if not run.has_all("images", parts):
        return False
    asked = [target for target in run.spec["targets"] if has_classes(target["task"])]
    return all(run.has_all(f"predictions/{finished_run.slug(target['name'])}", parts) for target in asked)
