"""Points and masks by a face landmarker of MediaPipe's, whose bundle (`.task`) is the user's own.

Its first network finds faces on the whole picture, its second 468 or 478 points in a square about the face that is
turned so that the eyes are level. Sources: Bazarevsky et al. 2019, BlazeFace, arXiv:1907.05047; Kartynnik et al. 2019,
arXiv:1907.06724.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput
from transect.marks import face_boxes
from transect.marks.face_mesh import MESHES, OUTLINES, as_68, mesh_masks
from transect.marks.lite_networks import DETECTOR, LANDMARKS, LiteNetwork, LiteRT, load_library, read_bundle
from transect.marks.records import NO_FACE, POINTS, SEVERAL, Marks, five_points
from transect.marks.views import TurnedSquare, seen_turned
from transect.runs import model_files

_AXES: Final = 3


class _Face(NamedTuple):
    """mesh: in pixels of the picture, None where there is no face, for that reason."""

    mesh: Float[np.ndarray, "k 2"] | None
    confidence: float
    reason: str


@final
class MediaPipeMarks:
    """68 points, and masks of face, eyes and mouth as the mesh outlines them.

    Confidence is the lower one of two probabilities: the detector's score, and that of the mesh that there is a face.
    """

    threshold = 0.5

    def __init__(self, file: Path) -> None:
        load_library()
        networks = {name: LiteRT(content, f"{file}, {name}") for name, content in read_bundle(file).items()}
        self._look = Look(networks[DETECTOR], networks[LANDMARKS])
        self.name, self._sha256 = f"mediapipe:{file.name}", model_files.sha256(file)

    def describe(self) -> dict[str, Any]:
        """Name, SHA-256 of the file, and what its networks take and give, as JSON values."""
        look = self._look
        known = {"name": self.name, "sha256": self._sha256, "threshold": self.threshold}
        return known | {"sizes": [look.detector.size, look.landmarks.size], "points": look.count}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of the largest face on each picture; none where there is no face, or several of about one size."""
        del rows
        height, width = pixels.shape[1:3]
        found = [self._look.at(picture) for picture in pixels]
        nothing = np.full((POINTS, 2), np.nan)
        placed = [nothing if one.mesh is None else as_68(one.mesh) for one in found]
        points = np.array(placed, dtype=np.float64).reshape(-1, POINTS, 2)
        drawn = [mesh_masks(one.mesh, width, height) for one in found]
        masks = {
            name: np.array([each[name] for each in drawn], np.float32).reshape(-1, height, width) for name in OUTLINES
        }
        sure = np.array([one.confidence for one in found], dtype=np.float64)
        return Marks(points, five_points(points), masks, sure, tuple(one.reason for one in found), self.name)


@final
class Look:
    """Both networks on one picture. Raises BadInput for networks of other shapes."""

    def __init__(self, detector: LiteNetwork, landmarks: LiteNetwork) -> None:
        if detector.size not in face_boxes.GRIDS:
            sizes = " or ".join(f"{size}" for size in face_boxes.GRIDS)
            raise BadInput(f"{detector.name}: expected an input of {sizes} pixels, got {detector.size}; name another")
        self.detector, self.landmarks = detector, landmarks
        count = len(face_boxes.anchors(detector.size))
        self._numbers = _place(detector, {(1, count, face_boxes.NUMBERS)})
        self._logits = _place(detector, {(1, count, 1)})
        flat = {(1,) * ones + (points * _AXES,) for ones in (1, 3) for points in MESHES}
        self._mesh = _place(landmarks, flat)
        self.count = landmarks.shapes[self._mesh][-1] // _AXES
        self._presence = _place(landmarks, {(1,) * ones for ones in (2, 4)})

    def at(self, picture: UInt8[np.ndarray, "h w 3"]) -> _Face:
        """The mesh of the picture's face."""
        height, width = picture.shape[:2]
        whole = TurnedSquare(width / 2, height / 2, max(width, height))
        faces = self._faces(picture, whole)
        place = face_boxes.largest(faces)
        if place is None:
            return _Face(None, 0.0, SEVERAL if len(faces) else NO_FACE)
        square = face_boxes.about(faces, place, whole)
        size = self.landmarks.size
        answers = self.landmarks.answers(seen_turned(picture, square, size) / 255)
        mesh = answers[self._mesh].reshape(-1, _AXES)[:, :2].astype(np.float64)
        if not np.isfinite(mesh).all():
            return _Face(None, 0.0, NO_FACE)
        there = _probability(float(answers[self._presence].item()))
        return _Face(square.placed(mesh / size), min(there, float(faces.scores[place])), "")

    def _faces(self, picture: UInt8[np.ndarray, "h w 3"], whole: TurnedSquare) -> face_boxes.Boxes:
        seen = seen_turned(picture, whole, self.detector.size, black=True)
        answers = self.detector.answers(seen / 127.5 - 1)
        numbers, logits = (answers[place][0].astype(np.float64) for place in (self._numbers, self._logits))
        return face_boxes.merged(face_boxes.decoded(numbers, logits[:, 0], self.detector.size))


def _place(network: LiteNetwork, wanted: set[tuple[int, ...]]) -> int:
    """Which answer has one of those shapes: the first."""
    for place, shape in enumerate(network.shapes):
        if shape in wanted:
            return place
    names = " or ".join(f"{list(shape)}" for shape in sorted(wanted))
    got = ", ".join(f"{list(shape)}" for shape in network.shapes) or "none"
    raise BadInput(f"{network.name}: expected an answer {names}, got {got}; name another bundle")


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-min(max(logit, -100.0), 100.0)))
