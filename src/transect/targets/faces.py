"""Where faces are on pictures, by a detector of faces: the box from hairline to chin and from cheek to cheek."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets.description import describe
from transect.targets.detectors import Detector
from transect.targets.resolution import resolve

DETECTOR: Final = "opencv:haarcascade_frontalface_default"
SHORTER_SIDE: Final = 256
"""Pixels to which smaller pictures are enlarged for the search: cascades find no face below 24."""


@final
class FaceFinder:
    """Finds the faces of pictures. detector: a stock detector of faces, as `opencv:…` or `dlib:hog-face`.

    Raises BadInput for a target that finds no faces, MissingExtra where its library is not installed.
    """

    def __init__(self, detector: str = DETECTOR) -> None:
        options: dict[str, Any] = {"enlarge": SHORTER_SIDE} if detector.startswith(("opencv:", "dlib:hog")) else {}
        target = resolve(detector, **options)
        if target.task is not Task.DETECTION or getattr(target, "kind", "face") != "face":
            raise BadInput(
                f"detector {detector}: expected a target that finds faces, got another; name a detector of them"
            )
        self.name, self._target = detector, target

    def describe(self) -> dict[str, Any]:
        """Name and settings of the detector, as JSON values."""
        return describe(self._target)

    def boxes(self, pixels: UInt8[np.ndarray, "n h w 3"]) -> list[Float[np.ndarray, "_ 4"]]:
        """Of each picture the boxes x0, y0, x1, y1 [pixels] of its faces, the most certain first.

        A detector draws its box after its own convention; where that is known, the box is put on the face. Raises
        BadInput where the detector fails on a picture.
        """
        answer = self._target.predict(Images(pixels))
        if failed := [reason for reason in answer.failures if reason]:
            raise BadInput(f"detector {self.name}: expected an answer for every picture, got {failed[0]}")
        convention = self._target.box_convention if isinstance(self._target, Detector) else None
        found = [boxes[:, :4] for boxes in answer.boxes or ()]
        return found if convention is None else [convention.face_box(boxes) for boxes in found]
