"""Pictures of a run: files of every kind as sRGB with 8 bits, and PNG with the same bytes each time."""

from __future__ import annotations

import io
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from jaxtyping import UInt8

from transect.errors import BadInput
from transect.texts import words_of

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFile import ImageFile


LARGEST_FILE: Final = 1 << 30
"""Bytes of a picture's file; as many as the most pixels take without compression."""
LARGEST_SIDE: Final = 65_535
"""Pixels of a side, as of JPEG: a strip of a million by one has few bytes, and takes gigabytes where it is resized."""
MOST_PIXELS: Final = 178_956_970
"""Pixels at which Pillow too refuses a picture, unless other code of the process lifted its bound."""
FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
_FURTHER: Final = {
    b"avif": ("AVIF", "Pillow 11.3 or newer: pip install -U pillow"),
    b"avis": ("AVIF", "Pillow 11.3 or newer: pip install -U pillow"),
    b"hei": ("HEIF", "pip install 'transect[heic]'"),
    b"hev": ("HEIF", "pip install 'transect[heic]'"),
    b"mif1": ("HEIF", "pip install 'transect[heic]'"),
}
"""By the brand in a file's first bytes: formats that are read where a library can, and what brings it."""
PNG: Final = ("PNG",)
"""The format of a run's own pictures."""
_ORIENTATION: Final = 0x0112  # of EXIF; 1 is upright
_BITS, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0  # tags of TIFF 6.0, section 8
_ADVICE: Final = "save it with 8 or 16 bits per channel, or drop it"


@cache
def readable() -> tuple[str, ...]:
    """The formats that can be read here: AVIF where Pillow has it, HEIF (HEIC) where pillow-heif is installed."""
    from PIL import features

    further = ("AVIF",) if features.check("avif") else ()
    try:
        import pillow_heif
    except ImportError:
        return FORMATS + further
    pillow_heif.register_heif_opener()
    return (*FORMATS, *further, "HEIF")


def lacking(source: Path | bytes) -> str:
    """What is needed to read a picture of a known kind that cannot be read here; "" of any other."""
    try:
        start = source[:12] if isinstance(source, bytes) else _start(source)
    except OSError:
        return ""
    for brand, (kind, remedy) in _FURTHER.items():
        if start[4:8] == b"ftyp" and start[8:].startswith(brand) and kind not in readable():
            return f"{kind}, which needs {remedy}"
    return ""


def _start(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(12)


def open_rgb(source: Path | bytes, name: str, formats: tuple[str, ...] = ()) -> Picture:
    """The picture in mode RGB. source: a file or its bytes; name: what messages call it; formats: those `readable`.

    16-bit values v become round(255 v / 65535); those of a TIFF with fewer bits b are divided by 2^b - 1. Palettes,
    gray, CMYK and transparency are converted by Pillow; transparency is dropped.
    """
    from PIL import ImageOps

    with opened(source, name, formats) as picture:
        picture.load()
        # Pillow copies what it does not turn.
        turned = ImageOps.exif_transpose(picture) if picture.getexif().get(_ORIENTATION, 1) != 1 else picture
        return _eight_bits(turned, picture, name).convert("RGB")


@contextmanager
def opened(source: Path | bytes, name: str, formats: tuple[str, ...] = ()) -> Iterator[ImageFile]:
    """The picture by its header, within the bounds. Raises BadInput, also for what Pillow raises while it is open."""
    from PIL import Image

    try:
        if isinstance(source, Path):
            _check_file(source, name)
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        with Image.open(file, formats=formats or readable()) as picture:
            _check_pixels(picture.width, picture.height, name)
            yield picture
    except faults() as error:
        raise refused(name, error, source) from None


def content_of(source: Path | bytes, name: str = "") -> bytes:
    """The bytes of a picture's file. Raises BadInput for a file that is none, OSError for one that is not there."""
    if isinstance(source, bytes):
        return source
    _check_file(source, name or str(source))
    return source.read_bytes()


def _check_file(path: Path, name: str) -> None:
    """Raises BadInput for a device or pipe, and for a file with more bytes than a picture has, such as a sparse one."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{name}: expected the file of an image, got a folder, device or pipe; drop it")
    if status.st_size > LARGEST_FILE:
        raise BadInput(
            f"{name}: expected a picture of at most {LARGEST_FILE >> 30} GiB, got {status.st_size:,} bytes; drop it"
        )


def _check_pixels(width: int, height: int, name: str) -> None:
    if max(width, height) > LARGEST_SIDE or width * height > MOST_PIXELS:
        raise BadInput(
            f"{name}: expected at most {LARGEST_SIDE:,} pixels a side and {MOST_PIXELS:,} in all, got {width} "
            f"x {height}; resize or drop it"
        )


def refused(name: str, error: Exception, source: Path | bytes = b"") -> BadInput:
    """What is said of a picture that cannot be read. error: one of `faults`."""
    return BadInput(f"{name}: expected an image, got {lacking(source) or reason(error)}; fix it or drop it")


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
        return "a different kind of file"
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
    levels = np.minimum(np.arange(2**16), white)
    if tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        levels = white - levels
    shades = np.rint(levels * (255 / white)).astype(np.uint8)
    return Image.fromarray(shades[np.minimum(np.asarray(picture), 2**16 - 1)])


_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CONTENT: Final = 41
"""Where the content of the second chunk begins: after the signature, 25 bytes of header, its length and kind."""
_COMPRESSED: Final = 0b110
"""Of the third byte of a zlib stream: whether its first block is compressed."""
_GRAY, _RGB = 0, 2
_LESS_ABOVE: Final = 2


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))


_END: Final = _chunk(b"IEND", b"")


def png(pixels: UInt8[np.ndarray, "h w 3"] | UInt8[np.ndarray, "h w"]) -> bytes:
    """One picture of three channels or one as a PNG file; the same pixels give the same bytes.

    Source: PNG (third edition), W3C Recommendation 2025, https://www.w3.org/TR/png-3/
    """
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    filtered = np.empty((height, rows.shape[1] + 1), dtype=np.uint8)
    filtered[:, 0] = _LESS_ABOVE
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _RGB if pixels.ndim == 3 else _GRAY, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(filtered.data, 0)) + _END


def saved(picture: Picture | np.ndarray, kind: str = "PNG", **options: Any) -> bytes:
    """A picture, or its pixels, as a file of a kind that Pillow writes, with its options."""
    from PIL import Image

    sink = io.BytesIO()
    (Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture).save(sink, kind, **options)
    return sink.getvalue()


def reduced(pixels: np.ndarray, most: int) -> np.ndarray:
    """The picture with its longer side at most `most` pixels."""
    if max(pixels.shape[:2]) <= most:
        return pixels
    from PIL import Image

    small = Image.fromarray(pixels)
    small.thumbnail((most, most), Image.Resampling.LANCZOS)
    return np.asarray(small)


def packed(picture: bytes) -> bytes:
    """A PNG as short as run lengths and Huffman codes make it; one that `png` did not write stays as it is."""
    header, content = picture[: _CONTENT - 8], picture[_CONTENT : -len(_END) - 4]
    if picture[len(header) :] != _chunk(b"IDAT", content) + _END or content[2] & _COMPRESSED:
        return picture
    packer = zlib.compressobj(1, strategy=zlib.Z_RLE)
    return header + _chunk(b"IDAT", packer.compress(zlib.decompress(content)) + packer.flush()) + _END
