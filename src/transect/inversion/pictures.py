"""The images to invert: a folder of image files, or the images of a run, decoded a part at a time."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import UInt8

from transect.errors import BadInput

ENDINGS: Final = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
_FORMATS: Final = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")  # no format whose reader runs a program


@final
@dataclass(frozen=True)
class Pictures:
    """Images by id, in order. sha256: of all ids and files together; fit: cut to a square and resized to `size`."""

    ids: tuple[str, ...]
    sha256: str
    size: int
    fit: bool
    _files: tuple[Path, ...] = ()
    _encoded: tuple[bytes, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def open(cls, source: Path, size: int, *, fit: bool = False) -> Pictures:
        """Image files of a folder by name, or a run's images by id. No image is decoded yet.

        Raises BadInput: no folder, no images.
        """
        if not source.is_dir():
            raise BadInput(f"{source}: expected a folder of images or a run folder, found none; mend --images")
        if (source / "run.json").exists():
            return _of_run(source, size, fit)
        files = tuple(sorted(path for path in source.iterdir() if path.suffix.lower() in ENDINGS and path.is_file()))
        if not files:
            raise BadInput(f"{source}: expected images ({', '.join(ENDINGS)}), found none; give a folder with images")
        digest = hashlib.sha256()
        for path in files:
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return cls(tuple(path.name for path in files), digest.hexdigest(), size, fit, _files=files)

    def pixels(self, rows: Sequence[int]) -> UInt8[np.ndarray, "m h w 3"]:
        """The images of those rows. Raises BadInput, naming it, for a broken one or one of another size."""
        shown = [self._decode(row) for row in rows]
        return np.stack(shown) if shown else np.zeros((0, self.size, self.size, 3), np.uint8)

    def _decode(self, row: int) -> UInt8[np.ndarray, "h w 3"]:
        from PIL import Image, ImageOps

        source: Any = self._files[row] if self._files else io.BytesIO(self._encoded[row])
        try:
            with Image.open(source, formats=_FORMATS) as opened:
                image = ImageOps.exif_transpose(opened).convert("RGB")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise BadInput(f"{self.ids[row]}: expected an image, got {error}; mend or remove it") from None
        if image.size == (self.size, self.size):
            return np.asarray(image)
        if not self.fit:
            got = f"{image.width} x {image.height}"
            raise BadInput(
                f"{self.ids[row]}: expected {self.size} x {self.size} pixels for this generator, got {got};"
                " add --fit to cut the middle square and resize it"
            )
        # Cut before resizing: a filter on the whole image would mix in what is cut off.
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        square = image.crop((left, top, left + side, top + side))
        return np.asarray(square.resize((self.size, self.size), Image.Resampling.LANCZOS))


def _of_run(folder: Path, size: int, fit: bool) -> Pictures:
    parts = sorted((folder / "images").glob("part-*.parquet"))
    try:
        tables = [pq.read_table(part, columns=["id", "image"]) for part in parts]
    except (OSError, pa.ArrowException, KeyError) as error:
        raise BadInput(f"{folder}: expected images of a run (id, image), found another ({error})") from None
    ids = [str(name) for table in tables for name in table["id"].to_pylist()]
    encoded = [bytes(content) for table in tables for content in table["image"].to_pylist()]
    if not ids:
        raise BadInput(f"{folder}: expected a run with images, found none in it; run its command first")
    digest = hashlib.sha256()
    for name, content in zip(ids, encoded, strict=True):
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return Pictures(tuple(ids), digest.hexdigest(), size, fit, _encoded=tuple(encoded))
