"""Stubble on a photograph: a soft shade where a beard grows, and short hairs that are drawn one by one."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs.appearance.colors import Camera, Hair, color_of, front_of
from transect.generators.photographs.appearance.faces import Face, Layer, blurred, layer_of, scene_of

_FINE, _APART, _LONG = 700, 8.0, (4.0, 11.0)
"""Points of the picture of stubble across the eyes' outer corners (90 mm), from hair to hair, and along a hair."""
_SHADE, _STRANDS = 0.27, 1.25
"""How much skin full stubble covers: evenly, by what is under the skin, and by each strand."""
_BLUISH, _LIGHT = np.array([1.03, 1.0, 0.92], dtype=np.float32), 0.35
"""How much of each color the shade takes: hair looks bluer under skin of such a reflectance."""
_UNDER, _LIGHTEST_STUBBLE, _SPARSE, _BARE, _RAGGED = 0.13, 0.4, 0.42, 0.6, 0.21
"""How far a beard grows below the jaw, the lightest color of its hairs, 0 to 1, how dense it is off chin, lip and jaw,
how much thinner beside the lower lip, and how uneven its border is."""


def stubble_of(
    picture: UInt8[np.ndarray, "h w 3"], face: Face, hair: Hair, taken: Camera, key: int, amount: float, level: float
) -> Layer:
    """Stubble from none (0) to dense (1) in a color of hair: what it lets pass of the light of the skin."""
    dense = blurred(_bearded(face, key) * np.clip(face.masks["skin"], 0, 1) * (1 - face.lips()), 0.5)[:, :, None]
    strands = _STRANDS * blurred(_strands(face, key), taken.blur)[:, :, None]
    front = front_of(face)
    skin = np.median(scene_of(picture[front]), axis=0) if front.any() else np.ones(3)
    cover = amount * dense * (_SHADE * _BLUISH ** min(skin @ LUMINANCE / hair.light / _LIGHT, 1) + strands)
    dark = np.clip(color_of(hair, min(level, _LIGHTEST_STUBBLE)) / np.maximum(skin, 4e-3), 0, 1)
    passed = 1 - np.clip(cover, 0, 1) * (1 - dark.astype(np.float32))
    return layer_of(passed, np.zeros_like(passed), 0.0, key)


def _bearded(face: Face, key: int) -> Float[np.ndarray, "h w"]:
    """How densely a beard grows, 0 to 1: most on chin, lip and jaw, with an uneven border on cheeks and throat."""
    at, width, shape = face.points, face.width, face.masks["skin"].shape
    up = (at[27] - at[8]) / np.linalg.norm(at[27] - at[8]) * width
    jaw = [at[i] - _UNDER * up * np.sin(np.pi * (i - 2) / 12) for i in range(2, 15)]
    right, left = ((at[side] + at[mouth]) / 2 - 0.02 * up for side, mouth in ((14, 54), (2, 48)))
    beside = [0.6 * at[mouth] + 0.4 * at[wing] for mouth, wing in ((54, 35), (48, 31))]
    area = np.array([*jaw, right, beside[0], *(at[[35, 33, 31]] - 0.05 * up), beside[1], left])
    chin, out = (at[57] + at[8]) / 2, 0.06 * (at[54] - at[48])
    lip = [at[6], at[48] - out, *(at[50:53] + 0.05 * up), at[54] + out, at[10]]
    full = sum(_near(face, *of) for of in ((at[3:14] + 0.07 * up, 0.16), ([chin, chin - 0.06 * up], 0.34), (lip, 0.13)))
    bare = sum(_near(face, [(at[57] + at[i]) / 2 - 0.09 * up], 0.12) for i in (48, 54))
    draw = np.random.Generator(np.random.Philox(key=[key, 5])).standard_normal(shape, np.float32)
    ragged = np.sum([_RAGGED * far * width * blurred(draw, far * width) for far in (0.025, 0.05)], axis=0)
    border = blurred(Face(area, face.masks).polygon(slice(None), *shape), 0.11 * width) + ragged
    soft, throat = np.clip((border - 0.2) / 0.6, 0, 1), blurred(face.polygon(slice(0, 17), *shape), 0.06 * width)
    dense = (_SPARSE + (1 - _SPARSE) * np.minimum(full, 1)) * (1 - _BARE * bare)
    return np.asarray(soft * soft * (3 - 2 * soft) * dense * (0.45 + 0.55 * throat))


def _near(face: Face, line: Sequence[Float[np.ndarray, " 2"]], thick: float) -> Float[np.ndarray, "h w"]:
    """How near a line is, 0 to 1. thick: of it, in distances of the eyes' outer corners."""
    drawn, corners = np.zeros_like(face.masks["skin"]), np.rint(16 * (np.array(line) - 0.5)).astype(np.int32)
    cv2.polylines(drawn, [corners], False, (1.0,), max(1, round(thick * face.width)), shift=4)
    return blurred(drawn, 0.35 * thick * face.width)


def _strands(face: Face, key: int) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that short hairs cover, drawn finer than any photograph: down and outwards."""
    draw = np.random.Generator(np.random.Philox(key))
    tall, wide = round(0.95 * _FINE), round(1.3 * _FINE)
    start = np.mgrid[0:wide:_APART, 0:tall:_APART].reshape(2, -1).T
    start = start + draw.uniform(-0.7, 0.7, start.shape) * _APART
    out = np.clip((start[:, 0] - wide / 2) / (0.25 * _FINE), -1, 1)
    turn, long = np.pi / 2 - 0.5 * out + 0.35 * draw.standard_normal(len(start)), draw.uniform(*_LONG, len(start))
    end = start + long[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    canvas = np.zeros((tall, wide), dtype=np.uint8)
    lines = np.rint(np.stack([start, end], axis=1)).astype(np.int32)
    cv2.polylines(canvas, list(lines), False, (255,), 1, cv2.LINE_AA)
    across = (face.points[45] - face.points[36]) / _FINE
    down = np.array([-across[1], across[0]])
    matrix = np.column_stack([across, down, face.points[33] - 0.5 - wide / 2 * across - 0.05 * tall * down])
    finer = blurred(canvas.astype(np.float32) / 255, 0.45 * _FINE / face.width)
    return np.asarray(cv2.warpAffine(finer, matrix, face.masks["skin"].shape[::-1], flags=cv2.INTER_LINEAR))
