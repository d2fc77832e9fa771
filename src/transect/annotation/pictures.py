"""The images that people rate, of all studies of a place, and the PNG of one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

from transect.annotation.sources import KnownPair, Source
from transect.errors import BadInput

_MOST_BYTES: Final = 256 << 20
"""Decompressed pictures that are kept at hand."""


class Picture(NamedTuple):
    """One image: the study that it is of ("" for a single run), its id, subject and cell, and who is on it."""

    study: str
    id: str
    subject: int
    cell: int
    person: int


@final
class Pictures:
    """The images of one source, or of several by study; safe to share between threads.

    all: every picture; alone: those that are also asked about by themselves. Raises BadInput where there is none.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self._places: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._blocks: OrderedDict[tuple[str, int], list[bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self.all = tuple(self._index(alone=False))
        self.alone = tuple(self._index(alone=True))
        if not self.all:
            raise BadInput("expected images to rate, got none; name a place with images")

    def __contains__(self, place: tuple[str, str]) -> bool:
        return place in self._places

    @property
    def pairs(self) -> Iterable[tuple[str, KnownPair]]:
        """The pairs that the sources know themselves, with their study."""
        return [(study, pair) for study, source in self.sources.items() for pair in source.pairs]

    def png(self, study: str, image: str) -> bytes:
        """The PNG of an image. Raises KeyError for one that is not there; CorruptedPart where its file has changed."""
        block, row, _ = self._places[study, image]
        with self._lock:
            if (study, block) not in self._blocks:
                self._blocks[study, block] = self.sources[study].read(block)
                self._forget()
            self._blocks.move_to_end((study, block))
            return self._blocks[study, block][row]

    def text(self, study: str, image: str) -> str | None:
        """What is shown in place of a picture; None where a picture is. Raises as `png`."""
        is_text = getattr(self.sources[study], "is_text", False)
        return self.png(study, image).decode() if is_text else None

    @property
    def are_texts(self) -> bool:
        """Whether texts are shown, and no pictures."""
        return any(getattr(source, "is_text", False) for source in self.sources.values())

    def digest(self, study: str, image: str) -> str:
        """The beginning of the SHA-256 of an image's content, 32 hexadecimal digits. Raises KeyError as `png` does."""
        return self._places[study, image][2]

    def _forget(self) -> None:
        held = sum(len(png) for rows in self._blocks.values() for png in rows)
        while held > _MOST_BYTES and len(self._blocks) > 1:
            _, rows = self._blocks.popitem(last=False)
            held -= sum(map(len, rows))

    def _index(self, alone: bool) -> Iterable[Picture]:
        for study, source in self.sources.items():
            for each in source.shown:
                if each.alone or not alone:
                    self._places[study, each.id] = each.block, each.row, each.digest
                    yield Picture(study, each.id, each.subject, each.cell, each.person)
