"""The negative control of a finished run."""

from __future__ import annotations

from pathlib import Path

from transect.analysis import finished_run
from transect.analysis.findings import Findings, analyse
from transect.errors import BadInput
from transect.runs.places import CONTROL


def read(run: Path) -> tuple[Findings | None, list[str]]:
    """The findings of a run's negative control, which shows no pictures, and a note where it is unfinished."""
    folder = run / CONTROL
    if not (folder / "run.json").exists():
        return None, []
    try:
        return analyse(finished_run.read(folder), pictured=False), []
    except BadInput:
        return None, [f"The negative control in {run.name}/{CONTROL} was not finished."]
