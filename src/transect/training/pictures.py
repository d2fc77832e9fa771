"""What is trained on: pictures drawn once and stored as parts, pixels in memory, and their labels and conditions."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput, RunFolderError, UnknownName
from transect.records import Attribute, Images, Kind, Latents
from transect.runs import array_files
from transect.runs.folder import disk_errors, spec_hash
from transect.runs.parts import Progress

PER_PART = 500


@runtime_checkable
class Source(Protocol):
    """FaceWorld, or a data set opened as one: row i is what `sample([i])` renders."""

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes of the pictures."""

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The rows of those numbers."""

    def read(self, latents: Latents) -> pa.Table:
        """Their attributes."""

    def render(self, latents: Latents) -> Images:
        """The images of latents."""

    def describe(self) -> dict[str, object]:
        """Everything that the pictures depend on."""


@final
class Pictures:
    """The first `count` pictures of a source; what `folder` does not hold is rendered when the first is needed."""

    def __init__(self, source: Source, count: int, folder: Path, *, quiet: bool = False) -> None:
        if count < 1:
            raise BadInput(f"pictures: expected at least 1, got {count}")
        self.source, self.count, self.folder = source, count, folder
        self.settings = {"source": source.describe(), "per_part": PER_PART}
        self._key = spec_hash(self.settings)[:12]
        self._quiet = quiet
        self._parts: list[UInt8[np.ndarray, "p h w 3"]] = []

    @property
    def size(self) -> int:
        """Width and height in pixels."""
        return self.source.image_size

    def __len__(self) -> int:
        return self.count

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows, in that order."""
        self.prepare()
        return np.stack([self._parts[row // PER_PART][row % PER_PART] for row in rows.tolist()])

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """One attribute of every row. Raises BadInput for a name that the source lacks."""
        table = self.source.read(self.source.sample(np.arange(self.count)))
        if name not in table.column_names:
            raise BadInput(f"attribute {name!r}: expected one of {', '.join(table.column_names)}")
        return np.asarray(table[name], dtype=np.float64)

    def prepare(self) -> None:
        """Render the parts that the folder lacks or holds damaged."""
        if not self._parts:
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            self._parts = self._open()

    def _open(self) -> list[UInt8[np.ndarray, "p h w 3"]]:
        parts = []
        with Progress("pictures to learn from", self.count, quiet=self._quiet) as progress:
            for start in range(0, self.count, PER_PART):
                rows = np.arange(start, min(start + PER_PART, self.count))
                file = self.folder / f"pictures-{self._key}-{start // PER_PART:05d}-{len(rows)}.npy"
                shape = (len(rows), self.size, self.size, 3)
                part = array_files.pixels_of(file, shape)
                if part is None:
                    array_files.write(file, self.source.render(self.source.sample(rows)).pixels)
                    part = array_files.pixels_of(file, shape)
                if part is None:
                    raise RunFolderError(f"{file} is damaged; check the disk")
                parts.append(part)
                progress.advance(len(rows))
        return parts


def chance(*key: int) -> np.random.Generator:
    """The generator of a seed and further numbers, such as an epoch's."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def open_source(text: str, size: int, population: str = "balanced") -> Source:
    """FaceWorld by its name, or the data set that READER:PATH names. Raises BadInput or UnknownName for another."""
    if text == "faceworld":
        from transect.generators.faceworld.world import FaceWorld

        return FaceWorld(image_size=size, population=population)
    from transect.datasets import open_dataset

    return open_dataset(text, image_size=size, labelled=False)


LABEL: Final = "label"
"""The attribute that holds the classes."""
_MOST_CLASSES: Final = 1000


@final
class PixelSource:
    """Pictures uint8 [n, h, h, 3] by row. classes: an optional class per row, 0 to k - 1, or -1 for none."""

    def __init__(self, pixels: np.ndarray | Images, classes: Sequence[int] | np.ndarray | None = None) -> None:
        self.pixels = (pixels if isinstance(pixels, Images) else Images(pixels)).pixels
        _, height, width, _ = self.pixels.shape
        if height != width:
            raise BadInput(f"pictures: expected square pictures, got {height} x {width} pixels; crop or resize them")
        self.classes = None if classes is None else _check_classes(np.asarray(classes), len(self.pixels))

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""
        return int(self.pixels.shape[1])

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """`label` where there are classes."""
        if self.classes is None:
            return ()
        levels = tuple(str(number) for number in range(int(self.classes.max()) + 1))
        kind: Kind = "binary" if len(levels) == 2 else "categorical"
        return (Attribute(LABEL, kind, "the class of each picture", levels=levels),)

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The rows of those numbers."""
        rows = np.asarray(seeds, dtype=np.int64)
        return Latents(rows, rows[:, None].astype(np.float64), "row")

    def read(self, latents: Latents) -> pa.Table:
        """Their classes, NaN where there is none."""
        if self.classes is None:
            return pa.table({})
        column = self.classes[latents.seeds].astype(np.float64)
        return pa.table({LABEL: np.where(column < 0, np.nan, column)})

    def render(self, latents: Latents) -> Images:
        """Their pictures."""
        return Images(self.pixels[latents.seeds])

    def describe(self) -> dict[str, object]:
        """A digest of pixels and classes."""
        digest = hashlib.sha256(np.ascontiguousarray(self.pixels).tobytes())
        digest.update(b"" if self.classes is None else self.classes.tobytes())
        return {"name": "pixels", "image_size": self.image_size, "count": len(self), "sha256": digest.hexdigest()}


_SIZE: Final = 64


def source_of(
    source: str | np.ndarray | Images | Source,
    image_size: int | None,
    population: str,
    classes: np.ndarray | None = None,
) -> Source:
    """What a source given by name, as pixels or as an object is. classes: of each row of pixels.

    Raises BadInput for pictures of another size, and for classes of anything but pixels.
    """
    if classes is not None and not isinstance(source, np.ndarray | Images):
        raise BadInput("label: classes by row apply to pixels only; give the name of an attribute")
    if isinstance(source, str):
        return open_source(source, image_size or _SIZE, population)
    pictures: Source = PixelSource(source, classes) if isinstance(source, np.ndarray | Images) else source
    if image_size not in (None, pictures.image_size):
        raise BadInput(f"image_size: expected pictures of {image_size} pixels, got {pictures.image_size}; resize them")
    return pictures


def count_of(source: Source, count: int) -> int:
    """How many pictures: all of a data set, `count` of a world, which draws any number."""
    return len(source) if isinstance(source, Sized) else count


def _check_classes(classes: np.ndarray, rows: int) -> Int[np.ndarray, " n"]:
    if classes.shape != (rows,) or classes.dtype.kind not in "biu":
        raise BadInput(f"label: expected {rows} whole numbers, got {classes.dtype} {list(classes.shape)}")
    numbers = classes.astype(np.int64)
    if numbers.min() < -1 or not 1 <= numbers.max() < _MOST_CLASSES:
        raise BadInput(f"label: expected classes 0, 1, ... (-1 for none), got {numbers.min()} to {numbers.max()}")
    return numbers


FEWEST: Final = 10
"""The fewest pictures of a class."""

_TEXT: Final = re.compile(r"\s*([^<>=!]+?)\s*(?:(<|>|!=)\s*([^<>=!]+?)\s*)?")


@final
@dataclass(frozen=True, slots=True)
class Label:
    """attribute: its name. classes: names in order. cut, above: yes is above (or below) the cut; None for levels."""

    text: str
    attribute: str
    classes: tuple[str, ...]
    cut: float | None = None
    above: bool = True

    @classmethod
    def parse(cls, text: str, attributes: Sequence[Attribute], option: str = "--label") -> Label:
        """From NAME (an attribute with levels), NAME!=none, NAME>X or NAME<X. option: whose text it is, for messages.

        NAME!=none is yes at any level of an attribute but the first, none. Raises UnknownName and BadInput.

        >>> glasses = Attribute("glasses", "categorical", "glasses", levels=("none", "clear", "dark"))
        >>> Label.parse("glasses!=none", [glasses]).of(np.array([0.0, 1.0, 2.0])).tolist()
        [0, 1, 1]
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise BadInput(f"{option} {text!r}: expected NAME, NAME!=none, NAME>X or NAME<X; for example smile>0.5")
        by_name = {entry.name: entry for entry in attributes}
        name, sign, value = match.groups()
        if name not in by_name:
            raise UnknownName("attribute", name, by_name, f"in {option}")
        attribute = by_name[name]
        if sign is None:
            if not attribute.discrete:
                raise BadInput(
                    f"{option} {name}: expected a cut of its range {attribute.low:g} to {attribute.high:g}: {name}>X"
                )
            return cls(text, name, attribute.levels)
        if sign == "!=":
            if not attribute.optional or value != "none":
                raise BadInput(f"{option} {text}: expected NAME!=none of an attribute whose first level is none")
            return cls(text, name, ("no", "yes"), 0.5)
        if attribute.nominal:
            raise BadInput(
                f"{option} {text}: expected only {name}, since its levels {', '.join(attribute.levels)} have no order"
            )
        return cls(text, name, ("no", "yes"), attribute.parse(value), sign == ">")

    def of(self, values: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The number of each row's class, int64; -1 where there is no label."""
        present = np.isfinite(values)
        if self.cut is None:
            numbers = np.where(present, values, 0)
        else:
            numbers = values > self.cut if self.above else values < self.cut
        return np.where(present, numbers, -1).astype(np.int64)

    def check(self, classes: Int[np.ndarray, " n"]) -> None:
        """Raises BadInput where a class has too few pictures, naming the class and its number of pictures."""
        for number, name in enumerate(self.classes):
            if (count := int((classes == number).sum())) < FEWEST:
                raise BadInput(
                    f"--label {self.text}: expected at least {FEWEST} pictures of class {name!r}, got "
                    f"{count}; use more pictures, another cut or another label"
                )


Condition = tuple[str, tuple[str, ...]]


def parse(text: str, attributes: Sequence[Attribute]) -> tuple[Attribute, tuple[float, ...]]:
    """Reads `NAME`, `NAME=CUT,CUT` or `NAME!=none`: the attribute and the cuts between its levels.

    There are none for a discrete one, but of `NAME!=none`: that is between its first level, none, and all others.
    """
    name, _, cuts = (part.strip() for part in text.partition("="))
    without = name.endswith("!")
    name = name.rstrip("! ")
    by_name = {attribute.name: attribute for attribute in attributes}
    if name not in by_name:
        raise UnknownName("attribute", name, by_name, hint="see: transect list attributes")
    attribute = by_name[name]
    if without:
        if not attribute.optional or cuts != "none":
            raise BadInput(f"condition {text!r}: expected NAME!=none of an attribute whose first level is none")
        return attribute, (0.5,)
    if attribute.discrete:
        if cuts:
            raise BadInput(f"condition {text!r}: expected no cuts, since {name} already has levels; drop {cuts!r}")
        return attribute, ()
    try:
        places = tuple(float(cut) for cut in cuts.split(","))
    except ValueError:
        places = ()
    if not places or any(b <= a for a, b in itertools.pairwise((attribute.low, *places, attribute.high))):
        middle = f"{name}={(attribute.low + attribute.high) / 2:g}"
        raise BadInput(
            f"condition {text!r}: expected increasing cuts between {attribute.low:g} and {attribute.high:g}; "
            f"try {middle}"
        )
    return attribute, places


def levels_of(attribute: Attribute, cuts: Sequence[float]) -> tuple[str, ...]:
    """The names of the levels."""
    if attribute.discrete:
        return ("none", "any") if cuts else attribute.levels
    between = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(cuts)]
    return (f"below {cuts[0]:g}", *between, f"from {cuts[-1]:g}")


@final
class Balanced:
    """The rows of some pictures, such that every class comes equally often; rows of small classes are repeated.

    `conditions` are names and levels, `classes` one-hot [n, k]. Rows with a missing value are left out, `left_out` says
    how many. Raises BadInput for a class without a picture.
    """

    def __init__(self, data: Pictures, texts: Sequence[str], attributes: Sequence[Attribute]) -> None:
        parsed = [parse(text, attributes) for text in texts]
        self._data = data
        self.conditions: list[Condition] = [(attribute.name, levels_of(attribute, cuts)) for attribute, cuts in parsed]
        columns = [_levels(data.column(attribute.name), cuts) for attribute, cuts in parsed]
        complete = np.all([column >= 0 for column in columns], axis=0)
        self.left_out = int((~complete).sum())
        counts = [len(levels) for _, levels in self.conditions]
        places = np.full(len(complete), -1)
        places[complete] = np.ravel_multi_index(tuple(column[complete] for column in columns), counts)
        self._rows = _balanced(places, self.conditions)
        self.classes = np.eye(int(np.prod(counts)))[places[self._rows]]

    def __len__(self) -> int:
        return len(self._rows)

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows."""
        return self._data.pixels(self._rows[rows])


def _levels(column: Float[np.ndarray, " n"], cuts: Sequence[float]) -> Int[np.ndarray, " n"]:
    """The level of each value; -1 where it is missing."""
    levels = np.searchsorted(np.asarray(cuts), column, side="right") if cuts else np.nan_to_num(column, nan=-1)
    return np.where(np.isnan(column), -1, levels).astype(np.int64)


def _balanced(places: Int[np.ndarray, " n"], conditions: Sequence[Condition]) -> Int[np.ndarray, " m"]:
    names = list(itertools.product(*(levels for _, levels in conditions)))
    members = [np.flatnonzero(places == number) for number in range(len(names))]
    if empty := [", ".join(name) for name, rows in zip(names, members, strict=True) if not len(rows)]:
        absent = "; ".join(empty[:3]) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
        raise BadInput(f"conditions: no pictures of {absent}; use fewer cuts")
    most = max(len(rows) for rows in members)
    return np.concatenate([np.resize(rows, most) for rows in members])
