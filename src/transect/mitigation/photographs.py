"""Which rows of a labelled data set train, stop the training and measure: of its official parts, or drawn by a seed.

Data sets are often sorted by a label, and show a person several times: the first rows are no sample, and a subject in
two parts would be recognised.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int, Shaped

from transect.datasets import LabelledImages
from transect.datasets.coco_people import PeopleOnPictures, people_on
from transect.datasets.parts import ROLES
from transect.errors import BadInput
from transect.mitigation.hiding import Regions
from transect.mitigation.questions import label_of
from transect.records import Attribute, Images, Latents

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
    images: LabelledImages,
    counts: tuple[int, int, int],
    questions: Sequence[str],
    seed: int = 0,
    *,
    official: bool = True,
) -> tuple[ChosenRows, dict[str, int]]:
    """So many rows to train, check and test, one part after the other, and what is left out, reason -> how many.

    Subjects come in an order drawn by the seed, and go whole to a part; what no longer fits into it is left out.
    official: rows come from the data set's official parts where it has them, see `pools_of`.
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
    return ChosenRows(images, chosen, _split(named)), left


@final
@dataclass(frozen=True)
class Pool:
    """An official part. name: its own; counts_for: the uses that draw from it, 0 to train, 1 to check, 2 to test."""

    name: str
    rows: Bool[np.ndarray, " n"]
    counts_for: tuple[int, ...]


def pools_of(images: LabelledImages) -> tuple[Pool, ...]:
    """The official parts from which rows are drawn; without a third, check and test both draw from the second.

    Empty where the data set names no training part and a second.
    """
    roles = np.array([ROLES.get(part, "") for part in images.parts], dtype=str)
    others = [role for role in ("development", "test") if (roles == role).any()]
    if not others or not (roles == "train").any():
        return ()
    _check_apart(images, roles)
    uses: tuple[tuple[int, ...], ...] = ((0,), (1,), (2,)) if len(others) == 2 else ((0,), (1, 2))
    names = [images.parts[int(np.argmax(roles == role))] for role in ("train", *others)]
    rows = [roles == role for role in ("train", *others)]
    return tuple(Pool(*pool) for pool in zip(names, rows, uses, strict=True))


def _split(pools: Sequence[Pool]) -> str:
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
