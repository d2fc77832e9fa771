"""Files of a data set: pictures and their crops, tables of labels, points of faces."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
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
SUFFIXES: Final = (
    *(".avif", ".bmp", ".gif", ".heic", ".heif", ".jpg", ".jpeg", ".png", ".ppm", ".tif", ".tiff", ".webp"),
)
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

    def name(self, row: int) -> str:
        """What messages call the picture."""

    def encoded(self, row: int) -> Encoded:
        """The picture as it is stored."""

    def take(self, rows: Iterable[int]) -> Pictures:
        """The chosen rows, in the chosen order."""


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
            raise BadInput(f"crop: expected center, SIDE or SIDE@X,Y in pixels, got {text!r}") from None
        if not 1 <= int(side) <= LARGEST_SIZE:
            raise BadInput(f"crop: expected a side from 1 to {LARGEST_SIZE} pixels, got {side}")
        return crop

    def box(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in a photograph of that size. Raises BadInput where it does not fit."""
        side = min(width, height) if self.side is None else self.side
        if self.centre is None:
            left, top = (width - side) // 2, (height - side) // 2
        else:
            left, top = self.centre[0] - side // 2, self.centre[1] - side // 2
        if min(left, top) < 0 or left + side > width or top + side > height:
            raise BadInput(f"crop {self} lies outside the photograph of {width} x {height} pixels")
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


def columns_of(source: Path) -> dict[str, list[object]]:
    """Columns of a Parquet file, or of a CSV as text: a label 01 is not the number 1."""
    if source.suffix.lower() == ".parquet":
        try:
            table = bounds.read_parquet(source)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(source, error) from None
        _columns_once(source, table.column_names)
        return dict(table.to_pydict())
    read = [row for _line, row in table_inputs.rows_of(source, str(source))]
    return columns(source, read[0] if read else [], read[1:])


def texts_of(source: Path, head: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Columns of a table as CelebA has it, or Kaggle's CSV of it; head: the columns, of a file that is rows alone."""
    if source.suffix == ".csv":
        return columns_of(source)
    try:
        text = source.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(source, error) from None
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if head:
        return columns(source, head, lines, first=1)
    counts = len(lines[0]) == 1 and lines[0][0].isdigit() if lines else False
    names, rows = (lines[1:2], lines[2:]) if counts else (lines[:1], lines[1:])
    if not (names and rows):
        raise BadInput(
            f"{source}: expected a number of rows, names and rows, got {len(lines)} lines; download it again"
        )
    if counts and len(rows) != int(lines[0][0]):
        raise BadInput(
            f"{source}: expected {int(lines[0][0])} rows, as its first line says, got {len(rows)}; the file is "
            "truncated"
        )
    head = names[0] if len(names[0]) == len(rows[0]) else ["image_id", *names[0]]
    return columns(source, head, rows, first=3 if counts else 2)


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
        raise BadInput(f"{path}: no such folder; give {wanted}")
    return path


def find(path: Path, names: Iterable[str], inside: Iterable[str] = (".",)) -> Path | None:
    """The first of these names that lies in one of these folders of `path`, or None."""
    places = [path / folder / name for name in names for folder in inside]
    return next((place for place in places if place.exists()), None)


def needed(path: Path, names: Sequence[str], whose: str, inside: Sequence[str] = (".",)) -> Path:
    """The same; raises BadInput where none is there."""
    place = find(path, names, inside)
    if place is None:
        there = "" if inside == (".",) else f" in it or in one of {', '.join(inside[1:])}"
        raise BadInput(f"{path}: no {' or '.join(names[:2])}{there}; name {whose}'s folder")
    return place


def images_below(folder: Path) -> list[Path]:
    """Every image file in the folder and below it, sorted; links out of the folder are not followed."""
    files = [file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")]
    check_file_names(files)
    root = folder.resolve()
    return sorted(file for file in files if file.is_file() and file.resolve().is_relative_to(root))


def other_files(folder: Path, used: Path | None = None) -> dict[str, int]:
    """What the folder holds besides images and a table: reason -> how many, by suffix. Hidden files are left out."""
    files = [file for file in folder.rglob("*") if not file.name.startswith(".") and file != used and file.is_file()]
    kinds = Counter(file.suffix.lower() for file in files if file.suffix.lower() not in SUFFIXES)
    return {f"files that are no image ({kind or 'without suffix'})": count for kind, count in sorted(kinds.items())}


@final
class Names:
    """The images of a folder by the names that tables give them, which another system may have written.

    A name may lack the suffix, be a path of another machine with slashes or backslashes, or be in another form of
    Unicode. Letters of another case are another file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _files(self) -> dict[str, Path]:
        return {_composed(file.relative_to(self._folder).as_posix()): file for file in images_below(self._folder)}

    @cached_property
    def _stems(self) -> dict[str, list[Path]]:
        stems: dict[str, list[Path]] = {}
        for name, file in self._files.items():
            stems.setdefault(name.removesuffix(file.suffix), []).append(file)
        return stems

    @cached_property
    def _cases(self) -> dict[str, str]:
        return {name.casefold(): name for name in self._files}

    def find(self, name: str) -> Path | None:
        """The one image that the name means, or None."""
        for path in _tails(name):
            found = [self._files[path]] if path in self._files else self._stems.get(path, [])
            if len(found) == 1:
                return found[0]
        return None

    def difference(self, name: str) -> str:
        """What keeps the name from being that of an image that is there; "" where nothing is near."""
        tails = _tails(name)
        for path in tails:
            if path.casefold() in self._cases:
                return f"the file is {self._cases[path.casefold()]}: upper and lower case differ"
            if same := self._stems.get(path.removesuffix(PurePosixPath(path).suffix)):
                return f"the file is {same[0].relative_to(self._folder)}: the suffix differs"
        return "a path from a different machine; write paths relative to the folder" if len(tails) > 1 else ""


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _tails(name: str) -> list[str]:
    """The paths below a folder that a name may mean: itself; for a path of another machine, each of its ends."""
    windows = PureWindowsPath(name)
    path = windows if "\\" in name else PurePosixPath(name)
    parts = [_composed(part) for part in path.parts if part != path.anchor]
    return ["/".join(parts[start:]) for start in range(len(parts) if path.anchor else min(1, len(parts)))]


def look(folder: Path, name: str, names: Names | None = None) -> tuple[Path, bool, bool]:
    """The file of that name; whether it lies in the folder, and whether it is there. names: to find others' names."""
    try:
        file = folder / name
        inside, there = file.resolve().is_relative_to(folder.resolve()), file.is_file()
    except (ValueError, OSError, RuntimeError):  # a null character, too long, links in a circle
        return folder, True, False
    if names is not None and not (inside and there) and (found := names.find(name)) is not None:
        return found, True, True
    return file, inside, there


def by_stem(files: Iterable[Path], folder: Path) -> dict[str, Path]:
    """Files by their name without suffix. Raises BadInput where two have one."""
    stems: dict[str, Path] = {}
    for file in files:
        if (other := stems.setdefault(file.stem, file)) is not file:
            raise BadInput(f"{folder}: expected one image named {file.stem}, got {other.name} and {file.name} there")
    return stems


def _unreadable(source: Path, error: Exception) -> BadInput:
    return BadInput(f"{source}: expected a readable table of labels, got {words_of(error)}")


def _columns_once(source: Path, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise BadInput(f"{source}: expected unique column names, got {', '.join(names)}; rename one")


Points = Float[np.ndarray, "n k 2"]
COUNTS: Final = (5, 68)
"""Eyes, tip of the nose and corners of the mouth, left in the picture first; the 68 of 300-W in dlib's order."""


def of_lists(cells: Sequence[Sequence[object] | None], source: str) -> Points:
    """Points from x and y one after another; NaN where there are none."""
    counts = {len(cell) for cell in cells if cell}
    if len(counts) != 1 or not counts <= {2 * count for count in COUNTS}:
        found = ", ".join(map(str, sorted(counts))) or "none"
        raise BadInput(
            f"{source}: expected x and y of 5 or 68 points in each row, got {found} numbers; choose other columns"
        )
    nothing = [np.nan] * counts.pop()
    try:
        return np.array([cell or nothing for cell in cells], dtype=np.float64).reshape(len(cells), -1, 2)
    except (TypeError, ValueError):
        raise BadInput(f"{source}: expected numbers as landmarks; choose other columns") from None
