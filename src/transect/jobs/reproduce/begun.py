"""The mark of a rerun that has begun: only what this job began is resumed, so that nothing passes for made again."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from transect.errors import BadInput

MARK: Final = ".rerun"


def check(again: Path) -> None:
    """Raises BadInput for a folder with files that no interrupted rerun left, such as a finished run."""
    if again.is_dir() and any(again.iterdir()) and not (again / MARK).is_file():
        raise BadInput(
            f"--out {again}: expected an empty folder, or an interrupted rerun, got other files; choose another folder"
        )


def begin(again: Path) -> None:
    """Mark the folder, which is made where it is not there. Raises as `check`."""
    check(again)
    again.mkdir(parents=True, exist_ok=True)
    (again / MARK).touch()


def end(again: Path) -> None:
    """Take the mark away, once everything was made and compared."""
    (again / MARK).unlink(missing_ok=True)
