"""Photographs as a world: camera, covers and what is composited on the face are set on a photograph, all else stays.

A photograph is only ever changed by what is set: without a setting its pixels are those of the file. People who are on
several photographs are told apart by the data set, so that intervals count people.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, UInt8

from transect.datasets.labelled import SUBJECT
from transect.errors import BadInput
from transect.generators.faceworld.chance import check_seeds
from transect.generators.photographs import camera
from transect.generators.photographs.appearance.sitters import DEFAULT, Sitters, left_out_by_group
from transect.generators.photographs.attributes import (
    APPEARANCE,
    ATTRIBUTES,
    EXPERIMENTAL,
    LIMITS,
    LOWEST,
    NEUTRAL,
    USUAL,
    WHY_TRIED,
    Edits,
)
from transect.generators.photographs.subjects import SMALLEST, Subjects, check_opencv, corner, inner
from transect.generators.requests import requested_columns
from transect.marks import Finder
from transect.protocols import Table
from transect.records import SUBJECTS_PER_SEED, Attribute, Images, Latents
from transect.runs.wording import counted

SPACE: Final = "photograph"
MEASURED: Final = (
    Attribute(
        *("luminance", "continuous", "mean linear luminance of the photograph before any edit"),
        role="nuisance",
        source="IEC 61966-2-1",
    ),
    Attribute(
        *("sharpness", "continuous", "variance of the Laplacian of its grey values before any edit", "", 0, 260_100),
        role="nuisance",
        source="Pech-Pacheco et al. 2000, doi:10.1109/ICPR.2000.903548",
    ),
    Attribute("width", "continuous", "width of the file's picture", "pixels", 1, 1e6, role="nuisance"),
    Attribute("height", "continuous", "height of the file's picture", "pixels", 1, 1e6, role="nuisance"),
)
"""What is measured on each photograph; it can be read and not set."""
_COMPOSITED: Final = frozenset(APPEARANCE)
_HINT: Final = "see: transect list attributes --generator photographs"
ITA: Final = Attribute(
    *("ita", "continuous", "individual typology angle of the skin with what is composited, before the camera's edits"),
    *("degrees", -180, 180),
    role="nuisance",
    source="Chardon et al. 1991, doi:10.1111/j.1467-2494.1991.tb00561.x",
)
"""Read from the skin of each image where skin_tone is varied."""
_STATEMENT: Final = (
    "{images} of {people}, each resized once into {side} x {side} pixels (area means){margins}. Where no edit is set, "
    "the pixels are the photograph's own. Edits are computed: exposure, blur and noise in linear light as sRGB states "
    "it, since the tone curve of the camera that took the photograph is not known; light that was lost in the "
    "photograph does not come back. They show what a model does when a photograph is changed so, not what a camera "
    "would have seen."
)


_CHECKED: Final = (
    "The edits were checked on {where}. Not checked: how near an edited photograph comes to one that was taken so."
)
"""What is known of the light of edited photographs, and what is not."""


@final
class Photographs:
    """The photographs of READER:PATH as subjects, with edits as attributes.

    image_size: pixels, at least 32 (default: that of the photographs where all have one size, else 128). threads:
    pictures that are made side by side. marks: who finds the faces, by name (`transect.marks.FINDERS`) or as an
    object; asked only where an edit is composited on a face. tone_steps: by how many of the ten tones skin_tone may
    differ from a photograph's own, at most 3; hair_steps: by how much of its range hair_color may, at most 0.5.
    experimental: what looked fake may be set too. Raises MissingExtra without OpenCV, BadInput and UnknownName as
    `datasets.open_dataset`, and BadInput where no photograph can be used or levels are too far.
    """

    def __init__(
        self, source: str, *, image_size: int | None = None, threads: int | None = None,
        marks: str | Finder = DEFAULT, tone_steps: float = LIMITS["skin_tone"].usual,
        hair_steps: float = LIMITS["hair_color"].usual, experimental: bool = False,
    ) -> None:  # fmt: skip
        check_opencv("photographs as subjects")
        steps = {"skin_tone": tone_steps, "hair_color": hair_steps}
        for name, limit in LIMITS.items():
            if not 0 < steps[name] <= limit.most:
                unit = " tones" if name == "skin_tone" else ""
                raise BadInput(
                    f"{limit.option}: expected more than 0 and at most {limit.most:g}{unit}, got {steps[name]:g}:"
                    f" {limit.why}; give {limit.most:g} or less"
                )
        if image_size is not None and image_size < SMALLEST:
            raise BadInput(
                f"--size: expected at least {SMALLEST} pixels of photographs, got {image_size}; give more, or leave it"
                " out"
            )
        self.subjects = Subjects.open(source, image_size)
        self.sitters = Sitters(self.subjects, marks, steps)
        self.experimental = experimental
        self.composited: tuple[str, ...] = ()
        self._by_group: tuple[str, ...] = ()
        self.image_size = self.subjects.labelled.image_size
        self.latent_dim = 1
        self.threads = threads or os.cpu_count() or 1
        self._labels = {_label_name(each.name): each for each in self.subjects.labelled.attributes}

    @property
    def name(self) -> str:
        """The name in reports: reader and the folder's own name, without its path."""
        return f"photographs:{self.subjects.labelled.name}"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be set: the edits, in the order in which a camera applies them."""
        return ATTRIBUTES

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What is known of an image: the edits, what is measured on the photograph, and the data set's labels."""
        labels = (replace(attribute, name=name) for name, attribute in self._labels.items())
        return (*ATTRIBUTES, *MEASURED, *((ITA,) if "skin_tone" in self.composited else ()), *labels)

    @property
    def usual_levels(self) -> Mapping[str, tuple[float, ...]]:
        """Levels of the edits that have a range, the photograph as it is among them."""
        return USUAL

    @property
    def photographs(self) -> int:
        """How many photographs can be used."""
        return len(self.subjects)

    @property
    def learned_edits(self) -> bool:
        """False: every edit is computed."""
        return False

    @property
    def as_they_are(self) -> Mapping[str, float]:
        """By edit: the level at which a photograph is as it is."""
        return NEUTRAL

    def intended_readings(self) -> Mapping[str, Mapping[float, float]]:
        """None: a reading has to move as the level was moved."""
        return {}

    def for_attributes(self, names: Collection[str]) -> Photographs:
        """The photographs on which all of these can be set, the others counted by reason and group.

        names: with their levels, those photographs whose skin is near enough to all levels of skin_tone; experimental
        levels are refused unless they are allowed. Itself where none of them is composited. Raises BadInput where no
        photograph is left or can be, and as `open_marks`.
        """
        composited = tuple(name for name in APPEARANCE if name in names)
        if isinstance(names, Mapping):
            self._check_tried(names)
        asked = names if isinstance(names, Mapping) else {}
        levels = {name: tuple(float(x) for x in asked.get(name, ()) if x >= low) for name, low in LOWEST.items()}
        levels = {name: chosen for name, chosen in levels.items() if chosen}
        if not composited or (composited, levels) == (self.composited, self.sitters.levels):
            return self
        sitters = self.sitters.to_levels(levels)
        why = sitters.reasons(composited)
        kept, reasons = np.array([not reason for reason in why]), Counter(filter(None, why))
        if not kept.any():
            found = ", ".join(f"{number} {reason}" for reason, number in reasons.items())
            raise BadInput(
                f"{self.name}: no photographs with a face on which this can be set ({found}); add"
                " some, choose another finder or other levels"
            )
        narrowed = copy(self)
        narrowed.subjects = self.subjects.only(kept, reasons)
        narrowed.sitters = sitters.of(narrowed.subjects)
        narrowed.composited = composited
        narrowed._by_group = tuple(left_out_by_group(self.subjects, why))
        return narrowed

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than photographs."""
        self.subjects.check(wanted)

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """One photograph per seed: subject i of a run's seed is the i-th of all photographs in an order of that seed.

        So no photograph is drawn twice within a run. Raises BadInput for more subjects than photographs.
        """
        numbers = check_seeds(seeds)
        self.check_subjects(int((numbers % SUBJECTS_PER_SEED).max(initial=-1)) + 1)
        return Latents(numbers, self.subjects.drawn(numbers).astype(np.float64).reshape(-1, 1), SPACE)

    def sample_unedited(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Photographs as they are, one drawn by each seed and put back, so that any number can be drawn."""
        numbers = check_seeds(seeds)
        rows = [np.random.Generator(np.random.Philox(seed)).integers(len(self.subjects)) for seed in numbers.tolist()]
        return Latents(numbers, np.array(rows, dtype=np.float64).reshape(-1, 1), SPACE)

    def read(self, latents: Latents) -> pa.Table:
        """The float64 level of each edit, "as it is" where it is not set."""
        return pa.table({name: pa.array(column, pa.float64()) for name, column in self._levels(latents).items()})

    def truths(self, latents: Latents) -> pa.Table:
        """As `read`, with what is measured on the photograph, the labels (NaN: none), and the person as `subject`."""
        rows, found = self._rows(latents), self.subjects
        columns = dict(self._levels(latents))
        for attribute in MEASURED:
            columns[attribute.name] = np.array([getattr(found.looks[row], attribute.name) for row in rows], dtype=float)
        for name, attribute in self._labels.items():
            columns[name] = found.label(attribute.name)[rows]
        if "skin_tone" in self.composited:
            with ThreadPoolExecutor(self.threads) as pool:
                edits = self._edits(latents)
                read = pool.map(lambda row, edit: self.sitters.sitting(row).ita(edit), rows.tolist(), edits)
                columns[ITA.name] = np.array(list(read), dtype=np.float64)
        columns[SUBJECT] = found.people[rows].astype(np.float64)
        return pa.table({name: pa.array(column, pa.float64()) for name, column in columns.items()})

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): the photograph and every other edit stay. Raises UnknownName, BadInput (range, kind, hold)."""
        self._rows(latents)
        settings = requested_columns(self.attributes, values, hold, len(latents), _HINT)
        return replace(latents, settings={**latents.settings, **settings})

    def render(self, latents: Latents) -> Images:
        """Pixels uint8 [n, s, s, 3], sRGB: each photograph under its edits; margins beside it stay grey.

        Each image depends on its own row alone. No rows give no pictures.
        """
        rows = self._rows(latents)
        edits = self._edits(latents)
        pixels = np.empty((len(rows), self.image_size, self.image_size, 3), dtype=np.uint8)
        places = {row: np.flatnonzero(rows == row) for row in np.unique(rows).tolist()}

        def retake(row: int) -> None:
            bare, key = self.subjects.picture(row), self.subjects.key(row)
            for place in places[row].tolist():
                worn = edits[place].any_of(_COMPOSITED)
                picture = self.sitters.dressed(row, edits[place]) if worn else bare
                camera.retaken(picture, edits[place], key, out=inner(pixels[place], picture))

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(retake, places))
        return Images(pixels)

    def edit_masks(self, latents: Latents) -> Bool[np.ndarray, "n s s"]:
        """The pixels that the edits of each row may change; outside, the image is bitwise the photograph."""
        masks = np.zeros((len(latents), self.image_size, self.image_size), dtype=np.bool_)
        for place, (row, edits) in enumerate(zip(self._rows(latents).tolist(), self._edits(latents), strict=True)):
            height, width = self.subjects.picture(row).shape[:2]
            top, left = corner(height, width, self.image_size)
            changed = camera.changed(edits, width, height)
            if edits.any_of(_COMPOSITED):
                changed |= self.sitters.sitting(row).changed(edits)
            masks[place, top : top + height, left : left + width] = changed
        return masks

    def photograph(self, latents: Latents) -> UInt8[np.ndarray, "n s s 3"]:
        """The photographs of these rows as they are, whatever is set."""
        return self.render(replace(latents, settings={})).pixels

    def describe(self) -> dict[str, object]:
        """What recreates the pictures: SHA-256 over the files, so that another folder is another run; no path."""
        import cv2

        found = self.subjects
        return {
            "name": self.name,
            "image_size": self.image_size,
            "pictures_sha256": found.pictures_sha256,
            "table_sha256": found.labelled.sha256,
            "images": len(found),
            "labels": {name: list(each.levels) for name, each in self._labels.items() if each.discrete},
            "people": len(np.unique(found.people)),
            "crop": None if found.labelled.crop is None else str(found.labelled.crop),
            "left_out": found.left_out,
            "copies": list(found.copies()),
            "skipped_columns": found.labelled.skipped,
            "camera": {
                "version": camera.VERSION,
                "electrons": camera.ELECTRONS,
                "read_electrons": camera.READ_ELECTRONS,
                "opencv": cv2.__version__,
            },
            **({"composited": {"edits": list(self.composited), **self.sitters.describe()}} if self.composited else {}),
        }

    def validity(self) -> dict[str, object]:
        """What a report states about the images."""
        found = self.subjects
        statement = _STATEMENT.format(
            images=counted(len(found), "photograph"),
            people=counted(len(np.unique(found.people)), "person", "people"),
            side=self.image_size,
            margins="" if found.labelled.crop is not None else ", with grey margins where it is not square",
        )
        composited = [self.sitters.statement(self.composited)] if self.composited else []
        checked = _CHECKED.format(where="test scenes and rendered faces" if composited else "test scenes")
        said = [statement, *composited, checked, *found.notes(), *self._by_group, found.labelled.about]
        return {
            "photometry_validated": False,
            "statement": " ".join(said).strip(),
            "not_measured": "the level is computed, and nothing reads it back",
        }

    def _check_tried(self, levels: Mapping[str, Sequence[float] | np.ndarray]) -> None:
        """Raises BadInput for levels that are experimental, unless they were asked for."""
        for attribute in ATTRIBUTES:
            name, chosen = attribute.name, np.unique(np.asarray(levels.get(attribute.name, ()), dtype=np.float64))
            set_to = [attribute.label(level) for level in chosen if level != NEUTRAL[name] and not np.isnan(level)]
            tried = [label for label in set_to if label in EXPERIMENTAL.get(name, ()) or EXPERIMENTAL.get(name) == ()]
            if tried and not self.experimental:
                raise BadInput(
                    f"{name}: {tried[0]} is experimental: {WHY_TRIED}; leave it out, or allow it, as"
                    " in photographs:folder:faces?experimental=yes"
                )

    def _rows(self, latents: Latents) -> Int[np.ndarray, " n"]:
        if latents.space != SPACE or np.asarray(latents.values).shape[1:] != (1,):
            raise BadInput(f"latents: expected space {SPACE} with 1 number, got {latents.space}; sample them")
        return latents.values[:, 0].astype(np.int64)

    def _levels(self, latents: Latents) -> dict[str, Float[np.ndarray, " n"]]:
        columns = {}
        for name, neutral in NEUTRAL.items():
            column = latents.settings.get(name, np.full(len(latents), np.nan))
            columns[name] = np.where(np.isnan(column), neutral, column)
        return columns

    def _edits(self, latents: Latents) -> list[Edits]:
        columns = self._levels(latents)
        for name, lowest in LOWEST.items():
            columns[name] = np.where(columns[name] < lowest, NEUTRAL[name], columns[name])
        return [Edits(*levels) for levels in zip(*(columns[name].tolist() for name in NEUTRAL), strict=True)]


def _label_name(name: str) -> str:
    """A label's own name, or label.NAME where an edit or a measure is called so."""
    taken = {*NEUTRAL, *(attribute.name for attribute in (*MEASURED, ITA)), SUBJECT}
    return f"label.{name}" if name in taken else name
