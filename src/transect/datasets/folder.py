"""A folder of photographs and one table of labels, CSV or Parquet.

faces/labels.csv        file,subject,age,smile
faces/0001.jpg …        as the column `file` names them

Every other column is an attribute: text is levels, 0 and 1 are off and on, other numbers are a range. `subject` is who
is on the image, where several show one person; a row without one is a separate person. Nothing in the table is
evaluated, and no file outside is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from transect.datasets import labelled
from transect.datasets.files import TABLES, Files, Names, columns_of, folder_of, images_below, look, other_files
from transect.errors import BadInput

FILE: Final = ("file", "image", "path", "filename")
UNNAMED: Final = "images that no row names"
_LONGEST_SHOWN: Final = 80


def read(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """The labels and their images; without a table, where no labels are needed, every image below the folder."""
    folder_of(path, "a folder of images with a CSV or Parquet of labels")
    if request.split is not None:
        raise BadInput(f"split: a folder has no parts, got {request.split!r}; give the folder of that part")
    source = _only_table(path, request.labelled)
    if source is None:
        return labelled.build("folder", path, unlabelled(path), request)
    rows = columns_of(source)
    column = next((name for name in FILE if name in rows), None)
    if column is None:
        raise BadInput(
            f"{source}: expected a column named {', '.join(FILE[:-1])} or {FILE[-1]}, got "
            f"{', '.join(rows) or 'an empty table'}; rename the column of the images"
        )
    if not rows[column]:
        raise BadInput(f"{source}: no rows; list the images")
    names, faults = Names(path), []
    found: dict[int, Path] = {}
    for row, name in enumerate(map(str, rows[column])):
        file, fault = _inside(path, name, names)
        if fault and request.strict:
            raise BadInput(f"{source}: row {row + 1} names {_shown(name)}, {fault}")
        if fault:
            faults.append(f"{_shown(name)} {fault}")
        else:
            found[row] = file
    rows = {name: [column[row] for row in found] for name, column in rows.items()}
    files = tuple(found.values())
    _once(files, source)
    labels, skipped = labelled.attributes_of({k: v for k, v in rows.items() if k not in (column, labelled.SUBJECT)})
    if not labels and request.labelled:
        columns = "; ".join(f"{name} ({reason})" for name, reason in skipped.items())
        raise BadInput(
            f"{source}: expected at least one attribute in addition to {column}, got "
            + (f"{columns}, no attribute" if columns else "none")
        )
    known = {file.resolve() for file in files}
    left = {UNNAMED: sum(file.resolve() not in known for file in images_below(path))}
    left |= other_files(path, source)
    if faults:
        left[f"{labelled.NO_IMAGE} ({faults[0]})"] = len(faults)
    subjects = labelled.subjects_of(rows.get(labelled.SUBJECT), len(files))
    ids = tuple(str(name) for name in rows[column])
    images = labelled.Rows(Files(files), ids, labels, subjects, labelled.digest([source.read_bytes()]), skipped, left)
    return labelled.build("folder", path, images, request, strict=request.strict)


def unlabelled(path: Path) -> labelled.Rows:
    """Every image below the folder, without labels; the id is its path there."""
    files = images_below(path)
    ids = tuple(file.relative_to(path).as_posix() for file in files)
    return labelled.Rows(
        Files(tuple(files)),
        ids,
        {},
        labelled.subjects_of(None, len(files)),
        labelled.digest("\n".join(ids).encode() for _ in [0]),
        {},
        other_files(path),
    )


def _only_table(path: Path, needed: bool) -> Path | None:
    tables = sorted(file for file in path.iterdir() if file.suffix.lower() in TABLES)
    if not tables and not needed:
        return None
    if len(tables) != 1:
        names = ", ".join(file.name for file in tables) or "none"
        raise BadInput(f"{path}: expected one CSV or Parquet of labels, got {names}; keep one")
    return tables[0]


def _inside(folder: Path, name: str, names: Names) -> tuple[Path, str]:
    """The image of that name, and "" or why it cannot be read."""
    file, inside, there = look(folder, name, names)
    if inside and there:
        return file, ""
    if difference := names.difference(name):
        return file, f"which does not exist: {difference}"
    if not inside:
        return file, f"which lies outside {folder}; keep the images in the folder"
    return file, "which does not exist; add the image or drop the row"


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…")


def _once(files: Sequence[Path], source: Path) -> None:
    """Two rows of one image would count it as two, perhaps with other labels."""
    rows: dict[Path, int] = {}
    for row, file in enumerate(files, start=1):
        first = rows.setdefault(file.resolve(), row)
        if first != row:
            raise BadInput(f"{source}: rows {first} and {row} name the same image, {file.name!r}; keep one of them")
