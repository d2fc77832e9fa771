"""The parts of a run of twins: photographs and their points ► fitted twins, in this process or by a worker."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.engines.facts import check_same
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.generators.photographs.subjects import MARGIN, corner, squared
from transect.inversion.pictures import Pictures
from transect.inversion.recipes import facts_of
from transect.inversion.twin_pictures import NAMES, UNSURE, face_fault, in_frame, opened, residuals
from transect.inversion.twin_rows import CODE, SETTINGS
from transect.inversion.twins import placed, twin
from transect.marks import Finder
from transect.runs.png import png

FIT_SIZE: Final = 64
"""Pixels at which twins are fitted, whatever size they are shown at."""
_PLACE: Final = ("scale", "across", "down")
_TONES: Final = ("tone_low", "tone_high")
_NUMBERS: Final = ("confidence", *NAMES, *_TONES, *_PLACE, *(f"set.{name}" for name in SETTINGS))
_LISTS: Final = (CODE, "landmarks", "twin_landmarks")
_PICTURES: Final = ("photograph", "twin")
SCHEMA: Final = pa.schema(
    [("id", pa.string()), ("reason", pa.string())]
    + [(name, pa.float64()) for name in _NUMBERS]
    + [(name, pa.list_(pa.float64())) for name in _LISTS]
    + [(name, pa.binary()) for name in _PICTURES]
)
"""A row per photograph; of one without a twin, reason says why, and numbers that are not known are null.

landmarks: of the photograph in the twin's frame, x and y in turn; twin_landmarks: of the twin. tone_low, tone_high: of
the tones that fit as well. photograph, twin: both in the twin's frame, PNG.
"""


@final
@dataclass(frozen=True, slots=True)
class Sitter:
    """A photograph and the points of its face, in its pixels; or why it has no twin."""

    name: str
    reason: str
    confidence: float | None = None
    pixels: UInt8[np.ndarray, "h w 3"] | None = None
    points: Float[np.ndarray, "68 2"] | None = None


def seated(pictures: Pictures, row: int, finder: Finder) -> Sitter:
    """A photograph with the points that the finder finds on it. Raises as the finder."""
    name = pictures.ids[row]
    pixels, reason = opened(pictures, row)
    if pixels is None:
        return Sitter(name, reason)
    height, width = pixels.shape[:2]
    side = max(height, width)
    marks = finder.find(squared(pixels, side)[None], np.array([row], dtype=np.int64))
    sure = float(marks.confidence[0])
    if marks.reasons[0]:
        return Sitter(name, marks.reasons[0], sure)
    if not marks.kept(finder.threshold)[0]:
        return Sitter(name, UNSURE, sure)
    top, left = corner(height, width, side)
    points = marks.points[0] - np.array([left, top])
    if fault := face_fault(pixels, points):
        return Sitter(name, fault, sure)
    return Sitter(name, "", sure, pixels, points)


@final
@dataclass(frozen=True, slots=True)
class TwinParts:
    """What fits twins. fitting, showing: FaceWorld at the size of the search and at that of the pictures."""

    fitting: FaceWorld
    showing: FaceWorld

    def make(self, sitters: tuple[Sitter, ...]) -> pa.Table:
        """The rows of these photographs, each from its own alone."""
        return pa.Table.from_pylist([self._row(sitter) for sitter in sitters], schema=SCHEMA)

    def _row(self, sitter: Sitter) -> dict[str, Any]:
        row: dict[str, Any] = {"id": sitter.name, "reason": sitter.reason, "confidence": sitter.confidence}
        if sitter.pixels is None or sitter.points is None:
            return row
        fitted = twin(sitter.pixels, sitter.points, world=self.fitting)
        found = self.showing.landmarks(fitted.latents)
        pixels = self.showing.render(fitted.latents).pixels[0]
        scales, shifts = placed(found, sitter.points)
        scale, shift = float(scales[0]), (float(shifts[0, 0]), float(shifts[0, 1]))
        left = residuals(sitter.pixels, sitter.points, pixels, found[0], scale * found[0] + shifts[0])
        photograph, seen = in_frame(sitter.pixels, scale, shift, self.showing.image_size)
        return {
            **row,
            **asdict(left),
            **dict(zip(_TONES, fitted.tones, strict=True)),
            **dict(zip(_PLACE, (scale, *shift), strict=True)),
            **{f"set.{name}": value for name, value in fitted.settings.items()},
            CODE: fitted.latents.values[0, IDENTITY_COLUMNS].tolist(),
            "landmarks": ((sitter.points - shifts[0]) / scale).ravel().tolist(),
            "twin_landmarks": found[0].ravel().tolist(),
            "photograph": png(photograph),
            "twin": png(np.where(seen[..., None], pixels, np.uint8(MARGIN))),
        }

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class TwinWork:
    """The same for a worker. facts: `facts_of` FaceWorld in the process of the command."""

    size: int
    facts: str = ""
    gpus: int = 0

    def open(self) -> TwinParts:
        """Open FaceWorld. Raises TargetChanged where it is not that of the command."""
        showing = FaceWorld(image_size=self.size, threads=1)
        if self.facts:
            check_same(self.facts, facts_of(showing, ()))
        return TwinParts(FaceWorld(image_size=FIT_SIZE, threads=1), showing)
