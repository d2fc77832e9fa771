"""A fringe on a photograph: strands drawn one by one from within its own hair, in that hair's light."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32, UInt8
from scipy.ndimage import gaussian_filter1d, median_filter

from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs.appearance.colors import Camera
from transect.generators.photographs.appearance.faces import Face, Layer, blurred, layer_of, mean_nearby, scene_of

_ACROSS, _DOWN = np.linspace(-0.95, 0.95, 191), np.linspace(1.5, 0.12, 185)
"""Where hair is looked for, from the bridge of the nose: here all is in distances of the eyes' outer corners, 90 mm."""
_MIDDLE: Final = np.abs(_ACROSS) < 0.35
_LOCKS, _STRANDS = 90, 5_200
_FINE: Final = 700
"""Points of the drawing across the eyes' outer corners; a strand is two wide."""
_CORNERS, _TONES, _FEWEST = 0.12, 40, 40
"""How far receding corners lie above the middle of a hairline at most; steps of light, and pixels that show it."""


def _axes(face: Face) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, "2 2"]]:
    """The bridge of the nose, and the way across the eyes and up from it."""
    x, y = face.points[45] - face.points[36]
    return face.points[27] - 0.5, np.array([[x, y], [y, -x]])


def _hairline(face: Face) -> tuple[Float[np.ndarray, " n"], float]:
    """How high hair begins at each of _ACROSS, infinite without hair; and how high the brows are."""
    origin, axes = _axes(face)
    x, y = np.moveaxis(origin + np.stack(np.meshgrid(_ACROSS, _DOWN), 2) @ axes, 2, 0).astype(np.float32)
    hair = cv2.remap(blurred(face.masks["hair"], 0.03 * face.width), x, y, cv2.INTER_LINEAR) > 0.45
    above = np.maximum.accumulate(hair, axis=0)
    ends, known = above & ~hair, above[-1]
    ends[-1] = known
    brows = float(np.median((face.points[17:27] - 0.5 - origin) @ axes[1]) / face.width**2)
    if not known[_MIDDLE].any():
        return np.full(len(_ACROSS), np.inf), brows
    line = np.interp(_ACROSS, _ACROSS[known], _DOWN[ends.argmax(axis=0)][known])
    line = np.minimum(line, np.median(line[_MIDDLE]) + _CORNERS)
    return gaussian_filter1d(median_filter(line, 31), 4.0), brows


def hair_above(face: Face) -> Bool[np.ndarray, "h w"] | None:
    """The hair from which a fringe takes its light: sure hair above the hairline; None with too little of it."""
    (line, _), hair = _hairline(face), face.masks["hair"]
    across, up = _across_and_up(face)
    ends = np.interp(across, _ACROSS, line)
    own = (blurred(hair, 0.015 * face.width) > 0.93) & (up > ends + 0.1) & (up < ends + 0.6) & (np.abs(across) < 0.8)
    return own if own.sum() >= _FEWEST else None


def _across_and_up(face: Face) -> Float[np.ndarray, "2 h w"]:
    origin, axes = _axes(face)
    places = np.stack(np.meshgrid(*map(np.arange, face.masks["hair"].shape[::-1])), axis=2) - origin
    return np.moveaxis(places @ np.linalg.inv(axes), 2, 0)


def bare_forehead(face: Face) -> float:
    """How high the forehead is between brows and hair; infinite without hair above it."""
    line, brows = _hairline(face)
    return float(np.median(line[_MIDDLE])) - brows


def fringe_of(
    face: Face, picture: UInt8[np.ndarray, "h w 3"], camera: Camera, key: int, level: float,
    color: Float[np.ndarray, " 3"] | None = None,
) -> Layer:  # fmt: skip
    """The fringe from none (0) to the brows (1) and its shade. color: median light of the hair, else its own."""
    scene, hair, wide = scene_of(picture), face.masks["hair"], face.width
    (line, brows), own = _hairline(face), hair_above(face)
    nothing = layer_of(np.ones_like(scene), np.zeros_like(scene), 0.0, key)
    if own is None:
        return nothing
    curves, tones = _strands(line, brows + 0.03, _slant(scene, own), key, level)
    if not len(curves):  # at a low level no strand is longer than it was
        return nothing
    across, up = _across_and_up(face)
    ends = np.interp(across, _ACROSS, line)
    cover, tone = _drawn(face, curves, tones)
    # It thins out within the person's own hair, farther above than beside.
    beside = np.clip((cv2.GaussianBlur(1 - hair, (0, 0), 0.04 * wide, sigmaY=0.14 * wide) - 0.02) / 0.33, 0, 1)
    person = np.clip(1.5 * (hair + face.masks["skin"]), 0, 1)
    cover = blurred(cover * person * beside**2 * (3 - 2 * beside), camera.blur)
    depth = (ends + 0.1 - up) / np.maximum(ends + 0.1 - brows, 0.1)  # 0 at the roots, 1 near the brows
    bend = 0.2 * np.exp(-(((depth - 0.37) / 0.2) ** 2)) - 0.1 * np.exp(-(((depth - 0.05) / 0.12) ** 2))
    lit = np.exp(bend - 0.15 * np.clip((depth - 0.6) / 0.4, 0, 1.25))[..., None]
    light = lit * _own_light(scene, own, blurred(tone, camera.blur), cover > 0.7, wide)
    if color is not None:
        light *= color / np.maximum(np.median(scene[own], axis=0), 1e-3)
    shade = 0.45 * blurred(np.roll(cover, round(0.035 * wide), axis=0), 0.03 * wide) * (1 - hair) * person
    passed = (1 - cover) * (1 - shade)
    added = (cover[..., None] * light).astype(np.float32)
    return layer_of(np.repeat(passed[..., None], 3, axis=2), added, camera.noise, key)


def _own_light(
    scene: Float32[np.ndarray, "h w 3"], own: Bool[np.ndarray, "h w"], tone: Float32[np.ndarray, "h w"],
    covered: Bool[np.ndarray, "h w"], wide: float,
) -> Float[np.ndarray, "h w 3"]:  # fmt: skip
    """The light of the hair nearby; strands, by the ranks of their tones, differ from it as much as hair does there."""
    near, far = (mean_nearby(scene, own.astype(np.float32), size * wide) for size in (0.1, 0.12))
    parts, usual = (scene / np.maximum(near, 3e-3))[own], np.median(scene[own], axis=0)
    parts = parts[np.argsort(parts @ LUMINANCE, kind="stable")]
    steps = np.array([np.median(part, axis=0) for part in np.array_split(parts, _TONES)])
    ranks = np.sort(tone[covered]) if covered.any() else np.zeros(1, np.float32)
    rank = np.searchsorted(ranks, tone) * (_TONES / len(ranks)) - 0.5
    shown = np.stack([np.interp(rank, np.arange(_TONES), step) for step in steps.T], axis=2)
    return np.asarray(shown * usual * (far / np.maximum(usual, 1e-4)) ** 0.7)


def _slant(scene: Float32[np.ndarray, "h w 3"], own: Bool[np.ndarray, "h w"]) -> float:
    """How far to the side a person's own hair runs, over the way down, by the structure tensor."""
    light = blurred(np.log(scene @ LUMINANCE.astype(np.float32) + np.float32(0.02)), 0.5)
    x, y = (cv2.Sobel(light, cv2.CV_32F, *order)[own].astype(np.float64) for order in ((1, 0), (0, 1)))
    mixed, level = 2 * (x * y).sum(), (x * x - y * y).sum()
    angle = 0.5 * np.arctan2(mixed, level)
    sure = min(1.5 * np.hypot(mixed, level) / ((x * x + y * y).sum() + 1e-9), 1)
    return float(-angle * np.clip(1.6 - abs(angle), 0, 1) * sure)  # from hair that lies level a fringe falls straight


def _drawn(
    face: Face, curves: Float[np.ndarray, "k t 2"], tones: Float[np.ndarray, " k"]
) -> tuple[Float32[np.ndarray, "h w"], Float32[np.ndarray, "h w"]]:
    """The share of each pixel that strands cover, and their tones."""
    (origin, axes), (height, width) = _axes(face), face.masks["skin"].shape
    finer = max(2, round(_FINE / face.width))
    points = origin + curves @ axes
    left, top = np.clip(np.floor(points.min(axis=(0, 1))), 0, (width - 1, height - 1)).astype(int)
    right, bottom = np.clip(np.ceil(points.max(axis=(0, 1))) + 1, (left + 1, top + 1), (width, height)).astype(int)
    canvas = np.zeros(((bottom - top) * finer, (right - left) * finer, 3), dtype=np.uint8)
    places = np.rint(((points - (left, top)) * finer + (finer - 1) / 2) * 16).astype(np.int32)
    for line, tone in zip(places, np.clip(128 + 20 * tones, 1, 255).tolist(), strict=True):
        cv2.polylines(canvas, [line], False, (tone, 255.0, 0.0), 2, cv2.LINE_8, 4)  # smoothed by the mean below
    small = cv2.resize(canvas, (right - left, bottom - top), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    shown = np.zeros((height, width, 3), dtype=np.float32)
    shown[top:bottom, left:right] = small
    return shown[..., 1], shown[..., 0] / np.maximum(shown[..., 1], 0.02)


def _strands(
    line: Float[np.ndarray, " n"], low: float, slant: float, key: int, level: float
) -> tuple[Float[np.ndarray, "k 20 2"], Float[np.ndarray, " k"]]:
    """Strands from root to tip, the lower ones first, and how light they are. low: where they end at level 1."""
    draw = np.random.Generator(np.random.Philox(key=[key, 6]))
    sweep = 0.6 * np.tanh(2 * slant) + 0.12 * draw.standard_normal()
    # Each strand keeps to its lock, and locks to those beside them, more or less; loose strands lie below.
    lock, held, free = draw.integers(_LOCKS, size=_STRANDS), draw.random(_STRANDS), draw.standard_normal((3, _STRANDS))
    locks = draw.standard_normal((5, _LOCKS))
    locks = (locks + gaussian_filter1d(draw.standard_normal((5, _LOCKS)), 1.5, axis=1) * 2.5) / np.sqrt(2)
    aside, bent, longer, lighter, higher = locks[:, lock] * held
    middle = ((lock + 0.5) / _LOCKS * 2 - 1) * _ACROSS[-1] + 0.02 * aside
    root = middle + (0.006 + 0.03 * (1 - held)) * free[0]
    ends = np.interp(root, _ACROSS, line)
    lowest = low - 0.2 * sweep * root - 0.1 * np.clip((np.abs(root + 0.3 * sweep) - 0.3) / 0.4, 0, 1) ** 2
    uneven = 0.06 * longer - 0.08 * held + 0.05 * draw.standard_gamma(2.0, _STRANDS)
    tip = ends + (lowest - ends) * level + uneven * np.sqrt(level)
    top = ends + 0.04 + np.clip(0.12 + 0.05 * higher, 0, 0.3) * draw.uniform(0.4, 1.3, _STRANDS) * held
    long = (top - tip)[:, None]
    aim = root + sweep * long[:, 0] + 0.06 * bent + held * (middle - root) + 0.006 * free[1]
    first, last = np.stack([root, top], axis=1), np.stack([aim, tip], axis=1)
    leaving = np.stack([np.full(_STRANDS, slant), -np.ones(_STRANDS)], axis=1) * 0.35 * long
    arriving = np.stack([0.3 * sweep + 0.15 * bent, -np.ones(_STRANDS)], axis=1) * 0.35 * long
    t = np.linspace(0, 1, 20)[None, :, None]
    curves = first[:, None] * (1 - t) ** 3 + (first + leaving)[:, None] * 3 * t * (1 - t) ** 2
    curves += (last - arriving)[:, None] * 3 * t * t * (1 - t) + last[:, None] * t**3
    order = np.argsort(top - ends, kind="stable")
    order = order[(tip < ends - 0.02)[order]]
    return curves[order], (0.7 * lighter + free[2] + 1.2 * held - 0.5 * free[0] ** 2 * held)[order]
