"""Where the images come from that people rate: an audit's run or rendered data set, an inversion, photographs.

Each source lists its images with the digest of their content, and reads them when they are shown. `source_of` decides
by what lies at the place that the user named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol, final, runtime_checkable

import numpy as np

from transect.datasets import READERS, LabelledImages, open_dataset
from transect.datasets.folder import read as read_folder
from transect.datasets.labelled import Request
from transect.datasets.pictures import SUFFIXES, pixels_of
from transect.errors import BadInput
from transect.runs.folder import FinishedRun, slug
from transect.runs.places import is_run, studies_of
from transect.runs.png import png
from transect.runs.tables import people_of

FOLDER: Final = "annotations"
FILE: Final = "annotation.sqlite"
DIGITS: Final = 32
"""Of a digest in hexadecimal: 128 bits distinguish pictures."""
LONGEST: Final = 1024
"""Pixels of a photograph's longer side as raters see it; larger ones are reduced."""


class Shown(NamedTuple):
    """One image of a source: id, subject, cell, person, the beginning of its SHA-256, and where it is stored.

    block, row: images that are read together, and the place among them. alone: also asked about by itself.
    """

    id: str
    subject: int
    cell: int
    person: int
    digest: str
    block: int
    row: int
    alone: bool = True


class KnownPair(NamedTuple):
    """Two images whose relation is known; kind: real, fake or dup."""

    first: str
    second: str
    kind: str


@runtime_checkable
class Source(Protocol):
    """Images of one study."""

    @property
    def identity(self) -> str:
        """A text that changes with the content of the images."""
        ...

    @property
    def shown(self) -> Sequence[Shown]:
        """The images, in order."""
        ...

    @property
    def pairs(self) -> Sequence[KnownPair]:
        """Pairs that the source itself knows; none for most."""
        ...

    @property
    def levels(self) -> Sequence[str]:
        """The name of each cell, where images differ in what was set; none elsewhere."""
        ...

    def read(self, block: int) -> list[bytes]:
        """The PNGs of a block; of a source of texts (`is_text = True`) these, as UTF-8."""
        ...

    def values(self, attribute: str) -> dict[str, float] | None:
        """The value of an attribute that each image was made with, or its label; None where it is not known."""
        ...


@final
class RunImages:
    """The images of an audit, or of what `transect render --data-set` wrote.

    Raises BadInput for a run of something else, or one that is not finished.
    """

    def __init__(self, run: FinishedRun) -> None:
        self.run, self.identity, self.pairs = run, run.spec_hash, ()
        parts, cells = run.spec.parts, run.spec.design.cells()
        self.levels = tuple(", ".join(f"{name} {value:g}" for name, value in cell.items()) for cell in cells if cell)
        if not run.has_all("images", parts):
            run.read_table("images", parts)  # says what is missing
        self.shown = tuple(each for part in range(parts) for each in self._index(part))

    def read(self, block: int) -> list[bytes]:
        """The PNGs of a part. Raises CorruptedPart where its file has changed."""
        stored = self.run.read_part("images", block)["image"].to_pylist()
        return [image["bytes"] if isinstance(image, dict) else image for image in stored]

    def values(self, attribute: str) -> dict[str, float] | None:
        """The value of an attribute that each image was made with; None where the world does not have it."""
        table, column = self.run.read_table("images", self.run.spec.parts, without=("image",)), f"true.{attribute}"
        if column not in table.column_names:
            return None
        pairs = zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True)
        return {str(image): float("nan") if value is None else float(value) for image, value in pairs}

    def _index(self, part: int) -> list[Shown]:
        table = self.run.read_part("images", part)
        columns = (table[name].to_pylist() for name in ("id", "subject", "cell", "sha256"))
        people = people_of(table).tolist()
        return [
            Shown(str(image), int(subject), int(cell), person, str(digest)[:DIGITS], part, row)
            for row, (image, subject, cell, digest, person) in enumerate(zip(*columns, people, strict=True))
        ]


@final
class Photographs:
    """Photographs of a data set or a folder; the subject of each is who is on it, its cell a number among theirs."""

    def __init__(self, images: LabelledImages) -> None:
        self.images, self.pairs, self.levels = images, (), ()
        self.shown = tuple(self._index())
        self.identity = digest_of("".join(each.digest for each in self.shown).encode())

    def read(self, block: int) -> list[bytes]:
        """One photograph, cut as the data set says, its longer side at most 1024 pixels, as PNG."""
        pictures = self.images.pictures
        pixels = pixels_of(pictures.encoded(block), pictures.name(block), None, self.images.crop)
        return [png(_reduced(pixels))]

    def values(self, attribute: str) -> dict[str, float] | None:
        """The label of each photograph; None where the data set does not have the attribute."""
        if attribute not in self.images.values:
            return None
        return dict(zip(self.images.ids, self.images.values[attribute].tolist(), strict=True))

    def _index(self) -> list[Shown]:
        cells: dict[int, int] = {}
        shown = []
        for row, (name, person) in enumerate(zip(self.images.ids, self.images.subjects, strict=True)):
            cell = cells[person] = cells.get(person, -1) + 1
            encoded = self.images.pictures.encoded(row)
            content = encoded.read_bytes() if isinstance(encoded, Path) else encoded
            shown.append(Shown(name, person, cell, person, digest_of(content, str(self.images.crop).encode()), row, 0))
        return shown


@final
@dataclass(frozen=True, slots=True)
class Place:
    """What the user named: its images by study ("" for a single one), where answers are kept, and its name."""

    sources: dict[str, Source]
    home: Path
    name: str


def source_of(place: str | Path, photographs: str | Path | None = None) -> Place:
    """The images at a place: a run folder (also of `invert` or `encode`), a folder of studies or images, READER:PATH.

    photographs: of an inversion or encoding, what has the codes, as a folder or READER:PATH; None shows
    reconstructions alone.
    Raises BadInput where there are no images, UnknownName for another reader.
    """
    from transect.annotation.reconstructions import Reconstructions
    from transect.inversion.rows import KINDS

    if _is_texts(place):
        from transect.annotation.texts import place_of

        if photographs is not None:
            raise BadInput(f"--photographs: expected an inversion's folder beside it, got {place}; leave it out")
        return place_of(place)
    path = Path(place)
    studies = studies_of(path)
    if not studies and is_run(path):
        run = FinishedRun(path)
        if run.record.get("kind") in KINDS:
            originals = None if photographs is None else _photographs(photographs)
            return Place({"": Reconstructions(run, originals)}, path / FOLDER, path.name)
        studies = [path]
    if photographs is not None:
        raise BadInput(f"--photographs: expected an inversion's folder beside it, got {place}; leave it out")
    if studies:
        names = [""] if studies == [path] else [study.name for study in studies]
        runs = [RunImages(FinishedRun(study)) for study in studies]
        return Place(dict(zip(names, runs, strict=True)), path / FOLDER, path.name)
    images = _photographs(place)
    return Place({"": Photographs(images)}, home_of(place), images.path.name)


def home_of(place: str | Path) -> Path:
    """The folder of a place's answers: in a run folder, else in the current folder, never in a data set.

    >>> home_of("celeba:data/celeba?split=test").as_posix()
    'annotations-celeba-data-celeba-split-test'
    """
    if _is_texts(place):
        from transect.annotation.texts import home_of as home_of_texts

        return home_of_texts(place)
    return Path(place) / FOLDER if is_run(Path(place)) else Path(f"{FOLDER}-{slug(str(place))}")


def check_place(place: str | Path) -> None:
    """Refuse a place that is neither a folder with images nor READER:PATH, without opening one. Raises BadInput."""
    if _is_texts(place):
        from transect.annotation.texts import sources_of

        sources_of(place)
        return
    path = Path(place)
    images = path.is_dir() and (is_run(path) or any(file.suffix.lower() in SUFFIXES for file in path.rglob("*")))
    if not images and (path.exists() or ":" not in str(place)):
        raise BadInput(
            f"{place}: expected a run folder, a folder of images, or a data set as READER:PATH ({', '.join(READERS)}), "
            "found none; check the path"
        )


def _is_texts(place: str | Path) -> bool:
    from transect.annotation.texts import is_texts

    return is_texts(place)


def _photographs(place: str | Path) -> LabelledImages:
    check_place(place)
    path = Path(place)
    return read_folder(path, Request(labelled=False)) if path.is_dir() else open_dataset(str(place), labelled=False)


def digest_of(*parts: bytes) -> str:
    """The beginning of the SHA-256 of these, 32 hexadecimal digits."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:DIGITS]


def _reduced(pixels: np.ndarray) -> np.ndarray:
    if max(pixels.shape[:2]) <= LONGEST:
        return pixels
    from PIL import Image

    small = Image.fromarray(pixels)
    small.thumbnail((LONGEST, LONGEST), Image.Resampling.LANCZOS)
    return np.asarray(small)
