"""The bench of mitigations: rendered faces or a labelled data set, questions as labels, and who trains, checks and
tests.

Pictures are FaceWorld's in a chosen population, or those of a labelled data set; what is learned and what is
protected are questions about their attributes. A row's picture depends on its number alone, whatever the batch, the
order or a resume. Subjects go whole to a part.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, Shaped

from transect.datasets import LabelledImages
from transect.datasets.coco import PeopleOnPictures, people_on
from transect.datasets.parquet import ROLES
from transect.errors import BadInput, UnknownName
from transect.mitigation.data import HiddenPictures, Pixels, Regions, TaskData, WorldRegions
from transect.mitigation.settings import Hide
from transect.protocols import DrawsMasks
from transect.records import Attribute, Images, Latents
from transect.runs.wording import spaced
from transect.targets.face_readers import DETECTOR, FaceFinder
from transect.training.pictures import Label, Pictures, open_source

_LEVELS: Final = re.compile(r"\s*([^<>=!]+?)\s*(!?=)\s*([^<>=!]+?)\s*")
EVERY: Final = "*"
_SIGNS: Final = {"!=": "other than", ">": "above", "<": "below", "=": "being"}


def questions_of(labels: Mapping[str, str], attributes: Sequence[Attribute], protected: str) -> dict[str, str]:
    """Labels by name, patterns in full: `obj_*` binary attributes, `NAME=*` levels of NAME; never the protected one."""
    questions: dict[str, str] = {}
    asked = re.split(r"[<>=!]", protected, maxsplit=1)[0].strip()
    for name, question in labels.items():
        matches = _matching(question, attributes, asked) if EVERY in question else {name: question}
        if not matches:
            raise BadInput(f"label {name!r}: expected {question!r} to match attributes, it matches none")
        if twice := sorted(questions.keys() & matches.keys()):
            raise BadInput(f"labels: {twice[0]!r} is selected twice; narrow a pattern")
        questions |= matches
    return questions


def _matching(question: str, attributes: Sequence[Attribute], without: str) -> dict[str, str]:
    name, equals, levels = (part.strip() for part in question.partition("="))
    if equals and levels == EVERY:
        return {
            level: f"{attribute.name}={level}"
            for attribute in attributes
            if attribute.name == name
            for level in attribute.levels
        }
    every = [attribute.name for attribute in attributes if attribute.kind == "binary" and attribute.name != without]
    return {attribute: attribute for attribute in every if fnmatchcase(attribute, question.strip())}


def in_words(question: str) -> str:
    """A question as a reader's words.

    >>> in_words("face_shape>0.43"), in_words("hat!=none"), in_words("smile")
    ('face shape above 0.43', 'hat other than none', 'smile')
    """
    text = spaced(question)
    for sign, words in _SIGNS.items():
        text = re.sub(rf"\s*{sign}\s*", f" {words} ", text)
    return text.replace("|", " or ")


def label_of(
    question: str,
    values: Mapping[str, Float[np.ndarray, " n"]],
    attributes: Sequence[Attribute],
    key: str = "data.labels or data.protected",
) -> Label:
    """The classes that a question asks for: NAME, NAME>X, NAME<X, NAME=LEVEL|LEVEL or NAME!=LEVEL; key: its setting."""
    name = question.split("=", maxsplit=1)[0].rstrip("! ") if _LEVELS.fullmatch(question) else ""
    label = _chosen(question, attributes) if name else Label.parse(question, attributes, key)
    if label.attribute not in values:
        raise UnknownName("attribute", label.attribute, values, f"asked for in {question!r}")
    return label


def codes(
    question: str,
    values: Mapping[str, Float[np.ndarray, " n"]],
    attributes: Sequence[Attribute],
    key: str = "data.labels",
) -> tuple[Int[np.ndarray, " n"], tuple[str, ...]]:
    """The class of each row by a question, and what the classes are called. Raises BadInput where a row has none.

    >>> hat = Attribute("hat", "categorical", "hat", levels=("none", "cap", "beanie"))
    >>> codes("hat!=none", {"hat": np.array([0.0, 2.0, 1.0])}, [hat])[0].tolist()
    [0, 1, 1]
    """
    label = label_of(question, values, attributes, key)
    column = values[label.attribute]
    if match := _LEVELS.fullmatch(question):
        known = {attribute.name: attribute for attribute in attributes}[label.attribute]
        chosen = [known.levels.index(level) for level in _named(match[3], known)]
        classes = (np.isin(column, chosen) == (match[2] == "=")).astype(np.int64)
        classes = np.where(np.isfinite(column), classes, -1)
    else:
        classes = label.of(column)
    if (lost := int((classes < 0).sum())) > 0:
        raise BadInput(
            f"{question!r}: expected an answer for every picture, {lost} of {len(classes)} have none; drop it"
        )
    return classes, label.classes


def _chosen(question: str, attributes: Sequence[Attribute]) -> Label:
    match = _LEVELS.fullmatch(question)
    known = {attribute.name: attribute for attribute in attributes}
    if match is None or match[1] not in known:
        raise UnknownName("attribute", question if match is None else match[1], known, f"asked for in {question!r}")
    _named(match[3], known[match[1]])
    return Label(question, match[1], ("no", "yes"))


def _named(text: str, attribute: Attribute) -> list[str]:
    levels = [level.strip() for level in text.split("|")]
    if unknown := [level for level in levels if level not in attribute.levels]:
        raise UnknownName(f"level of {attribute.name}", unknown[0], attribute.levels)
    return levels


UNANSWERED: Final = "pictures without an answer to a question"
SPARE: Final = "pictures beyond the numbers asked for"
NO_PART: Final = "pictures of no official part"


@final
@dataclass(frozen=True)
class ChosenRegions:
    """Where people are on the chosen rows of COCO: row i is its row `rows[i]`; read when they are first asked for."""

    images: LabelledImages
    rows: Int[np.ndarray, " n"]

    @cached_property
    def people(self) -> PeopleOnPictures:
        """Of all its pictures. Raises BadInput where the annotations lack outlines."""
        return people_on(self.images)

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region."""
        return self.people.of(region, self.rows[rows])


@final
class ChosenRows:
    """A source of a data set's chosen rows: row i is its row `rows[i]`. split: where they come from, in words."""

    def __init__(self, images: LabelledImages, rows: Int[np.ndarray, " n"], split: str = "") -> None:
        self._images, self._rows, self.split = images, rows, split

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""
        return self._images.image_size

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What is known of the pictures."""
        return self._images.attributes

    @property
    def subjects(self) -> Int[np.ndarray, " n"] | None:
        """Who is on each picture; None where nobody is twice."""
        people = np.asarray(self._images.subjects)[self._rows]
        return people if len(np.unique(people)) < len(people) else None

    def regions(self) -> Regions | None:
        """Where people are on the pictures, where the data set marks them: COCO does."""
        return ChosenRegions(self._images, self._rows) if self._images.reader == "coco" else None

    def sample(self, seeds: object) -> Latents:
        """The rows of those numbers."""
        return self._images.sample(self._rows[np.asarray(seeds)])

    def read(self, latents: Latents) -> pa.Table:
        """Their attributes."""
        return self._images.read(latents)

    def render(self, latents: Latents) -> Images:
        """Their pictures."""
        return self._images.render(latents)

    def describe(self) -> dict[str, Any]:
        """What the pictures depend on."""
        return {**self._images.describe(), "rows": hashlib.sha256(self._rows.astype("<i8").tobytes()).hexdigest()}


def chosen_rows(
    images: LabelledImages,
    counts: tuple[int, int, int],
    questions: Sequence[str],
    seed: int = 0,
    *,
    official: bool = True,
) -> tuple[ChosenRows, dict[str, int]]:
    """So many rows to train, check and test, and what is left out, reason -> how many. Subjects come in an order drawn
    by the seed, and go whole to a part. official: rows come from the data set's official parts where it has them.
    """
    known: Bool[np.ndarray, " n"] = np.ones(len(images), dtype=bool)
    for question in questions:
        known &= np.isfinite(images.column(label_of(question, images.values, images.attributes).attribute))
    named = pools_of(images) if official else ()
    pools = named or (Pool("all pictures", np.ones(len(images), dtype=bool), counts_for=(0, 1, 2)),)
    parts: list[list[int]] = []
    for pool in pools:
        parts += _dealt(images, pool.rows & known, [counts[use] for use in pool.counts_for], seed)
    in_pools = known & np.any([pool.rows for pool in pools], axis=0)
    _check_numbers(images, counts, [len(part) for part in parts], known, bool(named))
    chosen = np.array([row for part in parts for row in part], dtype=np.int64)
    left = {
        **images.left_out,
        UNANSWERED: int((~known).sum()),
        NO_PART: int(known.sum() - in_pools.sum()),
        SPARE: int(in_pools.sum()) - len(chosen),
    }
    return ChosenRows(images, chosen, _split_in_words(named)), left


@final
@dataclass(frozen=True)
class Pool:
    """An official part. name: its own; counts_for: the uses that draw from it, 0 to train, 1 to check, 2 to test."""

    name: str
    rows: Bool[np.ndarray, " n"]
    counts_for: tuple[int, ...]


def pools_of(images: LabelledImages) -> tuple[Pool, ...]:
    """The official parts, () without training and another; of two parts check and test both draw from the second."""
    roles = np.array([ROLES.get(part, "") for part in images.parts], dtype=str)
    others = [role for role in ("development", "test") if (roles == role).any()]
    if not others or not (roles == "train").any():
        return ()
    _check_apart(images, roles)
    uses: tuple[tuple[int, ...], ...] = ((0,), (1,), (2,)) if len(others) == 2 else ((0,), (1, 2))
    names = [images.parts[int(np.argmax(roles == role))] for role in ("train", *others)]
    rows = [roles == role for role in ("train", *others)]
    return tuple(Pool(*pool) for pool in zip(names, rows, uses, strict=True))


def _split_in_words(pools: Sequence[Pool]) -> str:
    """Where rows come from, in words."""
    if not pools:
        return "drawn by a fixed seed"
    if len(pools) == 2:
        return f"official: {pools[0].name} to learn from; stop by and measure on pictures of {pools[1].name}"
    return "official: " + ", ".join(pool.name for pool in pools)


def _check_numbers(
    images: LabelledImages, counts: Sequence[int], got: Sequence[int], known: Bool[np.ndarray, " n"], official: bool
) -> None:
    if list(got) == list(counts):
        return
    lost = f" ({int((~known).sum())} pictures lack an answer)" if not known.all() else ""
    ending = ' from the official parts; ask for fewer, or set data.split = "drawn"' if official else ""
    raise BadInput(
        f"train, check and test: expected {list(counts)} of {len(images)} pictures, got {list(got)}{lost}{ending}"
    )


def _check_apart(images: LabelledImages, roles: Shaped[np.ndarray, " n"]) -> None:
    pairs = {(subject, str(role)) for subject, role in zip(images.subjects, roles, strict=True) if role}
    people = Counter(subject for subject, _ in pairs)
    if twice := sum(count > 1 for count in people.values()):
        raise BadInput(
            f"{images.name}: expected each subject in one official part, got {twice} of {len(people)} in several; set "
            'data.split = "drawn"'
        )


def _dealt(images: LabelledImages, usable: Bool[np.ndarray, " n"], counts: Sequence[int], seed: int) -> list[list[int]]:
    """Rows for each count, as many as there are; subjects in a drawn order, each whole in a part."""
    people = np.asarray(images.subjects)
    order = np.random.Generator(np.random.Philox(seed)).permutation(int(people.max()) + 1)
    rows = np.lexsort((np.arange(len(people)), order[people]))
    rows = rows[usable[rows]]
    _, starts = np.unique(order[people[rows]], return_index=True)
    parts: list[list[int]] = [[] for _ in counts]
    place = 0
    for group in np.split(rows, starts[1:]):
        if place == len(counts):
            break
        parts[place] += group[: counts[place] - len(parts[place])].tolist()
        place += len(parts[place]) == counts[place]
    return parts


QUESTIONS: Final[Mapping[str, str]] = {
    "glasses": "glasses!=none",
    "hat": "hat!=none",
    "smile": "smile>0.5",
    "mouth open": "mouth_open>0.1",
    "earrings": "earrings",
    "lipstick": "lipstick>0.2",
    "long hair": "hair_length>0.5",
    "light hair": "hair_color>0.5",
    "bangs": "bangs>0.2",
    "facial hair": "facial_hair>0.1",
}
"""The labels of the test bed, by name; the protected appearance is `PROTECTED`."""

PROTECTED: Final = "face_shape>0.43"
"""The middle of the celebrity-like population: the more masculine half of the faces against the more feminine."""


@final
@dataclass(frozen=True)
class Bench:
    """data: pictures, labels, protected classes. train, check and test are rows of it, apart from each other.

    classes: what the protected classes are called. regions: where what is on the pictures, where that is known.
    left_out: pictures and labels of a data set that cannot be used, reason -> how many. subjects: who is on each
    picture of a data set; None where nobody is twice. split: where a data set's rows come from, in words.
    """

    data: TaskData
    train: Int[np.ndarray, " a"]
    check: Int[np.ndarray, " b"]
    test: Int[np.ndarray, " t"]
    classes: tuple[str, ...]
    protected: str
    regions: Regions | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    subjects: Int[np.ndarray, " n"] | None = None
    split: str = ""

    def on(self, pictures: Pixels) -> Bench:
        """The same tasks on other pictures of the same rows."""
        return replace(self, data=replace(self.data, pictures=pictures))


def tasks(
    pictures: Pixels,
    values: Mapping[str, Float[np.ndarray, " n"]],
    attributes: Sequence[Attribute],
    labels: Mapping[str, str],
    protected: str,
) -> tuple[TaskData, tuple[str, ...]]:
    """Labels and protected classes of pictures by questions; and what the classes are called."""
    if not labels:
        raise BadInput("labels: none given; give the labels to learn")
    columns = []
    for name, question in labels.items():
        column, classes = codes(question, values, attributes)
        if len(classes) != 2 or len(np.unique(column)) != 2:
            raise BadInput(f"label {name!r}: expected both yes and no, got {len(np.unique(column))} of {classes}")
        columns.append(column == 1)
    groups, called = codes(protected, values, attributes, "data.protected")
    truth: Bool[np.ndarray, "n k"] = np.stack(columns, axis=1)
    return TaskData(pictures, truth, groups, tuple(labels)), called


def open_bench(
    source: str,
    size: int,
    population: str,
    counts: tuple[int, int, int],
    labels: Mapping[str, str],
    protected: str,
    folder: Path,
    *,
    official: bool = True,
    quiet: bool = False,
) -> Bench:
    """The bench of a source: `faceworld`, or READER:PATH of a labelled data set.

    counts: of train, check and test. Of FaceWorld they are the first rows, the next, and those after; of a data set
    rows with an answer to every question, drawn by a fixed seed so that no subject is in two parts. official: from its
    official parts, where it has them. labels: see `questions_of`. folder: where pictures are kept.

    Raises BadInput where the source has too few pictures, or a class lacks rows in a part.
    """
    opened: Any = open_source(source, size, population)
    if min(counts) < 2:
        raise BadInput(f"train, check and test: expected at least 2 each, got {list(counts)}")
    labels = questions_of(labels, opened.attributes, protected)
    left: dict[str, int] = {}
    subjects, regions, split = None, None, ""
    if source != "faceworld":
        opened, left = chosen_rows(opened, counts, (*labels.values(), protected), official=official)
        subjects, regions, split = opened.subjects, opened.regions(), opened.split
    n = sum(counts)
    latents = opened.sample(np.arange(n))
    table = opened.read(latents)
    values = {name: np.asarray(table[name], dtype=np.float64) for name in table.column_names}
    if source != "faceworld":
        classes = {name: codes(text, values, opened.attributes)[0] for name, text in labels.items()}
        varied = {name: text for name, text in labels.items() if len(np.unique(classes[name])) > 1}
        labels, left = varied, {**left, "labels of one value": len(labels) - len(varied)}
    data, called = tasks(Pictures(opened, n, folder, quiet=quiet), values, opened.attributes, labels, protected)
    train, check, test = np.split(np.arange(n), np.cumsum(counts)[:2])
    for name, rows in (("train", train), ("check", check), ("test", test)):
        if (lacking := data.classes - len(np.unique(data.protected[rows]))) > 0:
            raise BadInput(f"{name}: expected every class of {protected}, {lacking} missing; use more pictures")
    if isinstance(opened, DrawsMasks):
        regions = WorldRegions(opened, latents)
    left = {reason: count for reason, count in left.items() if count}
    return Bench(data, train, check, test, called, protected, regions, left, subjects, split)


FACE: Final = "face"
FACELESS: Final = "pictures in which no face was found"
_AT_ONCE: Final = 500


@final
class FoundFaces:
    """Regions `face` of pictures by a detector: the union of the boxes of all faces that it finds."""

    def __init__(self, pictures: Pixels, detector: str) -> None:
        self._pictures, self._finder = pictures, FaceFinder(detector)
        self._boxes: dict[int, Float[np.ndarray, "_ 4"]] = {}

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:  # noqa: ARG002
        """The pixels of the faces; none where none is found."""
        masks = np.zeros(self._pictures.pixels(rows).shape[:3], dtype=np.bool_)
        self._find(rows)
        for mask, row in zip(masks, rows, strict=True):
            for left, top, right, bottom in self._boxes[int(row)].clip(min=0):
                mask[int(top) : int(np.ceil(bottom)), int(left) : int(np.ceil(right))] = True
        return masks

    def faceless(self, rows: Int[np.ndarray, " m"]) -> int:
        """In how many of the pictures no face is found."""
        self._find(rows)
        return sum(not len(self._boxes[int(row)]) for row in rows)

    def _find(self, rows: Int[np.ndarray, " m"]) -> None:
        """Search the pictures that were not searched before."""
        lacking = np.array(sorted({int(row) for row in rows} - self._boxes.keys()), dtype=np.int64)
        for start in range(0, len(lacking), _AT_ONCE):
            some = lacking[start : start + _AT_ONCE]
            self._boxes.update(zip(some.tolist(), self._finder.boxes(self._pictures.pixels(some)), strict=True))


def faceless(bench: Bench) -> dict[str, int]:
    """In how many pictures a detector finds no face, where one says which pixels are hidden."""
    regions = getattr(bench.data.pictures, "regions", None)
    rows = np.concatenate([bench.train, bench.check, bench.test])
    return {FACELESS: regions.faceless(rows)} if isinstance(regions, FoundFaces) else {}


def hidden_by(method: Hide, pictures: Pixels, regions: Regions | None) -> HiddenPictures:
    """The pictures with the method's region hidden; faces of photographs are those that its detector finds."""
    if method.region == FACE and not isinstance(regions, WorldRegions):
        regions = FoundFaces(pictures, method.detector or DETECTOR)
    if regions is None:
        raise BadInput(f"{method.name}: the pictures have no known regions; use faceworld or coco, or region = 'face'")
    return HiddenPictures(pictures, regions, method.region, method.how)
