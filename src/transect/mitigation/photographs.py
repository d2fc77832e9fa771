"""Which rows of a labelled data set train, stop the training and measure: those with answers, drawn by a seed.

Data sets are often sorted by a label, and show a person several times: the first rows are no sample, and a subject in
two parts would be recognised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from transect.datasets import LabelledImages
from transect.datasets.coco_people import PeopleOnPictures, people_on
from transect.errors import BadInput
from transect.mitigation.hiding import Regions
from transect.mitigation.questions import label_of
from transect.records import Attribute, Images, Latents

UNANSWERED: Final = "pictures without an answer to a question"
SPARE: Final = "pictures beyond the numbers asked for"


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
    """A data set's chosen rows as a source of their own: row i is its row `rows[i]`."""

    def __init__(self, images: LabelledImages, rows: Int[np.ndarray, " n"]) -> None:
        self._images, self._rows = images, rows

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

    def sample(self, seeds: Any) -> Latents:
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
    images: LabelledImages, counts: tuple[int, int, int], questions: Sequence[str], seed: int = 0
) -> tuple[ChosenRows, dict[str, int]]:
    """So many rows for each part, one part after the other, and what is left out, reason -> how many.

    Subjects come in an order drawn by the seed, and go whole to a part; what no longer fits into it is left out. Raises
    BadInput where there are too few rows with an answer to every question, or an unknown attribute is asked for.
    """
    known: Bool[np.ndarray, " n"] = np.ones(len(images), dtype=bool)
    for question in questions:
        known &= np.isfinite(images.column(label_of(question, images.values, images.attributes).attribute))
    people = np.asarray(images.subjects)
    order = np.random.Generator(np.random.Philox(seed)).permutation(int(people.max()) + 1)
    rows = np.lexsort((np.arange(len(people)), order[people]))
    rows = rows[known[rows]]
    _, starts = np.unique(order[people[rows]], return_index=True)
    groups = np.split(rows, starts[1:])
    parts: list[list[int]] = [[], [], []]
    place = 0
    for group in groups:
        room = counts[place] - len(parts[place])
        parts[place] += group[:room].tolist()
        place += len(parts[place]) == counts[place]
        if place == len(counts):
            break
    if place < len(counts):
        got = [len(part) for part in parts]
        lost = f" ({int((~known).sum())} pictures lack an answer)" if not known.all() else ""
        raise BadInput(f"train, check and test: expected {list(counts)} of {len(images)} pictures, got {got}{lost}")
    chosen = np.array([row for part in parts for row in part], dtype=np.int64)
    left = {**images.left_out, UNANSWERED: int((~known).sum()), SPARE: int(known.sum()) - len(chosen)}
    return ChosenRows(images, chosen), left
