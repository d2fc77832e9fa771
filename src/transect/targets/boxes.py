"""Where does a detector draw its box around a face, in units of the renderer's face box?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float


@final
@dataclass(frozen=True, slots=True)
class BoxConvention:
    """A detector's box relative to the tight box of the visible face (hairline to chin, cheek to cheek).

    center_dx, center_dy: how far the detector's center lies right of and below the center of the tight box, in
    widths and heights of the tight box; width, height: its size in the same units.

    >>> BoxConvention(0.0, 0.25, 1.0, 0.5).expected_box(np.array([[10.0, 10.0, 20.0, 30.0]]))
    array([[10., 20., 20., 30.]])
    """

    center_dx: float
    center_dy: float
    width: float
    height: float

    def expected_box(self, face_boxes: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
        """The box x0, y0, x1, y1 [pixels] that the detector would draw around each face; NaN where a face is NaN."""
        size = face_boxes[:, 2:] - face_boxes[:, :2]
        center = (face_boxes[:, 2:] + face_boxes[:, :2]) / 2 + size * np.array([self.center_dx, self.center_dy])
        half = size * np.array([self.width, self.height]) / 2
        return np.hstack([center - half, center + half])

    def face_box(self, boxes: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
        """The tight box [pixels] of the face around which the detector draws each box: undoes `expected_box`.

        >>> BoxConvention(0.0, 0.25, 1.0, 0.5).face_box(np.array([[10.0, 20.0, 20.0, 30.0]]))
        array([[10., 10., 20., 30.]])
        """
        size = (boxes[:, 2:] - boxes[:, :2]) / np.array([self.width, self.height])
        center = (boxes[:, 2:] + boxes[:, :2]) / 2 - size * np.array([self.center_dx, self.center_dy])
        return np.hstack([center - size / 2, center + size / 2])
