"""The images of a run, or of each study of a folder: what can be rated, and the PNG of one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, final

from transect.errors import BadInput
from transect.runs.folder import FinishedRun
from transect.runs.tables import people_of

_MOST_BYTES: Final = 256 << 20
"""Decompressed pictures that are kept at hand."""
_DIGITS: Final = 32
"""Of a digest in hexadecimal: 128 bits distinguish pictures."""


class Picture(NamedTuple):
    """One image: the study that it is of ("" for a single run), its id, subject and cell, and who is on it."""

    study: str
    id: str
    subject: int
    cell: int
    person: int


@final
class Pictures:
    """The images of a run folder, or of a folder of studies; safe to share between threads.

    Raises BadInput where the folder is neither, a run is not finished, or an image has no picture.
    """

    def __init__(self, folder: Path) -> None:
        studies = sorted(path.parent for path in folder.glob("studies/*/run.json"))
        self.runs: Mapping[str, FinishedRun] = {
            path.name if studies else "": FinishedRun(path) for path in studies or [folder]
        }
        self._places: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._parts: OrderedDict[tuple[str, int], list[bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self.all = tuple(picture for study, run in self.runs.items() for picture in self._index(study, run))
        if not self.all:
            raise BadInput(f"{folder}: expected a run with images, got none; run an audit first")

    def __contains__(self, place: tuple[str, str]) -> bool:
        return place in self._places

    def png(self, study: str, image: str) -> bytes:
        """The PNG of an image. Raises KeyError for one that is not there; CorruptedPart where its file has changed."""
        part, row, _ = self._places[study, image]
        with self._lock:
            if (study, part) not in self._parts:
                self._parts[study, part] = self.runs[study].read_part("images", part)["image"].to_pylist()
                self._forget()
            self._parts.move_to_end((study, part))
            return self._parts[study, part][row]

    def digest(self, study: str, image: str) -> str:
        """The beginning of the SHA-256 of an image's PNG, 32 hexadecimal digits. Raises KeyError as `png` does."""
        return self._places[study, image][2]

    def _forget(self) -> None:
        held = sum(len(png) for rows in self._parts.values() for png in rows)
        while held > _MOST_BYTES and len(self._parts) > 1:
            _, rows = self._parts.popitem(last=False)
            held -= sum(map(len, rows))

    def _index(self, study: str, run: FinishedRun) -> list[Picture]:
        pictures = []
        parts = run.spec.parts
        if not run.has_all("images", parts):
            run.read_table("images", parts)  # says what is missing
        for part in range(parts):
            table = run.read_part("images", part)
            columns = (table[name].to_pylist() for name in ("id", "subject", "cell", "sha256"))
            people = people_of(table).tolist()
            for row, (image, subject, cell, digest, person) in enumerate(zip(*columns, people, strict=True)):
                self._places[study, str(image)] = part, row, str(digest)[:_DIGITS]
                pictures.append(Picture(study, str(image), int(subject), int(cell), person))
        return pictures
