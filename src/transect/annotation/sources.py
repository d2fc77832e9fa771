"""Where the images come from that people rate: an audit's run or rendered data set, an inversion, photographs.

With the photographs that were inverted there are the pairs of Singh et al. 2021 (appendix A), of which raters say
whether both images show the same person: two photographs of a person ("real"), a photograph and the reconstruction of
another one ("fake"), or a photograph and a small crop of it ("dup": is the rater attentive?).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, final, runtime_checkable

from transect.datasets import READERS, LabelledImages, open_dataset
from transect.datasets.features import as_named
from transect.datasets.files import SUFFIXES, pixels_of
from transect.datasets.folder import read as read_folder
from transect.datasets.labelled import Request
from transect.errors import BadInput
from transect.inversion.parts import KINDS, TABLE, parts_of
from transect.runs.folder import FinishedRun, slug
from transect.runs.layout import is_run, studies_of
from transect.runs.pictures import content_of, pixels_of_png, png, reduced
from transect.runs.tables import people_of

FOLDER: Final = "annotations"
FILE: Final = "annotation.sqlite"
TEXTS: Final = "texts:"
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

    @property
    def shown(self) -> Sequence[Shown]:
        """The images, in order."""

    @property
    def pairs(self) -> Sequence[KnownPair]:
        """Pairs that the source itself knows; none for most."""

    @property
    def levels(self) -> Sequence[str]:
        """The name of each cell, where images differ in what was set; none elsewhere."""

    def read(self, block: int) -> list[bytes]:
        """The PNGs of a block; of a source of texts (`is_text = True`) these, as UTF-8."""

    def values(self, attribute: str) -> dict[str, float] | None:
        """The value of an attribute that each image was made with, or its label; None where it is not known."""


@final
class RunImages:
    """The images of an audit, or of what `transect render --data-set` wrote."""

    def __init__(self, run: FinishedRun) -> None:
        self.run, self.identity, self.pairs = run, run.spec_hash, ()
        parts, cells = run.spec.parts, run.spec.design.cells()
        self.levels = tuple(", ".join(f"{name} {value:g}" for name, value in cell.items()) for cell in cells if cell)
        if not run.has_all("images", parts):
            run.read_table("images", parts)  # says what is missing
        self.shown = tuple(each for part in range(parts) for each in self._index(part))

    def read(self, block: int) -> list[bytes]:
        """The PNGs of a part. Raises CorruptedPart where its file has changed."""
        return list(self.run.read_part("images", block)["image"].to_pylist())

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
        return [png(reduced(pixels, LONGEST))]

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
            content = content_of(self.images.pictures.encoded(row), name)
            shown.append(Shown(name, person, cell, person, digest_of(content, str(self.images.crop).encode()), row, 0))
        return shown


def source_of(place: str | Path, photographs: str | Path | None = None) -> dict[str, Source]:
    """Images of a run folder (also of `invert`), a folder or READER:PATH, by study; photographs: those inverted."""
    texts = is_texts(place)
    path = Path(place)
    studies = [] if texts else studies_of(path)
    if not (texts or studies) and is_run(path):
        run = FinishedRun(path)
        if run.record.get("kind") in KINDS:
            originals = None if photographs is None else _photographs(photographs)
            return {"": Reconstructions(run, originals)}
        studies = [path]
    if photographs is not None:
        raise BadInput(f"--photographs applies to an inversion, got {place}; leave it out")
    if texts:
        from transect.annotation.texts import sources_of

        return dict(sources_of(place))
    if studies:
        names = [""] if studies == [path] else [study.name for study in studies]
        return {name: RunImages(FinishedRun(study)) for name, study in zip(names, studies, strict=True)}
    return {"": Photographs(_photographs(place))}


def home_of(place: str | Path) -> Path:
    """The folder of a place's answers: in a run folder, else in the current folder, never in a data set.

    >>> home_of("celeba:data/celeba?split=test").as_posix()
    'annotations-celeba-data-celeba-split-test'
    """
    if is_texts(place):
        return run_of_texts(place) / FOLDER / "texts"
    return Path(place) / FOLDER if is_run(Path(place)) else Path(f"{FOLDER}-{slug(str(place))}")


def check_place(place: str | Path) -> None:
    """Refuse a place that is neither a folder with images nor READER:PATH, without opening one. Raises BadInput."""
    if is_texts(place):
        from transect.annotation.texts import sources_of

        sources_of(place)
        return
    path = Path(place)
    images = path.is_dir() and (is_run(path) or any(file.suffix.lower() in SUFFIXES for file in path.rglob("*")))
    if not images and (path.exists() or ":" not in str(place)):
        raise BadInput(
            f"{place}: no run folder, folder of images, or data set as READER:PATH ({', '.join(READERS)}); "
            "check the path"
        )


def is_texts(place: str | Path) -> bool:
    """Whether a place names the texts of a run, as texts:runs/alt?sample=60."""
    return str(place).startswith(TEXTS)


def run_of_texts(place: str | Path) -> Path:
    """The folder of the run whose texts a place names."""
    return Path(str(place).removeprefix(TEXTS).partition("?")[0])


def _photographs(place: str | Path) -> LabelledImages:
    check_place(place)
    path = Path(place)
    return read_folder(path, Request(labelled=False)) if path.is_dir() else open_dataset(str(place), labelled=False)


def digest_of(*parts: bytes) -> str:
    """The beginning of the SHA-256 of these, 32 hexadecimal digits."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:DIGITS]


REAL, FAKE, DUPLICATE = "real", "fake", "dup"
_PHOTOGRAPH, _CROP = "@photograph", "@crop"
_CUT: Final = 20
"""A crop leaves out one part in so many at each side."""


@final
class Reconstructions:
    """The reconstructions of an inversion or encoding, under the ids that it has; failed ones are left out.

    photographs: what was inverted; a photograph is then the image "ID@photograph", and a small crop of it "ID@crop",
    which is shown only in pairs. Who is on each is the data set's subject; without one every photograph is another
    person, and a fake pair is a photograph and its own reconstruction.
    """

    def __init__(self, run: FinishedRun, photographs: LabelledImages | None = None) -> None:
        self.run, self.identity, self.levels = run, run.spec_hash, ()
        count, self._parts = run.record["images"]["count"], parts_of(run)
        if not run.has_all(TABLE, self._parts):
            run.read_table(TABLE, self._parts)  # says what is missing
        listed = [each for part in range(self._parts) for each in self._index(part)]
        if not listed:
            raise BadInput(f"{run.path}: expected reconstructions, got {count} that failed; invert them again")
        self._photographs = None if photographs is None else Photographs(photographs)
        self.pairs: tuple[KnownPair, ...] = ()
        self.shown = tuple(listed)
        if self._photographs is not None:
            self._join(listed, self._photographs)

    def read(self, block: int) -> list[bytes]:
        """The PNGs of a part of the inversion; beyond those a photograph and its crop."""
        if block < self._parts:
            return [bytes(content) for content in self.run.read_part(TABLE, block)["image"].to_pylist()]
        if self._photographs is None:
            raise KeyError(block)
        (whole,) = self._photographs.read(block - self._parts)
        pixels = pixels_of_png(whole)
        height, width = (max(side // _CUT, 1) for side in pixels.shape[:2])
        return [whole, png(pixels[height:-height, width:-width])]

    def values(self, attribute: str) -> dict[str, float] | None:  # noqa: ARG002  (as `Source` has it)
        """None: what a reconstruction shows is known to nobody but people."""
        return None

    def _index(self, part: int) -> list[Shown]:
        table = self.run.read_part(TABLE, part)
        rows = zip(*(table[name].to_pylist() for name in ("id", "failure", "image")), strict=True)
        return [
            Shown(str(name), 0, 0, 0, hashlib.sha256(content).hexdigest()[:DIGITS], part, row)
            for row, (name, failure, content) in enumerate(rows)
            if not failure
        ]

    def _join(self, listed: list[Shown], photographs: Photographs) -> None:
        """Give every reconstruction its person, and list photographs, crops and pairs."""
        named, _ = as_named([each.id for each in listed], [each.id for each in photographs.shown])
        originals = {each.id: each for each in photographs.shown}
        if missing := [each.id for each, name in zip(listed, named, strict=True) if name not in originals]:
            raise BadInput(
                f"--photographs: expected the {len(listed)} inverted photographs, found none named {missing[0]}"
                f"{f' or {len(missing) - 1} others' if missing[1:] else ''}; give their folder or data set"
            )
        of = [originals[str(name)] for name in named]
        fakes = [each._replace(subject=o.person, person=o.person) for each, o in zip(listed, of, strict=True)]
        real = [self._photograph(each, o) for each, o in zip(fakes, of, strict=True)]
        crops = [
            each._replace(id=fake.id + _CROP, digest=digest_of(each.digest.encode(), b"crop"), row=1, alone=False)
            for each, fake in zip(real, fakes, strict=True)
        ]
        self.identity += photographs.identity
        self.shown = (*fakes, *real, *crops)
        self.pairs = tuple(_pairs(fakes))

    def _photograph(self, reconstruction: Shown, original: Shown) -> Shown:
        block = self._parts + original.block
        return reconstruction._replace(id=reconstruction.id + _PHOTOGRAPH, digest=original.digest, block=block, row=0)


def _pairs(reconstructions: list[Shown]) -> Iterator[KnownPair]:
    """Of each person one pair of each kind, from the first two photographs; no real pair of someone with one."""
    people: dict[int, list[str]] = {}
    for each in reconstructions:
        people.setdefault(each.person, []).append(each.id)
    for ids in people.values():
        first, second = ids[0], ids[1] if len(ids) > 1 else ids[0]
        if second != first:
            yield KnownPair(first + _PHOTOGRAPH, second + _PHOTOGRAPH, REAL)
        yield KnownPair(first + _PHOTOGRAPH, second, FAKE)
        yield KnownPair(first + _PHOTOGRAPH, first + _CROP, DUPLICATE)


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
    """The images of all studies, `alone` those that are asked about by themselves; safe to share between threads."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self._places: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._blocks: OrderedDict[tuple[str, int], list[bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self.all = tuple(self._index(alone=False))
        self.alone = tuple(self._index(alone=True))
        if not self.all:
            raise BadInput("no images to rate; give a folder with images")

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
                held = sum(len(png) for rows in self._blocks.values() for png in rows)
                while held > _MOST_BYTES and len(self._blocks) > 1:
                    held -= sum(map(len, self._blocks.popitem(last=False)[1]))
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

    def _index(self, alone: bool) -> Iterable[Picture]:
        for study, source in self.sources.items():
            for each in source.shown:
                if each.alone or not alone:
                    self._places[study, each.id] = each.block, each.row, each.digest
                    yield Picture(study, each.id, each.subject, each.cell, each.person)
