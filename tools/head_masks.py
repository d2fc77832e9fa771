"""Masks over nose and mouth laid on the mean head, which tools/head_hats.py stores with hats and clothes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter, maximum_filter
from scipy.spatial import cKDTree

from transect.generators.faceworld.mesh.worn import EAR_TOPS, LOBES, MASK_ACROSS, MASK_DOWN, tube

Held: TypeAlias = Mapping[str, Any]
Points: TypeAlias = Float[np.ndarray, "n 3"]
_CLEARANCE, _AXIS = 0.05, np.array([0.0, 0.0, -0.9])
"""How far the cloth lies off the skin, away from an upright axis inside the head."""


def face_masks(held: Held, skin: Points) -> dict[str, tuple[Points, np.ndarray, np.ndarray]]:
    """Points, triangles and lightness of each kind of mask: its cloth, then the loops to the ears."""
    x, y, z = held["mean"].T
    face = held["mean"][(np.abs(x) < 1.1) & (y < 0.1) & (y > -2.1) & (z > -0.9)].astype(float)
    row, column = (
        of.ravel() for of in np.meshgrid(np.arange(MASK_DOWN - 1), np.arange(MASK_ACROSS - 1), indexing="ij")
    )
    a = row * MASK_ACROSS + column
    b = a + MASK_ACROSS
    found = {}
    for kind in ("surgical", "cloth"):
        cloth, tint = _cloth(held, kind, face)
        grid = cloth.reshape(MASK_DOWN, MASK_ACROSS, 3)
        points, faces = [cloth], [np.stack([a, b, a + 1], 1), np.stack([a + 1, b, b + 1], 1)]
        for number, end in ((0, -1), (1, 0)):
            for at, high in _LOOPS:
                thread, around = _loop(skin, grid[at, end], number, high)
                faces.append(around + sum(len(part) for part in points))
                points.append(thread)
        every = np.concatenate(points)
        light = np.concatenate([tint, np.full(len(every) - len(tint), 0.72)])
        found[kind] = (every, np.concatenate(faces), light)
    return found


def _cloth(held: Held, kind: str, skin: Points) -> tuple[Float[np.ndarray, "c 3"], Float[np.ndarray, " c"]]:
    """A cloth that hangs over nose and chin of the mean head, and how light it is."""
    marks = (held["mean"][held["landmark_corners"]] * held["landmark_weights"][..., None]).sum(1)
    share, turn = np.linspace(0, 1, MASK_DOWN), np.linspace(-1, 1, MASK_ACROSS)
    middle = marks[[28, 30, 8, 8]] + np.array([[0, 0, 0], [0, 0, 0.05], [0, -0.02, 0.1], [0, -0.10, -0.22]])
    center = np.stack([np.interp(share, [0, 0.3, 0.92, 1], middle[:, axis]) for axis in range(3)], 1)
    grid = np.empty((MASK_DOWN, MASK_ACROSS, 3))
    for sign, edge, low in ((-1.0, marks[1], marks[5]), (1.0, marks[15], marks[11])):
        top, bottom = edge + 0.34 * (marks[33] - edge), low + 0.22 * (marks[57] - low)
        side, columns = top + share[:, None] * (bottom - top), turn * sign >= 0
        # The lower edge lies around the chin, the upper one goes straight down from the nose.
        bent = (
            np.abs(turn[columns])[None, :, None]
            ** np.stack([0 * share + 1, 1.2 + 0.9 * share**3, 0 * share + 2], 1)[:, None]
        )
        grid[:, columns] = center[:, None] + (side - center)[:, None] * bent
    under = cKDTree(_flat(skin)).query(_flat(grid.reshape(-1, 3)), 12)[1]
    cloth = _before_skin(grid.reshape(-1, 3), skin[under])
    grid = cloth.reshape(grid.shape)
    grid[..., :] = gaussian_filter(grid, (1.5, 1.5, 0), mode="nearest")
    away = grid - _AXIS
    away[..., 1] = 0
    away /= np.linalg.norm(away, axis=2, keepdims=True)
    raised, tint = _folds(kind, share[:, None], turn)
    grid += away * raised[..., None]
    return _before_skin(cloth, skin[under]), tint.ravel()


def _folds(
    kind: str, share: Float[np.ndarray, "d 1"], turn: Float[np.ndarray, " a"]
) -> tuple[Float[np.ndarray, "d a"], Float[np.ndarray, "d a"]]:
    """How far pleats, a nose's wire, gathers or a seam raise the cloth, and how light it is: hems, pleats and seams are
    darker.
    """
    side = np.abs(turn)
    hem = np.exp(-(((np.minimum(share, 1 - share) - 0.045) / 0.012) ** 2)) + np.exp(-(((1 - side - 0.06) / 0.02) ** 2))
    light = 1 - 0.15 * np.clip(hem, 0, 1)
    gathers = np.clip((side - 0.5) / 0.5, 0, 1) ** 2 * np.sin(31 * share + 4 * side + turn)
    ripple = np.sin(4.7 * turn + 8 * share + 0.7) + 0.7 * np.sin(9.1 * turn - 7 * share + 2)
    raised, light = 0.016 * gathers + 0.012 * ripple * (1 - side**4), light * (1 + 0.05 * gathers + 0.02 * ripple)
    if kind == "surgical":
        pleat = np.clip((share - 0.28) / 0.15, 0, 3)
        below = (pleat > 0.5) * np.clip(1 - 5 * (pleat % 1), 0, 1)
        along = np.clip((0.45 - side) / 0.06, 0, 1)
        wire, under = (along * np.exp(-(((share - at) / 0.018) ** 2)) for at in (0.085, 0.12))
        raised = raised + 0.05 * (pleat % 1) * (1 - side**6) + 0.025 * wire
        return raised, light * (1 - 0.24 * below) * (1 + 0.05 * wire - 0.12 * under)
    raised = raised + 0.06 * np.clip(1 - 4 * side, 0, 1) * np.sin(np.pi * share)
    return raised, light * (1 - 0.25 * np.exp(-((side / 0.05) ** 2)))


_LOOPS = ((1, True), (MASK_DOWN - 2, False))
"""Rows of the cloth from which loops go to the ears' tops and lobes."""


def _loop(skin: Points, start: Float[np.ndarray, " 3"], number: int, high: bool) -> tuple[np.ndarray, np.ndarray]:
    """A thread from the cloth's edge, off the skin, to behind the ear."""
    side, ear = 1 - 2 * number, skin[cKDTree(skin).query((EAR_TOPS if high else LOBES)[number])[1]]
    between = (start + ear) / 2 + np.array([0.10 * side, 0, 0.08])
    behind = ear + np.array([-0.06 * side, 0, -0.14])
    bend = CubicSpline([0, 0.5, 1, 1.25], np.stack([start, between, ear, behind]))
    path = bend(np.linspace(0, 1.25, 24))
    under = cKDTree(_flat(skin)).query(_flat(path), 4)[1]
    off = _around(path)[:, 2] - _around(skin)[under, 2].max(1)
    before = np.clip(np.arange(len(path), 0, -1)[:, None] / 12 - 0.5, 0, 1)  # of the ear
    short = gaussian_filter(maximum_filter(np.clip(0.03 - off, 0, None), 5), 2.0, mode="nearest")
    path += before * (path - _AXIS) * np.array([1, 0, 1]) * short[:, None]
    return tube(path, np.array([0.012, 0.012]), False)


def _around(points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
    """Angle and height around the axis inside the head, and the distance from it."""
    x, y, z = np.moveaxis(points - _AXIS, -1, 0)
    return np.stack([np.arctan2(x, z), y, np.hypot(x, z)], -1)


def _flat(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
    return _around(points)[:, :2]


def _before_skin(cloth: Float[np.ndarray, "c 3"], skin: Float[np.ndarray, "c n 3"]) -> Float[np.ndarray, "c 3"]:
    """The cloth, moved away from the axis where the skin under it would be before it, and smoothly around there."""
    far = np.hypot(cloth[:, 0], cloth[:, 2] - _AXIS[2])
    short = np.clip(_around(skin)[..., 2].max(1) + _CLEARANCE - far, 0, None).reshape(MASK_DOWN, MASK_ACROSS)
    moved = gaussian_filter(maximum_filter(short, 5), 1.2, mode="nearest").ravel() / far
    return np.asarray(cloth + (cloth - _AXIS) * np.array([1, 0, 1]) * moved[:, None], dtype=cloth.dtype)
