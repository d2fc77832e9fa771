"""The photographs to read: of a folder, run, data set, table or array; decoded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from transect.datasets import is_dataset, open_dataset
from transect.datasets.features import ID, column
from transect.datasets.files import Crop, Encoded, pixels_of
from transect.datasets.parquet import encoded_of
from transect.errors import BadInput
from transect.inversion.pictures import Pictures, digest_of
from transect.records import Images
from transect.runs.table_inputs import TableLike, as_table

LARGEST: Final = 512
"""Pixels of the longer side to which larger photographs are reduced by area averaging."""
Stored: TypeAlias = "Encoded | np.ndarray | None"


@final
@dataclass(frozen=True)
class Photographs:
    """Photographs by row. rows: the columns that go into the table of readings, id first where there are ids.

    sha256: of all photographs together. notes: what a data set left out. crop: what is cut out of each, by a data set.
    """

    rows: pa.Table = field(repr=False)
    sha256: str
    notes: tuple[str, ...] = ()
    crop: Crop | None = None
    stored: Callable[[int], Stored] = field(repr=False, default=lambda _: None)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @classmethod
    def open(cls, images: str | Path | TableLike | np.ndarray | Images, pictures: str | None = None) -> Photographs:
        """A folder, run, data set (READER:PATH), pixels, or with `pictures` the table that has this column.

        Raises BadInput for another source, UnknownName for a column that is not there.
        """
        if pictures is not None:
            return _of_table(images, pictures)
        if isinstance(images, str | Path) and Path(images).is_file():
            raise BadInput(f"{images}: a table has its pictures in a column: name it with --pictures COLUMN")
        if not isinstance(images, str | Path | np.ndarray | Images):
            raise BadInput("images: a table has its pictures in a column: name it with `pictures`")
        if is_dataset(images):
            dataset = open_dataset(str(images), labelled=False)
            known = Pictures.of_dataset(dataset)
            stored = dataset.pictures.encoded
            return cls(pa.table({ID: list(known.ids)}), known.sha256, known.notes, dataset.crop, stored)
        known = Pictures.open(images, LARGEST)
        return cls(pa.table({ID: list(known.ids)}), known.sha256, known.notes, None, known.stored)

    def pixels(self, row: int) -> UInt8[np.ndarray, "h w 3"] | None:
        """The photograph of a row, its longer side at most LARGEST; None where there is none.

        Raises BadInput for one that cannot be read.
        """
        stored = self.stored(row)
        if stored is None:
            return None
        whole = stored if isinstance(stored, np.ndarray) else pixels_of(stored, self._name(row), None, self.crop)
        return _reduced(whole)

    def _name(self, row: int) -> str:
        return str(self.rows[ID][row].as_py()) if ID in self.rows.column_names else f"row {row}"


def _of_table(images: str | Path | TableLike | np.ndarray | Images, pictures: str) -> Photographs:
    is_folder = isinstance(images, str | Path) and Path(images).is_dir()
    if isinstance(images, np.ndarray | Images) or is_dataset(images) or is_folder:
        raise BadInput("--pictures names a column of a table: leave it out, or give the table's file")
    table = as_table(images, "images")
    root = Path(images).parent if isinstance(images, str | Path) else Path()
    cells = column(table, pictures, "picture").to_pylist()
    stored = [encoded_of({"path": cell} if isinstance(cell, str) else cell, root) for cell in cells]
    if all(picture is None for picture in stored):
        raise BadInput(
            f"pictures {pictures!r}: expected bytes, or paths below {root}, in at least one row, got none; name "
            "another column with --pictures"
        )
    rows = table.drop_columns([pictures])
    first = [ID] if ID in rows.column_names else []
    rows = rows.select([*first, *(name for name in rows.column_names if name != ID)])
    contents = (picture.read_bytes() if isinstance(picture, Path) else picture or b"" for picture in stored)
    return Photographs(rows, digest_of(map(str, range(len(stored))), contents), stored=stored.__getitem__)


def _reduced(pixels: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "a b 3"]:
    from PIL import Image

    factor = LARGEST / max(pixels.shape[:2])
    if factor >= 1:
        return pixels
    size = max(1, round(pixels.shape[1] * factor)), max(1, round(pixels.shape[0] * factor))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BOX))
