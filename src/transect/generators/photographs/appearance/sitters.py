"""The faces on photographs, found when they are first needed, and which photographs have none that can be used."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.generators.photographs.appearance.faces import Face, face_of, unsuited
from transect.generators.photographs.appearance.sitting import VERSION, Sitting
from transect.generators.photographs.attributes import Edits
from transect.generators.photographs.grey import COLORLESS, is_grey
from transect.generators.photographs.subjects import Subjects, corner, squared
from transect.marks import Finder, open_marks
from transect.runs.wording import spaced

DEFAULT: Final = "network"
_KEPT: Final = 32
"""Photographs whose parts are kept in memory."""
_LOOKED_AT: Final = 48
"""Photographs by which the sizes of masks are stated, the first of those that have a face."""
_TINTED: Final = frozenset({"skin_tone", "hair_color"})
"""Edits that need to know a photograph's colors."""
_GROUPS: Final = 6
"""The most values of a label by whose groups photographs that are left out are counted."""


@final
class Sitters:
    """The faces on photographs. marks: a finder, or its name; it is opened when a face is first needed."""

    def __init__(self, subjects: Subjects, marks: str | Finder = DEFAULT) -> None:
        self.subjects, self._marks = subjects, marks
        self._sitting = functools.lru_cache(maxsize=_KEPT)(self._seated)
        self._statements: dict[tuple[str, ...], str] = {}

    @functools.cached_property
    def finder(self) -> Finder:
        """Who finds the faces. Raises as `open_marks`."""
        return open_marks(self._marks, self.subjects.labelled) if isinstance(self._marks, str) else self._marks

    def of(self, subjects: Subjects) -> Sitters:
        """The same finder's faces on some of the photographs."""
        return Sitters(subjects, self.finder)

    def face(self, subject: int) -> Face | str:
        """The face on a photograph, or why there is none that can be used."""
        picture, size = self.subjects.picture(subject), self.subjects.labelled.image_size
        rows = self.subjects.rows[subject : subject + 1]
        marks = self.finder.find(squared(picture, size)[None], rows)
        height, width = picture.shape[:2]
        return face_of(marks, self.finder.threshold, picture, *corner(height, width, size))

    def sitting(self, subject: int) -> Sitting:
        """The photograph with its face. Raises BadInput where there is none that can be used."""
        return self._sitting(subject)

    def _seated(self, subject: int) -> Sitting:
        face = self.face(subject)
        if isinstance(face, str):
            name = self.subjects.labelled.pictures.name(int(self.subjects.rows[subject]))
            raise BadInput(
                f"{name}: expected a face for what is composited on it, got one of the {face}; leave such photographs"
                " out with for_attributes"
            )
        return Sitting(self.subjects.picture(subject), face, self.subjects.key(subject))

    def reasons(self, names: Sequence[str]) -> tuple[str, ...]:
        """Why these cannot all be composited on each photograph; "" where they can."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return tuple(pool.map(lambda subject: self._reason(subject, names), range(len(self.subjects))))

    def _reason(self, subject: int, names: Sequence[str]) -> str:
        face = self.face(subject)
        if isinstance(face, str):
            return face
        tinted = not _TINTED.isdisjoint(names)
        return COLORLESS if tinted and is_grey(self.subjects.picture(subject)) else unsuited(face, names)

    def describe(self) -> dict[str, Any]:
        """What recreates what is composited, as JSON values."""
        return {"version": VERSION, "marks": self.finder.describe()}

    def statement(self, names: Sequence[str]) -> str:
        """How what is composited under these names was placed, how large it is, and how it was checked."""
        if tuple(names) not in self._statements:
            looks = [_look(self._seated(one), names) for one in range(min(len(self.subjects), _LOOKED_AT))]
            source = self.finder.describe().get("name", "a finder")
            said = [f"Composited on the face, by marks of {source}, and no photograph of it:"]
            self._statements[tuple(names)] = " ".join([*said, *(_said(name, looks) for name in names)])
        return self._statements[tuple(names)]


@final
@dataclass(frozen=True, slots=True)
class _Look:
    """What a statement says of one photograph. shares: of the picture that each mask holds; ita: as it is, at tones 2
    and 9; error: of the head, in distances of the eyes. NaN where nothing asks for it.
    """

    shares: Mapping[str, float]
    ita: tuple[float, float, float]
    error: float


def _look(sitting: Sitting, names: Sequence[str]) -> _Look:
    shares = {name: float(sitting.changed(Edits(**{name: _PROBES[name]})).mean()) for name in names}
    ita = (math.nan,) * 3
    if "skin_tone" in names:
        light, dark = (sitting.ita(Edits(skin_tone=tone, metering=1.0)) for tone in (2.0, 9.0))
        ita = (sitting.skin.ita, light, dark)
    return _Look(shares, ita, sitting.head.error if set(_DRAWN) & set(names) else math.nan)


def _said(name: str, looks: Sequence[_Look]) -> str:
    shares = [look.shares[name] for look in looks]
    size = f"its mask holds {np.median(shares):.0%} of a picture (median; at most {max(shares):.0%})"
    return f"{name.replace('_', ' ')}: {size}; {_checked(name, looks)}."


def _checked(name: str, looks: Sequence[_Look]) -> str:
    """How the level was checked."""
    if name == "skin_tone":
        before, light, dark = np.median([look.ita for look in looks], axis=0)
        return (
            f"ITA of the skin is read back: median {before:.0f} degrees before, {light:.0f} at tone 2 and"
            f" {dark:.0f} at tone 9 with the scene metered"
        )
    if name in _DRAWN:
        errors = [look.error for look in looks]
        return (
            f"placed by a head whose landmarks lie {np.median(errors):.1%} of the eyes' distance from the face's"
            f" (median; at most {max(errors):.1%}); nothing reads it back"
        )
    return "nothing reads it back"


_PROBES: Final = {
    **{"skin_tone": 5.0, "hair_color": 0.5, "lipstick": 1.0},
    **{"beard_shadow": 1.0, "face_mask": 1.0, "glasses": 2.0, "bangs": 1.0, "hat": 3.0},
}
"""The levels by which the sizes of masks are stated."""
_DRAWN: Final = ("beard_shadow", "face_mask", "glasses", "bangs", "hat")


def left_out_by_group(subjects: Subjects, reasons: Sequence[str]) -> Iterator[str]:
    """For each label with few values and each reason, how many photographs of each value are left out.

    reasons: of each photograph; "" where it is used.
    """
    why = np.array(reasons)
    for attribute in subjects.labelled.attributes:
        values = subjects.label(attribute.name)
        levels = np.unique(values[np.isfinite(values)])
        if not 1 < len(levels) <= _GROUPS:
            continue
        for reason in dict.fromkeys(filter(None, reasons)):
            counts = ", ".join(
                f"{attribute.label(float(level))} {np.sum((why == reason) & (values == level)):,} of "
                f"{np.sum(values == level):,}"
                for level in levels
            )
            yield f"Left out by {spaced(attribute.name)}, {reason}: {counts}."
