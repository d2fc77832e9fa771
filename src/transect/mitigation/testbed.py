"""A test bed that needs no download: many labels of rendered faces, and a protected appearance that goes with them.

Pictures are FaceWorld's in a chosen population, or those of a labelled data set; what is learned and what is protected
are questions about their attributes. A row's picture hangs on its number alone, whatever the batch, the order or a
resume.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput, UnknownName
from transect.mitigation.data import Pixels, TaskData
from transect.mitigation.hiding import Regions, WorldRegions
from transect.records import Attribute
from transect.training.labels import Label
from transect.training.pictures import Pictures, open_source

QUESTIONS: Final[Mapping[str, str]] = {
    "glasses": "glasses",
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

_LEVELS: Final = re.compile(r"\s*([^<>=!]+?)\s*(!?=)\s*([^<>=!]+?)\s*")


@final
@dataclass(frozen=True)
class Bench:
    """data: pictures, labels, protected classes. train, check and test are rows of it, apart from each other.

    classes: what the protected classes are called. regions: where what is on the pictures, where that is known.
    """

    data: TaskData
    train: Int[np.ndarray, " a"]
    check: Int[np.ndarray, " b"]
    test: Int[np.ndarray, " t"]
    classes: tuple[str, ...]
    protected: str
    regions: Regions | None = None

    def on(self, pictures: Pixels) -> Bench:
        """The same tasks on other pictures of the same rows."""
        return replace(self, data=replace(self.data, pictures=pictures))

    def taught_by(self, rows: Int[np.ndarray, " a"]) -> Bench:
        """The same bench with other rows to learn from."""
        return replace(self, train=rows)


def label_of(question: str, values: Mapping[str, Float[np.ndarray, " n"]], attributes: Sequence[Attribute]) -> Label:
    """The classes that a question asks for: NAME, NAME>X, NAME<X, NAME=LEVEL|LEVEL or NAME!=LEVEL|LEVEL.

    Raises BadInput or UnknownName for another text, attribute or level, or an attribute that the pictures lack.
    """
    name = question.split("=", maxsplit=1)[0].rstrip("! ") if _LEVELS.fullmatch(question) else ""
    label = _chosen(question, attributes) if name else Label.parse(question, attributes)
    if label.attribute not in values:
        raise UnknownName("attribute", label.attribute, values, f"asked for in {question!r}")
    return label


def codes(
    question: str, values: Mapping[str, Float[np.ndarray, " n"]], attributes: Sequence[Attribute]
) -> tuple[Int[np.ndarray, " n"], tuple[str, ...]]:
    """The class of each row by a question, and what the classes are called. Raises BadInput where a row has none.

    >>> hat = Attribute("hat", "categorical", "hat", levels=("none", "cap", "beanie"))
    >>> codes("hat!=none", {"hat": np.array([0.0, 2.0, 1.0])}, [hat])[0].tolist()
    [0, 1, 1]
    """
    label = label_of(question, values, attributes)
    found = values[label.attribute]
    if match := _LEVELS.fullmatch(question):
        known = {one.name: one for one in attributes}[label.attribute]
        chosen = [known.levels.index(level) for level in _named(match[3], known)]
        made = (np.isin(found, chosen) == (match[2] == "=")).astype(np.int64)
        made = np.where(np.isfinite(found), made, -1)
    else:
        made = label.of(found)
    if (lost := int((made < 0).sum())) > 0:
        raise BadInput(f"{question!r}: expected an answer for every picture, {lost} of {len(made)} have none; drop it")
    return made, label.classes


def _chosen(question: str, attributes: Sequence[Attribute]) -> Label:
    match = _LEVELS.fullmatch(question)
    known = {one.name: one for one in attributes}
    if match is None or match[1] not in known:
        raise UnknownName("attribute", question if match is None else match[1], known, f"asked for in {question!r}")
    _named(match[3], known[match[1]])
    return Label(question, match[1], ("no", "yes"))


def _named(text: str, attribute: Attribute) -> list[str]:
    levels = [level.strip() for level in text.split("|")]
    if unknown := [level for level in levels if level not in attribute.levels]:
        raise UnknownName(f"level of {attribute.name}", unknown[0], attribute.levels)
    return levels


def tasks(
    pictures: Pixels,
    values: Mapping[str, Float[np.ndarray, " n"]],
    attributes: Sequence[Attribute],
    labels: Mapping[str, str],
    protected: str,
) -> tuple[TaskData, tuple[str, ...]]:
    """Labels and protected classes of pictures by questions; and what the classes are called.

    Raises BadInput for no labels, a label with more than two classes, or one that all pictures share.
    """
    if not labels:
        raise BadInput("labels: expected at least one, got none; name what is learned")
    columns = []
    for name, question in labels.items():
        found, classes = codes(question, values, attributes)
        if len(classes) != 2 or len(np.unique(found)) != 2:
            raise BadInput(f"label {name!r}: expected yes and no to occur, got {len(np.unique(found))} of {classes}")
        columns.append(found == 1)
    groups, called = codes(protected, values, attributes)
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
    quiet: bool = False,
) -> Bench:
    """The bench of a source: `faceworld`, or READER:PATH of a labelled data set.

    counts: of train, check and test; they are the first rows, the next, and those after. folder: where pictures are
    kept. Raises BadInput where the source has too few pictures, or a class lacks rows in a part.
    """
    opened: Any = open_source(source, size, population)
    n = sum(counts)
    if min(counts) < 2 or (source != "faceworld" and n > len(opened)):
        there = "" if source == "faceworld" else f" of {len(opened)} pictures"
        raise BadInput(f"train, check and test: expected at least 2 each{there}, got {list(counts)}; change them")
    latents = opened.sample(np.arange(n))
    table = opened.read(latents)
    values = {name: np.asarray(table[name], dtype=np.float64) for name in table.column_names}
    data, called = tasks(Pictures(opened, n, folder, quiet=quiet), values, opened.attributes, labels, protected)
    train, check, test = np.split(np.arange(n), np.cumsum(counts)[:2])
    for name, rows in (("train", train), ("check", check), ("test", test)):
        if (lacking := data.classes - len(np.unique(data.protected[rows]))) > 0:
            raise BadInput(f"{name}: expected every class of {protected}, {lacking} missing; take more pictures")
    regions = WorldRegions(opened, latents) if hasattr(opened, "masks") else None
    return Bench(data, train, check, test, called, protected, regions)
