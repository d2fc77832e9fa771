"""The picture of a row, read from its part when it is asked for; a few parts and thumbnails are kept at hand.

What is sent is never what is stored: a part is compared with its SHA-256, a picture is decoded as a PNG and nothing
else, and its pixels are encoded again.
"""

from __future__ import annotations

import io
import threading
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from transect.jobs.view.index import Index
from transect.runs.kept import Kept
from transect.runs.picture_files import pixels_of_png
from transect.runs.png import packed, png

THUMBNAIL: Final = 160
"""Pixels of the longer side of a thumbnail; smaller pictures keep their size."""
_PARTS: Final = 128 << 20
_THUMBNAILS: Final = 32 << 20
_QUALITY: Final = 90
_AT_ONCE: Final = 2
_LOCKS: Final = 16


@final
class Pictures:
    """The pictures of an index: `full` as PNG, `thumbnail` as JPEG, `pixels` as numbers."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._parts: Kept[pa.ChunkedArray] = Kept(_PARTS, lambda column: int(column.nbytes))
        self._thumbnails: Kept[bytes] = Kept(_THUMBNAILS, len)
        self._at_once = threading.Semaphore(_AT_ONCE)
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def pixels(self, row: int) -> np.ndarray:
        """uint8 [h, w, 3]. Raises CorruptedPart or BadInput, naming what does not read back."""
        run, place = self._index.place(row)
        column = self._column(int(self._index.run[row]), int(run.part[place]))
        stored: Any = column[int(run.row[place])].as_py()
        return pixels_of_png(stored["bytes"] if isinstance(stored, dict) else stored, f"{run.name}: {run.ids[place]}")

    def full(self, row: int) -> bytes:
        """The picture as PNG. Raises as `pixels`."""
        return packed(png(self.pixels(row)))

    def thumbnail(self, row: int) -> bytes:
        """The picture as JPEG, its longer side at most `THUMBNAIL` pixels. Raises as `pixels`."""
        return self._thumbnails.get(row, lambda: _jpeg(self.pixels(row)))

    def _column(self, run: int, part: int) -> pa.ChunkedArray:
        def read() -> pa.ChunkedArray:
            return self._index.runs[run].run.read_part("images", part)["image"]

        # Many requests for one part at once read it once, and few parts are in memory beside those that are kept.
        with self._locks[(run + part) % _LOCKS], self._at_once:
            return self._parts.get((run, part), read)


def reduced(pixels: np.ndarray, most: int = THUMBNAIL) -> np.ndarray:
    """The picture with its longer side at most `most` pixels."""
    from PIL import Image

    if max(pixels.shape[:2]) <= most:
        return pixels
    small = Image.fromarray(pixels)
    small.thumbnail((most, most), Image.Resampling.LANCZOS)
    return np.asarray(small)


def _jpeg(pixels: np.ndarray) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(reduced(pixels)).save(sink, "JPEG", quality=_QUALITY, subsampling=0)
    return sink.getvalue()
