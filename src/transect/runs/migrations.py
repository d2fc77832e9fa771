"""The version of a run folder's schema, and what makes a record of today of an earlier one.

run.json states the version, and it holds for the whole folder: the keys of run.json, and the tables with their columns.
Folders of every version are read and reported. One of an earlier version is not resumed: its parts would have two.
Raise `VERSION` with each change of either, add the step from the version before to `MIGRATIONS`, and commit a folder
of that version to tests/runs/folders: a test opens each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from transect.errors import RunFolderError

Record: TypeAlias = dict[str, Any]
VERSION: Final = 1
"""The version that this Transect writes."""
KEY: Final = "schema_version"


def _first(record: Record) -> Record:
    """Version 0 stated no version; its keys and columns are those of version 1."""
    return record


MIGRATIONS: Final[Mapping[int, Callable[[Record], Record]]] = {0: _first}
"""By version, what makes of a record of that version one of the next."""


def known(version: object, path: Path) -> int:
    """The version that a run.json states, where it states one (None is 0).

    path: of the file, for messages.

    >>> known(None, Path("run.json"))
    0
    >>> known(9, Path("run.json"))
    Traceback (most recent call last):
    transect.errors.RunFolderError: run.json: expected schema version 1 or before, got 9: install a newer Transect
    """
    stated = 0 if version is None else version
    if isinstance(stated, bool) or not isinstance(stated, int) or stated < 0:
        raise RunFolderError(
            f"{path}: expected a schema version from 0 to {VERSION}, got {stated!r}: put the file back"
        )
    if stated > VERSION:
        advice = "install a newer Transect"
        raise RunFolderError(f"{path}: expected schema version {VERSION} or before, got {stated}: {advice}")
    return stated


def refuse_older(version: int, folder: Path) -> None:
    """Raise RunFolderError for a run of an earlier version, to which no more can be written: one folder, one version.

    >>> refuse_older(VERSION, Path("run"))
    >>> refuse_older(0, Path("run"))
    Traceback (most recent call last):
    transect.errors.RunFolderError: run: expected a run of schema version 1 to resume, got one of version 0; ...
    """
    if version < VERSION:
        raise RunFolderError(
            f"{folder}: expected a run of schema version {VERSION} to resume, got one of version {version}; choose "
            "another --out and run it again there (transect report still reads this one)"
        )


def up_to_date(record: Record, version: int) -> Record:
    """The record of a run.json of that version as this version would have written it.

    >>> up_to_date({"name": "audit"}, 0)
    {'name': 'audit'}
    """
    for step in range(version, VERSION):
        record = MIGRATIONS[step](record)
    return record
