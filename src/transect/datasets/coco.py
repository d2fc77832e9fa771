"""COCO as it is distributed: which kinds of objects are on a picture, and what its captions call the people on it.

train2014/, val2014/                              pictures (also in images/)
annotations/instances_train2014.json, …           objects by picture
annotations/captions_train2014.json, …            five captions a picture, where they are there

The label gender is the captions': man where one of them says man or men and none says woman or women, woman where it is
the other way round, and otherwise none. Sources: Lin et al. 2014, Microsoft COCO, arXiv:1405.0312; the rule is that of
Zhao et al. 2017, Men also like shopping, arXiv:1707.09457.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.datasets.celeba import NO_IMAGE, NO_ROW
from transect.datasets.columns import Labelled, divided, levels_in_order, subjects_of
from transect.datasets.files import find, folder_of, images_below
from transect.datasets.labelled import LabelledImages, Request, Rows, build, digest
from transect.datasets.pictures import Files
from transect.errors import BadInput
from transect.records import Attribute
from transect.runs.plain_json import loads
from transect.texts import words_of

ABOUT: Final = "Objects are what annotators marked; gender is what captions call people, not who they are."
GENDER: Final = "gender"
PERSON: Final = "person"
_TABLES_IN: Final = ("annotations", ".", "annotations_pytorch", "annotations_trainval2014/annotations")
_DEFAULT: Final = "train2014"
_YEAR: Final = "0123456789"
_WORD: Final = re.compile(r"\b(?:(man|men)|(woman|women))\b", re.IGNORECASE)


def read(path: Path, request: Request) -> LabelledImages:
    """COCO below `path`. split: parts as the files are called, train2014 (the default) or "train2014,val2014"."""
    folder_of(path, "COCO's folder")
    names = [name.strip() for name in (request.split or _DEFAULT).split(",")]
    if bad := [name for name in names if not re.fullmatch(r"[\w-]+", name)]:
        raise BadInput(f"split: expected a part as COCO names it, as train2014, got {bad[0]!r}; change it")
    parts = [_part(path, name) for name in names]
    if len({tuple(part.kinds.items()) for part in parts}) > 1:
        raise BadInput(f"{path}: expected the same kinds of objects in {', '.join(names)}, got others; read one part")
    labels, skipped = _objects(parts[0].kinds, np.concatenate([part.there for part in parts]))
    genders = [gender for part in parts for gender in part.genders]
    if all(part.captioned for part in parts):
        found, why = divided({GENDER: _gender(genders)})
        labels, skipped = {**found, **labels}, {**skipped, **why}
    files = tuple(file for part in parts for file in part.files)
    left = {reason: sum(part.left_out[reason] for part in parts) for reason in (NO_IMAGE, NO_ROW)}
    rows = Rows(
        Files(files),
        tuple(file.stem for file in files),
        labels,
        subjects_of(None, len(files)),
        digest([source for part in parts for source in part.sources]),
        skipped,
        left,
        ABOUT,
        tuple(part.name for part in parts for _ in part.files),
    )
    return build("coco", path, rows, request)


@final
@dataclass(frozen=True)
class _Part:
    """One part as its files have it. name: without the year. there: 1 where a kind is marked on a picture.

    genders: "" where captions name none or both, for every picture where there are no captions.
    """

    name: str
    files: tuple[Path, ...]
    kinds: Mapping[int, str]
    there: Float[np.ndarray, "n k"]
    genders: tuple[str, ...]
    captioned: bool
    left_out: Mapping[str, int]
    sources: tuple[Path, ...]


def _part(path: Path, part: str) -> _Part:
    table = objects_table(path, part)
    captions = find(path, (f"captions_{part}.json",), _TABLES_IN)
    content = read_json(table, ("images", "annotations", "categories"))
    names = {int(row["id"]): str(row["file_name"]) for row in records(content["images"], table, "id", "file_name")}
    files = {file.name: file for file in images_below(needed(path, (part,), "COCO", (".", "images")))}
    kept = {number: name for number, name in names.items() if name in files}
    genders = [""] * len(kept)
    if captions is not None:
        genders = _genders(read_json(captions, ("annotations",))["annotations"], captions, tuple(kept))
    return _Part(
        part.rstrip(_YEAR),
        tuple(files[name] for name in kept.values()),
        *_marked(content, table, names, tuple(kept)),
        tuple(genders),
        captions is not None,
        {NO_IMAGE: len(names) - len(kept), NO_ROW: len(files.keys() - set(names.values()))},
        tuple(file for file in (table, captions) if file is not None),
    )


def read_json(source: Path, keys: Iterable[str]) -> dict[str, Any]:
    """A JSON object with these keys. Raises BadInput for another file."""
    try:
        content = loads(source.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{source}: expected JSON, got {words_of(error, 120)}") from None
    missing = [key for key in keys if not isinstance(content, dict) or key not in content]
    if missing:
        raise BadInput(f"{source}: expected a JSON object with {', '.join(keys)}, got no {missing[0]}; take another")
    return dict(content)


def records(content: object, source: Path, *keys: str) -> list[Mapping[str, Any]]:
    """A list of objects that all have these keys. Raises BadInput for another."""
    rows: list[Any] = content if isinstance(content, list) else [content]
    if any(not isinstance(row, dict) or any(key not in row for key in keys) for row in rows):
        raise BadInput(f"{source}: expected records with {', '.join(keys)}, got another; fetch the file again")
    return rows


def has_objects(path: Path, part: str) -> bool:
    """Whether the objects of a part are below `path`."""
    return find(path, (f"instances_{part}.json",), _TABLES_IN) is not None


def objects_table(path: Path, part: str) -> Path:
    """The table of a part's objects. Raises BadInput where it is not below `path`."""
    return needed(path, (f"instances_{part}.json",), "COCO", _TABLES_IN)


def label_columns(path: Path, parts: Sequence[str]) -> tuple[dict[str, list[Any]], int]:
    """Columns id, split, gender and 0 or 1 for each kind of object but person, of the pictures with a gender.

    No picture is opened. parts: train2014, val2014 and so on; a part's split is its name without the year. Returns also
    how many pictures have no gender by their captions.
    """
    folder_of(path, "COCO's folder")
    columns: dict[str, list[Any]] = {"id": [], "split": [], GENDER: []}
    lost = 0
    for part in parts:
        table = objects_table(path, part)
        captions = needed(path, (f"captions_{part}.json",), "COCO", _TABLES_IN)
        content = read_json(table, ("images", "annotations", "categories"))
        names = {int(row["id"]): str(row["file_name"]) for row in records(content["images"], table, "id", "file_name")}
        genders = _genders(read_json(captions, ("annotations",))["annotations"], captions, tuple(names))
        kinds, there = _marked(content, table, names, tuple(names))
        rows = [row for row, gender in enumerate(genders) if gender]
        lost += len(names) - len(rows)
        stems = [Path(name).stem for name in names.values()]
        columns["id"] += [stems[row] for row in rows]
        columns["split"] += [part.rstrip(_YEAR)] * len(rows)
        columns[GENDER] += [genders[row] for row in rows]
        for number, kind in enumerate(kinds.values()):
            if kind != PERSON:
                columns.setdefault(kind, []).extend(there[rows, number].astype(int).tolist())
    return columns, lost


def _objects(kinds: Mapping[int, str], there: Float[np.ndarray, "n k"]) -> tuple[dict[str, Labelled], dict[str, str]]:
    """A label of yes and no for each kind of object; person is none, since it is on most pictures with a gender."""
    labels: dict[str, Labelled] = {}
    skipped: dict[str, str] = {}
    for column, name in enumerate(kinds.values()):
        values: Float[np.ndarray, " n"] = there[:, column]
        if name == PERSON:
            skipped[name] = "people are who the labels are about"
        elif len(np.unique(values)) < 2:
            skipped[name] = "one value only"
        else:
            meaning = f"label {name}: annotators marked one"
            labels[name] = Attribute(name, "binary", meaning, levels=("no", "yes"), source="COCO's annotations"), values
    return labels, skipped


def _marked(
    content: Mapping[str, Any], table: Path, names: Mapping[int, str], kept: tuple[int, ...]
) -> tuple[dict[int, str], Float[np.ndarray, "n k"]]:
    """The kinds of objects by number, and 1 where annotators marked one on a picture."""
    kinds = {int(row["id"]): str(row["name"]) for row in records(content["categories"], table, "id", "name")}
    places, columns = {number: row for row, number in enumerate(kept)}, {number: n for n, number in enumerate(kinds)}
    there = np.zeros((len(kept), len(kinds)))
    for row in records(content["annotations"], table, "image_id", "category_id"):
        picture, kind = int(row["image_id"]), int(row["category_id"])
        if picture not in names or kind not in columns:
            raise BadInput(f"{table}: an object names picture {picture} and kind {kind}, of which one is not listed")
        if picture in places:
            there[places[picture], columns[kind]] = 1
    return kinds, there


def _gender(genders: Sequence[str]) -> Labelled | str:
    meaning = "label gender: captions say man or men, or woman or women, and never both"
    return levels_in_order(GENDER, genders, ("man", "woman"), meaning, "COCO's captions")


def _genders(captions: object, source: Path, kept: tuple[int, ...]) -> list[str]:
    """What the captions of each picture call people: man, woman, or an empty text where they say neither or both."""
    genders: dict[int, set[str]] = {number: set() for number in kept}
    for row in records(captions, source, "image_id", "caption"):
        words = genders.get(int(row["image_id"]))
        if words is not None:
            words |= {"man" if match[1] else "woman" for match in _WORD.finditer(str(row["caption"]))}
    return [next(iter(words)) if len(words) == 1 else "" for words in genders.values()]


def needed(path: Path, names: tuple[str, ...], whose: str, inside: tuple[str, ...] = (".",)) -> Path:
    """The first of these names in one of these folders of `path`. Raises BadInput where none is there."""
    place = find(path, names, inside)
    if place is None:
        there = "" if inside == (".",) else f" in one of {', '.join(inside)}"
        raise BadInput(f"{path}: expected {names[0]}{there}, found none; name {whose}'s folder")
    return place
