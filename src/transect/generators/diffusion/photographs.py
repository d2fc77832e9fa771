"""The photographs that a diffusion pipeline edits: their pixels, where they may be painted, who is on them, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int, UInt8

from transect.datasets import LabelledImages, open_dataset
from transect.datasets.labelled import SUBJECT
from transect.errors import BadInput, MissingExtra
from transect.generators.diffusion.settings import Settings
from transect.generators.photographs.masks import Mask, Shown, feathered, open_mask, path_inside
from transect.generators.photographs.subjects import Subjects, corner, fitted, squared
from transect.records import SUBJECTS_PER_SEED, Attribute

UNMASKED: Final = "photographs on which the mask of {} has no pixel"


@final
@dataclass(frozen=True)
class EditedPhotographs:
    """Photographs by number, from 0. subjects, masks: of mode inpaint, by attribute; else the data set's own rows.

    edited: names of attributes, which labels may not have.
    """

    labelled: LabelledImages
    rows: Int[np.ndarray, " n"]
    edited: frozenset[str]
    subjects: Subjects | None = None
    masks: Mapping[str, Mask] = field(default_factory=dict)

    @classmethod
    def open(cls, settings: Settings, base: Path, image_size: int) -> EditedPhotographs:
        """The photographs of a file's `source`; paths in it are relative to `base`.

        Those that cannot be painted are left out and counted. Raises as `open_dataset`, `Subjects.open`, `open_mask`.
        """
        reader, colon, location = settings.source.partition(":")
        place = location if Path(location).is_absolute() else str(base / location)
        named, edited = f"{reader}{colon}{place}", frozenset(settings.attributes)
        if settings.mode != "inpaint":
            labelled = open_dataset(named, image_size=image_size, labelled=False)
            return cls(labelled, np.arange(len(labelled), dtype=np.int64), edited)
        _check_opencv()
        subjects = Subjects.open(named, image_size)
        names = [path_inside(subjects.labelled, int(row)) for row in subjects.rows]
        masks = {
            name: open_mask(entry.mask or settings.mask, base, subjects.labelled, names)
            for name, entry in settings.attributes.items()
        }
        subjects = _maskable(subjects, masks)
        return cls(subjects.labelled, subjects.rows, edited, subjects, masks)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> dict[str, Attribute]:
        """The data set's labels by the name that they have here: label.NAME where an edit is called so."""
        taken = {*self.edited, SUBJECT}
        return {f"label.{each.name}" if each.name in taken else each.name: each for each in self.labelled.attributes}

    def label(self, name: str, numbers: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """A label of those photographs, NaN where it is not known."""
        return np.asarray(self.labelled.column(self.labels[name].name)[self.rows[numbers]], dtype=np.float64)

    def people(self, numbers: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """Who is on those photographs."""
        return np.asarray(np.array(self.labelled.subjects, dtype=np.int64)[self.rows[numbers]])

    def drawn(self, seeds: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """The photograph of each seed."""
        return seeds % SUBJECTS_PER_SEED if self.subjects is None else self.subjects.drawn(seeds)

    def picture(self, number: int) -> UInt8[np.ndarray, "s s 3"]:
        """The photograph as it is."""
        if self.subjects is None:
            return np.asarray(self.labelled.pixels([int(self.rows[number])])[0])
        return squared(self.subjects.picture(number), self.labelled.image_size)

    def shares(self, number: int, name: str) -> Float[np.ndarray, "s s"]:
        """How much of what is painted each pixel takes, 0 to 1: 0 outside the attribute's mask and beside the picture.

        Of mode inpaint alone.
        """
        if self.subjects is None:
            raise KeyError(name)
        shown, size = shown_of(self.subjects, number), self.labelled.image_size
        mask, (height, width) = self.masks[name], shown.picture.shape[:2]
        top, left = corner(height, width, size)
        shares = np.zeros((size, size), dtype=np.float32)
        shares[top : top + height, left : left + width] = feathered(mask.of(shown), mask.feather)
        return shares

    def notes(self) -> list[str]:
        """A sentence for each reason for which photographs are left out."""
        return self.labelled.notes() if self.subjects is None else list(self.subjects.notes())

    def describe(self) -> dict[str, object]:
        """What recreates the photographs and where they are painted; no path."""
        levels = {name: list(each.levels) for name, each in self.labels.items() if each.discrete}
        if self.subjects is None:
            return {"source": self.labelled.describe(), "labels": levels}
        found = self.subjects
        return {
            "labels": levels,
            "source": {**self.labelled.describe(), "left_out": found.left_out, "images": len(found)},
            "pictures_sha256": found.pictures_sha256,
            "table_sha256": self.labelled.sha256,
            "masks": {name: mask.describe() for name, mask in self.masks.items()},
        }


def shown_of(subjects: Subjects, number: int) -> Shown:
    """A photograph as masks take it."""
    look, row = subjects.looks[number], int(subjects.rows[number])
    labelled = subjects.labelled

    def frame(whole: UInt8[np.ndarray, "a b 3"]) -> UInt8[np.ndarray, "h w 3"]:
        return fitted(labelled, whole)

    return Shown(path_inside(labelled, row), row, look.width, look.height, subjects.picture(number), frame)


def _maskable(subjects: Subjects, masks: Mapping[str, Mask]) -> Subjects:
    """Those on which every mask has a pixel. Raises BadInput where there is none."""
    reasons = []
    for number in range(len(subjects)):
        shown = shown_of(subjects, number)
        empty = next((name for name, mask in masks.items() if not mask.of(shown).any()), "")
        reasons.append(UNMASKED.format(empty) if empty else "")
    kept = [number for number, reason in enumerate(reasons) if not reason]
    left_out = Counter(subjects.left_out) + Counter(reason for reason in reasons if reason)
    if not kept:
        found = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise BadInput(f"{subjects.labelled.name}: expected photographs to paint, got none ({found}); change the mask")
    looks = tuple(subjects.looks[number] for number in kept)
    return replace(subjects, rows=subjects.rows[kept], looks=looks, left_out=dict(left_out))


def _check_opencv() -> None:
    try:
        import cv2  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("opencv", "inpainting of photographs") from None
