"""Settings of a report that its run folder keeps, so that a later report uses them too: one JSON file each.

They lie in a run or a folder of studies, and change no image and no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, final

from transect.errors import BadInput
from transect.runs import mounts
from transect.runs.folder import write_json
from transect.runs.json_records import read_json

T = TypeVar("T")


@final
@dataclass(frozen=True)
class SettingFile(Generic[T]):
    """One setting. name: of its file; holds: what is in it, in words; option: what sets it; none: where it is not set.

    read_as: the setting of the file's JSON; it raises ValueError, TypeError, AttributeError or BadInput for another.
    """

    name: str
    holds: str
    option: str
    none: T
    read_as: Callable[[object], T]

    def write(self, folder: Path, value: T) -> None:
        """Store the setting in a run folder; none deletes the file."""
        if value:
            write_json(folder / self.name, value, indent=None)
        else:
            mounts.discard(folder / self.name)

    def read(self, folder: Path) -> T:
        """The setting stored in a run folder. Raises BadInput for a file that holds none."""
        path, advice = folder / self.name, f"delete it, or give {self.option} again"
        if not path.exists():
            return self.none
        stored = read_json(path, self.holds, advice)
        try:
            return self.read_as(stored)
        except (ValueError, TypeError, AttributeError, BadInput):
            raise BadInput(f"{path}: expected {self.holds}, got another value; {advice}") from None


def texts_of(stored: object) -> tuple[str, ...]:
    """The texts of a list of texts. Raises ValueError for another value."""
    if not isinstance(stored, list) or not all(isinstance(text, str) for text in stored):
        raise ValueError
    return tuple(stored)
