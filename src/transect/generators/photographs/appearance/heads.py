"""FaceWorld's head, turned and shaped until its landmarks lie where those of a photograph do, and the light on it.

Pose and shape are found by Gauss and Newton's method with a prior of standard normal shape; where the head lies, how
large and how tilted it is follows in closed form (Umeyama 1991, doi:10.1109/34.88573). The light is the best fit of a
constant and a direction to the luminance of the skin (Basri and Jacobs 2003, doi:10.1109/TPAMI.2003.1177153).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
import torch
from jaxtyping import Float, UInt8

from transect.generators.faceworld.attributes import IDENTITY, NAMES
from transect.generators.faceworld.canvas import Canvas, canvas_of
from transect.generators.faceworld.exposure import FILL
from transect.generators.faceworld.head import Frame, locate, smooth_normal
from transect.generators.faceworld.heads import head_maps
from transect.generators.faceworld.landmarks import face_points, landmarks
from transect.generators.faceworld.lighting import AMBIENT, KEY
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.faceworld.relief import read_maps
from transect.generators.faceworld.rows import Rows
from transect.generators.photographs.appearance.faces import Face
from transect.generators.photographs.appearance.scene_light import scene_of

SIZE: Final = 512
"""Pixels of the picture in which FaceWorld's landmarks are fitted."""
_SHAPE: Final = (
    *("face_width", "eye_spacing", "brow_height", "nose_length", "nose_width", "mouth_height", "mouth_width"),
    *("jaw_width", "chin_length", "face_length", "shape_1", "shape_2", "shape_3", "shape_4"),
)
_POSE: Final = ("yaw", "pitch")
_STEPS: Final = (2.0, 2.0, *(0.1,) * len(_SHAPE))
_LIMITS: Final = np.array([35.0, 20.0, 1.0, *(2.0,) * (len(_SHAPE) - 1)])
_SPREAD: Final = np.array([12.0, 8.0, 0.5, *(1.0,) * (len(_SHAPE) - 1)])
"""Standard deviations of the prior: degrees, then shape."""
_TOLERANCE: Final = 6.0
"""Pixels of SIZE by which landmarks are uncertain."""
_WEIGHTS: Final = np.repeat((0.3, 0.5, 1.0, 1.5, 0.3), (17, 10, 9, 12, 20))
"""Of jaw, brows, nose, eyes and mouth."""
_ROUNDS: Final = 5
_COARSE: Final = 64
_LEAST_SKIN: Final = 40
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

    def rows(self, **columns: Float[np.ndarray, " n"]) -> Rows:
        """FaceWorld's parameters in as many rows as the columns have, which are set in them."""
        count = len(next(iter(columns.values()))) if columns else 1
        values = {name: np.full(count, value) for name, value in self.values.items()} | columns
        return parameters(values, np.tile(self.identity, (count, 1)))

    def frame(self, p: Rows, canvas: Canvas) -> Frame:
        """Where each pixel of the canvas lies on the head, its first row's."""
        maps = head_maps(p, [0], canvas)
        return locate(p, canvas, lambda x, y: read_maps(maps[:, :1], x, y).squeeze(1))

    def onto(self, canvas_size: int) -> Float[np.ndarray, "2 3"]:
        """As to_photograph, from pixels of a canvas of that size; pixel i of both is centered at i."""
        ratio = SIZE / canvas_size
        matrix = self.to_photograph.copy()
        matrix[:, 2] += matrix[:, :2] @ np.full(2, 0.5 * ratio) - 0.5
        matrix[:, :2] *= ratio
        return matrix


def head_of(face: Face) -> Head:
    """The head whose landmarks lie nearest to those of the face."""
    with torch.inference_mode():
        free = np.zeros(len(_LIMITS))
        for _ in range(_ROUNDS):
            steps = np.vstack([np.zeros(len(free)), np.diag(_STEPS)])
            found = _points(free + steps)
            placed = [_placed(points, face.points) for points in found]
            unit = np.linalg.norm(placed[0][1][:, 0])
            wrong = [((moved - face.points) * np.sqrt(_WEIGHTS)[:, None]).ravel() / unit for moved, _ in placed]
            slopes = (np.array(wrong[1:]) - wrong[0]).T / np.array(_STEPS)
            precision = np.diag((_TOLERANCE / _SPREAD) ** 2)
            pull = slopes.T @ wrong[0] + precision @ free
            free = np.clip(free - np.linalg.solve(slopes.T @ slopes + precision, pull), -_LIMITS, _LIMITS)
        moved, matrix = _placed(_points(free[None])[0], face.points)
    error = float(np.sqrt(((moved - face.points)[17:48] ** 2).sum(axis=1).mean()) / face.width)
    named = dict(zip((*_POSE, *_SHAPE), free.tolist(), strict=True))
    code = np.array([named.get(name, 0.0) for name in IDENTITY])
    values = {name: named.get(name, _USUAL.get(name, 0.0)) for name in NAMES}
    return Head(values, code, matrix, float(np.linalg.norm(matrix[:, 0])), error)


def lit(head: Head, face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Head:
    """The head under the light that the skin shows, as far as FaceWorld's key and fill light have it."""
    import cv2

    canvas = canvas_of(_COARSE)
    matrix = head.onto(_COARSE)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    light = np.ascontiguousarray(scene_of(picture) @ LUMINANCE.astype(np.float32))
    scene, skin = (cv2.warpAffine(of, matrix, (_COARSE, _COARSE), flags=flags) for of in (light, face.masks["skin"]))
    with torch.inference_mode():
        p = head.rows()
        frame = head.frame(p, canvas)
        normal = torch.stack(smooth_normal(frame.tables, frame.face), 1)[0].numpy()
        inside = (frame.head[0].numpy() > 0.95) & (frame.face.cosine[0].numpy() > 0.2) & (skin > 0.95)
    if inside.sum() < _LEAST_SKIN:
        return head
    normals = _to_viewer(normal[:, inside], head.values["yaw"], head.values["pitch"])
    axes = np.vstack([np.ones(normals.shape[1]), normals]).T
    ridge = 0.02 * len(axes) * np.diag([0.0, 1.0, 1.0, 1.0])
    seen = scene[inside] / np.median(scene[inside])
    level, *direction = np.linalg.solve(axes.T @ axes + ridge, axes.T @ seen)
    return replace(head, values={**head.values, **_light(level, np.array(direction))})


def _light(level: float, direction: Float[np.ndarray, " 3"]) -> dict[str, float]:
    """FaceWorld's light by a constant and a direction of luminance over normals."""
    strength = max(float(np.linalg.norm(direction)), 1e-6)
    x, y, z = direction / strength
    azimuth = float(np.clip(np.degrees(np.arctan2(x, max(z, 0.05))), -80, 80))
    elevation = float(np.clip(np.degrees(np.arcsin(np.clip(-y, -1, 1))), -20, 75))
    ambient = (level / strength * KEY / 1.1 - 0.12) / 0.86
    fill = float(np.clip((ambient - AMBIENT) / FILL, 0, 1))
    return {"light_azimuth": azimuth, "light_elevation": elevation, "fill_light": fill}


def _to_viewer(normal: Float[np.ndarray, "3 n"], yaw: float, pitch: float) -> Float[np.ndarray, "3 n"]:
    """Vectors of the head's frame in the viewer's, but for roll: the inverse of `parameters.to_head`."""
    c, s = np.cos(np.radians(yaw)), np.sin(np.radians(yaw))
    x, y, z = c * normal[0] + s * normal[2], normal[1], c * normal[2] - s * normal[0]
    c, s = np.cos(np.radians(pitch)), np.sin(np.radians(pitch))
    return np.stack([x, c * y - s * z, c * z + s * y])


def _points(free: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n 68 2"]:
    """The landmarks of upright heads of these poses and shapes in a picture of SIZE."""
    named = dict(zip((*_POSE, *_SHAPE), free.T, strict=True))
    zero = np.zeros(len(free))
    values = {name: named.get(name, zero + _USUAL.get(name, 0.0)) for name in NAMES}
    p = parameters(values, np.stack([named.get(name, zero) for name in IDENTITY], axis=1))
    return landmarks(p, _relief().expand(len(free), -1), SIZE)


@functools.cache
def _relief() -> torch.Tensor:
    """Height of the average head's relief at the landmarks, [1, 68]."""
    values = {name: np.array([_USUAL.get(name, 0.0)]) for name in NAMES}
    p = parameters(values, np.zeros((1, len(IDENTITY))))
    x, y = face_points(p)
    return read_maps(head_maps(p, [0], canvas_of(_COARSE))[:, :1], x.unsqueeze(1), y.unsqueeze(1))[:, 0, 0]


def _placed(
    points: Float[np.ndarray, "68 2"], wanted: Float[np.ndarray, "68 2"]
) -> tuple[Float[np.ndarray, "68 2"], Float[np.ndarray, "2 3"]]:
    """Points moved, turned and scaled to lie nearest to those wanted, and the matrix that does it."""
    weights = _WEIGHTS / _WEIGHTS.sum()
    middle, target = weights @ points, weights @ wanted
    away, goal = points - middle, wanted - target
    power = (weights * (away**2).sum(axis=1)).sum()
    a = (weights * (away * goal).sum(axis=1)).sum() / power
    b = (weights * (away[:, 0] * goal[:, 1] - away[:, 1] * goal[:, 0])).sum() / power
    turn = np.array([[a, -b], [b, a]])
    return away @ turn.T + target, np.column_stack([turn, target - turn @ middle])
