"""What is read of one photograph: the face that a detector is most certain of, its pose, and the picture around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import UInt8

from transect.errors import BadInput
from transect.jobs.readings import scene
from transect.jobs.readings.photographs import Photographs
from transect.jobs.readings.pose import ANGLES, pose
from transect.targets.face_readers import FaceFinder, FaceLandmarks

VERSION: Final = 1
"""Of the method: other readings of the same photographs are another run."""
UNITS: Final = {
    "yaw": "degrees, + to the viewer's right",
    "pitch": "degrees, + raised",
    "roll": "degrees, + clockwise",
    **{f"background_{name}": "sRGB, 0 to 255" for name in scene.CHANNELS},
    "background": "sRGB, 0 to 255",
    "background_share": "share of the picture",
    "face_light": "stops, 0 for white",
    "side_light": "stops, + from the viewer's right",
}
"""The readings in the order of their columns, and their units."""
NO_PICTURE, UNREADABLE, NO_FACE = "no picture", "unreadable picture", "no face"
NO_POSE, NO_BACKGROUND, NO_LIGHT = "no pose fits", "no background", "face too dark or small for its light"


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """Of one photograph: values by name; faces that were found, None where none was looked for; why values lack."""

    values: dict[str, float]
    faces: int | None
    reasons: tuple[str, ...] = ()


@final
class Reader:
    """Reads photographs one by one, so that no reading depends on another."""

    def __init__(self, finder: FaceFinder, landmarks: FaceLandmarks | None) -> None:
        self.finder, self.landmarks = finder, landmarks
        angles = ANGLES[landmarks.points] if landmarks else ()
        self.names = tuple(name for name in UNITS if name in angles or name not in ANGLES[68])

    def of_row(self, photographs: Photographs, row: int) -> Reading:
        """A photograph's reading; a missing one, one that cannot be decoded or has no face has its reason."""
        try:
            pixels = photographs.pixels(row)
        except BadInput as error:
            message = str(error).replace("; ", ", ")  # a semicolon stands between reasons
            return Reading({}, None, (f"{UNREADABLE} ({message})",))
        return Reading({}, None, (NO_PICTURE,)) if pixels is None else self.of(pixels)

    def of(self, pixels: UInt8[np.ndarray, "h w 3"]) -> Reading:
        """The reading of a picture, from the face of which the detector is most certain."""
        faces = self.finder.boxes(pixels[None])[0]
        if not len(faces):
            return Reading({}, 0, (NO_FACE,))
        face = faces[0]
        parts = {NO_BACKGROUND: scene.background(pixels, face), NO_LIGHT: scene.light(pixels, face)}
        if self.landmarks:
            parts[NO_POSE] = pose(self.landmarks.of(pixels, face), face)
        values = {name: value for part in parts.values() for name, value in part.items()}
        return Reading(values, len(faces), tuple(reason for reason, part in parts.items() if not part))
