"""Parquet as Hugging Face `datasets` and `transect render --data-set` write it: pictures inside the table, or bytes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transect.datasets import labelled
from transect.datasets.features import column
from transect.datasets.files import Encoded, Points, look, of_lists
from transect.errors import BadInput
from transect.records import Attribute, Kind
from transect.runs import bounds
from transect.runs.json_records import loads
from transect.runs.pictures import content_of
from transect.texts import words_of

ROLES: Final = {
    "train": "train",
    "training": "train",
    "val": "development",
    "valid": "development",
    "validation": "development",
    "dev": "development",
    "development": "development",
    "test": "test",
    "testing": "test",
}
"""Role of a part by its name: train, development or test."""


def part_of_file(file: Path) -> str:
    """The part that a file's or its folder's name begins with; "" where it begins with none.

    >>> part_of_file(Path("data/train-00000-of-00001.parquet")), part_of_file(Path("data/faces.parquet"))
    ('train', '')
    """
    for name in (re.split(r"[-_.]", file.stem)[0], file.parent.name):
        if name in ROLES:
            return name
    return ""


_IMAGE: Final = ("image", "img", "picture")
_ID: Final = ("id", "image_id")
_LANDMARKS: Final = "landmarks"
_OF_A_RUN: Final = ("cell", "sha256", "face_box", "landmarks")
_TRUE, _INTENDED = "true.", "intended."
_GROUPS_KEPT = 4


@final
@dataclass(frozen=True, slots=True)
class InParquet:
    """Pictures in the row groups of Parquet files. places: file, row group and row in it. root: where paths begin."""

    root: Path
    files: tuple[Path, ...]
    column: str
    places: tuple[tuple[int, int, int], ...]

    def __len__(self) -> int:
        return len(self.places)

    def name(self, row: int) -> str:
        """File and place."""
        file, group, place = self.places[row]
        return f"{self.files[file]}, row {place + 1} of group {group + 1}"

    def encoded(self, row: int) -> Encoded:
        """The bytes, or the file below the root that stands for them; empty where there is neither."""
        file, group, place = self.places[row]
        return encoded_of(_group(self.files[file], group, self.column)[place].as_py(), self.root) or b""

    def take(self, rows: Iterable[int]) -> InParquet:
        """The chosen rows, in the chosen order."""
        return InParquet(self.root, self.files, self.column, tuple(self.places[row] for row in rows))


def read(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """A Parquet file, or every one below a folder; split: those whose names begin with it, as train-00000-of-00002."""
    files, left_out = _files(path, request.split)
    tables = [_labels(file) for file in files]
    schema = tables[0].schema
    if other := next((f for f, t in zip(files, tables, strict=True) if t.schema.names != schema.names), None):
        raise BadInput(
            f"{path}: expected the columns of {files[0].name} in every file, got different ones in {other.name}"
        )
    column = _image_column(pq.read_schema(files[0]), files[0])
    root = path if path.is_dir() else path.parent
    places, kept = _places(files, column, root)
    table = pa.concat_tables(tables, promote_options="permissive").take(pa.array(kept, pa.int64()))
    cells = {name: values.to_pylist() for name, values in zip(table.column_names, table.columns, strict=True)}
    ids = _ids(cells, kept)
    subjects = labelled.subjects_of(cells.pop(labelled.SUBJECT, None), len(kept))
    labels, skipped = _attributes(cells, _classes(schema))
    parts = tuple(part_of_file(files[file]) for file, _, _ in places)
    left = {labelled.NO_IMAGE: sum(map(len, tables)) - len(kept), labelled.OTHER_PART: left_out}
    pictures = InParquet(root, tuple(files), column, places)
    points = _points(files, kept)
    rows = labelled.Rows(
        pictures, ids, labels, subjects, labelled.digest(files), skipped, left, parts=parts, points=points
    )
    return labelled.build("parquet", path, rows, request)


def encoded_of(cell: object, root: Path) -> Encoded | None:
    """The picture of one cell: its bytes, else the file that its path names below the root; None for neither."""
    if isinstance(cell, bytes):
        return cell or None
    if not isinstance(cell, dict):
        return None
    if cell.get("bytes"):
        return bytes(cell["bytes"])
    file, inside, there = look(root, str(cell.get("path") or ""))
    return file if inside and there else None


def _files(path: Path, split: str | None) -> tuple[list[Path], int]:
    """The files to read, and how many rows those of other parts have."""
    files = [path] if path.is_file() else sorted(path.rglob("*.parquet")) if path.is_dir() else []
    if not files:
        raise BadInput(f"{path}: no Parquet file or folder of them; check the path")
    chosen = [file for file in files if split is None or file.name.startswith(split)]
    if not chosen:
        raise BadInput(
            f"{path}: expected files whose names begin with {split}, found {files[0].name}; choose one of its parts"
        )
    return chosen, sum(_opened(file).metadata.num_rows for file in files if file not in chosen)


def _points(files: list[Path], kept: list[int]) -> Points | None:
    """The column landmarks of these rows, as `transect render --data-set` writes it; None without such a column."""
    schema = _opened(files[0]).schema_arrow
    if _LANDMARKS not in schema.names or not pa.types.is_list(schema.field(_LANDMARKS).type):
        return None
    cells = [cell for file in files for cell in _table(file, [_LANDMARKS])[_LANDMARKS].to_pylist()]
    try:
        return of_lists([cells[row] for row in kept], f"{files[0]}: {_LANDMARKS}")
    except BadInput:  # another column of that name does not keep the pictures from being read
        return None


def _opened(file: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{file}: expected a readable Parquet file, got {words_of(error)}") from None


def _labels(file: Path) -> pa.Table:
    """Every column of plain values; pictures, lists and records stay in the file."""
    schema = _opened(file).schema_arrow
    plain = [field.name for field in schema if not pa.types.is_nested(field.type) and not _is_bytes(field.type)]
    return _table(file, plain)


def _table(file: Path, columns: list[str], groups: list[int] | None = None) -> pa.Table:
    try:
        return bounds.read_parquet(file, columns, groups)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{file}: expected a readable Parquet file, got {words_of(error)}") from None


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _image_column(schema: pa.Schema, file: Path) -> str:
    fits = [
        field.name
        for field in schema
        if _is_bytes(field.type)
        or (pa.types.is_struct(field.type) and {"bytes", "path"} <= {part.name for part in field.type})
    ]
    chosen: str | None = next((name for name in (*_IMAGE, *fits[:1]) if name in fits), None)
    if chosen is None:
        got = ", ".join(schema.names)
        raise BadInput(f"{file}: expected a column of images, struct {{bytes, path}} or bytes, got {got}; add one")
    return chosen


def _places(files: list[Path], column: str, root: Path) -> tuple[tuple[tuple[int, int, int], ...], list[int]]:
    """Where each picture lies, and the numbers of the rows that have one."""
    places, kept, row = [], [], 0
    for number, file in enumerate(files):
        for group in range(_opened(file).metadata.num_row_groups):
            for place, cell in enumerate(_group(file, group, column)):
                if encoded_of(cell.as_py(), root) is not None:
                    places.append((number, group, place))
                    kept.append(row)
                row += 1
    return tuple(places), kept


def _group(file: Path, group: int, column: str) -> pa.Array:
    """The pictures of one row group, still encoded; the last few groups are kept while their file stays as it is."""
    try:
        seen = file.stat()
    except OSError as error:
        raise BadInput(f"{file}: expected a readable Parquet file, got {words_of(error)}") from None
    return _kept_group(file.absolute(), (seen.st_ino, seen.st_size, seen.st_mtime_ns), group, column)


@functools.lru_cache(maxsize=_GROUPS_KEPT)
def _kept_group(file: Path, _: tuple[int, int, int], group: int, column: str) -> pa.Array:
    return _table(file, [column], [group])[column].combine_chunks()


def _ids(cells: dict[str, list[object]], kept: list[int]) -> tuple[str, ...]:
    """The first column of ids that names each row; else the row's number."""
    for name in _ID:
        if name in cells and None not in cells[name]:
            return tuple(str(cell) for cell in cells.pop(name))
    return tuple(str(row) for row in kept)


def _classes(schema: pa.Schema) -> dict[str, list[str]]:
    """Names of the classes of ClassLabel columns, as Hugging Face keeps them."""
    try:
        features = loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        named = {name: field.get("names") for name, field in features.items() if field.get("_type") == "ClassLabel"}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
    return {name: levels for name, levels in named.items() if isinstance(levels, list) and len(levels) > 1}


def _attributes(
    cells: dict[str, list[Any]], classes: dict[str, list[str]]
) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    rendered = any(name.startswith(_TRUE) for name in cells)
    skipped = {name: "a column of the run" for name in cells if rendered and name in _OF_A_RUN}
    skipped |= {
        name: "what was intended; the truth is kept" for name in cells if rendered and name.startswith(_INTENDED)
    }
    plain = {name: column for name, column in cells.items() if name not in skipped and name not in classes}
    labels, others = labelled.attributes_of({name.removeprefix(_TRUE): column for name, column in plain.items()})
    for name, levels in classes.items():
        if name in cells:
            values = np.array([np.nan if v is None or v < 0 else float(v) for v in cells[name]], dtype=np.float64)
            kind: Kind = "binary" if len(levels) == 2 else "categorical"
            labels[name] = Attribute(name, kind, f"label {name}", levels=tuple(levels), source="class names"), values
    return labels, {**skipped, **others}


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
        picture = None if encoded is None else content_of(encoded)
        if picture is None and isinstance(cell, dict) and cell.get("path"):
            raise BadInput(
                f"picture of row {row}: expected a file below {self.folder}, found no {cell['path']!r}; paths "
                "are relative to the table's folder"
            )
        if cell is not None and picture is None and not isinstance(cell, dict | bytes):
            raise BadInput(f"picture of row {row}: {_KINDS}, got {type(cell).__name__}")
        if picture is not None and not picture.startswith((b"\x89PNG", b"\xff\xd8")):
            raise BadInput(f"picture of row {row}: {_KINDS}")
        return picture
