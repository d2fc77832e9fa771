"""Faces on which a finder errs: wrinkles like frames, frames that hardly show, hair like the ground behind it.

All of it is drawn in the picture, by the face's points. Lines and shine on the skin change no mask; glasses that are
drawn are in the mask of glasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import cv2
import numpy as np

from tools.marks_pictures import PARTS

_GLASSES, _HAIR, _PERSON, _SKIN, _HAT = (
    1 << PARTS.index(name) for name in ("glasses", "hair", "person", "skin", "hat")
)
_FINER: Final = 4
"""Lines are drawn on a grid that is finer by this, and averaged."""
_EYES: Final = (slice(36, 42), slice(42, 48))
_LIPS: Final = (slice(48, 60), slice(60, 68))
_FRAMES: Final = np.array([
    [25, 25, 30], [60, 40, 30], [110, 70, 40], [190, 160, 100], [190, 190, 195], [130, 130, 135], [120, 30, 30],
])  # fmt: skip
_LINED, _LINED_BEHIND_GLASSES, _DRAWN, _SHINING, _RECOLORED, _NECKS = 0.5, 0.25, 0.25, 0.35, 0.3, 0.5

_LEAST: Final = 3.0
"""Pixels between the eyes below which nothing is drawn."""


@final
@dataclass(frozen=True, slots=True)
class _Face:
    """Points in pixels, the distance between the eyes, and where down and right are for the face."""

    points: np.ndarray
    unit: float
    down: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> _Face:
        left, right = (points[eye].mean(axis=0) for eye in _EYES)
        unit = float(np.linalg.norm(right - left))
        across = (right - left) / max(unit, 1e-6)
        return cls(points, unit, np.array([-across[1], across[0]]), across)


def hard(
    pixels: np.ndarray, points: np.ndarray, bits: np.ndarray, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Picture and bits of one face, made harder by chance."""
    light, bits = pixels.astype(np.float32), bits.copy()
    face = _Face.of(points)
    if not _LEAST < face.unit < len(pixels):
        return pixels, bits
    wears = bool((bits & _GLASSES).any())
    for draw in (_pale_lips, _below_lips, _folds, _chins):
        if draws.random() < _LINED:
            light = draw(light, face, draws)
    if draws.random() < (_LINED_BEHIND_GLASSES if wears else _LINED):
        light = _lined(light, face, draws)
    if draws.random() < _RECOLORED:
        light = _recolored(light, bits, draws)
    if wears and draws.random() < _SHINING:
        shown = (bits & _GLASSES > 0).astype(np.float32)
        for eye in _EYES:
            light = _shining(light, shown, points[eye].mean(axis=0), face.unit, draws)
    if not wears and draws.random() < _DRAWN:
        light, worn = _with_glasses(light, face, draws)
        bits[worn] |= _GLASSES
    return np.rint(np.clip(light, 0, 255)).astype(np.uint8), bits


def _strokes(
    size: int, lines: list[np.ndarray], thickness: float, soft: float = 0.0, *, filled: bool = False
) -> np.ndarray:
    """How much of each pixel the lines cover; thickness and softness in pixels."""
    fine = np.zeros((size * _FINER, size * _FINER), np.uint8)
    for line in lines:
        corners = np.rint(line * _FINER * 16).astype(np.int32)
        if filled:
            cv2.fillPoly(fine, [corners], (255,), cv2.LINE_AA, 4)
        else:
            cv2.polylines(fine, [corners], False, (255,), max(1, round(thickness * _FINER)), cv2.LINE_AA, 4)
    cover = cv2.resize(fine, (size, size), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    cover *= min(1.0, thickness * _FINER) if not filled else 1.0
    return cv2.GaussianBlur(cover, (0, 0), soft) if soft > 0 else cover


def _mixed(light: np.ndarray, cover: np.ndarray, color: np.ndarray | float) -> np.ndarray:
    return np.asarray(light + cover[..., None] * (color - light), dtype=np.float32)


def _blob(size: int, middle: np.ndarray, radii: np.ndarray) -> np.ndarray:
    down, across = np.mgrid[:size, :size] + 0.5
    return np.exp(-(((across - middle[0]) / radii[0]) ** 2 + ((down - middle[1]) / radii[1]) ** 2) / 2).astype(
        np.float32
    )


def _arc(first: np.ndarray, last: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """A parabola from one place to another, its middle moved by the depth."""
    along = np.linspace(0, 1, 13)[:, None]
    return np.asarray(first + along * (last - first) + 4 * along * (1 - along) * depth)


def _lined(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Sockets, bags, lids, brows, creases and shine."""
    for draw in (_sockets, _bags, _lids, _brows, _creases, _shine):
        if draws.random() < 0.5:
            light = draw(light, face, draws)
    return light


def _sockets(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Shade or make-up around the eyes."""
    radii, place, much = (
        face.unit * draws.uniform((0.18, 0.1), (0.4, 0.3)),
        draws.uniform(-0.12, 0.15),
        draws.uniform(0.1, 0.65),
    )
    tint = np.clip(1 - much * draws.uniform(0.7, 1.1, 3), 0.15, 1).astype(np.float32)
    for eye in _EYES:
        shade = _blob(len(light), face.points[eye].mean(axis=0) + place * face.unit * face.down, radii)[..., None]
        light = light * (1 - shade + shade * tint)
    return light


def _bags(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Folds under the eyes or over the lids, dark, with a light rim."""
    side = 1 if draws.random() < 0.8 else -1
    depth, wide = side * face.unit * draws.uniform(0.1, 0.4), draws.uniform(0.8, 1.5)
    thickness, soft, much = face.unit * draws.uniform(0.015, 0.07), draws.uniform(0.2, 1.2), draws.uniform(0.2, 0.75)
    lines = []
    for eye in _EYES:
        corners, middle = face.points[eye][[0, 3]], face.points[eye].mean(axis=0)
        first, last = middle + wide * (corners - middle) + face.down * face.unit * draws.uniform(0, 0.08) * side
        lines.append(_arc(first, last, face.down * depth * draws.uniform(0.8, 1.1)))
    dark = _strokes(len(light), lines, thickness, soft)
    light = light * (1 - much * dark[..., None])
    if draws.random() < 0.5:
        rim = _strokes(len(light), [line + face.down * thickness * 1.3 * side for line in lines], thickness, soft)
        light = _mixed(light, draws.uniform(0.1, 0.5) * rim, light * 1.5 + 25)
    return light


def _lids(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Drawn lids and lashes; gleams in the eyes."""
    thickness, much = face.unit * draws.uniform(0.015, 0.07), draws.uniform(0.3, 0.95)
    rows = ((0, 1, 2, 3),) if draws.random() < 0.5 else ((0, 1, 2, 3), (3, 4, 5, 0))
    lines = [face.points[eye][list(row)] for eye in _EYES for row in rows]
    light = light * (1 - much * _strokes(len(light), lines, thickness, 0.3)[..., None])
    for eye in _EYES:
        at = face.points[eye].mean(axis=0) + face.unit * draws.normal(0, 0.03, 2)
        gleam = draws.uniform(0.2, 1) * _blob(len(light), at, np.full(2, face.unit * draws.uniform(0.015, 0.05)))
        light = _mixed(light, gleam, 250.0)
    return light


def _brows(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Heavy or pale brows."""
    at = face.down * face.unit * draws.uniform(-0.06, 0.12)
    lines = [face.points[17:22] + at, face.points[22:27] + at]
    cover = draws.uniform(0.3, 0.95) * _strokes(len(light), lines, face.unit * draws.uniform(0.03, 0.16), 0.6)
    return _mixed(light, cover, draws.uniform(10, 200) if draws.random() < 0.3 else draws.uniform(10, 60))


def _creases(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Crow's feet, creases over the nose and on the brow."""
    right, lines = face.right, []
    for corner, away in ((36, -right), (45, right)):
        for _ in range(int(draws.integers(0, 4))):
            way = away * draws.uniform(0.15, 0.4) + face.down * draws.normal(0, 0.15)
            lines.append(
                _arc(
                    face.points[corner] + 0.08 * face.unit * away,
                    face.points[corner] + face.unit * way,
                    draws.normal(0, 1, 2),
                )
            )
    bridge = face.points[27]
    for _ in range(int(draws.integers(0, 3))):
        half, at = right * face.unit * draws.uniform(0.06, 0.16), face.down * face.unit * draws.uniform(-0.15, 0.2)
        lines.append(_arc(bridge + at - half, bridge + at + half, face.down * face.unit * draws.normal(0, 0.05)))
    for _ in range(int(draws.integers(0, 4))):
        half, at = right * face.unit * draws.uniform(0.2, 0.7), -face.down * face.unit * draws.uniform(0.3, 0.9)
        lines.append(_arc(bridge + at - half, bridge + at + half, face.down * face.unit * draws.normal(0, 0.05)))
    much, soft = draws.uniform(0.15, 0.6), draws.uniform(0.2, 0.8)
    return np.asarray(
        light * (1 - much * _strokes(len(light), lines, face.unit * draws.uniform(0.01, 0.05), soft)[..., None])
    )


def _shine(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Wet or oily skin in hard light: beneath the eyes, on lids, cheeks, nose and brow."""
    points, below, beside = face.points, face.unit * face.down, face.unit * face.right
    lids = (points[40] + 0.25 * below, points[47] + 0.25 * below, points[37] - 0.1 * below, points[44] - 0.1 * below)
    nose = (points[28], points[30], points[27] - 0.6 * below)
    places = (*lids, *nose, points[31] - 0.4 * beside, points[35] + 0.4 * beside)
    for place in places:
        if draws.random() < 0.45:
            radii = face.unit * draws.uniform((0.05, 0.02), (0.22, 0.1))
            cover = draws.uniform(0.08, 0.55) * _blob(len(light), place + face.unit * draws.normal(0, 0.05, 2), radii)
            light = _mixed(light, cover, draws.uniform(210, 255))
    return light


def _pale_lips(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Lips of nearly the skin's color: their outline hardly shows."""
    outer, inner = (_strokes(len(light), [face.points[part]], 0.0, filled=True) for part in _LIPS)
    lips = cv2.GaussianBlur(np.clip(outer - inner, 0, 1), (0, 0), 0.5)
    beside = (1 - cv2.dilate(outer, np.ones((3, 3), np.uint8)))[..., None]
    total, share = (cv2.GaussianBlur(part, (0, 0), max(1.0, 0.12 * face.unit)) for part in (light * beside, beside))
    skin = total / np.maximum(share, 1e-3)[..., None]
    return _mixed(light, draws.uniform(0.2, 0.95) * lips, skin * draws.uniform(0.8, 1.05))


def _below_lips(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Shade or light in the hollow below the lower lip, or none where a renderer has it."""
    at = face.down * face.unit * draws.uniform(0.02, 0.2)
    line = face.points[[59, 58, 57, 56, 55]] + at
    much = draws.uniform(0.1, 0.45) * (-1 if draws.random() < 0.7 else 0.6)
    cover = _strokes(len(light), [line], face.unit * draws.uniform(0.04, 0.16), draws.uniform(0.5, 2.0))
    return np.asarray(light * (1 + much * cover[..., None]))


def _folds(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Folds from the nose's wings past the mouth's corners, as in smiles and with age."""
    lines = []
    for wing, corner, side in ((31, 48, -1), (35, 54, 1)):
        away = side * face.right * face.unit
        first = face.points[wing] + away * draws.uniform(0.02, 0.15)
        last = face.points[corner] + away * draws.uniform(0.03, 0.25) + face.down * face.unit * draws.uniform(-0.1, 0.4)
        lines.append(_arc(first, last, away * draws.uniform(0, 0.2)))
    soft, much = draws.uniform(0.4, 1.5), draws.uniform(0.1, 0.5)
    cover = _strokes(len(light), lines, face.unit * draws.uniform(0.02, 0.1), soft)
    return np.asarray(light * (1 - much * cover[..., None]))


def _chins(light: np.ndarray, face: _Face, draws: np.random.Generator) -> np.ndarray:
    """Lines and light like a jaw's, above or below it."""
    middle, lines = face.points[30], []
    for _ in range(int(draws.integers(1, 3))):
        first = int(draws.integers(3, 7))
        jaw = face.points[first : 17 - first]
        lines.append(
            middle + (jaw - middle) * draws.uniform(0.85, 1.3) + face.down * face.unit * draws.uniform(-0.1, 0.25)
        )
    much = draws.uniform(0.1, 0.45) * (-1 if draws.random() < 0.75 else 0.7)
    cover = _strokes(len(light), lines, face.unit * draws.uniform(0.03, 0.15), draws.uniform(0.5, 2.5))
    return np.asarray(light * (1 + much * cover[..., None]))


def with_neck(
    pixels: np.ndarray, points: np.ndarray, bits: np.ndarray, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Picture and bits of one face, half of the time with a neck as wide as the jaw, or as bright as the face."""
    face = _Face.of(points)
    if not _LEAST < face.unit < len(pixels) or draws.random() >= _NECKS:
        return pixels, bits
    light, necked = _neck(pixels.astype(np.float32), face, bits, draws)
    bits = bits.copy()
    bits[necked] |= _SKIN | _PERSON
    return np.rint(np.clip(light, 0, 255)).astype(np.uint8), bits


def _neck(
    light: np.ndarray, face: _Face, bits: np.ndarray, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The picture with such a neck, and the pixels of it."""
    points, unit = face.points, face.unit
    first = int(draws.integers(1, 6))
    ends = points[[first, 16 - first]] + np.outer([-1, 1], face.right) * unit * draws.uniform(-0.1, 0.12, (2, 1))
    low = (
        ends[::-1]
        + face.down * unit * draws.uniform(0.8, 2.0)
        + np.outer([1, -1], face.right) * unit * draws.normal(0, 0.1)
    )
    outline = [points[0], *points[:first], *ends[:1], low[1], low[0], *ends[1:], *points[17 - first :], points[16]]
    whole = _strokes(len(light), [np.array(outline)], 0.0, filled=True)
    own = _strokes(len(light), [np.concatenate([points[:17], points[26:16:-1]])], 0.0, filled=True)
    skin = (own > 0.9) & (bits & _SKIN > 0)
    if skin.sum() < 20:
        return light, skin & False
    below = (np.mgrid[: len(light), : len(light)][::-1].transpose(1, 2, 0) - points[[4, 12]].mean(axis=0)) @ face.down
    cover = np.clip(whole - own, 0, 1) * (below > -0.5 * unit) * (bits & (_HAIR | _GLASSES | _HAT) == 0)
    color = np.median(light[skin], axis=0) * draws.uniform(0.45, 1.05)
    shade = 1 + draws.uniform(-0.4, 0.2) * np.clip(below / unit, 0, 1)
    noise = cv2.GaussianBlur(draws.normal(0, 1, light.shape[:2]).astype(np.float32), (0, 0), 1.0) * draws.uniform(0, 12)
    made = color * shade[..., None] + noise[..., None]
    return _mixed(light, draws.uniform(0.5, 1) * cover, made.astype(np.float32)), cover > 0.5


def _recolored(light: np.ndarray, bits: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """Other hair, from black to white; the ground behind it is like it in a third."""
    hair = bits & _HAIR > 0
    if hair.sum() < 30:
        return light
    soft = cv2.GaussianBlur(hair.astype(np.float32), (0, 0), 0.6)
    gain = np.exp(draws.normal(-0.1, 0.6)) * np.exp(draws.normal(0, 0.08, 3)).astype(np.float32)
    lift = draws.uniform(0, 70) if draws.random() < 0.3 else 0.0
    made = _mixed(light, soft, light * gain + lift)
    if draws.random() < 0.35:
        behind = cv2.GaussianBlur((bits & _PERSON == 0).astype(np.float32), (0, 0), 0.6)
        color = np.median(made[hair], axis=0) * draws.uniform(0.6, 1.4) + draws.normal(0, 8, 3)
        made = _mixed(made, behind * draws.uniform(0.7, 1), color.astype(np.float32))
    return made


def _lens(middle: np.ndarray, half: np.ndarray, turn: float, power: float, taper: float) -> np.ndarray:
    """A closed outline between an ellipse and a rectangle, narrower below."""
    angle = np.linspace(0, 2 * np.pi, 49)
    x, y = (np.sign(f) * np.abs(f) ** (2 / power) for f in (np.cos(angle), np.sin(angle)))
    x = x * (1 - taper * np.maximum(y, 0))
    flat = np.stack([x * half[0], y * half[1]], axis=1)
    cos, sin = np.cos(turn), np.sin(turn)
    return np.asarray(middle + flat @ np.array([[cos, sin], [-sin, cos]]))


def _with_glasses(light: np.ndarray, face: _Face, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Glasses as thin as people wear them, without a rim or with half of one, and the pixels that they touch."""
    size, unit, down, right, bridge = len(light), face.unit, face.down, face.right, face.points[27]
    turn = float(np.arctan2(right[1], right[0]))
    gap, below, tall = unit * draws.uniform((0.07, 0.0, 0.16), (0.15, 0.13, 0.36))
    power, taper = draws.uniform(2, 4.5), draws.uniform(0, 0.2)
    eyes = [face.points[eye].mean(axis=0) for eye in _EYES]
    wide = [max(0.1 * unit, float(abs((eye - bridge) @ right)) - gap) for eye in eyes]
    out = draws.uniform(0.0, 0.15) * unit
    lenses = [
        _lens(eye + down * below + right * side * out / 2, np.array([half + out / 2, tall]), turn, power, taper)
        for eye, half, side in zip(eyes, wide, (-1, 1), strict=True)
    ]
    kind = draws.choice(["rimless", "half", "full", "full"])
    rims = [lens[24:49] if kind == "half" else lens for lens in lenses]  # the upper half of an outline
    inner = [eyes[0] + right * wide[0] + down * below * 0.6, eyes[1] - right * wide[1] + down * below * 0.6]
    bars = [_arc(inner[0], inner[1], -down * unit * draws.uniform(0.0, 0.08))]
    for lens, jaw, side in zip(lenses, (0, 16), (-1, 1), strict=True):
        end = lens[np.argmax((lens @ right) * side)] - down * tall * draws.uniform(0.2, 0.7)
        ear = face.points[jaw] + down * ((eyes[0] + eyes[1]) / 2 - face.points[jaw]) @ down * draws.uniform(0.6, 1)
        if (ear - end) @ right * side > 0:
            bars.append(np.stack([end, ear]))
    thin = unit * (draws.uniform(0.012, 0.03) if draws.random() < 0.7 else draws.uniform(0.03, 0.08))
    rim_width = thin * (0.6 if kind == "rimless" else 1)
    rim, bar = _strokes(size, rims, rim_width), _strokes(size, bars, max(thin, 0.02 * unit))
    glass = _strokes(size, lenses, 0.0, filled=True)
    frame = np.maximum(rim * (draws.uniform(0.25, 0.8) if kind == "rimless" else draws.uniform(0.7, 1)), bar)
    shade = cv2.GaussianBlur(np.roll(frame, max(1, round(unit * draws.uniform(0.03, 0.12))), axis=0), (0, 0), 0.7)
    light = light * (1 - draws.uniform(0, 0.4) * shade[..., None])
    light = _mixed(light, glass, light * draws.uniform(0.85, 1.02) + draws.uniform(0, 12))
    if draws.random() < 0.5:
        for eye in eyes:
            light = _shining(light, glass, eye, unit, draws)
    color = _FRAMES[draws.integers(len(_FRAMES))] * np.exp(draws.normal(0, 0.25)) + draws.normal(0, 8, 3)
    light = _mixed(light, frame, np.clip(color, 0, 255).astype(np.float32))
    return light, np.maximum(frame, glass) > 0.05


def _shining(
    light: np.ndarray, glass: np.ndarray, eye: np.ndarray, unit: float, draws: np.random.Generator
) -> np.ndarray:
    """A window or a lamp in a lens."""
    if draws.random() < 0.35:
        return light
    middle, turn = eye + unit * draws.normal(0, 0.15, 2), draws.uniform(0, np.pi)
    half = unit * draws.uniform((0.05, 0.02), (0.4, 0.12))
    spot = _strokes(len(light), [_lens(middle, half, turn, 4.0, 0.0)], 0.0, draws.uniform(0.2, 1.0), filled=True)
    color = (np.array([255, 255, 255]) * draws.uniform(0.75, 1, 3)).astype(np.float32)
    return _mixed(light, glass * spot * draws.uniform(0.15, 0.95), color)
