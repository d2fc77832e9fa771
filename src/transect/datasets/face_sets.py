"""Faces as their data sets are distributed: CelebA and CelebA-HQ, FairFace, UTKFace, FFHQ, PPB."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from transect.datasets import labelled
from transect.datasets.files import (
    COUNTS,
    TABLES,
    Files,
    Names,
    Points,
    by_stem,
    columns_of,
    find,
    folder_of,
    images_below,
    look,
    needed,
    of_lists,
    texts_of,
)
from transect.errors import BadInput, UnknownName
from transect.records import Attribute
from transect.runs.json_records import loads

PARTS: Final = {"train": "0", "valid": "1", "test": "2"}
ABOUT: Final = "Labels are the data set's: how annotators saw the faces, not who the people are."

_ATTRIBUTES: Final = ("list_attr_celeba.txt", "list_attr_celeba.csv")
_IDENTITIES: Final = ("identity_CelebA.txt", "identity_CelebA.csv")
_PARTITION: Final = ("list_eval_partition.txt", "list_eval_partition.csv")
_LANDMARKS: Final = ("list_landmarks_align_celeba.txt", "list_landmarks_align_celeba.csv")
_TABLES_IN: Final = (".", "Anno", "Eval", "Anno/Anno", "CelebA")
_CELEBA_PICTURES: Final = ("img_align_celeba", "img_align_celeba_png", "img_celeba")
_PICTURES_IN: Final = ("img_align_celeba", "Img", ".")
_HQ_ATTRIBUTES: Final = ("CelebAMask-HQ-attribute-anno.txt",)
_HQ_MAPPING: Final = ("CelebA-HQ-to-CelebA-mapping.txt",)
_HQ_PICTURES: Final = ("CelebA-HQ-img",)


def read_celeba(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """CelebA below `path`. split: train, valid or test, where the file of parts is there."""
    folder_of(path, "CelebA's folder")
    table = needed(path, _ATTRIBUTES, "CelebA", _TABLES_IN)
    pictures = needed(path, _CELEBA_PICTURES, "CelebA", _PICTURES_IN)
    identities, parts = find(path, _IDENTITIES, _TABLES_IN), find(path, _PARTITION, _TABLES_IN)
    part_of = _by_name(parts)
    if request.split is not None and request.split not in PARTS:
        raise UnknownName("part of CelebA", request.split, PARTS)
    if request.split is not None and not part_of:
        raise BadInput(f"{path}: split needs {_PARTITION[0]}, which is missing; add it or leave split out")
    wanted = None if request.split is None else {n for n, part in part_of.items() if part == PARTS[request.split]}
    rows = _celeba_rows(table, pictures, _by_name(identities), [table, identities, parts], wanted)
    landmarks = find(path, _LANDMARKS, _TABLES_IN) if pictures.name.startswith(_CELEBA_PICTURES[0]) else None
    points = None if landmarks is None else _celeba_points(landmarks, rows.ids)
    named = {number: name for name, number in PARTS.items()}
    of_rows = tuple(named.get(part_of.get(stem, ""), "") for stem in rows.ids) if part_of else ()
    return labelled.build("celeba", path, replace(rows, parts=of_rows, points=points), request)


def read_hq(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """CelebA-HQ below `path`, in CelebAMask-HQ's layout; identities if identity_CelebA.txt lies there too."""
    folder_of(path, "CelebA-HQ's folder")
    if request.split is not None:
        raise BadInput(f"split: CelebA-HQ has no splits, got {request.split!r}; leave it out")
    table = needed(path, _HQ_ATTRIBUTES, "CelebA-HQ", _TABLES_IN)
    mapping, identities = find(path, _HQ_MAPPING, _TABLES_IN), find(path, _IDENTITIES, _TABLES_IN)
    people: dict[str, str] = {}
    if mapping is not None and identities is not None:
        known, names = _by_name(identities), texts_of(mapping, ("idx", "orig_idx", "orig_file"))
        pairs = zip(names["idx"], (Path(name).stem for name in names["orig_file"]), strict=True)
        people = {new: known[old] for new, old in pairs if old in known}
    pictures = needed(path, _HQ_PICTURES, "CelebA-HQ")
    return labelled.build(
        "celeba-hq", path, _celeba_rows(table, pictures, people, [table, mapping, identities]), request
    )


def _celeba_rows(
    table: Path,
    pictures: Path,
    people: Mapping[str, str],
    sources: Sequence[Path | None],
    wanted: set[str] | None = None,
) -> labelled.Rows:
    """The rows whose pictures are there. people: who is on each, by name without suffix; wanted: such names."""
    cells = texts_of(table)
    if "image_id" not in cells:
        raise BadInput(f"{table}: expected a column image_id, got {', '.join(cells) or 'none'}; use Kaggle's file")
    stems = [Path(name).stem for name in cells.pop("image_id")]
    return labelled.joined(
        stems,
        by_stem(images_below(pictures), pictures),
        lambda kept: _celeba_labels(cells, table, kept),
        [source for source in sources if source is not None],
        wanted=None if wanted is None else [stem in wanted for stem in stems],
        people=[people.get(stem, "") for stem in stems],
        about=ABOUT,
    )


def _celeba_labels(
    cells: Mapping[str, list[str]], table: Path, kept: list[int]
) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    found: dict[str, labelled.Labelled | str] = {}
    known = {"1": 1.0, "-1": 0.0, "0": 0.0}
    for name, column in cells.items():
        values = np.array([known.get(cell.strip(), np.nan) for cell in column], dtype=np.float64)
        if np.isnan(values).any():
            bad = int(np.isnan(values).argmax())
            raise BadInput(f"{table}: expected 1, 0 or -1 for {name}, got {column[bad]!r} in row {bad + 1}")
        meaning = f"label {name}: annotators saw it"
        attribute = Attribute(name, "binary", meaning, levels=("no", "yes"), source="CelebA's labels")
        found[name] = (attribute, values[kept]) if len(np.unique(values[kept])) > 1 else "one value only"
    return labelled.divided(found)


def _by_name(source: Path | None) -> dict[str, str]:
    """The second column, identities or parts, by the name without suffix in the first; empty without the file."""
    if source is None:
        return {}
    first, second = [*texts_of(source, ("image_id", "value")).values(), [], []][:2]
    return {Path(name).stem: value for name, value in zip(first, second, strict=True)}


def _celeba_points(source: Path, ids: Sequence[str]) -> Points:
    """The five points of each picture; NaN for one that the file lacks."""
    try:
        rows = zip(*texts_of(source).values(), strict=True)
        known = {Path(name).stem: [float(cell) for cell in cells] for name, *cells in rows}
    except (ValueError, TypeError):
        raise BadInput(f"{source}: expected a file name and numbers in each row; download it again") from None
    cells = [known.get(name) for name in ids]
    return of_lists(cells, str(source)) if any(cells) else np.full((len(ids), COUNTS[0], 2), np.nan)


AGES: Final = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
_NEEDED: Final = ("file", "age", "gender", "race")
_FAIRFACE_PARTS: Final = ("train", "val")
_NO_APPEARANCE: Final = "service_test"


def read_fairface(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """FairFace below `path`; split: train or val, both by default. Ages are levels in their order."""
    folder_of(path, "FairFace's folder")
    if request.split not in (None, *_FAIRFACE_PARTS):
        raise UnknownName("part of FairFace", str(request.split), _FAIRFACE_PARTS)
    tables = {part: path / f"fairface_label_{part}.csv" for part in _FAIRFACE_PARTS}
    there = {part: table for part, table in tables.items() if table.is_file()}
    chosen = {part: table for part, table in there.items() if request.split in (None, part)}
    if not chosen:
        raise BadInput(f"{path}: expected {' or '.join(t.name for t in tables.values())}, found neither; add one")
    cells, parts = _joined(chosen)
    names = [str(name) for name in cells["file"]]
    root = _root(path, names)
    known = Names(root)
    files = {name: file for name in names if (file := _file(root, name, path, known)) is not None}
    rows = labelled.joined(
        names,
        files,
        lambda kept: _fairface_labels({name: [column[row] for row in kept] for name, column in cells.items()}),
        chosen.values(),
        parts=parts,
        about=ABOUT,
    )
    ids = tuple(Path(name).with_suffix("").as_posix() for name in rows.ids)
    seen = {file.resolve() for file in files.values()}
    within = [folder for part in chosen if (folder := root / part).is_dir()]
    spare = sum(file.resolve() not in seen for folder in within for file in images_below(folder))
    other = sum(len(columns_of(table)["file"]) for part, table in there.items() if part not in chosen)
    left = {**rows.left_out, labelled.NO_ROW: spare, labelled.OTHER_PART: other}
    return labelled.build("fairface", path, replace(rows, ids=ids, left_out=left), request)


def _joined(tables: dict[str, Path]) -> tuple[dict[str, list[object]], list[str]]:
    """The columns that all tables have, and the part of each row."""
    read_tables = [columns_of(table) for table in tables.values()]
    for table, cells in zip(tables.values(), read_tables, strict=True):
        if missing := [name for name in _NEEDED if name not in cells]:
            raise BadInput(f"{table}: expected the columns {', '.join(_NEEDED)}, got no {', '.join(missing)}; add it")
    names = [name for name in read_tables[0] if all(name in cells for cells in read_tables)]
    parts = [part for part, cells in zip(tables, read_tables, strict=True) for _ in cells["file"]]
    return {name: [cell for cells in read_tables for cell in cells[name]] for name in names}, parts


def _fairface_labels(cells: dict[str, list[object]]) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    labels, skipped = labelled.attributes_of(
        {name: column for name, column in cells.items() if name not in ("file", "age", _NO_APPEARANCE)}
    )
    ages = labelled.levels_in_order(
        "age",
        [_age(str(file), str(cell)) for file, cell in zip(cells["file"], cells["age"], strict=True)],
        AGES,
        "label age: years that annotators saw",
        "FairFace's labels",
    )
    found, why = labelled.divided({"age": ages})
    labels, skipped = {**found, **labels}, {**skipped, **why}
    if _NO_APPEARANCE in cells:
        skipped[_NO_APPEARANCE] = "how the row was used, not what it shows"
    return labels, skipped


def _age(file: str, cell: str) -> str:
    """The range of years, also where a spreadsheet took it for a date: 3-Sep and 9-Mar are 3-9, Oct-19 is 10-19."""
    if cell in AGES or cell.strip().lower() in labelled.MISSING:
        return cell
    months = {name: str(month) for month, name in enumerate(calendar.month_abbr) if name}
    numbers = sorted(months.get(part, part.lstrip("0")) for part in cell.split("-"))
    for age in AGES:
        if numbers == sorted(age.split("-")):
            return age
    raise BadInput(
        f"FairFace, {file}: expected an age as {', '.join(AGES)}, got {cell!r}, which a spreadsheet may have "
        "turned into a date; correct it in the table"
    )


def _root(path: Path, names: Sequence[str]) -> Path:
    """Where the tables' paths begin: the folder itself, or the one below it in which more of the images lie."""
    below = [
        path,
        *sorted(folder for folder in path.iterdir() if folder.is_dir() and folder.name not in _FAIRFACE_PARTS),
    ]
    return max(below, key=lambda folder: sum(look(folder, name)[2] for name in names[:50]))


def _file(root: Path, name: str, path: Path, known: Names) -> Path | None:
    file, inside, there = look(root, name, known)
    if not inside:
        raise BadInput(f"{path}: a row names {name[:80]!r}, which lies outside; keep the images in the folder")
    return file if there else None


GENDERS: Final = ("male", "female")
RACES: Final = ("White", "Black", "Asian", "Indian", "Others")
OTHER_NAMES: Final = "images whose names are not age_gender_race_date"
_NAME: Final = re.compile(r"(\d{1,3})_([01])_([0-4])_(\d+) *(?:\.[^/]*)?")
_SOURCE: Final = "UTKFace's file names"


def read_utkface(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """UTKFace below `path`, all of its folders. Names that lack a field, as some do, are counted and left out."""
    folder_of(path, "UTKFace's folder")
    if request.split is not None:
        raise BadInput(f"split: UTKFace has no splits, got {request.split!r}; leave it out")
    files = images_below(path)
    matched = [(file, match) for file in files if (match := _NAME.fullmatch(file.name))]
    if not matched:
        raise BadInput(
            f"{path}: expected images named age_gender_race_date.jpg, got 0 of {len(files)}; check the folder"
        )
    labels, skipped = _utkface_labels([match.groups() for _, match in matched])
    kept = tuple(file for file, _ in matched)
    ids = tuple(file.relative_to(path).as_posix() for file in kept)
    others = [file.name for file in files if file not in set(kept)]
    left = {f"{OTHER_NAMES} ({labelled.some_of(others)})": len(others)} if others else {}
    subjects = labelled.subjects_of(None, len(ids))
    rows = labelled.Rows(
        Files(kept), ids, labels, subjects, labelled.digest(["\n".join(ids).encode()]), skipped, left, ABOUT
    )
    return labelled.build("utkface", path, rows, request)


def _utkface_labels(fields: list[tuple[str, ...]]) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    ages = np.array([float(age) for age, *_ in fields])
    found: dict[str, labelled.Labelled | str] = {"age": "one value only"}
    if len(np.unique(ages)) > 1:
        low, high = float(ages.min()), float(ages.max())
        found["age"] = Attribute("age", "continuous", "label age", "years", low, high, source=_SOURCE), ages
    for place, (name, levels) in enumerate({"gender": GENDERS, "race": RACES}.items(), start=1):
        texts = [levels[int(row[place])] for row in fields]
        found[name] = labelled.levels_in_order(name, texts, levels, f"label {name}, as annotators saw it", _SOURCE)
    return labelled.divided(found)


_FFHQ_PICTURES: Final = ("images1024x1024", "thumbnails128x128", "in-the-wild-images")
_PLACES: Final = {
    "images1024x1024": ("image", 1.0),
    "thumbnails128x128": ("image", 128 / 1024),
    "in-the-wild-images": ("in_the_wild", 1.0),
}
"""Whose landmarks of the list count, and how many pixels one of theirs is."""
_LISTED: Final = "ffhq-dataset-v2.json"
_FFHQ_PARTS: Final = ("training", "validation")
_ID: Final = ("id", "file", "image", "filename")


def read_ffhq(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """FFHQ below `path`; split: training or validation. With a table only the pictures that it labels."""
    folder_of(path, "FFHQ's folder")
    pictures = find(path, _FFHQ_PICTURES) or path
    files = by_stem(images_below(pictures), pictures)
    tables = sorted(file for file in path.iterdir() if file.suffix.lower() in TABLES)
    if len(tables) > 1:
        raise BadInput(f"{path}: expected at most one table, got {', '.join(table.name for table in tables)}; keep one")
    wanted = None if request.split is None else _part(path, request.split)
    stems, cells = sorted(files), dict(columns_of(tables[0])) if tables else {}
    if tables:
        column = next((name for name in _ID if name in cells), None)
        if column is None:
            got = ", ".join(cells) or "none"
            raise BadInput(f"{tables[0]}: expected a column {' or '.join(_ID[:2])}, got {got}; add it")
        stems = [_stem(str(cell)) for cell in cells.pop(column)]
    people = cells.pop(labelled.SUBJECT, None)
    rows = labelled.joined(
        stems,
        files,
        lambda kept: labelled.attributes_of({name: [cell[row] for row in kept] for name, cell in cells.items()}),
        [],
        people=people,
    )
    sha256 = labelled.digest([*tables, "\n".join(rows.ids).encode()])
    rows = replace(rows, sha256=sha256, points=_points(path, pictures.name, rows.ids))
    kept = [row for row, stem in enumerate(rows.ids) if wanted is None or stem in wanted]
    left = {**rows.left_out, labelled.OTHER_PART: len(rows.ids) - len(kept)}
    return labelled.build("ffhq", path, replace(rows.take(kept), left_out=left), request)


def _points(path: Path, pictures: str, stems: Sequence[str]) -> Points | None:
    """The list's 68 points of each picture, NaN where it has none of it; None without the list or a known folder."""
    source = path / _LISTED
    if not source.is_file() or pictures not in _PLACES:
        return None
    part, scale = _PLACES[pictures]
    try:
        entries = loads(source.read_text(encoding="utf-8")).items()
        listed = {_stem(number): entry.get(part, {}).get("face_landmarks", []) for number, entry in entries}
        cells = [[scale * float(place) for point in listed.get(stem, []) for place in point] for stem in stems]
    except (OSError, ValueError, AttributeError, TypeError):
        raise BadInput(f"{source}: expected FFHQ's list with landmarks; download it again") from None
    return of_lists(cells, str(source)) if any(cells) else None


def _stem(name: str) -> str:
    """00017 for 17, 00017, 00017.png and images1024x1024/00000/00017.png."""
    stem = Path(name).stem if not name.isdigit() else name
    return stem.zfill(5) if stem.isdigit() else stem


def _part(path: Path, split: str) -> set[str]:
    if split not in _FFHQ_PARTS:
        raise UnknownName("part of FFHQ", split, _FFHQ_PARTS)
    source = path / _LISTED
    try:
        listed = loads(source.read_text(encoding="utf-8"))
        return {_stem(number) for number, entry in listed.items() if entry["category"] == split}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        raise BadInput(f"{source}: split needs FFHQ's list of pictures; add it or leave split out") from None


_PPB_ABOUT: Final = "Gender and skin type are how annotators saw the portraits, not who the people are."
_PPB_FILE: Final = "filename"
_SKIN_TYPES: Final = ("I", "II", "III", "IV", "V", "VI")
"""Fitzpatrick's, from the lightest."""
_PPB_TABLE: Final = "PPB-2017-metadata.csv"
_PPB_IN: Final = (".", "PPB-2017")


def read_ppb(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """The Pilot Parliaments Benchmark (gendershades.org) below `path`: portraits of members of six parliaments.

    imgs/                      pictures
    PPB-2017-metadata.csv      filename, country, gender, fitz (I to VI), bi.fitz (darker, lighter)

    Each person has one portrait. Dots in the names of columns become underscores.

    Source: Buolamwini and Gebru 2018, Gender Shades, PMLR 81.
    """
    folder_of(path, "the folder of PPB")
    if request.split is not None:
        raise BadInput(f"split: PPB has no splits, got {request.split!r}; leave it out")
    source, root = needed(path, (_PPB_TABLE,), "PPB", _PPB_IN), needed(path, ("imgs",), "PPB", _PPB_IN)
    cells = columns_of(source)
    if _PPB_FILE not in cells:
        raise BadInput(f"{source}: expected a column {_PPB_FILE}, got {', '.join(cells)}; use the file as distributed")
    names = [str(name) for name in cells.pop(_PPB_FILE)]
    rows = labelled.joined(
        names,
        {file.relative_to(root).as_posix(): file for file in images_below(root)},
        lambda kept: _ppb_labels({name: [column[row] for row in kept] for name, column in cells.items()}),
        [source],
        about=_PPB_ABOUT,
    )
    return labelled.build("ppb", path, replace(rows, ids=tuple(Path(name).stem for name in rows.ids)), request)


def _ppb_labels(cells: Mapping[str, list[object]]) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    """Labels of the columns; skin types in their order."""
    named = {name.replace(".", "_"): [str(cell or "").strip() for cell in column] for name, column in cells.items()}
    types = {name for name, column in named.items() if set(filter(None, column)) <= set(_SKIN_TYPES) and any(column)}
    labels, skipped = labelled.attributes_of({name: column for name, column in named.items() if name not in types})
    meaning = "label {}: Fitzpatrick's skin type as annotators saw it"
    ordered = {
        name: labelled.levels_in_order(name, named[name], _SKIN_TYPES, meaning.format(name), "PPB's labels")
        for name in types
    }
    found, why = labelled.divided(dict(sorted(ordered.items())))
    return {**labels, **found}, {**skipped, **why}
