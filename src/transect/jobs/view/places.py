"""Where the runs are that a folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from transect.errors import BadInput, TransectError
from transect.runs.folder import FinishedRun
from transect.runs.places import STUDIES, beside
from transect.texts import one_line

_PLACES: Final = ("", f"{STUDIES}/*/", "*/", f"*/{STUDIES}/*/")
"""Where run.json may lie: a run, its studies, a folder of runs, and their studies."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """The runs of a folder by name, and why others are not shown, by name."""

    runs: Mapping[str, FinishedRun]
    left_out: Mapping[str, str]


def runs_at(folder: Path) -> Place:
    """The runs in a folder: the folder itself, its studies, or the runs and studies of the folders in it.

    The negative control and the interpolation beside a run are shown where their own folder is named. A run that has no
    images yet, or is of another job, is left out with its reason.
    """
    found: dict[str, FinishedRun] = {}
    left_out: dict[str, str] = {}
    held = {record.parent for place in _PLACES for record in folder.glob(f"{place}run.json")}
    for path in sorted(held.difference(beside(folder))):
        name = _name(folder, path)
        try:
            found[name] = _with_images(path)
        except TransectError as error:
            left_out[name] = str(error)
    if not found:
        said = "".join(f" ({name}: {reason})" for name, reason in list(left_out.items())[:3])
        raise BadInput(
            f"{folder}: expected a run folder, a folder of studies, or a folder that holds some, found none with "
            f"images{said}; name the --out of an audit"
        )
    return Place(found, left_out)


def _with_images(path: Path) -> FinishedRun:
    run = FinishedRun(path)
    if not run.finished_parts("images", run.spec.parts):
        raise BadInput("it has no finished image yet; look again later")
    return run


def _name(folder: Path, run: Path) -> str:
    """What a run is called on the page: the folders that lead to it, without `studies`."""
    parts = [part for part in run.relative_to(folder).parts if part != STUDIES]
    return one_line("/".join(parts) or folder.resolve().name)
