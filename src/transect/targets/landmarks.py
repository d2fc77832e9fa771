"""Points of a face by dlib's shape predictor, whose file is the user's own and is read by dlib's own reader.

Source: Kazemi and Sullivan 2014, One millisecond face alignment with an ensemble of regression trees,
doi:10.1109/CVPR.2014.241.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput, MissingExtra
from transect.runs import model_files
from transect.targets.detectors import enlarged
from transect.targets.dlib_face import read_model
from transect.targets.dlib_hog import HOG_FACE
from transect.targets.faces import SHORTER_SIDE

POINTS: Final = (5, 68)
"""Counts of points that the known files have: eye corners and nose, and the scheme of 300-W."""


@final
class FaceLandmarks:
    """Places the points of a file of dlib's, of 5 or 68 points, on faces.

    Raises MissingExtra without dlib, BadInput for a file that is not a shape predictor of 5 or 68 points.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            import dlib
        except ModuleNotFoundError:
            raise MissingExtra("dlib", "--landmarks") from None
        file = model_files.check_readable(Path(path))
        self._predictor, self._rectangle = read_model(dlib.shape_predictor, file), dlib.rectangle
        self.points = int(self._predictor(np.zeros((64, 64, 3), np.uint8), dlib.rectangle(8, 8, 55, 55)).num_parts)
        if self.points not in POINTS:
            raise BadInput(f"{path}: expected a shape predictor of 5 or 68 points, got {self.points}; name another")
        self.sha256 = model_files.sha256(file)

    def of(self, pixels: UInt8[np.ndarray, "h w 3"], face: Float[np.ndarray, " 4"]) -> Float[np.ndarray, "k 2"]:
        """The points' x and y in pixels, float64; pixel i spans i to i + 1.

        face: x0, y0, x1, y1 from hairline to chin and cheek to cheek, as `FaceFinder` has it. The predictor is given
        the box that dlib's own detector would draw there, since it was taught on such boxes.
        """
        large, factor = enlarged(pixels, SHORTER_SIDE)
        left, top, right, bottom = np.rint(HOG_FACE.expected_box(face[None])[0] * factor).astype(int).tolist()
        # dlib's right and bottom are the last pixel inside the box; its points are the middles of pixels.
        shape = self._predictor(np.ascontiguousarray(large), self._rectangle(left, top, right - 1, bottom - 1))
        return np.array([(point.x + 0.5, point.y + 0.5) for point in shape.parts()]) / factor
