"""Tables and images of a data set's folder: CSV, text of columns, Parquet; and which image files lie below a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from transect.datasets.pictures import SUFFIXES
from transect.errors import BadInput
from transect.runs import bounds, csv_files
from transect.runs.inputs import check_file_names
from transect.texts import words_of

TABLES = (".csv", ".parquet")


def columns_of(source: Path) -> dict[str, list[Any]]:
    """Columns of a Parquet file, or of a CSV as text: a label 01 is not the number 1."""
    if source.suffix.lower() == ".parquet":
        return _parquet(source)
    read = [row for _line, row in csv_files.rows_of(source, str(source))]
    return columns(source, read[0] if read else [], read[1:])


def columns(source: Path, head: Sequence[str], body: Sequence[Sequence[str]], first: int = 2) -> dict[str, list[Any]]:
    """Columns by name. first: the line of the body's first row. Raises BadInput where a line is too long or short."""
    for number, row in enumerate(body, start=first):
        if len(row) != len(head):
            raise BadInput(f"{source}: expected {len(head)} columns in line {number}, got {len(row)}; fix the line")
    _columns_once(source, head)
    return {name: [row[place] for row in body] for place, name in enumerate(head)}


def lines_of(source: Path) -> list[str]:
    """The lines of a text that are not empty. Raises BadInput where it cannot be read."""
    try:
        text = source.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(source, error) from None
    return [line for line in text.splitlines() if line.strip()]


def folder_of(path: Path, wanted: str) -> Path:
    """The path itself; raises BadInput where it is no folder."""
    if not path.is_dir():
        raise BadInput(f"{path}: expected {wanted}, got no folder; check the path")
    return path


def find(path: Path, names: Iterable[str], inside: Iterable[str] = (".",)) -> Path | None:
    """The first of these names that lies in one of these folders of `path`, or None."""
    places = [path / folder / name for name in names for folder in inside]
    return next((place for place in places if place.exists()), None)


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
