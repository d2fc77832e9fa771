"""A table's column of pictures: PNG or JPEG bytes, structs {bytes, path}, or paths below a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

import pyarrow as pa

from transect.datasets.features import column
from transect.datasets.parquet import encoded_of
from transect.errors import BadInput

_KINDS: Final = "expected PNG or JPEG bytes, or the path of such a file"


@final
class PictureColumn:
    """Pictures of a table's rows, read when they are asked for. name: of the column; folder: where paths begin."""

    def __init__(self, table: pa.Table, name: str, folder: Path) -> None:
        self.folder = folder
        self._values = column(table, name, "picture")

    def of(self, row: int) -> bytes | None:
        """PNG or JPEG bytes; None where the row has none. Raises BadInput for a cell that is no picture."""
        cell = self._values[row].as_py()
        cell = {"path": cell} if isinstance(cell, str) else cell
        encoded = encoded_of(cell, self.folder)  # a file outside the table's folder is not read
        picture = encoded.read_bytes() if isinstance(encoded, Path) else encoded
        if picture is None and isinstance(cell, dict) and cell.get("path"):
            raise BadInput(
                f"picture of row {row}: expected a file below {self.folder}, found none of the name {cell['path']!r}; "
                "paths start at the table's folder and stay in it"
            )
        if cell is not None and picture is None and not isinstance(cell, dict | bytes):
            raise BadInput(f"picture of row {row}: {_KINDS}, got {type(cell).__name__}")
        if picture is not None and not picture.startswith((b"\x89PNG", b"\xff\xd8")):
            raise BadInput(f"picture of row {row}: {_KINDS}")
        return picture
