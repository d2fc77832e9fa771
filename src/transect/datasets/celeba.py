"""CelebA and CelebA-HQ as they are distributed: pictures, forty attributes of yes and no, identities, parts.

CelebA      img_align_celeba/000001.jpg, list_attr_celeba.txt (or .csv), identity_CelebA.txt, list_eval_partition.txt,
            list_landmarks_align_celeba.txt
CelebA-HQ   CelebA-HQ-img/0.jpg, CelebAMask-HQ-attribute-anno.txt, CelebA-HQ-to-CelebA-mapping.txt

Tables may lie in Anno/ and Eval/, pictures in Img/ or a folder within themselves. Sources: Liu et al. 2015, Deep
learning face attributes in the wild; Karras et al. 2018, Progressive growing of GANs; Lee et al. 2020, MaskGAN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from transect.datasets.columns import Labelled, subjects_of
from transect.datasets.files import by_stem, columns, columns_of, find, folder_of, images_below, lines_of
from transect.datasets.labelled import LabelledImages, Request, Rows, build, digest
from transect.datasets.pictures import Files
from transect.datasets.points import of_celeba
from transect.errors import BadInput, UnknownName
from transect.records import Attribute

PARTS: Final = {"train": "0", "valid": "1", "test": "2"}
NO_IMAGE: Final = "rows of labels without an image"
NO_ROW: Final = "images without a row of labels"
OTHER_PART: Final = "rows of other parts"
ABOUT: Final = "Labels are the data set's: how annotators saw the faces, not who the people are."

_ATTRIBUTES: Final = ("list_attr_celeba.txt", "list_attr_celeba.csv")
_IDENTITIES: Final = ("identity_CelebA.txt", "identity_CelebA.csv")
_PARTITION: Final = ("list_eval_partition.txt", "list_eval_partition.csv")
_LANDMARKS: Final = ("list_landmarks_align_celeba.txt", "list_landmarks_align_celeba.csv")
_TABLES_IN: Final = (".", "Anno", "Eval", "Anno/Anno", "CelebA")
_PICTURES: Final = ("img_align_celeba", "img_align_celeba_png", "img_celeba")
_PICTURES_IN: Final = ("img_align_celeba", "Img", ".")
_HQ_ATTRIBUTES: Final = ("CelebAMask-HQ-attribute-anno.txt",)
_HQ_MAPPING: Final = ("CelebA-HQ-to-CelebA-mapping.txt",)
_HQ_PICTURES: Final = ("CelebA-HQ-img",)


def read(path: Path, request: Request) -> LabelledImages:
    """CelebA below `path`. split: train, valid or test, where the file of parts is there."""
    folder_of(path, "CelebA's folder")
    table = _needed(path, _ATTRIBUTES, _TABLES_IN)
    pictures = _needed(path, _PICTURES, _PICTURES_IN)
    files = by_stem(images_below(pictures), path)
    identities = find(path, _IDENTITIES, _TABLES_IN)
    people = {} if identities is None else _pairs(identities)
    parts = find(path, _PARTITION, _TABLES_IN)
    part_of = {} if parts is None else _pairs(parts)
    wanted = None if request.split is None else _of_part(path, part_of, request.split)
    sources = [file for file in (table, identities, parts) if file is not None]
    rows = _rows(_labels(table), table, files, people, wanted, sources)
    landmarks = find(path, _LANDMARKS, _TABLES_IN) if pictures.name.startswith(_PICTURES[0]) else None
    points = None if landmarks is None else of_celeba(landmarks, rows.ids)
    return build("celeba", path, replace(rows, parts=_parts(part_of, rows.ids), points=points), request)


def read_hq(path: Path, request: Request) -> LabelledImages:
    """CelebA-HQ below `path`, in CelebAMask-HQ's layout; identities if identity_CelebA.txt lies there too."""
    folder_of(path, "CelebA-HQ's folder")
    if request.split is not None:
        raise BadInput(f"split: expected none for CelebA-HQ, got {request.split!r}; leave it out")
    table = _needed(path, _HQ_ATTRIBUTES, _TABLES_IN)
    files = by_stem(images_below(_needed(path, _HQ_PICTURES, (".",))), path)
    mapping, identities = find(path, _HQ_MAPPING, _TABLES_IN), find(path, _IDENTITIES, _TABLES_IN)
    people: dict[str, str] = {}
    if mapping is not None and identities is not None:
        known = _pairs(identities)
        people = {new: known[old] for new, old in _renamed(mapping).items() if old in known}
    sources = [file for file in (table, mapping, identities) if file is not None]
    return build("celeba-hq", path, _rows(_labels(table), table, files, people, None, sources), request)


def _rows(
    labels: tuple[list[str], dict[str, list[str]]],
    table: Path,
    files: Mapping[str, Path],
    people: Mapping[str, str],
    wanted: set[str] | None,
    sources: Iterable[Path],
) -> Rows:
    names, cells = labels
    stems = [Path(name).stem for name in names]
    in_part = [row for row, stem in enumerate(stems) if wanted is None or stem in wanted]
    kept = [row for row in in_part if stems[row] in files]
    left = {
        NO_IMAGE: len(in_part) - len(kept),
        NO_ROW: len(files.keys() - set(stems)),
        OTHER_PART: len(stems) - len(in_part),
    }
    labelled, skipped = _attributes(cells, table, kept)
    ids = tuple(stems[row] for row in kept)
    subjects = subjects_of([people.get(name, "") for name in ids], len(ids))
    pictures = Files(tuple(files[name] for name in ids))
    return Rows(pictures, ids, labelled, subjects, digest(sources), skipped, left, ABOUT)


def _labels(table: Path) -> tuple[list[str], dict[str, list[str]]]:
    """File names, and the cells of each attribute as text."""
    if table.suffix == ".csv":
        cells = dict(columns_of(table))
        if "image_id" not in cells:
            raise BadInput(f"{table}: expected a column image_id, got {', '.join(cells) or 'none'}; take Kaggle's file")
        return cells.pop("image_id"), cells
    lines = lines_of(table)
    if len(lines) < 3 or not lines[0].strip().isdigit():
        raise BadInput(f"{table}: expected a number of rows, names and rows, got {len(lines)} lines; fetch it again")
    rows = [line.split() for line in lines[2:]]
    if len(rows) != int(lines[0]):
        raise BadInput(f"{table}: expected {int(lines[0])} rows as its first line says, got {len(rows)}; it is cut")
    cells = columns(table, ["image_id", *lines[1].split()], rows, first=3)
    return cells.pop("image_id"), cells


def _attributes(
    cells: Mapping[str, list[str]], table: Path, kept: list[int]
) -> tuple[dict[str, Labelled], dict[str, str]]:
    labelled: dict[str, Labelled] = {}
    skipped: dict[str, str] = {}
    known = {"1": 1.0, "-1": 0.0, "0": 0.0}
    for name, column in cells.items():
        values = np.array([known.get(cell.strip(), np.nan) for cell in column], dtype=np.float64)
        if np.isnan(values).any():
            bad = int(np.isnan(values).argmax())
            raise BadInput(f"{table}: expected 1, 0 or -1 for {name}, got {column[bad]!r} in row {bad + 1}; fix it")
        if len(np.unique(values[kept])) < 2:
            skipped[name] = "one value only"
            continue
        meaning = f"label {name}: annotators saw it"
        labelled[name] = (
            Attribute(name, "binary", meaning, levels=("no", "yes"), source="CelebA's labels"),
            values[kept],
        )
    return labelled, skipped


def _pairs(source: Path) -> dict[str, str]:
    """The second column by the stem of the first: identities, parts."""
    rows: list[list[str]]
    if source.suffix == ".csv":
        read_columns = list(columns_of(source).values())
        rows = [list(row) for row in zip(*read_columns[:2], strict=True)] if len(read_columns) > 1 else []
    else:
        rows = [line.split() for line in lines_of(source)]
    if not rows or any(len(row) != 2 for row in rows):
        raise BadInput(f"{source}: expected a file name and a number in every row, got something else; fetch it again")
    return {Path(name).stem: value for name, value in rows}


def _parts(part_of: Mapping[str, str], ids: Sequence[str]) -> tuple[str, ...]:
    """The name of each row's part; empty without the file of parts."""
    names = {number: name for name, number in PARTS.items()}
    return tuple(names.get(part_of.get(stem, ""), "") for stem in ids) if part_of else ()


def _of_part(path: Path, part_of: Mapping[str, str], split: str) -> set[str]:
    if split not in PARTS:
        raise UnknownName("part of CelebA", split, PARTS)
    if not part_of:
        raise BadInput(f"{path}: expected {_PARTITION[0]} to know the parts, got none; add it or leave split out")
    return {stem for stem, part in part_of.items() if part == PARTS[split]}


def _renamed(mapping: Path) -> dict[str, str]:
    """CelebA's stem by CelebA-HQ's: the mapping's columns idx, orig_idx, orig_file."""
    rows = [line.split() for line in lines_of(mapping)]
    if not rows or rows[0][:1] != ["idx"] or any(len(row) != 3 for row in rows):
        raise BadInput(f"{mapping}: expected columns idx, orig_idx and orig_file, got something else; fetch it again")
    return {row[0]: Path(row[2]).stem for row in rows[1:]}


def _needed(path: Path, names: tuple[str, ...], inside: tuple[str, ...]) -> Path:
    place = find(path, names, inside)
    if place is None:
        raise BadInput(f"{path}: expected {' or '.join(names[:2])}, found neither; name the data set's folder")
    return place
