"""COCO as it is distributed: kinds of objects, gender by captions, people with their pixels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.datasets import labelled
from transect.datasets.files import find, folder_of, images_below, needed, pixels_of
from transect.errors import BadInput, UnknownName
from transect.records import Attribute
from transect.runs.json_records import loads
from transect.runs.pictures import saved
from transect.texts import words_of

_FIRST: Final = 48
_BITS: Final = 5
_SIGN: Final = 16
_MORE: Final = 32
_MOST_GROUPS: Final = 8
"""A picture has fewer than 2³⁵ pixels, and a difference needs a sign."""


def pixels_of_runs(marked: Mapping[str, object], width: int, height: int, name: str) -> Bool[np.ndarray, "h w"]:
    """The pixels of an object from its runs. marked: `counts`, a list or a packed string. name: of the picture."""
    counts = marked.get("counts")
    try:
        runs = unpacked(counts) if isinstance(counts, str) else counts
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None
    if not isinstance(runs, list) or not all(type(run) is int and run >= 0 for run in runs):
        raise BadInput(f"{name}: expected an outline's counts as a list of whole numbers or a packed string")
    if sum(runs) != width * height:
        raise BadInput(
            f"{name}: expected an outline's counts to sum to {width * height} pixels, got {sum(runs)}; "
            "download the file again"
        )
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T


def unpacked(text: str) -> list[int]:
    """The run lengths of a packed string. Raises BadInput for a character outside 0 to o, or a number cut short."""
    runs: list[int] = []
    value = groups = 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE or groups == _MOST_GROUPS:
            raise BadInput(f"expected an outline's packed counts, got {character!r} at position {len(runs) + 1}")
        value |= (bits & (_MORE - 1)) << (_BITS * groups)
        groups += 1
        if not bits & _MORE:
            value -= (1 << (_BITS * groups)) if bits & _SIGN else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = groups = 0
    if groups:
        raise BadInput(f"expected an outline's packed counts, got one that is cut short after {len(runs)} numbers")
    return runs


ABOUT: Final = "Objects are what annotators marked; gender is what captions call people, not who they are."
GENDER: Final = "gender"
PERSON: Final = "person"
_TABLES_IN: Final = ("annotations", ".", "annotations_pytorch", "annotations_trainval2014/annotations")
_DEFAULT: Final = "train2014"
_YEAR: Final = "0123456789"
_WORD: Final = re.compile(r"\b(?:(man|men)|(woman|women))\b", re.IGNORECASE)


def read(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """COCO below `path`. split: parts as the files are called, train2014 (the default) or "train2014,val2014"."""
    folder_of(path, "COCO's folder")
    names = [name.strip() for name in (request.split or _DEFAULT).split(",")]
    if bad := [name for name in names if not re.fullmatch(r"[\w-]+", name)]:
        raise BadInput(f"split: expected one of COCO's parts, such as train2014, got {bad[0]!r}")
    parts = [_part(path, name) for name in names]
    if len({tuple(part.kinds.items()) for part in parts}) > 1:
        raise BadInput(f"{path}: the kinds of objects differ between {', '.join(names)}; read one part")
    files: dict[str, Path] = {}
    for name in names:
        pictures = images_below(needed(path, (name,), "COCO", (".", "images")))
        files |= {f"{name}/{file.name}": file for file in pictures}
    listed = [f"{name}/{picture}" for name, part in zip(names, parts, strict=True) for picture in part.pictures]
    there = np.concatenate([part.there for part in parts])
    genders = [gender for part in parts for gender in part.genders]
    captioned = all(part.captions for part in parts)

    def labels(kept: list[int]) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
        found, skipped = _objects(parts[0].kinds, there[kept])
        if not captioned:
            return found, skipped
        meaning = "label gender: captions say man or men, or woman or women, and never both"
        seen = [genders[row] for row in kept]
        gender, why = labelled.divided(
            {GENDER: labelled.levels_in_order(GENDER, seen, ("man", "woman"), meaning, "COCO's captions")}
        )
        return {**gender, **found}, {**skipped, **why}

    sources = [file for part in parts for file in (part.table, part.captions) if file is not None]
    of_rows = [part.split for part in parts for _ in part.pictures]
    rows = labelled.joined(listed, files, labels, sources, parts=of_rows, about=ABOUT)
    left = dict(rows.left_out)
    if unlisted := [name for part in parts for name in part.unlisted]:
        left[f"objects whose picture or kind is not listed ({labelled.some_of(unlisted)})"] = len(unlisted)
    ids = tuple(Path(name).stem for name in rows.ids)
    return labelled.build("coco", path, replace(rows, ids=ids, left_out=left), request)


@final
@dataclass(frozen=True)
class _Part:
    """One part by its annotations. there: 1 where a kind is marked; genders: "" where captions name none or both.

    unlisted: pictures and kinds that an object names and the table does not list.
    """

    split: str
    table: Path
    captions: Path | None
    pictures: tuple[str, ...]
    kinds: Mapping[int, str]
    there: Float[np.ndarray, "n k"]
    genders: tuple[str, ...]
    unlisted: tuple[str, ...]


def _part(path: Path, part: str) -> _Part:
    table, captions = objects_table(path, part), find(path, (f"captions_{part}.json",), _TABLES_IN)
    content = read_json(table, ("images", "annotations", "categories"))
    names = {int(row["id"]): str(row["file_name"]) for row in records(content["images"], table, "id", "file_name")}
    genders = [""] * len(names)
    if captions is not None:
        genders = _genders(read_json(captions, ("annotations",))["annotations"], captions, tuple(names))
    kinds, there, unlisted = _marked(content, table, tuple(names))
    return _Part(part.rstrip(_YEAR), table, captions, tuple(names.values()), kinds, there, tuple(genders), unlisted)


def read_json(source: Path, keys: Iterable[str]) -> dict[str, Any]:
    """A JSON object with these keys. Raises BadInput for another file."""
    try:
        content = loads(source.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{source}: expected JSON, got {words_of(error, 120)}") from None
    missing = [key for key in keys if not isinstance(content, dict) or key not in content]
    if missing:
        raise BadInput(
            f"{source}: expected a JSON object with {', '.join(keys)}, got no {missing[0]}; use another file"
        )
    return dict(content)


def records(content: object, source: Path, *keys: str) -> list[Mapping[str, Any]]:
    """A list of objects that all have these keys. Raises BadInput for another."""
    rows: list[Any] = content if isinstance(content, list) else [content]
    if any(not isinstance(row, dict) or any(key not in row for key in keys) for row in rows):
        raise BadInput(f"{source}: expected records with {', '.join(keys)}; download the file again")
    return rows


def has_objects(path: Path, part: str) -> bool:
    """Whether the objects of a part are below `path`."""
    return find(path, (f"instances_{part}.json",), _TABLES_IN) is not None


def objects_table(path: Path, part: str) -> Path:
    """The table of a part's objects. Raises BadInput where it is not below `path`."""
    return needed(path, (f"instances_{part}.json",), "COCO", _TABLES_IN)


def label_columns(path: Path, parts: Sequence[str]) -> tuple[dict[str, list[object]], int]:
    """Columns id, split, gender, 0 or 1 for each kind but person; and how many pictures have no gender by captions."""
    folder_of(path, "COCO's folder")
    columns: dict[str, list[object]] = {"id": [], "split": [], GENDER: []}
    lost = 0
    for name in parts:
        needed(path, (f"captions_{name}.json",), "COCO", _TABLES_IN)
        part = _part(path, name)
        rows = [row for row, gender in enumerate(part.genders) if gender]
        lost += len(part.pictures) - len(rows)
        columns["id"] += [Path(part.pictures[row]).stem for row in rows]
        columns["split"] += [part.split] * len(rows)
        columns[GENDER] += [part.genders[row] for row in rows]
        for number, kind in enumerate(part.kinds.values()):
            if kind != PERSON:
                columns.setdefault(kind, []).extend(part.there[rows, number].astype(int).tolist())
    return columns, lost


def _objects(
    kinds: Mapping[int, str], there: Float[np.ndarray, "n k"]
) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    """A label of yes and no for each kind of object; person is none, since it is on most pictures with a gender."""
    labels: dict[str, labelled.Labelled] = {}
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
    content: Mapping[str, object], table: Path, pictures: Sequence[int]
) -> tuple[dict[int, str], Float[np.ndarray, "n k"], tuple[str, ...]]:
    """The kinds of objects by number, 1 where annotators marked one on a picture, and objects of what is not listed."""
    kinds = {int(row["id"]): str(row["name"]) for row in records(content["categories"], table, "id", "name")}
    places, columns = ({number: place for place, number in enumerate(each)} for each in (pictures, kinds))
    there, unlisted = np.zeros((len(pictures), len(kinds))), []
    for row in records(content["annotations"], table, "image_id", "category_id"):
        picture, kind = int(row["image_id"]), int(row["category_id"])
        if picture not in places or kind not in columns:
            unlisted.append(f"picture {picture}" if picture not in places else f"kind {kind}")
            continue
        there[places[picture], columns[kind]] = 1
    return kinds, there, tuple(unlisted)


def _genders(captions: object, source: Path, kept: tuple[int, ...]) -> list[str]:
    """What the captions of each picture call people: man, woman, or an empty text where they say neither or both."""
    genders: dict[int, set[str]] = {number: set() for number in kept}
    for row in records(captions, source, "image_id", "caption"):
        words = genders.get(int(row["image_id"]))
        if words is not None:
            words |= {"man" if match[1] else "woman" for match in _WORD.finditer(str(row["caption"]))}
    return [next(iter(words)) if len(words) == 1 else "" for words in genders.values()]


REGIONS: Final = ("mask", "box")
_TOUCHED: Final = 32
"""Of 255: what a pixel has at least, after resizing, where a person touches it; below, resizing rings."""
_WITHIN: Final = 250
"""A pixel of the picture; its grey margins have less."""


@final
@dataclass(frozen=True)
class PeopleOnPictures:
    """Regions of a data set's pictures, as `mitigation.hiding.Regions`; persons and sizes by picture's id."""

    images: labelled.LabelledImages
    people: Mapping[str, Sequence[Mapping[str, object]]]
    sizes: Mapping[str, tuple[int, int]]

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region, cut and sized as the pictures are."""
        return np.stack([self._mask(region, self.images.ids[int(row)]) for row in rows])

    def stored(self, region: str, name: str) -> Bool[np.ndarray, "height width"]:
        """The pixels of that region on the picture of that id as it is stored. Raises UnknownName as `of`."""
        if region not in REGIONS:
            raise UnknownName("region of COCO's annotations", region, REGIONS)
        width, height = self.sizes[name]
        there = np.zeros((height, width), dtype=np.bool_)
        for person in self.people.get(name, ()):
            there |= _box(person, width, height) if region == "box" else _outline(person, width, height, name)
        return there

    def _mask(self, region: str, name: str) -> Bool[np.ndarray, "h w"]:
        there = self.stored(region, name)
        drawn, whole = (self._framed(mask, name) for mask in (there, np.ones_like(there)))
        return (drawn > _TOUCHED) & (whole > _WITHIN)

    def _framed(self, mask: Bool[np.ndarray, "h w"], name: str) -> Int[np.ndarray, "height width"]:
        content = saved(np.where(mask, 255, 0).astype(np.uint8))
        side = self.images.image_size if self.images.fitted else None
        return np.asarray(pixels_of(content, name, side, self.images.crop)[..., 0], dtype=np.int64)


def people_on(images: labelled.LabelledImages) -> PeopleOnPictures:
    """The people on the pictures of parts of COCO, as its tables of objects have them."""
    people: dict[str, list[Mapping[str, object]]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for part in sorted({Path(images.pictures.name(row)).parent.name for row in range(len(images))}):
        table = objects_table(images.path, part)
        content = read_json(table, ("images", "annotations", "categories"))
        pictures = records(content["images"], table, "id", "file_name", "width", "height")
        names = {int(row["id"]): Path(str(row["file_name"])).stem for row in pictures}
        sizes |= {Path(str(row["file_name"])).stem: (int(row["width"]), int(row["height"])) for row in pictures}
        for person in _persons(content, table):
            people.setdefault(names.get(int(person["image_id"]), ""), []).append(person)
    return PeopleOnPictures(images, people, sizes)


def _persons(content: Mapping[str, object], table: Path) -> Iterator[Mapping[str, Any]]:
    """Annotations of persons. Raises BadInput for one without a box or an outline."""
    kinds = {int(row["id"]) for row in records(content["categories"], table, "id", "name") if row["name"] == PERSON}
    for row in records(content["annotations"], table, "image_id", "category_id"):
        if int(row["category_id"]) in kinds:
            yield from records(dict(row), table, "bbox", "segmentation")


def _box(person: Mapping[str, Any], width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """Every pixel that a box of left, top, width and height touches."""
    left, top, wide, high = (float(value) for value in person["bbox"])
    mask = np.zeros((height, width), dtype=np.bool_)
    mask[max(0, int(top)) : int(np.ceil(top + high)), max(0, int(left)) : int(np.ceil(left + wide))] = True
    return mask


def _outline(person: Mapping[str, Any], width: int, height: int, name: str) -> Bool[np.ndarray, "h w"]:
    """The pixels of polygons, or of runs."""
    from PIL import Image, ImageDraw

    marked = person["segmentation"]
    if isinstance(marked, dict):
        return pixels_of_runs(marked, width, height, name)
    drawing = Image.new("1", (width, height))
    for polygon in marked:
        ImageDraw.Draw(drawing).polygon([float(value) for value in polygon], fill=1, outline=1)
    return np.asarray(drawing, dtype=np.bool_)
