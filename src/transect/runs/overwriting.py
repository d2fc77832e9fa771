"""Making room in a folder for a run with other settings: `--overwrite`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from transect.errors import RunFolderError
from transect.runs.folder import disk_errors, read_spec
from transect.runs.locks import STUDIES, lock_folder, refuse_links, refuse_links_in

_FOLDERS: Final = (
    *("images", "predictions", "edits", "edit_reference", "calls", "call_counts", "canaries", ".digests"),
    *("negative-control", "interpolation"),
)
_FILES: Final = (
    *("run.json", "log.jsonl", "results.json", "effects.parquet", "report.html", "checks.json"),
    *("bins.json", "covariates.json", "error_conditions.json", "boundary.json", "margins.json"),
)
_OF_PEOPLE: Final = (
    *("ratings.parquet", "perceived.parquet", "pruning.json", "reference.json", "required_validation.json"),
)


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, or the runs of several studies."""
    return (folder / "run.json").is_file() or any((folder / STUDIES).glob("*/run.json"))


def clear(folder: Path) -> None:
    """Delete what a run wrote into a folder; other files stay.

    Raises RunFolderError where the folder holds no run, people's ratings of its images, or a link; BadInput where its
    run.json is not an audit's; FolderInUse. Nothing is deleted then.
    """
    if not is_run(folder):
        raise RunFolderError(f"{folder}: expected a run to overwrite, found none; choose another --out")
    places = [folder, *sorted(path.parent for path in (folder / STUDIES).glob("*/run.json"))]
    for place in places:
        refuse_links_in(folder, place)
        if (place / "run.json").is_file():
            read_spec(place)  # refuses what is no audit's
        if kept := [name for name in _OF_PEOPLE if (place / name).exists()]:
            raise RunFolderError(
                f"{place / kept[0]}: --overwrite would delete the images that people rated; choose another --out"
            )
    for place in reversed(places):
        lock = lock_folder(place)
        try:
            _clear_one(place)
        finally:
            lock.release()


def _clear_one(place: Path) -> None:
    for name in _FOLDERS:
        refuse_links(place / name)
        with disk_errors(place / name):
            if (place / name).is_dir():
                shutil.rmtree(place / name)
    for name in _FILES:
        refuse_links(place / name)
        with disk_errors(place / name):
            (place / name).unlink(missing_ok=True)
