"""What errors are adjusted for, where the user says so.

DIR/covariates.json   names of attributes, in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from transect.errors import UnknownName
from transect.runs import mounts
from transect.runs.folder import write_json
from transect.runs.json_records import read_texts

FILE: Final = "covariates.json"


def check(names: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The names, once each. Raises UnknownName for a name that no study adjusts for.

    >>> check(["age", "age"], ["age", "smile"])
    ('age',)
    """
    for name in names:
        if name not in known:
            hint = "--covariate takes ratings, and attributes of observed images"
            raise UnknownName("attribute", name, known, hint=hint)
    return tuple(dict.fromkeys(names))


def write(folder: Path, names: Sequence[str]) -> None:
    """Store the names in a run folder, so that a later report uses them too; no names delete the file."""
    path = folder / FILE
    if names:
        write_json(path, names, indent=None)
    else:
        mounts.discard(path)


def read(folder: Path) -> tuple[str, ...]:
    """The names stored in a run folder. Raises BadInput for a file that holds none."""
    path = folder / FILE
    if not path.exists():
        return ()
    return tuple(read_texts(path, "a list of attributes", "delete it, or give --covariate again"))
