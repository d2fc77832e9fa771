"""A folder of photographs and one table of labels, CSV or Parquet.

faces/labels.csv        file,subject,age,smile
faces/0001.jpg …        as the column `file` names them

Every other column is an attribute: text is levels, 0 and 1 are off and on, other numbers are a range. `subject` is who
is on the image, where several show one person; a row that does not say is a person of its own. Nothing in the table is
evaluated, and no file outside is opened.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.records import SUBJECTS_PER_SEED, Attribute, Images, Latents

FILE: Final = ("file", "image", "path", "filename")
SUBJECT: Final = "subject"
MOST_LEVELS: Final = 40
"""A column of text with more different values is a name, not an attribute."""

_TABLES: Final = (".csv", ".parquet")
_GREY: Final = 128
_ORIENTATION: Final = 0x0112  # the EXIF tag; 5 to 8 are turned by a quarter
_SIDEWAYS: Final = (5, 6, 7, 8)
_MISSING: Final = ("", "na", "nan", "null", "none")
DEFAULT_SIZE: Final = 128
LARGEST_SIZE: Final = 4096
_LONGEST_SHOWN: Final = 80
_FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # no format whose reader runs a program


@final
@dataclass(frozen=True)
class LabelledFolder:
    """Photographs with labels, as a world that samples its rows in order, reads their labels and opens their files.

    skipped: columns that are no attribute, with the reason.
    """

    path: Path
    attributes: tuple[Attribute, ...]
    files: tuple[Path, ...]
    values: dict[str, Float[np.ndarray, " n"]]
    subjects: tuple[int, ...]
    sha256: str
    image_size: int
    fitted: bool
    skipped: dict[str, str]
    latent_dim: int = 0

    @property
    def name(self) -> str:
        """As reports say it."""
        return f"folder:{self.path.name}"

    def __len__(self) -> int:
        return len(self.files)

    @classmethod
    def open(cls, path: Path, *, image_size: int | None = None) -> LabelledFolder:
        """Read the labels and find the images; none is decoded yet but one header each.

        Raises BadInput: no folder, no table or several, no file column, an image that is missing, outside or named
        twice, a size that is not from 1 to 4096.
        """
        if image_size is not None and not 1 <= image_size <= LARGEST_SIZE:
            raise BadInput(f"image_size: expected a whole number of pixels from 1 to {LARGEST_SIZE}, got {image_size}")
        source = _only_table(path)
        rows = _rows(source)
        column = next((name for name in FILE if name in rows), None)
        if column is None:
            raise BadInput(
                f"{source}: expected a column named {', '.join(FILE[:-1])} or {FILE[-1]}, got "
                f"{', '.join(rows) or 'an empty table'}; name the column of the images so"
            )
        files = tuple(_inside(path, source, str(name), row) for row, name in enumerate(rows[column]))
        if not files:
            raise BadInput(f"{source}: expected at least one row, got none; list the images")
        _once(files, source)
        attributes, values, skipped = _attributes({k: v for k, v in rows.items() if k not in (column, SUBJECT)})
        if not attributes:
            raise BadInput(f"{source}: expected at least one attribute beside {column}, got {_listed(skipped)}")
        sizes = {_size(file) for file in files}
        size = image_size or (max(next(iter(sizes))) if len(sizes) == 1 else DEFAULT_SIZE)
        fitted = len(sizes) > 1 or (image_size is not None and sizes != {(size, size)})
        subjects = _subjects(rows.get(SUBJECT), len(files))
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        return cls(path, attributes, files, values, subjects, digest, size, fitted, skipped)

    def sample(self, seeds: Any) -> Latents:
        """Row i for the i-th seed of a run."""
        return Latents(np.asarray(seeds), np.zeros((len(seeds), 0)), space="rows")

    def read(self, latents: Latents) -> pa.Table:
        """The labels of the rows."""
        rows = latents.seeds % SUBJECTS_PER_SEED
        return pa.table(
            {
                **{name: column[rows] for name, column in self.values.items()},
                SUBJECT: np.array(self.subjects, dtype=np.float64)[rows],
            }
        )

    def render(self, latents: Latents) -> Images:
        """The photographs of the rows; fitted into a square where they have several sizes."""
        rows = (latents.seeds % SUBJECTS_PER_SEED).tolist()
        return Images(np.stack([_pixels(self.files[row], self.image_size, self.fitted) for row in rows]))

    def set(self, latents: Latents, values: Any, hold: Sequence[str] = ()) -> Latents:
        """Photographs cannot be set. Raises BadInput unless nothing is asked."""
        if len(values) or hold:
            raise BadInput(f"{self.name}: photographs come as they are; vary attributes of a generator instead")
        return latents

    def describe(self) -> dict[str, Any]:
        """What a run's spec keeps: another table of labels is another run."""
        return {
            "name": self.name,
            "image_size": self.image_size,
            "images": len(self),
            "labels_sha256": self.sha256,
            "fitted": self.fitted,
            "skipped_columns": self.skipped,
            "subjects": len(set(self.subjects)),
        }

    def validity(self) -> dict[str, Any]:
        """What a report says of the images."""
        how = (
            f"each fitted into {self.image_size} x {self.image_size} pixels with grey margins"
            if self.fitted
            else "as they are"
        )
        return {
            "photometry_validated": True,
            "statement": f"{len(self)} photographs of {len(set(self.subjects))} subjects, {how}; nothing was set.",
        }


def _only_table(path: Path) -> Path:
    if not path.is_dir():
        raise BadInput(
            f"{path}: expected a folder of images with a CSV or Parquet of labels, got no folder; mend the path"
        )
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in _TABLES)
    if len(found) != 1:
        told = ", ".join(file.name for file in found) or "none"
        raise BadInput(f"{path}: expected one CSV or Parquet of labels, got {told}; leave one")
    return found[0]


def _rows(source: Path) -> dict[str, list[Any]]:
    """Columns of the table; text where it is a CSV."""
    try:
        if source.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            table = pq.ParquetFile(source).read()
            _columns_once(source, table.column_names)
            return table.to_pydict()  # type: ignore[no-any-return]
        with source.open(newline="", encoding="utf-8-sig") as lines:
            lines_read = list(csv.reader(lines))
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        raise BadInput(f"{source}: expected a readable table of labels, got {error}") from None
    head = lines_read[0] if lines_read else []
    body = [row for row in lines_read[1:] if row]
    for number, row in enumerate(body, start=2):
        if len(row) != len(head):
            raise BadInput(f"{source}: expected {len(head)} columns in line {number}, got {len(row)}; mend the line")
    _columns_once(source, head)
    return {name: [row[place] for row in body] for place, name in enumerate(head)}


def _columns_once(source: Path, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise BadInput(f"{source}: expected every column once, got {', '.join(names)}; rename one")


def _inside(folder: Path, source: Path, name: str, row: int) -> Path:
    try:
        file = folder / name
        inside, there = file.resolve().is_relative_to(folder.resolve()), file.is_file()
    except (
        ValueError,
        OSError,
        RuntimeError,
    ):  # a null character, too long, links in a circle
        inside, there = True, False
    shown = repr(name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…")
    if not inside:
        raise BadInput(
            f"{source}: row {row + 1} names {shown}, which lies outside {folder}; keep the images in the folder"
        )
    if not there:
        raise BadInput(f"{source}: row {row + 1} names {shown}, which is not there; add the image or drop the row")
    return file


def _once(files: Sequence[Path], source: Path) -> None:
    """Two rows of one image would count it as two, perhaps with other labels."""
    rows: dict[Path, int] = {}
    for row, file in enumerate(files, start=1):
        first = rows.setdefault(file.resolve(), row)
        if first != row:
            raise BadInput(f"{source}: rows {first} and {row} are of one image, {file.name!r}; keep one of them")


def _listed(skipped: dict[str, str]) -> str:
    return "; ".join(f"{name} ({why})" for name, why in skipped.items()) + ", no attribute" if skipped else "none"


def _broken() -> tuple[type[Exception], ...]:
    """What Pillow raises on files that are no images, or damaged ones; SyntaxError is its own word for a bad PNG."""
    from PIL import Image

    return OSError, SyntaxError, ValueError, Image.DecompressionBombError


def _size(file: Path) -> tuple[int, int]:
    from PIL import Image

    try:
        with Image.open(file, formats=_FORMATS) as image:
            turned = image.getexif().get(_ORIENTATION, 1) in _SIDEWAYS
            return image.size[::-1] if turned else image.size
    except _broken() as error:
        raise BadInput(f"{file}: expected an image, got {error}; mend it or drop its row") from None


def _pixels(file: Path, size: int, fitted: bool) -> UInt8[np.ndarray, "h w 3"]:
    from PIL import Image, ImageOps

    try:
        with Image.open(file, formats=_FORMATS) as opened:
            image = ImageOps.exif_transpose(opened).convert("RGB")
    except _broken() as error:
        raise BadInput(f"{file}: expected an image, got {error}; mend it or drop its row") from None
    if fitted:
        image = ImageOps.pad(image, (size, size), Image.Resampling.LANCZOS, color=(_GREY,) * 3)
    return np.asarray(image)


def _attributes(
    rows: dict[str, list[Any]],
) -> tuple[tuple[Attribute, ...], dict[str, Float[np.ndarray, " n"]], dict[str, str]]:
    made, values, skipped = [], {}, {}
    for name, column in rows.items():
        found = _attribute(name, column) if name.strip() else "a column without a name"
        if isinstance(found, str):
            skipped[name] = found
        else:
            made.append(found[0])
            values[name] = found[1]
    return tuple(made), values, skipped


def _attribute(name: str, column: list[Any]) -> tuple[Attribute, Float[np.ndarray, " n"]] | str:
    """The attribute that a column is, and its values; or why it is none."""
    texts = ["" if cell is None or str(cell).strip().lower() in _MISSING else str(cell).strip() for cell in column]
    numbers = _numbers(texts)
    if numbers is not None:
        return _measured(name, numbers)
    levels = sorted({text for text in texts if text})
    if len(levels) < 2:
        return "one value only"
    if len(levels) > MOST_LEVELS:
        return f"{len(levels)} different texts"
    kind = "binary" if len(levels) == 2 else "categorical"
    values = np.array([levels.index(text) if text else np.nan for text in texts], dtype=np.float64)
    return Attribute(name, kind, f"label {name}", levels=tuple(levels), source="the data set's labels"), values  # type: ignore[arg-type]


def _numbers(texts: list[str]) -> Float[np.ndarray, " n"] | None:
    named = {"true": 1.0, "false": 0.0}
    try:
        found = [np.nan if not text else named.get(text.lower()) for text in texts]
        return np.array([float(text) if value is None else value for text, value in zip(texts, found, strict=True)])
    except ValueError:
        return None


def _measured(name: str, values: Float[np.ndarray, " n"]) -> tuple[Attribute, Float[np.ndarray, " n"]] | str:
    values = np.where(np.isfinite(values), values, np.nan)
    known = values[np.isfinite(values)]
    if len(np.unique(known)) < 2:
        return "one value only" if len(known) else "no value"
    source = "the data set's labels"
    if np.isin(known, (0.0, 1.0)).all():
        return Attribute(name, "binary", f"label {name}", levels=("no", "yes"), source=source), values
    low, high = float(known.min()), float(known.max())
    return Attribute(name, "continuous", f"label {name}", low=low, high=high, source=source), values


def _subjects(column: list[Any] | None, n: int) -> tuple[int, ...]:
    """Who is on each image, as numbers in order of first use; every image without a name is its own subject."""
    if column is None:
        return tuple(range(n))
    order: dict[object, int] = {}
    names = ("" if cell is None else str(cell).strip() for cell in column)
    # A row's place is no text, so that it is nobody's name.
    keys = (place if name.lower() in _MISSING else name for place, name in enumerate(names))
    return tuple(order.setdefault(key, len(order)) for key in keys)
