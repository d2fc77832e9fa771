"""Points by dlib's shape predictor, whose file is the user's own, on the face that dlib's own detector finds.

Sources: Kazemi and Sullivan 2014, doi:10.1109/CVPR.2014.241; King 2015, Max-margin object detection, arXiv:1502.00046.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from transect.errors import BadInput, MissingExtra
from transect.marks.records import NO_FACE, POINTS, SEVERAL, Marks
from transect.runs import model_files
from transect.texts import words_of

SHORTER_SIDE: Final = 256
"""Pixels to which smaller pictures are enlarged, since the smallest face that the detector finds is 80 wide."""
_SURE: Final = 1.0
"""dlib's score at which confidence is one half."""


@final
class DlibMarks:
    """68 points without masks. Confidence is s / (s + 1) of dlib's detection score s, which is no probability.

    dlib's detector keeps the picture that it looks at, so that each thread has its own; the predictor, whose file may
    be large, is asked by one thread at a time.
    """

    threshold = 0.0

    def __init__(self, file: Path) -> None:
        try:
            import dlib
        except ModuleNotFoundError:
            raise MissingExtra("dlib", "marks dlib:FILE") from None
        self._new_detector, self._own, self._alone = dlib.get_frontal_face_detector, threading.local(), threading.Lock()
        model_files.check_readable(file)
        try:
            self._predictor: Any = dlib.shape_predictor(str(file))
        except RuntimeError as error:
            message = words_of(error, 100)
            raise BadInput(f"{file}: expected a model file of dlib's (shape_predictor), got {message}") from None
        found = int(self._predictor(np.zeros((64, 64, 3), np.uint8), dlib.rectangle(8, 8, 55, 55)).num_parts)
        if found != POINTS:
            raise BadInput(f"{file}: expected a shape predictor of 68 points, got {found}; name another")
        self.name, self._sha256 = f"dlib:{file.name}", model_files.sha256(file)

    def describe(self) -> dict[str, Any]:
        """Name and SHA-256 of the file, as JSON values."""
        return {"name": self.name, "sha256": self._sha256, "shorter_side": SHORTER_SIDE}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The points of the one face on each picture; none where there are several or no face."""
        del rows
        found = [self._one(picture) for picture in pixels]
        points = np.array([row[0] for row in found], dtype=np.float64).reshape(-1, POINTS, 2)
        marks = Marks.of_points(points, self.name, confidence=np.array([row[1] for row in found], dtype=np.float64))
        reasons = tuple(row[2] for row in found)
        return Marks(marks.points, marks.five, {}, marks.confidence, reasons, self.name)

    def _one(self, picture: UInt8[np.ndarray, "h w 3"]) -> tuple[Float[np.ndarray, "68 2"], float, str]:
        factor = max(1.0, SHORTER_SIDE / min(picture.shape[:2]))
        size = (round(picture.shape[1] * factor), round(picture.shape[0] * factor))
        large = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC)) if factor > 1 else picture
        large = np.ascontiguousarray(large)
        if not hasattr(self._own, "detector"):
            self._own.detector = self._new_detector()
        boxes, scores, _ = self._own.detector.run(large, 0, 0.0)
        if len(boxes) != 1:
            return np.full((POINTS, 2), np.nan), 0.0, SEVERAL if len(boxes) else NO_FACE
        with self._alone:
            shape = self._predictor(large, boxes[0])
        scale = np.array(size) / (picture.shape[1], picture.shape[0])
        points = np.array([(part.x + 0.5, part.y + 0.5) for part in shape.parts()]) / scale
        return points, scores[0] / (scores[0] + _SURE), ""
