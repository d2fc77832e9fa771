"""The one opener of pictures: sRGB with 8 bits, whatever is in the file; what has no such reading is refused.

No format is opened whose reader runs a program, and EXIF rotations are undone. Pillow alone would cut 16-bit values at
255, so that a ramp becomes white, and floating-point ones below 1 to black.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from transect.errors import BadInput
from transect.texts import words_of

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
PNG: Final = ("PNG",)
"""The format of a run's own pictures."""
_ORIENTATION: Final = 0x0112  # of EXIF; 1 is upright
_BITS, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0  # tags of TIFF 6.0, section 8
_ADVICE: Final = "save it with 8 or 16 bits per channel, or drop it"


def open_rgb(source: Path | bytes, name: str, formats: tuple[str, ...] = FORMATS) -> Picture:
    """The picture in mode RGB. source: a file or its bytes; name: what messages call it.

    16-bit values v become round(255 v / 65535); those of a TIFF with fewer bits b are divided by 2^b - 1. Palettes,
    gray, CMYK and transparency are converted by Pillow; transparency is dropped.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=formats) as opened:
            opened.load()
            # Pillow copies what it does not turn.
            turned = ImageOps.exif_transpose(opened) if opened.getexif().get(_ORIENTATION, 1) != 1 else opened
            return _eight_bits(turned, opened, name).convert("RGB")
    except faults() as error:
        raise refused(name, error) from None


def refused(name: str, error: Exception) -> BadInput:
    """What is said of a picture that cannot be read. error: one of `faults`."""
    return BadInput(f"{name}: expected an image, got {reason(error)}; fix it or drop it")


def pixels_of_png(png: object, name: str = "a picture of the run") -> np.ndarray:
    """The pixels uint8 [h, w, 3] of a PNG that a run holds. Raises BadInput for another, or a damaged one.

    A text is no PNG: it would be the path of a file.
    """
    if not isinstance(png, bytes):
        raise BadInput(f"{name}: expected the bytes of a PNG, got {type(png).__name__}; make the part again")
    return np.asarray(open_rgb(png, name, PNG))


def faults() -> tuple[type[Exception], ...]:
    """What Pillow raises on files that are no images, or damaged: for a bad PNG SyntaxError, for bad EXIF others."""
    from PIL import Image

    return (
        OSError,
        SyntaxError,
        ValueError,
        TypeError,
        LookupError,
        EOFError,
        OverflowError,
        struct.error,
        Image.DecompressionBombError,
    )


def reason(error: Exception) -> str:
    """Pillow's message in one line, without the path or the address in memory that it names."""
    if type(error).__name__ == "UnidentifiedImageError":
        return "another kind of file"
    return words_of(error)


def _eight_bits(picture: Picture, opened: Picture, name: str) -> Picture:
    """The picture itself, or with 8 bits where it has 16. opened: as Pillow opened it, with its tags."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and opened.format in ("PNG", "PPM")):
        return _scaled(picture, getattr(opened, "tag_v2", {}))
    if picture.mode in ("I", "F"):
        values = np.asarray(picture)
        low, high = (float(np.nan_to_num(value)) for value in (values.min(), values.max()))
        kind = "floating-point" if picture.mode == "F" else "signed or 32-bit"
        raise BadInput(f"{name}: expected 8 or 16 bits, got {kind} values from {low:g} to {high:g}; {_ADVICE}")
    return picture


def _scaled(picture: Picture, tags: Mapping[int, Any]) -> Picture:
    from PIL import Image

    white = 2 ** max(tags.get(_BITS, (16,))) - 1
    values = np.minimum(np.asarray(picture).astype(np.float64), white)
    if tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        values = white - values
    return Image.fromarray(np.rint(values * (255 / white)).astype(np.uint8))
