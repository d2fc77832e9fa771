"""Stubble on a photograph: a soft shade where a beard grows, and short hairs that are drawn one by one."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from transect.generators.photographs.appearance.colors import Camera, Hair, color_of, front_of
from transect.generators.photographs.appearance.faces import Face, Layer, blurred, layer_of, scene_of

_FINE: Final = 700
"""Points of the picture of stubble across the distance of the eyes' outer corners, of about 90 millimeters."""
_HAIRS, _LONG = 14_000, (5.0, 12.0)
"""How many hairs, and how many points long they are."""
_SHADE, _STRANDS = 0.30, 0.85
"""How much skin full stubble covers: evenly, by what is under the skin, and by each strand."""
_BROWN_SHADE: Final = np.array([0.97, 1.0, 1.02], dtype=np.float32)
"""How much of each color the shade takes."""
_LEAST: Final = 4e-3
_SOFT_BEARD, _UNDER, _LIGHTEST_STUBBLE = 0.05, 0.13, 0.6
"""Blur of a beard's outline, how far it grows below the jaw, and the lightest color of its hairs, 0 to 1."""


def stubble_of(
    picture: UInt8[np.ndarray, "h w 3"], face: Face, hair: Hair, taken: Camera, key: int, amount: float, level: float
) -> Layer:
    """Stubble from none (0) to dense (1) in a color of hair: what it lets pass of the light of the skin."""
    dense = blurred(_bearded(face) * np.clip(face.masks["skin"], 0, 1) * (1 - face.lips()), 0.5)
    cover = amount * dense * (_SHADE + _STRANDS * blurred(_strands(face, key), taken.blur))
    front = front_of(face)
    skin = np.median(scene_of(picture[front]), axis=0) if front.any() else np.ones(3)
    dark = np.clip(color_of(hair, min(level, _LIGHTEST_STUBBLE)) / np.maximum(skin, _LEAST), 0, 1)
    passed = 1 - np.clip(cover[:, :, None] * _BROWN_SHADE, 0, 1) * (1 - dark.astype(np.float32))
    return layer_of(passed, np.zeros_like(passed), 0.0, key)


def _bearded(face: Face) -> Float[np.ndarray, "h w"]:
    """How densely a beard grows, 0 to 1: on jaw, chin and upper lip, thinner on the cheeks and below the jaw."""
    at, height, width = face.points, *face.masks["skin"].shape
    up = (at[27] - at[8]) / np.linalg.norm(at[27] - at[8]) * face.width
    jaw = [at[i] - _UNDER * up * np.sin(np.pi * (i - 2) / 12) for i in range(2, 15)]
    right, left = ((at[side] + at[mouth]) / 2 - 0.02 * up for side, mouth in ((14, 54), (2, 48)))
    beside = (0.6 * at[mouth] + 0.4 * at[wing] for mouth, wing in ((54, 35), (48, 31)))
    lip = at[[35, 33, 31]] - 0.05 * up
    area = Face(np.array([*jaw, right, next(beside), *lip, next(beside), left]), face.masks)
    soft = area.polygon(slice(None), height, width)
    sharp, wide = (blurred(soft, far * _SOFT_BEARD * face.width) for far in (1.0, 2.5))
    above = blurred(face.polygon(slice(0, 17), height, width), _SOFT_BEARD * face.width)
    return np.asarray(sharp * np.clip(2 * wide - 0.2, 0, 1) * (0.4 + 0.6 * above))


def _strands(face: Face, key: int) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that short hairs cover, drawn finer than any photograph: most point down."""
    draw = np.random.Generator(np.random.Philox(key))
    tall, wide = round(0.95 * _FINE), round(1.3 * _FINE)
    start = draw.random((_HAIRS, 2)) * (wide, tall)
    turn, long = np.pi / 2 + 0.6 * draw.standard_normal(_HAIRS), draw.uniform(*_LONG, _HAIRS)
    end = start + long[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    canvas = np.zeros((tall, wide), dtype=np.uint8)
    lines = np.rint(np.stack([start, end], axis=1)).astype(np.int32)
    cv2.polylines(canvas, list(lines), False, (255,), 1, cv2.LINE_AA)
    across = (face.points[45] - face.points[36]) / _FINE
    down = np.array([-across[1], across[0]])
    matrix = np.column_stack([across, down, face.points[33] - 0.5 - wide / 2 * across - 0.05 * tall * down])
    finer = blurred(canvas.astype(np.float32) / 255, 0.45 * _FINE / face.width)
    height, width = face.masks["skin"].shape
    return np.asarray(cv2.warpAffine(finer, matrix, (width, height), flags=cv2.INTER_LINEAR))
