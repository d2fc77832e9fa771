"""Photographs on disk, in files or in Parquet, as square arrays: formats, crop and size.

They are opened by `runs.picture_files`, and damaged files are named.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.runs import picture_files

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
    """A square cut out of each photograph before it is sized.

    side: in pixels, None for the shorter side. centre: x and y in pixels, None for the middle.
    """

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
    from PIL import Image

    try:
        with Image.open(_opened(encoded), formats=picture_files.FORMATS) as image:
            # Pillow would decode a whole PNG to look for EXIF behind the pixels.
            known = image.format != "PNG" or "exif" in image.info
            turned = known and image.getexif().get(_ORIENTATION, 1) in _SIDEWAYS
            return image.size[::-1] if turned else image.size
    except picture_files.faults() as error:
        raise picture_files.refused(name, error) from None


def pixels_of(encoded: Encoded, name: str, size: int | None, crop: Crop | None = None) -> UInt8[np.ndarray, "h w 3"]:
    """The picture as sRGB: cut where there is a crop, then fitted into a square of `size` (None: as it is).

    What is not square is fitted with grey margins; resized by Lanczos.
    """
    from PIL import Image, ImageOps

    image = picture_files.open_rgb(encoded, name)
    if crop is not None:
        image = image.crop(crop.box(*image.size))
    if size is not None and image.size != (size, size):
        thinnest = -(-max(image.size) // size)  # of which one pixel is left; Pillow would round a thinner one to none
        if min(image.size) < thinnest:
            image = image.resize((max(image.width, thinnest), max(image.height, thinnest)))
        image = ImageOps.pad(image, (size, size), Image.Resampling.LANCZOS, color=(_GREY,) * 3)
    return np.asarray(image)


def fitted_points(
    points: Float[np.ndarray, "k 2"], width: int, height: int, size: int | None, crop: Crop | None = None
) -> Float[np.ndarray, "k 2"]:
    """Where `pixels_of` puts points of a picture of that width and height; pixel i spans i to i + 1."""
    if crop is not None:
        left, top, right, bottom = crop.box(width, height)
        points, width, height = points - (left, top), right - left, bottom - top
    if size is None or (width, height) == (size, size):
        return points
    longer = max(width, height)
    inner = np.array([size if side == longer else max(1, round(side / longer * size)) for side in (width, height)])
    margins = [round((size - int(side)) * 0.5) for side in inner]
    return np.asarray(points * inner / (width, height) + margins)


def _opened(encoded: Encoded) -> io.BytesIO | Path:
    return io.BytesIO(encoded) if isinstance(encoded, bytes) else encoded
