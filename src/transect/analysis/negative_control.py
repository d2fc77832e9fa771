"""The negative control beside a finished run."""

from __future__ import annotations

from pathlib import Path

from transect.analysis.findings import Findings, analyse
from transect.errors import BadInput
from transect.experiment.negative_control import FOLDER


def finished(run: Path) -> Findings | None:
    """What the negative control beside a run says; None where there is none, or it was not finished.

    Raises CorruptedPart where a part of it is not as it was written.
    """
    folder = run / FOLDER
    try:
        return analyse(folder) if (folder / "run.json").exists() else None
    except BadInput:
        return None


def unfinished(run: Path) -> list[str]:
    """What the report says where a negative control was begun and not finished."""
    begun = (run / FOLDER / "run.json").exists()
    return [f"The negative control in {run.name}/{FOLDER} was not finished."] if begun and not finished(run) else []
