"""How a head is turned: FaceWorld's mean head is put onto the points of a face.

Angles are FaceWorld's: yaw + to the viewer's right, pitch + raised, roll + clockwise.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

HEAD: Final = Path(__file__).parent / "head.csv"
"""The mean head: x to the viewer's right, y down, z to the viewer, of dlib's 68 points; by tools/head_model.py."""
ANGLES: Final = {5: ("yaw", "roll"), 68: ("yaw", "pitch", "roll")}
"""Number of points -> the angles that can be read from them."""
AWAY: Final = 8.0
"""Assumed distance of the camera in heights of the face, from 1.5 m for a face of 19 cm; little depends on it."""
_FIVE: Final = [45, 42, 36, 39, 33]
"""Where dlib's five points lie among the 68: both corners of each eye, and the base of the nose."""


@functools.cache
def head_model() -> Float[np.ndarray, "68 3"]:
    """The mean head, in breadths of the head around its middle."""
    return np.loadtxt(HEAD, delimiter=",", skiprows=1)


def pose(points: Float[np.ndarray, "k 2"], face: Float[np.ndarray, " 4"]) -> dict[str, float]:
    """The angles of ANGLES in degrees, by name; empty where no head fits the points.

    points: dlib's 68 or 5, in pixels. face: x0, y0, x1, y1 of the face. Angles are measured against the line of sight
    to the middle of that box. Five points lie nearly in a plane, which leaves pitch open: it is taken as 0, and yaw
    follows from how far the base of the nose lies from the middle of the eyes, along the line through them.
    """
    angles = _of_68(points, face) if len(points) == len(head_model()) else _of_five(points)
    named = dict(zip(ANGLES[len(points)], angles, strict=True))
    return named if np.isfinite(list(named.values())).all() else {}


def _of_68(points: Float[np.ndarray, "68 2"], face: Float[np.ndarray, " 4"]) -> tuple[float, ...]:
    import cv2

    focal = AWAY * (face[3] - face[1])
    camera = np.array([[focal, 0, (face[0] + face[2]) / 2], [0, focal, (face[1] + face[3]) / 2], [0, 0, 1]])
    away = np.diag([1.0, 1.0, -1.0])  # OpenCV's third axis points away from the camera
    fits, turned, _ = cv2.solvePnP(
        head_model() @ away, np.ascontiguousarray(points), camera, None, flags=cv2.SOLVEPNP_SQPNP
    )
    if not fits:
        return (np.nan,) * 3
    r = away @ cv2.Rodrigues(turned)[0] @ away
    # r = roll · pitch · yaw: third row (-cos p sin y, sin p, cos p cos y), second column cos p (-sin r, cos r), …
    angles = np.arctan2(-r[2, 0], r[2, 2]), np.arcsin(np.clip(r[2, 1], -1, 1)), np.arctan2(-r[0, 1], r[1, 1])
    yaw, pitch, roll = np.degrees(angles).tolist()
    return yaw, pitch, roll


def _of_five(points: Float[np.ndarray, "5 2"]) -> tuple[float, ...]:
    head = head_model()[_FIVE]
    right, left = points[:2].mean(axis=0), points[2:4].mean(axis=0)
    along = right - left
    length = float(np.hypot(*along))
    if not length:
        return np.nan, np.nan
    aside = float((points[4] - (right + left) / 2) @ along) / length
    forward, apart = head[4, 2] - head[:4, 2].mean(), head[:2, 0].mean() - head[2:4, 0].mean()
    yaw, roll = np.degrees([np.arctan2(aside / forward, length / apart), np.arctan2(along[1], along[0])]).tolist()
    return yaw, roll
