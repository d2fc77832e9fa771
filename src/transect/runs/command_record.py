"""The command that wrote a folder, as `transect reproduce` gives it again."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from transect import __version__
from transect.errors import BadInput
from transect.runs.folder import write_json
from transect.runs.json_records import record_in

FILE: Final = "command.json"
VERSION: Final = 1
_LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "torch", "pillow", "pyarrow")


@final
@dataclass(frozen=True, slots=True)
class Word:
    """An option or argument, with its value. option: as --table, "" of an argument; text: None of a switch.

    Where the value is a file or folder, sha256 is its digest, as `file_digests.digest` has it, and text its name alone;
    before and after are what stands around it in the value, as NAME= and =WEIGHT.
    """

    option: str
    text: str | None = None
    sha256: str = ""
    before: str = ""
    after: str = ""


@final
@dataclass(frozen=True, slots=True)
class CommandRecord:
    """What command.json holds. job: the command's name, as "match"; words: what the user typed, defaults left out."""

    schema_version: int
    job: str
    words: tuple[Word, ...]
    versions: Mapping[str, str]


def write(folder: Path, job: str, words: tuple[Word, ...]) -> None:
    """Write command.json."""
    write_json(folder / FILE, CommandRecord(VERSION, job, words, versions()))


def read(folder: Path) -> CommandRecord:
    """The command of a folder. Raises BadInput, in one line, for a damaged file, and for one of a later version."""
    record = record_in(folder / FILE, CommandRecord)
    if record.schema_version != VERSION:
        raise BadInput(
            f"{folder / FILE}: expected version {VERSION}, got {record.schema_version}; install a newer Transect"
        )
    return record


def versions() -> dict[str, str]:
    """The versions of Transect, Python and the libraries that numbers depend on, without an import of them."""
    found = {"transect": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
