"""FaceWorld's head fitted to the landmarks of a face: pose, shape and place in the picture.

Gauss and Newton's method with a prior for pose and shape; place, size and tilt in closed form (Umeyama 1991).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.attributes import IDENTITY, NAMES, TRAITS
from transect.generators.faceworld.mesh import shading
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.drawing import Colors
from transect.generators.faceworld.mesh.shape import Values, pose_of, weights
from transect.generators.faceworld.parameters import parameters

SIZE: Final = 512
"""Pixels of the picture in which FaceWorld's landmarks are fitted."""
_SHAPE: Final = (
    *("face_width", "face_shape", "brow_raise", "mouth_open"),
    *(name for name in TRAITS if name.split("_")[0] in {"nose", "eye", "brow", "mouth", "jaw", "chin", "cheek"}),
    *("cheekbones", "lip_fullness", "forehead_width"),
    *(f"shape_{number}" for number in range(1, 8)),
    *("relief_1", "relief_2"),
)
_POSE: Final = ("yaw", "pitch")
_BOUNDED: Final[Mapping[str, tuple[float, float]]] = {
    "yaw": (-45.0, 45.0), "pitch": (-20.0, 20.0), "face_shape": (0.0, 1.0),
    "brow_raise": (-1.0, 1.0), "mouth_open": (0.0, 1.0),
}  # fmt: skip
_SPREADS: Final[Mapping[str, float]] = {
    "yaw": 12.0, "pitch": 8.0, "face_shape": 0.3, "brow_raise": 0.4, "mouth_open": 0.3,
}  # fmt: skip
_FREE: Final = (*_POSE, *_SHAPE)
_LIMITS: Final = np.array([_BOUNDED.get(name, (-2.0, 2.0)) for name in _FREE]).T
_SPREAD: Final = np.array([_SPREADS.get(name, 1.0) for name in _FREE])
"""Standard deviations of the prior: degrees, then shape."""
_STEPS: Final = 0.1 * _SPREAD
_TOLERANCE: Final = 6.0
"""Pixels of SIZE by which landmarks are uncertain."""
_WEIGHTS: Final = np.repeat((0.3, 0.5, 1.0, 1.5, 0.3), (17, 10, 9, 12, 20))
"""Of jaw, brows, nose, eyes and mouth."""
_ROUNDS: Final = 5
_USUAL: Final[Mapping[str, float]] = {
    "skin_tone": 5.0, "age": 40.0, "face_shape": 0.5, "distance": 1.0, "jpeg_quality": 100.0, "light_elevation": 30.0,
    "background_lightness": 0.5, "hair_color": 0.3, "clothing_lightness": 0.5, "eye_color": 0.3, "smile": 0.2,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Head:
    """A fitted head. values: FaceWorld's attributes; identity: its code [d]. to_photograph: float64 [2, 3], from
    pixels of a picture of SIZE to those of the photograph; scale: its pixels of the photograph per pixel.
    error: root mean square distance of the landmarks inside the face, over the distance of the eyes' outer corners.
    """

    values: Mapping[str, float]
    identity: Float[np.ndarray, " d"]
    to_photograph: Float[np.ndarray, "2 3"]
    scale: float
    error: float

    def person(self, **changed: float) -> tuple[Values, Colors]:
        """FaceWorld's parameters and colors with some attributes set."""
        values = {name: np.array([value]) for name, value in (dict(self.values) | changed).items()}
        found, colors = parameters(values, self.identity[None])[0]
        return found, Colors(*(colors[name] for name in ("skin", "hair", "iris", "cloth", "hat_cloth")))

    def onto(self, canvas_size: int) -> Float[np.ndarray, "2 3"]:
        """As to_photograph, from pixels of a canvas of that size; pixel i of both is centered at i."""
        ratio = SIZE / canvas_size
        matrix = self.to_photograph.copy()
        matrix[:, 2] += matrix[:, :2] @ np.full(2, 0.5 * ratio) - 0.5
        matrix[:, :2] *= ratio
        return matrix

    def placed(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
        """Where points of the head at rest lie on the photograph; pixel i spans i to i + 1."""
        return np.asarray(_drawn(self.person()[0], points) @ self.to_photograph[:, :2].T + self.to_photograph[:, 2])

    def from_afar(self, distance: float) -> Head:
        """The same from that distance: the face stays where it is, and the picture around it shows more."""
        far, rest = replace(self, values={**self.values, "distance": distance}), rest_landmarks(self.person()[0])
        matrix = _placed(_drawn(far.person()[0], rest), self.placed(rest))[1]
        return replace(far, to_photograph=matrix, scale=float(np.linalg.norm(matrix[:, 0])))


def head_of(wanted: Float[np.ndarray, "68 2"]) -> Head:
    """The head whose landmarks lie nearest to those of a face, in pixels of its picture."""
    usual = np.array([_USUAL.get(name, 0.0) for name in _FREE])
    free = usual.copy()
    precision = np.diag((_TOLERANCE / _SPREAD) ** 2)
    for _ in range(_ROUNDS):
        found = _points(np.vstack([free, free + np.diag(_STEPS)]))
        placed = [_placed(points, wanted) for points in found]
        unit = np.linalg.norm(placed[0][1][:, 0])
        wrong = [((moved - wanted) * np.sqrt(_WEIGHTS)[:, None]).ravel() / unit for moved, _ in placed]
        slopes = (np.array(wrong[1:]) - wrong[0]).T / _STEPS
        pull = slopes.T @ wrong[0] + precision @ (free - usual)
        free = np.clip(free - np.linalg.solve(slopes.T @ slopes + precision, pull), *_LIMITS)
    moved, matrix = _placed(_points(free[None])[0], wanted)
    width = max(1.0, float(np.linalg.norm(wanted[45] - wanted[36])))
    error = float(np.sqrt(((moved - wanted)[17:48] ** 2).sum(axis=1).mean()) / width)
    named = dict(zip(_FREE, free.tolist(), strict=True))
    code = np.array([named.get(name, 0.0) for name in IDENTITY])
    values = {name: named.get(name, _USUAL.get(name, 0.0)) for name in NAMES}
    return Head(values, code, matrix, float(np.linalg.norm(matrix[:, 0])), error)


def _points(free: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n 68 2"]:
    """The landmarks of upright heads of these poses and shapes in a picture of SIZE."""
    named = dict(zip(_FREE, free.T, strict=True))
    zero = np.zeros(len(free))
    values = {name: named.get(name, zero + _USUAL.get(name, 0.0)) for name in NAMES}
    rows = parameters(values, np.stack([named.get(name, zero) for name in IDENTITY], axis=1))
    return np.array([_drawn(p, rest_landmarks(p)) for p, _ in rows], dtype=np.float64)


def _drawn(p: Values, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
    pose = pose_of(p)
    return pose.project(pose.turn(points), SIZE)[:, :2]


@functools.cache
def _landmark_parts() -> tuple[Float[np.ndarray, "k 68 3"], Float[np.ndarray, "k 2 3"], int]:
    """Landmarks and middles of the eyes of the mean head and of each displacement; the first that is a movement."""
    held = asset()
    parts = np.concatenate([held.mean[None], held.fields])
    marks = (parts[:, held.landmark_corners] * held.landmark_weights[..., None]).sum(axis=2)
    eyes = [parts[:, vertices_of(part)].mean(axis=1) for part in (shading.LEFT_EYE, shading.RIGHT_EYE)]
    return marks, np.stack(eyes, axis=1), held.names.index("browDownLeft")


def rest_landmarks(p: Values) -> Float[np.ndarray, "68 3"]:
    """The landmarks of `rest_shape`, without the other vertices."""
    marks, eyes, moving = _landmark_parts()
    weighing = np.concatenate([[1.0], weights(p)])
    still = weighing[: moving + 1]
    left, right = np.tensordot(still, eyes[: moving + 1], 1)
    moved = np.tensordot(weighing, marks, 1)
    return np.asarray((moved - (left + right) / 2) / np.linalg.norm(left - right))


def _placed(
    points: Float[np.ndarray, "68 2"], wanted: Float[np.ndarray, "68 2"]
) -> tuple[Float[np.ndarray, "68 2"], Float[np.ndarray, "2 3"]]:
    """Points moved, turned and scaled to lie nearest to those wanted, and the matrix that does it."""
    shares = _WEIGHTS / _WEIGHTS.sum()
    middle, target = shares @ points, shares @ wanted
    away, goal = points - middle, wanted - target
    power = (shares * (away**2).sum(axis=1)).sum()
    a = (shares * (away * goal).sum(axis=1)).sum() / power
    b = (shares * (away[:, 0] * goal[:, 1] - away[:, 1] * goal[:, 0])).sum() / power
    turn = np.array([[a, -b], [b, a]])
    return away @ turn.T + target, np.column_stack([turn, target - turn @ middle])
