"""FairFace as it is distributed: two tables and the pictures that they name.

fairface_label_train.csv, fairface_label_val.csv    file,age,gender,race,service_test
train/1.jpg …, val/1.jpg …                          where the column `file` says, or one folder below

Source: Karkkainen and Joo 2021, FairFace: face attribute dataset for balanced race, gender, and age.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from transect.datasets.celeba import ABOUT, NO_IMAGE, NO_ROW, OTHER_PART
from transect.datasets.columns import Labelled, attributes_of, divided, levels_in_order, subjects_of
from transect.datasets.files import columns_of, folder_of, images_below
from transect.datasets.folder import look
from transect.datasets.labelled import LabelledImages, Request, Rows, build, digest
from transect.datasets.pictures import Files
from transect.errors import BadInput, UnknownName

AGES: Final = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
_NEEDED: Final = ("file", "age", "gender", "race")
_PARTS: Final = ("train", "val")
_NO_APPEARANCE: Final = "service_test"


def read(path: Path, request: Request) -> LabelledImages:
    """FairFace below `path`; split: train or val, both by default. Ages are levels in their order."""
    folder_of(path, "FairFace's folder")
    if request.split not in (None, *_PARTS):
        raise UnknownName("part of FairFace", str(request.split), _PARTS)
    tables = {part: path / f"fairface_label_{part}.csv" for part in _PARTS}
    there = {part: table for part, table in tables.items() if table.is_file()}
    chosen = {part: table for part, table in there.items() if request.split in (None, part)}
    if not chosen:
        raise BadInput(f"{path}: expected {' or '.join(t.name for t in tables.values())}, found neither; add them")
    cells, parts = _joined(chosen)
    other = sum(len(columns_of(table)["file"]) for part, table in there.items() if part not in chosen)
    root = _root(path, cells["file"])
    files = [_file(root, name, path) for name in cells["file"]]
    kept = [row for row, file in enumerate(files) if file is not None]
    within = [folder for part in chosen if (folder := root / part).is_dir()]
    seen = {file.resolve() for file in files if file is not None}
    spare = sum(file.resolve() not in seen for folder in within for file in images_below(folder))
    left = {NO_IMAGE: len(files) - len(kept), NO_ROW: spare, OTHER_PART: other}
    labels, skipped = _labels({name: [column[row] for row in kept] for name, column in cells.items()})
    ids = tuple(str(Path(cells["file"][row]).with_suffix("").as_posix()) for row in kept)
    pictures = Files(tuple(file for file in files if file is not None))
    subjects = subjects_of(None, len(ids))
    named = tuple(parts[row] for row in kept)
    rows = Rows(pictures, ids, labels, subjects, digest(chosen.values()), skipped, left, ABOUT, named)
    return build("fairface", path, rows, request)


def _joined(tables: dict[str, Path]) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns that all tables have, and the part of each row."""
    read_tables = [columns_of(table) for table in tables.values()]
    for table, cells in zip(tables.values(), read_tables, strict=True):
        if missing := [name for name in _NEEDED if name not in cells]:
            raise BadInput(f"{table}: expected the columns {', '.join(_NEEDED)}, got no {', '.join(missing)}; add it")
    names = [name for name in read_tables[0] if all(name in cells for cells in read_tables)]
    parts = [part for part, cells in zip(tables, read_tables, strict=True) for _ in cells["file"]]
    return {name: [cell for cells in read_tables for cell in cells[name]] for name in names}, parts


def _labels(cells: dict[str, list[Any]]) -> tuple[dict[str, Labelled], dict[str, str]]:
    labels, skipped = attributes_of(
        {name: column for name, column in cells.items() if name not in ("file", "age", _NO_APPEARANCE)}
    )
    ages = levels_in_order("age", cells["age"], AGES, "label age: years that annotators saw", "FairFace's labels")
    found, why = divided({"age": ages})
    labels, skipped = {**found, **labels}, {**skipped, **why}
    if _NO_APPEARANCE in cells:
        skipped[_NO_APPEARANCE] = "how the row was used, not what it shows"
    return labels, skipped


def _root(path: Path, names: list[Any]) -> Path:
    """Where the tables' paths begin: the folder itself, or the one below it in which more of the images lie."""
    below = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir() and folder.name not in _PARTS)]
    tried = [str(name) for name in names[:50]]
    return max(below, key=lambda folder: sum(look(folder, name)[2] for name in tried))


def _file(root: Path, name: Any, path: Path) -> Path | None:
    file, inside, there = look(root, str(name))
    if not inside:
        raise BadInput(f"{path}: a row names {str(name)[:80]!r}, which lies outside; keep the images in the folder")
    return file if there else None
