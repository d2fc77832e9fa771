"""Making room in a folder for a run with other settings: `--overwrite`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from transect.errors import RunFolderError
from transect.runs import mounts
from transect.runs.folder import disk_errors, read_spec
from transect.runs.locks import lock_folder, refuse_links_in
from transect.runs.places import OF_PEOPLE, OWN_FILES, OWN_FOLDERS, beside, is_one_run, is_run, studies_of


def clear(folder: Path) -> None:
    """Delete what a run wrote into a folder; other files stay."""
    if not is_run(folder):
        raise RunFolderError(f"{folder}: expected a run to overwrite, found none; choose another --out")
    places = [folder, *studies_of(folder)]
    for place in places:
        _check(folder, place)
    with ExitStack() as locks:
        for place in places:
            locks.callback(lock_folder(place).release)
        for place in beside(folder):
            lock_folder(place).release()  # no live run has it, and none can begin one: it would need the lock above
        for place in reversed(places):
            _clear_one(place)


def _check(folder: Path, place: Path) -> None:
    """Raises RunFolderError or BadInput where a run's folder may not be cleared."""
    for name in ("", *OWN_FOLDERS, *OWN_FILES):
        refuse_links_in(folder, place / name)
    if is_one_run(place):
        read_spec(place)  # refuses what is no audit's
    if kept := [name for name in OF_PEOPLE if (place / name).exists()]:
        raise RunFolderError(
            f"{place / kept[0]}: --overwrite would delete the images that people rated; choose another --out"
        )


def _clear_one(place: Path) -> None:
    for name in OWN_FOLDERS:
        with disk_errors(place / name):
            mounts.discard_folder(place / name)
    for name in OWN_FILES:
        with disk_errors(place / name):
            mounts.discard(place / name)
