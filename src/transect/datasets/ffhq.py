"""FFHQ as it is distributed: folders of pictures by thousands, and labels from a table that you add.

images1024x1024/00000/00000.png, or thumbnails128x128/00000/00000.png, or a folder of such pictures
labels.csv (or .parquet)    id,age,smile …: the number of the picture, and its labels
ffhq-dataset-v2.json        which pictures are for training and for validation, and 68 landmarks of each

Source: Karras, Laine and Aila 2019, A style-based generator architecture for generative adversarial networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from transect.datasets.celeba import NO_IMAGE, NO_ROW, OTHER_PART
from transect.datasets.columns import Labelled, attributes_of, subjects_of
from transect.datasets.files import TABLES, by_stem, columns_of, find, folder_of, images_below
from transect.datasets.labelled import SUBJECT, LabelledImages, Request, Rows, build, digest
from transect.datasets.pictures import Files
from transect.datasets.points import Points, of_lists
from transect.errors import BadInput, UnknownName
from transect.runs.plain_json import loads

_PICTURES: Final = ("images1024x1024", "thumbnails128x128", "in-the-wild-images")
_PLACES: Final = {
    "images1024x1024": ("image", 1.0),
    "thumbnails128x128": ("image", 128 / 1024),
    "in-the-wild-images": ("in_the_wild", 1.0),
}
"""Whose landmarks of the list count, and how many pixels one of theirs is."""
_LISTED: Final = "ffhq-dataset-v2.json"
_PARTS: Final = ("training", "validation")
_ID: Final = ("id", "file", "image", "filename")


def read(path: Path, request: Request) -> LabelledImages:
    """FFHQ below `path`; split: training or validation. With a table only the pictures that it labels."""
    folder_of(path, "FFHQ's folder")
    pictures = find(path, _PICTURES) or path
    files = by_stem(images_below(pictures), pictures)
    tables = sorted(file for file in path.iterdir() if file.suffix.lower() in TABLES)
    if len(tables) > 1:
        raise BadInput(
            f"{path}: expected at most one table, got {', '.join(table.name for table in tables)}; leave one"
        )
    stems = sorted(files)
    left: dict[str, int] = {}
    labels: dict[str, Labelled] = {}
    skipped: dict[str, str] = {}
    people = None
    if tables:
        stems, labels, skipped, people, left = _labelled(tables[0], files)
    wanted = None if request.split is None else _part(path, request.split)
    kept = [row for row, stem in enumerate(stems) if wanted is None or stem in wanted]
    subjects = subjects_of(people, len(stems))
    known = digest([*tables, "\n".join(stems).encode()])
    left = {**left, OTHER_PART: len(stems) - len(kept)}
    points = _points(path, pictures.name, stems)
    rows = Rows(Files(tuple(files[s] for s in stems)), tuple(stems), labels, subjects, known, skipped, left)
    return build("ffhq", path, replace(rows, points=points).take(kept), request)


def _points(path: Path, pictures: str, stems: Sequence[str]) -> Points | None:
    """The list's 68 points of each picture, NaN where it has none of it; None without the list or a known folder.

    The list has them in pixels of the picture of 1,024 and of the one as it was found.
    """
    source = path / _LISTED
    if not source.is_file() or pictures not in _PLACES:
        return None
    part, scale = _PLACES[pictures]
    try:
        entries = loads(source.read_text(encoding="utf-8")).items()
        listed = {_stem(number): entry.get(part, {}).get("face_landmarks", []) for number, entry in entries}
        cells = [[scale * float(place) for point in listed.get(stem, []) for place in point] for stem in stems]
    except (OSError, ValueError, AttributeError, TypeError):
        raise BadInput(f"{source}: expected FFHQ's list with landmarks, got another; fetch it again") from None
    return of_lists(cells, str(source)) if any(cells) else None


def _labelled(
    table: Path, files: dict[str, Path]
) -> tuple[list[str], dict[str, Labelled], dict[str, str], list[str] | None, dict[str, int]]:
    cells = columns_of(table)
    column = next((name for name in _ID if name in cells), None)
    if column is None:
        raise BadInput(f"{table}: expected a column {' or '.join(_ID[:2])}, got {', '.join(cells) or 'none'}; add it")
    named = [_stem(str(cell)) for cell in cells[column]]
    kept = [row for row, stem in enumerate(named) if stem in files]
    chosen = {name: [cell[row] for row in kept] for name, cell in cells.items() if name != column}
    people = chosen.pop(SUBJECT, None)
    labels, skipped = attributes_of(chosen)
    left = {NO_IMAGE: len(named) - len(kept), NO_ROW: len(files.keys() - set(named))}
    return [named[row] for row in kept], labels, skipped, people, left


def _stem(name: str) -> str:
    """00017 for 17, 00017, 00017.png and images1024x1024/00000/00017.png."""
    stem = Path(name).stem if not name.isdigit() else name
    return stem.zfill(5) if stem.isdigit() else stem


def _part(path: Path, split: str) -> set[str]:
    if split not in _PARTS:
        raise UnknownName("part of FFHQ", split, _PARTS)
    source = path / _LISTED
    try:
        listed = loads(source.read_text(encoding="utf-8"))
        return {_stem(number) for number, entry in listed.items() if entry["category"] == split}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        raise BadInput(
            f"{source}: expected FFHQ's list of pictures to know the parts; add it or leave split out"
        ) from None
