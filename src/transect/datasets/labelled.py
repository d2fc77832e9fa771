"""Labelled photographs as a study's images: columns of labels as attributes, and the result of every reader.

Two texts, or 0 and 1, are two levels; up to 40 texts are levels; other numbers are a range; an empty cell is a
missing value, NaN.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8

from transect.datasets.files import (
    DEFAULT_SIZE,
    SUFFIXES,
    Crop,
    Files,
    Pictures,
    Points,
    check_size,
    fitted_points,
    pixels_of,
    size_of,
)
from transect.errors import BadInput, UnknownName
from transect.records import SUBJECTS_PER_SEED, Attribute, Images, Latents
from transect.runs.pictures import lacking, open_rgb
from transect.runs.wording import counted

MOST_LEVELS: Final = 40
"""A column of text with more different values is a name, not an attribute."""

MISSING: Final = ("", "na", "n/a", "#n/a", "nan", "null", "-")
_NOBODY: Final = (*MISSING, "none")
"""Texts for a missing number or name; among levels, "none" is one of them."""
SOURCE: Final = "the data set's labels"
_DECIMAL_COMMA: Final = re.compile(r"[-+]?\d+(?:,\d+)?")

Labelled: TypeAlias = tuple[Attribute, Float[np.ndarray, " n"]]
"""An attribute and its value for each row, NaN where it is not known."""


def attributes_of(rows: Mapping[str, Sequence[object]]) -> tuple[dict[str, Labelled], dict[str, str]]:
    """The attributes that the columns are, by name, and why each other column is none.

    >>> labels, skipped = attributes_of({"smile": ["1", "0"], "camera": ["x", "x"]})
    >>> labels["smile"][0].levels, skipped
    (('no', 'yes'), {'camera': 'one value only'})
    """
    return divided(
        {name: _attribute(name, column) if name.strip() else "a column without a name" for name, column in rows.items()}
    )


def divided(found: Mapping[str, Labelled | str]) -> tuple[dict[str, Labelled], dict[str, str]]:
    """Those that are attributes, and why each other is none."""
    labels = {name: label for name, label in found.items() if not isinstance(label, str)}
    return labels, {name: reason for name, reason in found.items() if isinstance(reason, str)}


def levels_in_order(
    name: str, column: Sequence[str], levels: Sequence[str], meaning: str, source: str
) -> Labelled | str:
    """An attribute whose levels are known and in their own order; other texts are missing values. Or why it is none."""
    known = {level: float(place) for place, level in enumerate(levels)}
    values = np.array([known.get(str(cell), np.nan) for cell in column], dtype=np.float64)
    seen = values[np.isfinite(values)]
    if len(np.unique(seen)) < 2:
        return "one value only" if len(seen) else "no value"
    kind = "binary" if len(levels) == 2 else "categorical"
    return Attribute(name, kind, meaning, levels=tuple(levels), source=source), values  # type: ignore[arg-type]


def subjects_of(column: Sequence[object] | None, n: int) -> tuple[int, ...]:
    """Who is on each image, as numbers in order of first use; every image without a name is its own subject."""
    if column is None:
        return tuple(range(n))
    order: dict[object, int] = {}
    names = ("" if cell is None else str(cell).strip() for cell in column)
    # A row's place is a number, so that no name equals it.
    keys = (place if name.lower() in _NOBODY else name for place, name in enumerate(names))
    return tuple(order.setdefault(key, len(order)) for key in keys)


def _attribute(name: str, column: Sequence[object]) -> Labelled | str:
    """The attribute that a column is, and its values; or why it is none."""
    if any(isinstance(cell, list | dict | bytes) for cell in column):
        return "lists or records"
    cells = ["" if cell is None else str(cell) for cell in column]
    texts = ["" if cell.strip().lower() in MISSING else cell.strip() for cell in cells]
    numbers = _numbers(["" if text.lower() in _NOBODY else text for text in texts])
    if numbers is not None:
        return _measured(name, numbers)
    levels = sorted({text for text in texts if text})
    if levels and all(_DECIMAL_COMMA.fullmatch(text) for text in levels):
        return f"numbers with a decimal comma, as {levels[0]}; write them with a point"
    if len(levels) < 2:
        return "one value only"
    if len(levels) > MOST_LEVELS:
        return f"{len(levels)} different texts"
    blanks = sum(cell != text for cell, text in zip(cells, texts, strict=True) if text)
    note = f" (without the blanks around {counted(blanks, 'label')})" if blanks else ""
    return levels_in_order(name, texts, levels, f"label {name}{note}", SOURCE)


def _numbers(texts: Sequence[str]) -> Float[np.ndarray, " n"] | None:
    named = {"true": 1.0, "false": 0.0}
    try:
        values = [np.nan if not text else named.get(text.lower()) for text in texts]
        return np.array([float(text) if value is None else value for text, value in zip(texts, values, strict=True)])
    except ValueError:
        return None


def _measured(name: str, values: Float[np.ndarray, " n"]) -> Labelled | str:
    values = np.where(np.isfinite(values), values, np.nan)
    known = values[np.isfinite(values)]
    if len(np.unique(known)) < 2:
        return "one value only" if len(known) else "no value"
    if np.isin(known, (0.0, 1.0)).all():
        return Attribute(name, "binary", f"label {name}", levels=("no", "yes"), source=SOURCE), values
    low, high = float(known.min()), float(known.max())
    return Attribute(name, "continuous", f"label {name}", low=low, high=high, source=SOURCE), values


SUBJECT = "subject"
BROKEN = "unreadable image files"
NO_IMAGE: Final = "rows of labels without an image"
NO_ROW: Final = "images without a row of labels"
OTHER_PART: Final = "rows of other parts"
_MOST_NAMED = 10


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A request to a reader; options as of `open_dataset`. A limit is drawn: many data sets are sorted by a label."""

    image_size: int | None = None
    crop: Crop | None = None
    split: str | None = None
    limit: int | None = None
    labelled: bool = True
    max_unreadable: int | None = None
    strict: bool = True

    def __post_init__(self) -> None:
        if self.max_unreadable is not None and self.max_unreadable < 0:
            raise BadInput(f"--max-unreadable: expected at least 0 photographs, got {self.max_unreadable}")
        check_size(self.image_size)
        if self.limit is not None and self.limit < 1:
            raise BadInput(f"limit: expected at least 1 row, got {self.limit}")


@dataclass(frozen=True)
class Rows:
    """What a reader found, before an image is looked at: row i of everything is of one image.

    skipped: columns that are no attribute, and why. left_out: what was found and does not count, reason -> how many.
    about: the reports' sentence about the labels. parts, points: empty and None where the data set has none.
    """

    pictures: Pictures
    ids: tuple[str, ...]
    labels: Mapping[str, Labelled]
    subjects: tuple[int, ...]
    sha256: str
    skipped: Mapping[str, str]
    left_out: Mapping[str, int]
    about: str = ""
    parts: tuple[str, ...] = ()
    points: Points | None = None

    def take(self, rows: Sequence[int]) -> Self:
        """The chosen rows."""
        chosen = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            pictures=self.pictures.take(rows),
            ids=tuple(self.ids[row] for row in rows),
            labels={name: (attribute, values[chosen]) for name, (attribute, values) in self.labels.items()},
            subjects=tuple(self.subjects[row] for row in rows),
            parts=tuple(self.parts[row] for row in rows) if self.parts else (),
            points=None if self.points is None else self.points[chosen],
        )


@final
@dataclass(frozen=True, kw_only=True)
class LabelledImages(Rows):
    """Photographs with labels, as a world that samples its rows in order, reads their labels and opens their files.

    reader, path: from READER:PATH. ids: a name for each row, each once. subjects: who is on each image, as numbers.
    fitted: whether images are sized to a square of image_size. skipped: columns that are no attribute, with the reason.
    left_out: reason -> how many. parts: the official part of each row, as train or val; empty where the data set names
    none. unreadable: reason -> the ids of images that cannot be read and are left out. points: landmarks of the faces
    on the pictures as stored; None without.
    """

    reader: str
    path: Path
    image_size: int
    fitted: bool
    crop: Crop | None
    unreadable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    latent_dim: int = 0

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that the labels are of."""
        return tuple(attribute for attribute, _ in self.labels.values())

    @cached_property
    def values(self) -> dict[str, Float[np.ndarray, " n"]]:
        """Float64 by attribute, NaN where a label is missing."""
        return {name: values for name, (_, values) in self.labels.items()}

    @property
    def name(self) -> str:
        """As reports show it."""
        return f"{self.reader}:{self.path.name}"

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """The values of one attribute, NaN where there is no label. Raises UnknownName for another name."""
        if name not in self.values:
            raise UnknownName("attribute", name, self.values, f"labels of {self.name}")
        return self.values[name]

    def table(self) -> pa.Table:
        """One row per image: id, subject, and a float64 column per attribute."""
        return pa.table({"id": list(self.ids), SUBJECT: list(self.subjects), **self.values})

    def level_names(self, name: str) -> pa.Array:
        """The name of each image's level of an attribute with levels; null where it is not known."""
        levels = next(attribute.levels for attribute in self.attributes if attribute.name == name)
        return pa.array([None if np.isnan(value) else levels[int(value)] for value in self.values[name]], pa.string())

    def pixels(self, rows: Int[np.ndarray, " m"] | Sequence[int]) -> UInt8[np.ndarray, "m h w 3"]:
        """The images of those rows, in that order. Raises BadInput for a damaged one, by name."""
        side = self.image_size if self.fitted else None
        with _advice():
            images = [
                pixels_of(self.pictures.encoded(int(r)), self.pictures.name(int(r)), side, self.crop) for r in rows
            ]
        for row, image in zip(rows, images, strict=True):
            if image.shape != images[0].shape:  # EXIF behind a PNG's pixels turned it
                name = self.pictures.name(int(row))
                raise BadInput(f"{name}: expected {images[0].shape[:2]} pixels, got {image.shape[:2]}; give a size")
        return np.stack(images)

    def batches(
        self, size: int, *, shuffle: int | None = None
    ) -> Iterator[tuple[UInt8[np.ndarray, "m h w 3"], pa.Table]]:
        """Images and their rows of `table`, `size` at a time, in order or shuffled by a seed; each image once."""
        if size < 1:
            raise BadInput(f"batches: expected a size of at least 1, got {size}")
        order = np.arange(len(self))
        if shuffle is not None:
            order = np.random.Generator(np.random.Philox(shuffle)).permutation(order)
        table = self.table()
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            yield self.pixels(rows), table.take(rows)

    def sample(self, seeds: Any) -> Latents:
        """Row i for the i-th seed of a run."""
        return Latents(np.asarray(seeds), np.zeros((len(seeds), 0)), space="rows")

    def read(self, latents: Latents) -> pa.Table:
        """The labels of the rows."""
        rows = latents.seeds % SUBJECTS_PER_SEED
        labels = {name: column[rows] for name, column in self.values.items()}
        return pa.table({**labels, SUBJECT: np.array(self.subjects, dtype=np.float64)[rows]})

    def render(self, latents: Latents) -> Images:
        """The photographs of the rows."""
        return Images(self.pixels(latents.seeds % SUBJECTS_PER_SEED))

    def landmarks(self, latents: Latents) -> Points | None:
        """X and y in pixels of the rows' landmarks, NaN where the data set has none; None for one without any."""
        if self.points is None:
            return None
        side, found = self.image_size if self.fitted else None, []
        for row in (latents.seeds % SUBJECTS_PER_SEED).tolist():
            width, height = size_of(self.pictures.encoded(row), self.pictures.name(row))
            found.append(fitted_points(self.points[row], width, height, side, self.crop))
        return np.array(found).reshape(len(found), *self.points.shape[1:])

    def set(self, latents: Latents, values: Any, hold: Sequence[str] = ()) -> Latents:
        """Photographs cannot be set. Raises BadInput unless there is nothing to set."""
        if len(values) or hold:
            raise BadInput(f"{self.name}: photographs cannot be edited; vary attributes of a generator instead")
        return latents

    def describe(self) -> dict[str, object]:
        """What a run's spec keeps: another table of labels is another run."""
        return {
            "name": self.name,
            "image_size": self.image_size,
            "images": len(self),
            "labels_sha256": self.sha256,
            "fitted": self.fitted,
            "crop": None if self.crop is None else str(self.crop),
            "skipped_columns": self.skipped,
            "left_out": self.left_out,
            "subjects": len(set(self.subjects)),
        }

    def validity(self) -> dict[str, object]:
        """What a report says of the images."""
        sentence = f"{len(self)} photographs of {len(set(self.subjects))} subjects, {self.framing()}; nothing was set."
        said = [sentence, *self.notes(), *unnamed_people(self.subjects), self.about]
        return {"photometry_validated": True, "statement": " ".join(said).strip()}

    def framing(self) -> str:
        """How photographs become images, in words."""
        side = f"{self.image_size} x {self.image_size} pixels"
        if self.crop is not None:
            cut = "central square" if self.crop.side is None else f"square {self.crop}"
            return f"the {cut} of each at {side}"
        return f"each fitted into {side} with grey margins" if self.fitted else "as they are"

    def notes(self) -> list[str]:
        """What does not count, a sentence for each reason."""
        return list(left_out_notes(self.left_out, self.unreadable))


def left_out_notes(left_out: Mapping[str, int], named: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A sentence for each reason for which images are left out, with the names of those that are known."""
    for reason, count in left_out.items():
        if count:
            yield f"Left out, {reason}: {count}{f' ({some_of(named[reason])})' if reason in named else ''}."


def unnamed_people(subjects: Sequence[int]) -> list[str]:
    """A note, in a list, that no column names people, where every photograph counts as another person."""
    if len(set(subjects)) < max(2, len(subjects)):
        return []
    return [
        "Each photograph is treated as a different person. If people repeat, intervals are too narrow: identify them "
        f"in a column {SUBJECT} of the table of labels."
    ]


def build(reader: str, path: Path, rows: Rows, request: Request, *, strict: bool = False) -> LabelledImages:
    """The data set of the rows that a reader found; strict: a broken image is refused, not counted."""
    if not rows.ids:
        wanted = "images with labels" if request.labelled else f"images ({', '.join(SUFFIXES)})"
        fix = "look at the folder" if request.labelled else "check the path, or add images"
        raise BadInput(f"{path}: no {wanted}{_counted(rows.left_out)}; {fix}")
    _once(rows.ids, path)
    if request.labelled and not rows.labels:
        skipped = "; ".join(f"{name} ({reason})" for name, reason in rows.skipped.items())
        got = f"{skipped}, no attribute" if skipped else "none"
        raise BadInput(f"{path}: expected at least one attribute, got {got}")
    limited = _limited(rows, request.limit)
    rows, sizes, unreadable = _readable(limited, strict, request.max_unreadable)
    if not rows.ids:
        raise BadInput(f"{path}: no readable images{_counted(rows.left_out)}; check the files")
    size, fitted = _framing(sizes, request)
    found = {**vars(rows), "left_out": {reason: count for reason, count in rows.left_out.items() if count}}
    return LabelledImages(
        **found, reader=reader, path=path, image_size=size, fitted=fitted, crop=request.crop, unreadable=unreadable
    )


def joined(
    names: Sequence[str],
    files: Mapping[str, Path],
    labels: Callable[[list[int]], tuple[dict[str, Labelled], dict[str, str]]],
    sources: Iterable[bytes | Path],
    *,
    wanted: Sequence[bool] | None = None,
    people: Sequence[object] | None = None,
    parts: Sequence[str] = (),
    about: str = "",
) -> Rows:
    """The rows of labels whose images are there and of the part asked for, and what is left out, counted."""
    in_part = [row for row in range(len(names)) if wanted is None or wanted[row]]
    kept = [row for row in in_part if names[row] in files]
    left = {
        NO_IMAGE: len(in_part) - len(kept),
        NO_ROW: len(files.keys() - set(names)),
        OTHER_PART: len(names) - len(in_part),
    }
    attributes, skipped = labels(kept)
    ids = tuple(names[row] for row in kept)
    subjects = subjects_of(None if people is None else [people[row] for row in kept], len(ids))
    pictures = Files(tuple(files[name] for name in ids))
    of_rows = tuple(parts[row] for row in kept) if parts else ()
    return Rows(pictures, ids, attributes, subjects, digest(sources), skipped, left, about, of_rows)


def digest(parts: Iterable[bytes | Path]) -> str:
    """SHA-256 of the bytes and files, one after another."""
    sha256 = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                sha256.update(hashlib.file_digest(file, "sha256").digest())
        else:
            sha256.update(part)
    return sha256.hexdigest()


def _limited(rows: Rows, limit: int | None) -> Rows:
    if limit is None or limit >= len(rows.ids):
        return rows
    drawn = np.random.Generator(np.random.Philox(0)).permutation(len(rows.ids))[:limit]
    taken = rows.take(np.sort(drawn).tolist())
    return replace(taken, left_out={**rows.left_out, "rows beyond the limit": len(rows.ids) - limit})


def _framing(sizes: set[tuple[int, int]], request: Request) -> tuple[int, bool]:
    """The side of the images, and whether they are sized to it."""
    if request.crop is not None:
        sides = {right - left for left, _, right, _ in (request.crop.box(*size) for size in sorted(sizes))}
        return request.image_size or (sides.pop() if len(sides) == 1 else DEFAULT_SIZE), True
    size = request.image_size or (max(next(iter(sizes))) if len(sizes) == 1 else DEFAULT_SIZE)
    return size, len(sizes) > 1 or (request.image_size is not None and sizes != {(size, size)})


def _readable(
    rows: Rows, strict: bool, most: int | None
) -> tuple[Rows, set[tuple[int, int]], dict[str, tuple[str, ...]]]:
    """Rows whose images can be read, their sizes, the others' ids; most: decode each, and refuse more than these."""
    good, sizes, reasons = [], set(), {}
    lost: dict[str, tuple[str, ...]] = {}
    for row, name in enumerate(rows.ids):
        try:
            size = size_of(rows.pictures.encoded(row), rows.pictures.name(row))
            if most is not None:
                open_rgb(rows.pictures.encoded(row), rows.pictures.name(row))
        except BadInput as error:
            if strict and most is None:
                raise _with_advice(error) from None
            reasons[name] = str(error)
            needs = lacking(rows.pictures.encoded(row))
            kind = f"photographs of the kind {needs}" if needs else BROKEN
            lost[kind] = (*lost.get(kind, ()), name)
        else:
            good.append(row)
            sizes.add(size)
    if most is not None and len(reasons) > most:
        raise _too_many(reasons, most)
    if not reasons:
        return rows, sizes, {}
    counts = Counter(rows.left_out) + Counter({kind: len(names) for kind, names in lost.items()})
    return replace(rows.take(good), left_out=counts), sizes, lost


def _too_many(reasons: Mapping[str, str], most: int) -> BadInput:
    found = f"{len(reasons)} ({some_of(list(reasons))}; the first: {next(iter(reasons.values()))})"
    return BadInput(
        f"--max-unreadable {most}: expected at most {counted(most, 'photograph')} that cannot be read, found {found}; "
        "repair or remove them, or allow more"
    )


def some_of(names: Sequence[str]) -> str:
    """The first ten, and how many more there are."""
    more = [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*names[:_MOST_NAMED], *more])


@contextmanager
def _advice() -> Iterator[None]:
    """Adds to the error about an unreadable photograph the option that leaves it out."""
    try:
        yield
    except BadInput as error:
        raise _with_advice(error) from None


def _with_advice(error: BadInput) -> BadInput:
    again = "and another --out, or --overwrite, where a run is there"
    return BadInput(f"{error}; an audit with --max-unreadable 1 leaves it out ({again})")


def _once(ids: Sequence[str], path: Path) -> None:
    """Two rows of one id would count one image as two, perhaps with other labels."""
    rows: dict[str, int] = {}
    for row, name in enumerate(ids, start=1):
        first = rows.setdefault(name, row)
        if first != row:
            raise BadInput(f"{path}: rows {first} and {row} share the id {name!r}; keep one of them")


def _counted(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
    return f" ({counts})" if counts else ""
