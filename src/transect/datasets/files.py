"""Files of a data set: pictures and their crops, tables of labels, points of faces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.runs import bounds, pictures, table_inputs
from transect.runs.table_inputs import check_file_names
from transect.texts import words_of

DEFAULT_SIZE: Final = 128
LARGEST_SIZE: Final = 4096
SUFFIXES: Final = (".bmp", ".gif", ".jpg", ".jpeg", ".png", ".ppm", ".tif", ".tiff", ".webp")
_GREY: Final = 128
_ORIENTATION: Final = 0x0112  # the EXIF tag; 5 to 8 are turned by a quarter
_SIDEWAYS: Final = (5, 6, 7, 8)

Encoded: TypeAlias = "Path | bytes"
"""A picture as it is stored: its file, or the file's bytes."""


@runtime_checkable
class Pictures(Protocol):
    """Stored pictures by row number."""

    def __len__(self) -> int:
        """How many."""
        ...

    def name(self, row: int) -> str:
        """What messages call the picture."""
        ...

    def encoded(self, row: int) -> Encoded:
        """The picture as it is stored."""
        ...

    def take(self, rows: Iterable[int]) -> Pictures:
        """The chosen rows, in the chosen order."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Files:
    """Pictures that are files."""

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, row: int) -> str:
        """The path."""
        return str(self.paths[row])

    def encoded(self, row: int) -> Path:
        """The path."""
        return self.paths[row]

    def take(self, rows: Iterable[int]) -> Files:
        """The chosen rows, in the chosen order."""
        return Files(tuple(self.paths[row] for row in rows))


@final
@dataclass(frozen=True, slots=True)
class Crop:
    """A square cut out of each photograph. side: None for the shorter one; centre: x and y, None for the middle."""

    side: int | None = None
    centre: tuple[int, int] | None = None

    @classmethod
    def parse(cls, text: str) -> Crop:
        """From `center`, SIDE or SIDE@X,Y. Raises BadInput for another text."""
        if text == "center":
            return cls()
        side, at, centre = text.partition("@")
        try:
            x, y = map(int, centre.split(",")) if at else (0, 0)
            crop = cls(int(side), (x, y) if at else None)
        except ValueError:
            raise BadInput(f"crop: expected center, SIDE or SIDE@X,Y in pixels, got {text!r}; change it") from None
        if not 1 <= int(side) <= LARGEST_SIZE:
            raise BadInput(f"crop: expected a side from 1 to {LARGEST_SIZE} pixels, got {side}; change it")
        return crop

    def box(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in a photograph of that size. Raises BadInput where it does not fit."""
        side = min(width, height) if self.side is None else self.side
        if self.centre is None:
            left, top = (width - side) // 2, (height - side) // 2
        else:
            left, top = self.centre[0] - side // 2, self.centre[1] - side // 2
        if min(left, top) < 0 or left + side > width or top + side > height:
            raise BadInput(f"crop {self}: expected to lie in the photograph, got {width} x {height} pixels; change it")
        return left, top, left + side, top + side

    def __str__(self) -> str:
        if self.side is None:
            return "center"
        return str(self.side) if self.centre is None else f"{self.side}@{self.centre[0]},{self.centre[1]}"


def check_size(image_size: int | None) -> None:
    """Raises BadInput unless it is None or a size from 1 to 4096."""
    if image_size is not None and not 1 <= image_size <= LARGEST_SIZE:
        raise BadInput(f"image_size: expected a whole number of pixels from 1 to {LARGEST_SIZE}, got {image_size}")


def size_of(encoded: Encoded, name: str) -> tuple[int, int]:
    """Width and height as it is seen, from the header alone. Raises BadInput for what is no image."""
    with pictures.opened(encoded, name) as image:
        # Pillow would decode a whole PNG to look for EXIF behind the pixels.
        known = image.format != "PNG" or "exif" in image.info
        turned = known and image.getexif().get(_ORIENTATION, 1) in _SIDEWAYS
        return image.size[::-1] if turned else image.size


def pixels_of(encoded: Encoded, name: str, size: int | None, crop: Crop | None = None) -> UInt8[np.ndarray, "h w 3"]:
    """The picture as sRGB, cut, then fitted into a square of `size` (None: as it is) with grey margins, by Lanczos."""
    from PIL import Image

    image = pictures.open_rgb(encoded, name)
    if crop is not None:
        image = image.crop(crop.box(*image.size))
    if size is None or image.size == (size, size):
        return np.asarray(image)
    inner = _inside(*image.size, size)
    square = Image.new("RGB", (size, size), (_GREY,) * 3)
    square.paste(image.resize(inner, Image.Resampling.LANCZOS), _margins(inner, size))
    return np.asarray(square)


def _inside(width: int, height: int, size: int) -> tuple[int, int]:
    """Width and height of a picture whose longer side becomes `size`; a side keeps one pixel at least."""
    longer = max(width, height)
    across, down = (max(1, round(side / longer * size)) for side in (width, height))
    return across, down


def _margins(inner: tuple[int, int], size: int) -> tuple[int, int]:
    left, top = (round((size - side) * 0.5) for side in inner)
    return left, top


def fitted_points(
    points: Float[np.ndarray, "k 2"], width: int, height: int, size: int | None, crop: Crop | None = None
) -> Float[np.ndarray, "k 2"]:
    """Where `pixels_of` puts points of a picture of that width and height; pixel i spans i to i + 1."""
    if crop is not None:
        left, top, right, bottom = crop.box(width, height)
        points, width, height = points - (left, top), right - left, bottom - top
    if size is None or (width, height) == (size, size):
        return points
    inner = _inside(width, height, size)
    return np.asarray(points * np.array(inner) / (width, height) + _margins(inner, size))


TABLES = (".csv", ".parquet")


def columns_of(source: Path) -> dict[str, list[Any]]:
    """Columns of a Parquet file, or of a CSV as text: a label 01 is not the number 1."""
    if source.suffix.lower() == ".parquet":
        return _parquet(source)
    read = [row for _line, row in table_inputs.rows_of(source, str(source))]
    return columns(source, read[0] if read else [], read[1:])


def texts_of(source: Path, head: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Columns of a table as CelebA has it: a number of rows, names, and cells between blanks; or of Kaggle's CSV of it.

    head: the columns, of a file that is rows alone.
    """
    if source.suffix == ".csv":
        return columns_of(source)
    try:
        text = source.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(source, error) from None
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if head:
        return columns(source, head, lines, first=1)
    if len(lines) < 3 or len(lines[0]) != 1 or not lines[0][0].isdigit():
        raise BadInput(f"{source}: expected a number of rows, names and rows, got {len(lines)} lines; fetch it again")
    if len(lines) - 2 != int(lines[0][0]):
        raise BadInput(
            f"{source}: expected {int(lines[0][0])} rows as its first line says, got {len(lines) - 2}; it is cut"
        )
    return columns(source, ["image_id", *lines[1]], lines[2:], first=3)


def columns(source: Path, head: Sequence[str], body: Sequence[Sequence[str]], first: int = 2) -> dict[str, list[Any]]:
    """Columns by name. first: the line of the body's first row. Raises BadInput where a line is too long or short."""
    for number, row in enumerate(body, start=first):
        if len(row) != len(head):
            raise BadInput(f"{source}: expected {len(head)} columns in line {number}, got {len(row)}; fix the line")
    _columns_once(source, head)
    return {name: [row[place] for row in body] for place, name in enumerate(head)}


def folder_of(path: Path, wanted: str) -> Path:
    """The path itself; raises BadInput where it is no folder."""
    if not path.is_dir():
        raise BadInput(f"{path}: expected {wanted}, got no folder; check the path")
    return path


def find(path: Path, names: Iterable[str], inside: Iterable[str] = (".",)) -> Path | None:
    """The first of these names that lies in one of these folders of `path`, or None."""
    places = [path / folder / name for name in names for folder in inside]
    return next((place for place in places if place.exists()), None)


def needed(path: Path, names: Sequence[str], whose: str, inside: Sequence[str] = (".",)) -> Path:
    """The same; raises BadInput where none is there."""
    place = find(path, names, inside)
    if place is None:
        there = "" if inside == (".",) else f" in one of {', '.join(inside)}"
        raise BadInput(f"{path}: expected {' or '.join(names[:2])}{there}, found none; name {whose}'s folder")
    return place


def images_below(folder: Path) -> list[Path]:
    """Every image file in the folder and below it, sorted; links out of the folder are not followed."""
    files = [file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")]
    check_file_names(files)
    root = folder.resolve()
    return sorted(file for file in files if file.is_file() and file.resolve().is_relative_to(root))


def by_stem(files: Iterable[Path], folder: Path) -> dict[str, Path]:
    """Files by their name without suffix. Raises BadInput where two have one."""
    stems: dict[str, Path] = {}
    for file in files:
        if (other := stems.setdefault(file.stem, file)) is not file:
            raise BadInput(f"{folder}: expected one image named {file.stem}, got {other.name} and {file.name} there")
    return stems


def _parquet(source: Path) -> dict[str, list[Any]]:
    try:
        table = bounds.read_parquet(source)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(source, error) from None
    _columns_once(source, table.column_names)
    return dict(table.to_pydict())


def _unreadable(source: Path, error: Exception) -> BadInput:
    return BadInput(f"{source}: expected a readable table of labels, got {words_of(error)}")


def _columns_once(source: Path, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise BadInput(f"{source}: expected every column once, got {', '.join(names)}; rename one")


Points = Float[np.ndarray, "n k 2"]
COUNTS: Final = (5, 68)
"""Eyes, tip of the nose and corners of the mouth, left in the picture first; the 68 of 300-W in dlib's order."""


def of_lists(cells: Sequence[Sequence[object] | None], source: str) -> Points:
    """Points from x and y one after another; NaN where there are none."""
    counts = {len(cell) for cell in cells if cell}
    if len(counts) != 1 or not counts <= {2 * count for count in COUNTS}:
        found = ", ".join(map(str, sorted(counts))) or "none"
        raise BadInput(f"{source}: expected x and y of 5 or 68 points in each row, got {found} numbers; name others")
    nothing = [np.nan] * counts.pop()
    try:
        return np.array([cell or nothing for cell in cells], dtype=np.float64).reshape(len(cells), -1, 2)
    except (TypeError, ValueError):
        raise BadInput(f"{source}: expected numbers as landmarks, got something else; name others") from None
