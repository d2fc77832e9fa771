"""One process at a time in a folder, and nothing written through links in it.

A run folder may come from somebody else: a link inside it would let a run write elsewhere with your rights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from filelock import FileLock, Timeout

from transect.errors import FolderInUse, RunFolderError
from transect.runs import claims, mounts
from transect.runs.places import studies_of
from transect.texts import words_of

LOCK: Final = "run.lock"
_MARKS: Final = ("run.json", LOCK, "verify.lock", "training.json")
"""A folder that holds one of these is a run's."""


@runtime_checkable
class Lock(Protocol):
    """The right of this process to write in a folder."""

    def release(self) -> None:
        """Let others write."""


def refuse_links(path: Path) -> None:
    """Raise RunFolderError where a link stands between a run's folder and what is written at `path` inside it.

    So it does where `path` itself is a link beside the runs of several studies. Links above a run's folder are yours.
    """
    path = path.absolute()
    for place in (path, *path.parents):
        if not place.is_symlink():
            continue
        in_a_run = any((above / mark).is_file() for above in place.parents for mark in _MARKS)
        if in_a_run or (place == path and studies_of(place.parent)):
            raise _link(place)


def refuse_links_in(folder: Path, path: Path) -> None:
    """Raise RunFolderError where a link stands between a folder, whatever it holds, and `path` inside it."""
    for place in (path, *path.parents):
        if place == folder:
            return
        if place.is_symlink():
            raise _link(place)


def _link(place: Path) -> RunFolderError:
    return RunFolderError(f"{place}: expected a file or folder of the run, got a link; remove it, and rerun")


def lock_folder(folder: Path, name: str = LOCK) -> Lock:
    """Make the folder and take its lock, which the operating system frees when the process ends.

    A link to the folder itself, or above it, is followed: it is yours.
    """
    if found := mounts.mount_of(folder):
        return claims.take(*found)
    file = folder / name
    if file.is_symlink():
        raise RunFolderError(f"{file}: expected a run's lock, got a link; remove it, and rerun")
    refuse_links(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        lock.acquire(timeout=0)
    except Timeout:
        raise FolderInUse(f"{folder} is in use by a live run: wait for it, stop it, or choose another folder") from None
    except (OSError, NotImplementedError) as error:  # the latter on file systems without locks
        raise RunFolderError(f"cannot write {folder}: {words_of(error)}; choose another folder") from error
    return lock
