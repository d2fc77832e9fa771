"""From images to aligned crops of the faces on them: landmarks of the images themselves, or those of a detector.

An image that cannot be aligned is not enrolled: an outcome of that image, with the reason, and no failure of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.marks.records import five_points
from transect.records import DECLARED, Images
from transect.targets.alignment import ARCFACE, COUNTS, SIZES, cropped, from_crop
from transect.targets.preprocess import Preprocess

if TYPE_CHECKING:
    from transect.targets.faces import FaceFinder
    from transect.targets.landmarks import FaceLandmarks

NO_FACE: Final = f"no face: {DECLARED}"
NO_LANDMARKS: Final = f"no landmarks: {DECLARED}"
NOT_ALIGNED: Final = f"landmarks in one place: {DECLARED}"


@final
class Aligner:
    """Cuts out faces as `preprocess.align` says.

    With `preprocess.landmarks`, a shape predictor of dlib's for 68 points, OpenCV's face cascade finds the most certain
    face and the predictor its points; else the landmarks come with the images. Raises MissingExtra and BadInput for a
    file of points that cannot be used.
    """

    def __init__(self, preprocess: Preprocess) -> None:
        if preprocess.align is None:
            raise BadInput("align: expected the name of a crop, got none; state it")
        self.name, self._filter = preprocess.align, preprocess.filter
        self.size = preprocess.size[0] if preprocess.size else SIZES[preprocess.align]
        self._found: tuple[FaceFinder, FaceLandmarks] | None = None
        if preprocess.landmarks is not None:
            self._found = _detector(preprocess.landmarks)

    @property
    def wants_landmarks(self) -> bool:
        """Whether landmarks must come with the images."""
        return self._found is None

    def facts(self) -> dict[str, Any]:
        """The detector and the file of points, as JSON values; nothing where landmarks come with the images."""
        if self._found is None:
            return {}
        finder, points = self._found
        return {"detector": finder.describe(), "landmarks_sha256": points.sha256}

    def crops(self, images: Images) -> tuple[UInt8[np.ndarray, "n s s 3"], tuple[str, ...]]:
        """A crop of each image, black where there is none, and the reasons ("" where there is one).

        Raises BadInput where landmarks must come with the images and do not.
        """
        points, boxes, reasons = self._places(images) if self._found is None else self._search(images, *self._found)
        maps = from_crop(self.name, points, boxes, self.size)
        crops = np.zeros((len(images), self.size, self.size, 3), dtype=np.uint8)
        lost = []
        for row, (to_image, reason) in enumerate(zip(maps, reasons, strict=True)):
            lost.append(reason or ("" if np.isfinite(to_image).all() else NOT_ALIGNED))
            if not lost[-1]:
                crops[row] = cropped(images.pixels[row], to_image, self.size, self._filter)
        return crops, tuple(lost)

    def _places(self, images: Images) -> tuple[Float[np.ndarray, "n 5 2"], Float[np.ndarray, "n 4"], tuple[str, ...]]:
        """Points, boxes and reasons from what comes with the images."""
        if images.landmarks is None:
            raise BadInput(
                f"align = {self.name}: expected landmarks with the images, got none; state landmarks = FILE, dlib's "
                "shape predictor of 68 points, in the preprocessing"
            )
        extent = np.hstack([images.landmarks.min(axis=1), images.landmarks.max(axis=1)])
        boxes = extent if images.face_boxes is None else images.face_boxes
        known = np.isfinite(boxes if self.name == "box" else images.landmarks.reshape(len(images), -1)).all(axis=1)
        reasons = tuple("" if there else NO_LANDMARKS for there in known)
        return five_points(images.landmarks), boxes, reasons

    def _search(
        self, images: Images, finder: FaceFinder, predictor: FaceLandmarks
    ) -> tuple[Float[np.ndarray, "n 5 2"], Float[np.ndarray, "n 4"], tuple[str, ...]]:
        """Points, boxes and reasons by the detector."""
        points, boxes = np.full((len(images), 68, 2), np.nan), np.full((len(images), 4), np.nan)
        found = finder.boxes(images.pixels)
        for row, faces in enumerate(found):
            if len(faces):
                boxes[row], points[row] = faces[0], predictor.of(images.pixels[row], faces[0])
        return five_points(points), boxes, tuple("" if len(faces) else NO_FACE for faces in found)


def _detector(file: str) -> tuple[FaceFinder, FaceLandmarks]:
    from transect.targets.faces import FaceFinder
    from transect.targets.landmarks import FaceLandmarks

    predictor = FaceLandmarks(file)
    if predictor.points not in COUNTS or predictor.points == len(ARCFACE):
        raise BadInput(
            f"landmarks {file}: expected a shape predictor of 68 points, got {predictor.points}; name another"
        )
    return FaceFinder(), predictor
