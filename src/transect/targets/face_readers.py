"""Which targets find the faces and the landmarks of pictures for other jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput, MissingExtra
from transect.records import Images, Task
from transect.runs import model_files
from transect.runs.trust import check_trusted
from transect.targets.capabilities import describe
from transect.targets.detectors import Detector, enlarged
from transect.targets.dlib_face import read_model
from transect.targets.dlib_hog import HOG_FACE
from transect.targets.kinds import kind_of
from transect.targets.resolution import resolve

DETECTOR: Final = "opencv:haarcascade_frontalface_default"
SHORTER_SIDE: Final = 256
"""Pixels to which smaller pictures are enlarged for the search: cascades find no face below 24."""


@final
class FaceFinder:
    """Finds the faces of pictures. detector: a stock detector of faces, as `opencv:…` or `dlib:hog-face`."""

    def __init__(self, detector: str = DETECTOR) -> None:
        kind, _ = kind_of(detector)
        options: dict[str, Any] = {"enlarge": SHORTER_SIDE} if kind is not None and kind.trust == "shipped" else {}
        target = resolve(detector, **options)
        if target.task is not Task.DETECTION or getattr(target, "kind", "face") != "face":
            raise BadInput(f"detector {detector}: expected a target that finds faces; choose a face detector")
        self.name, self._target = detector, target

    def describe(self) -> dict[str, Any]:
        """Name and settings of the detector, as JSON values."""
        return describe(self._target)

    def boxes(self, pixels: UInt8[np.ndarray, "n h w 3"]) -> list[Float[np.ndarray, "_ 4"]]:
        """Of each picture the boxes x0, y0, x1, y1 [pixels] of its faces, the most certain first.

        A detector draws its box after its own convention; where that is known, the box is put on the face.
        """
        answer = self._target.predict(Images(pixels))
        if failed := [reason for reason in answer.failures if reason]:
            raise BadInput(f"detector {self.name}: expected an answer for every picture, got {failed[0]}")
        convention = self._target.box_convention if isinstance(self._target, Detector) else None
        found = [boxes[:, :4] for boxes in answer.boxes or ()]
        return found if convention is None else [convention.face_box(boxes) for boxes in found]


POINTS: Final = (5, 68)
"""Counts of points that the known files have: eye corners and nose, and the scheme of 300-W."""


@final
class FaceLandmarks:
    """Places the points of a file of dlib's, of 5 or 68 points, on faces. Raises BadInput for another file."""

    def __init__(self, path: str | Path) -> None:
        check_trusted(str(path))
        try:
            import dlib
        except ModuleNotFoundError:
            raise MissingExtra("dlib", "--landmarks") from None
        file = model_files.check_readable(Path(path))
        self._predictor, self._rectangle = read_model(dlib.shape_predictor, file), dlib.rectangle
        self.points = int(self._predictor(np.zeros((64, 64, 3), np.uint8), dlib.rectangle(8, 8, 55, 55)).num_parts)
        if self.points not in POINTS:
            raise BadInput(f"{path}: expected a shape predictor of 5 or 68 points, got {self.points}; choose another")
        self.sha256 = model_files.sha256(file)

    def of(self, pixels: UInt8[np.ndarray, "h w 3"], face: Float[np.ndarray, " 4"]) -> Float[np.ndarray, "k 2"]:
        """The points' x and y in pixels, float64; pixel i spans i to i + 1. face: as `FaceFinder` has it.

        The predictor is given the box that dlib's own detector would draw there, since it was taught on such boxes.
        """
        large, factor = enlarged(pixels, SHORTER_SIDE)
        left, top, right, bottom = np.rint(HOG_FACE.expected_box(face[None])[0] * factor).astype(int).tolist()
        # dlib's right and bottom are the last pixel inside the box; its points are the middles of pixels.
        shape = self._predictor(np.ascontiguousarray(large), self._rectangle(left, top, right - 1, bottom - 1))
        return np.array([(point.x + 0.5, point.y + 0.5) for point in shape.parts()]) / factor
