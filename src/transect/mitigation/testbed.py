"""A test bed that needs no download: many labels of rendered faces, and a protected appearance that goes with them.

Pictures are FaceWorld's in a chosen population, or those of a labelled data set; what is learned and what is protected
are questions about their attributes. A row's picture depends on its number alone, whatever the batch, the order or a
resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput
from transect.mitigation.data import Pixels, TaskData
from transect.mitigation.hiding import Regions, WorldRegions
from transect.mitigation.photographs import chosen_rows
from transect.mitigation.questions import codes, questions_of
from transect.protocols import DrawsMasks
from transect.records import Attribute
from transect.training.pictures import Pictures, open_source

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
    """Labels and protected classes of pictures by questions; and what the classes are called.

    Raises BadInput for no labels, a label with more than two classes, or one that all pictures share.
    """
    if not labels:
        raise BadInput("labels: expected at least one, got none; name what is learned")
    columns = []
    for name, question in labels.items():
        column, classes = codes(question, values, attributes)
        if len(classes) != 2 or len(np.unique(column)) != 2:
            raise BadInput(f"label {name!r}: expected yes and no to occur, got {len(np.unique(column))} of {classes}")
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
        raise BadInput(f"train, check and test: expected at least 2 each, got {list(counts)}; change them")
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
        varied = {name: text for name, text in labels.items() if len(np.unique(_codes(text, values, opened))) > 1}
        labels, left = varied, {**left, "labels of one value": len(labels) - len(varied)}
    data, called = tasks(Pictures(opened, n, folder, quiet=quiet), values, opened.attributes, labels, protected)
    train, check, test = np.split(np.arange(n), np.cumsum(counts)[:2])
    for name, rows in (("train", train), ("check", check), ("test", test)):
        if (lacking := data.classes - len(np.unique(data.protected[rows]))) > 0:
            raise BadInput(f"{name}: expected every class of {protected}, {lacking} missing; take more pictures")
    if isinstance(opened, DrawsMasks):
        regions = WorldRegions(opened, latents)
    left = {reason: count for reason, count in left.items() if count}
    return Bench(data, train, check, test, called, protected, regions, left, subjects, split)


def _codes(question: str, values: Mapping[str, Float[np.ndarray, " n"]], opened: Any) -> Int[np.ndarray, " n"]:
    return codes(question, values, opened.attributes)[0]
