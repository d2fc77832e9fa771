"""The attributes whose combinations errors are counted by, where the user chooses them.

DIR/error_conditions.json   names of attributes, in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from transect.errors import BadInput, UnknownName
from transect.runs import mounts
from transect.runs.folder import write_json
from transect.runs.json_records import read_texts

FILE: Final = "error_conditions.json"
MOST: Final = 3
"""Attributes whose combinations are counted: more leave too few images in each."""


def check(names: Sequence[str], known: Sequence[Collection[str]]) -> tuple[str, ...]:
    """The names, once each. known: attributes of each study whose errors are counted by condition.

    Raises UnknownName for a name that no study has, BadInput for more than three or where no study has all of them.

    >>> check(["age", "age"], [{"age", "smile"}])
    ('age',)
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if not any(name in attributes for attributes in known):
            everything = dict.fromkeys(attribute for attributes in known for attribute in sorted(attributes))
            raise UnknownName(
                "attribute", name, everything, hint="--by takes attributes that images are compared by, and ratings"
            )
    if len(chosen) > MOST:
        raise BadInput(f"--by: expected at most {MOST} attributes, got {len(chosen)}; their combinations hold too few")
    if chosen and not any(set(chosen) <= set(attributes) for attributes in known):
        raise BadInput(f"--by: expected one study that has all of {', '.join(chosen)}, got none; name fewer")
    return chosen


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
    return tuple(read_texts(path, "a list of attributes", "delete it, or give --by again"))
