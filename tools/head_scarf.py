"""A headscarf laid on the mean head: a hood around the face, an end wound across the neck, and what falls on the chest.

Folds run along lines that meet beside the jaw, where the end is pinned; one side of each is steep. The tint of cloth
holds how much of the surroundings' light reaches it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter

from tools.head_clothes import sheet_faces
from tools.head_grooms import Points, Skin, unit
from transect.generators.faceworld.mesh.kernels import find_normals, rasterize, read_shadow

ROUND = 144
TURN = np.arange(ROUND) / ROUND * 2 * np.pi + 0.5 * np.pi / ROUND
"""Azimuths of the columns, from the top of the opening or from the front; no ray runs along the mesh's own middle."""
Grid: TypeAlias = Float[np.ndarray, "r c"]
Farthest: TypeAlias = Callable[[Float[np.ndarray, " 3"], Points, Float[np.ndarray, "f 3 3"]], Float[np.ndarray, " n"]]
_MIDDLE = np.array([0.0, 0.05, -1.3])
_OPENING = (
    (0, 30), (30, 31), (50, 34.5), (70, 39.3), (90, 43.5), (110, 46.5), (135, 49.5), (150, 53.5), (165, 57), (180, 59),
)  # fmt: skip
"""Where the edge lies around the face: angles from the top, and from straight ahead."""
_HULL = (
    (-3.0, 1.30, 0.7, 1.3), (-2.5, 1.30, 0.9, 1.3), (-2.0, 1.33, 1.0, 1.35), (-1.5, 1.36, 1.05, 1.45),
    (-1.0, 1.40, 1.05, 1.60), (-0.4, 1.44, 1.05, 1.78), (0.2, 1.40, 1.0, 1.86), (0.6, 1.31, 1.0, 1.85),
    (1.2, 1.04, 0.9, 1.62), (1.6, 0.76, 0.68, 1.2), (1.85, 0.45, 0.4, 0.7), (1.95, 0.1, 0.1, 0.1),
)  # fmt: skip
"""Heights, and how far cloth over hair hangs there aside, ahead and behind."""
_FALL = (
    (-5.0, 4.4, 2.15, 2.3), (-3.9, 4.0, 1.80, 2.1), (-3.4, 3.6, 1.63, 2.0), (-3.0, 3.15, 1.47, 1.9),
    (-2.7, 2.70, 1.36, 1.75), (-2.4, 2.13, 1.30, 1.6), (-2.1, 1.63, 1.32, 1.5), (-1.8, 1.38, 1.42, 1.45),
    (-1.2, 1.30, 1.3, 1.45), (-0.4, 1.3, 1.2, 1.6),
)  # fmt: skip
"""The same below the chin, over shoulders and chest."""
_HEIGHTS = np.linspace(-0.4, -5.0, 70)


def pleats(at: Grid, seed: int, steep: float = 0.3) -> Grid:
    """Folds that lie over each other, one for each whole number, some higher: a slow rise and a steep fall."""
    place, number = np.mod(at, 1.0), np.floor(at).astype(int)
    rise, fall = np.clip(place / (1 - steep), 0, 1), np.clip((1 - place) / steep, 0, 1)
    height = np.random.default_rng(seed).uniform(0.45, 1.0, 64)[number % 64]
    share = np.minimum(rise, fall)
    return np.asarray(height * share * share * (3 - 2 * share))


def _ellipse(y: Grid, azimuth: Grid, shape: tuple[tuple[float, ...], ...]) -> Grid:
    """How far from the axis cloth hangs at a height in a direction."""
    heights, *others = zip(*sorted(shape), strict=True)
    aside, ahead, behind = (np.interp(y, heights, of) for of in others)
    long = np.where(np.cos(azimuth) > 0, ahead, behind)
    return np.asarray(1 / np.sqrt((np.sin(azimuth) / aside) ** 2 + (np.cos(azimuth) / long) ** 2))


def _inside(towards: Float[np.ndarray, "r c 3"]) -> Grid:
    """How far rays from the middle stay inside of the hull over the hair."""
    far = np.linspace(0.2, 4.2, 801)
    x, y, z = np.moveaxis(_MIDDLE + far[:, None, None, None] * towards, -1, 0)
    z = z + 1.3
    heights = [row[0] for row in _HULL]
    inside = (np.hypot(x, z) < _ellipse(y, np.arctan2(x, z), _HULL)) & (y < heights[-1]) & (y > heights[0])
    return np.where(inside, far[:, None, None], 0.0).max(0)


def _hood(skin: Skin, farthest: Farthest) -> tuple[Points, Grid]:
    """Cloth around the face, over the hair and down the neck."""
    sides, high = np.abs((TURN + np.pi) % (2 * np.pi) - np.pi), np.cos(TURN)
    start = np.radians(np.interp(np.degrees(sides), *zip(*_OPENING, strict=True)))
    start = gaussian_filter(start, 2.0, mode="wrap") + 0.012 * np.sin(3 * TURN + 0.4) + 0.010 * np.sin(5 * TURN + 2)
    low = np.clip(-high, 0, 1)
    share = np.concatenate([[0.0], np.linspace(0, 1, 63)])[:, None]
    angle = start + (np.pi * (0.97 - 0.50 * low**0.7) - start) * share**1.35
    towards = np.stack([np.sin(angle) * np.sin(TURN), np.sin(angle) * high, np.cos(angle)], -1)
    head = skin.faces[~skin.ears[skin.faces].any(1) & (skin.points[skin.faces][..., 1].min(1) > -2.7)]
    bare = farthest(_MIDDLE, towards.reshape(-1, 3), skin.points[head]).reshape(angle.shape)
    smooth = gaussian_filter(bare, (2.0, 4.0), mode=("nearest", "wrap"))
    reach = np.maximum(np.maximum(smooth, bare * 0.97), _inside(towards))
    reach = gaussian_filter(reach, (1.2, 2.5), mode=("nearest", "wrap"))
    away = (angle - start) * 1.5  # from the edge, in distances between the eyes
    loose = np.clip(away / 0.35, 0, 1)
    wander = 0.45 * np.sin(TURN + 0.9) + 0.30 * np.sin(2 * TURN + 2.4) + 0.16 * np.sin(5 * TURN + 1.1)
    aside = np.sin(sides) ** 2 * np.where(np.sin(TURN) > 0, 0.85, 1.1)
    spread = 1 + 0.35 * np.sin(TURN + 0.3)
    fold = pleats(2.7 * spread * away**0.85 + wander + 0.35, 3) * (0.065 + 0.09 * aside + 0.03 * low)
    fold += 0.03 * pleats(5.6 * spread * away + 1.7 * wander, 8, 0.4) * (0.4 + aside)
    dent = 0.035 * np.sin(3 * TURN + 2.2 * angle) + 0.02 * np.sin(7 * TURN - 3.0 * angle + 1)
    edge = 0.030 * np.exp(-(((away - 0.035) / 0.035) ** 2))
    off = 0.038 + edge + loose * (0.045 + fold + dent * np.clip(away - 0.3, 0, 1))
    off = gaussian_filter(off, (0.5, 1.0), mode=("nearest", "wrap"))
    tint = 1 - 0.12 * np.exp(-(((away - 0.10) / 0.014) ** 2))
    off[0], tint[0] = -0.25, 0.5  # no gap between the edge and narrow cheeks
    return _MIDDLE + (reach + off)[..., None] * towards, tint


def _core(skin: Skin, hood: Points, farthest: Farthest) -> Grid:
    """How far from the axis head, hood and shoulders reach, by heights and columns."""
    flat, grid = hood.reshape(-1, 3), sheet_faces(*hood.shape[:2], True)
    head = skin.points[skin.faces[~skin.ears[skin.faces].any(1)]]
    ahead = np.stack([np.sin(TURN), 0 * TURN, np.cos(TURN)], -1)
    corners, reach = np.concatenate([flat[grid], head]), []
    for y in _HEIGHTS:
        near = (corners[..., 1].min(1) <= y) & (corners[..., 1].max(1) >= y)
        seen = farthest(np.array([0.0, y, -1.3]), ahead, corners[near])
        fall = _ellipse(np.full(ROUND, y), TURN, _FALL)
        reach.append(np.where(np.abs(seen) < 1.35 * fall, np.maximum(seen, fall), fall))
    return gaussian_filter(np.array(reach), (1.5, 3.0), mode=("nearest", "wrap"))


def _laid(core: Grid, y: Grid, off: Grid) -> Points:
    """Points of a ring of cloth so far off what lies under it."""
    reach = np.stack([np.interp(-y[:, c], -_HEIGHTS, core[:, c]) for c in range(ROUND)], 1) + off
    return np.stack([reach * np.sin(TURN), y, reach * np.cos(TURN) - 1.3], -1)


def _around(*knots: tuple[float, float]) -> Float[np.ndarray, " c"]:
    """A smooth function of the azimuth, in degrees from the front, by its values at some."""
    degrees, values = np.array(sorted(knots)).T
    degrees, values = np.concatenate([degrees - 360, degrees, degrees + 360]), np.tile(values, 3)
    own = np.degrees(TURN)
    return np.asarray(gaussian_filter(np.interp(own, degrees, values), 3.0, mode="wrap"))


_CHEST = _around((-110, -0.9), (-80, -0.95), (-60, -1.4), (-30, -2.1), (0, -2.25), (50, -2.35), (85, -1.4), (180, -1.2))
"""Heights of the upper edge of what falls on the chest."""
_OVER = (
    _around((-115, -0.55), (-80, -0.60), (-62, -1.05), (-42, -1.60), (-20, -1.88), (10, -2.00), (45, -2.10),
            (90, -2.18), (150, -1.9), (210, -1.1)),
    _around((-112, -1.35), (-80, -1.55), (-60, -2.0), (-35, -2.55), (0, -3.05), (35, -3.45), (65, -3.45), (90, -3.12),
            (150, -3.0), (200, -2.4)),
)  # fmt: skip
"""Heights of the upper and the lower edge of the end that is wound from the left jaw over the right shoulder."""


def _tucked(hood: Points) -> Points:
    """The hood drawn in where others lie over it: it may not come through when it moves otherwise than they."""
    x, y, z = np.moveaxis(hood - [0, 0, -1.3], -1, 0)
    edge = np.interp(np.arctan2(x, z) % (2 * np.pi), TURN, np.maximum(_CHEST, _OVER[0]), period=2 * np.pi)
    share = 1 - 0.12 * np.clip((edge - 0.3 - y) / 0.2, 0, 1)
    return np.stack([x * share, y, z * share - 1.3], -1)


def _end(core: Grid) -> tuple[Points, Grid]:
    """The end that is wound across the neck: its folds gather beside the left jaw, and open on the right."""
    share = np.concatenate([[0.0], np.linspace(0, 1, 58), [1.0]])[:, None]
    top, low = _OVER
    wide = low - top
    y = top + wide * share
    depth = np.clip(-wide, 0.25, 1.3)
    drift = 0.35 * np.sin(TURN - 0.4) + 0.16 * np.sin(3 * TURN + 1.0)
    fold = pleats(5.2 * share**0.9 + drift + 0.25 * np.sin(4 * share + 2 * TURN), 21, 0.34)
    fine = pleats(9.5 * share + 1.6 * drift + 0.4, 5, 0.45)
    loose = _around((-180, 0.2), (-75, 0.12), (-35, 0.9), (0, 1.0), (60, 1.0), (100, 0.5)) * np.minimum(depth, 1)
    off = 0.045 + 0.05 * loose + (0.006 + 0.134 * loose) * fold + 0.03 * loose * fine
    away = np.minimum(share, 1 - share) * -wide
    off = off * np.clip(0.35 + away / 0.3, 0, 1) + 0.028 * np.exp(-(((away - 0.03) / 0.03) ** 2))
    off = gaussian_filter(off, (0.5, 1.2), mode=("nearest", "wrap"))
    tint = 1 - 0.10 * np.exp(-(((away - 0.09) / 0.014) ** 2))
    off[0], off[-1], tint[0], tint[-1] = -0.30, -0.06, 0.5, 0.6
    return _laid(core, y, off), tint


def _front(core: Grid) -> tuple[Points, Grid]:
    """What falls on shoulders and chest under the wound end, to a hem that lies on the shoulders."""
    share = np.concatenate([np.linspace(0, 1, 50), [1.0]])[:, None]
    top = _CHEST
    low = _around((0, -4.0), (40, -3.85), (70, -3.5), (90, -3.18), (120, -3.1), (180, -3.3), (240, -3.1),
                  (270, -3.18), (290, -3.55), (320, -3.9))  # fmt: skip
    y = top + (low - top) * share
    x = _ellipse(y, TURN + 0 * y, _FALL) * np.sin(TURN)
    bare = np.clip((_OVER[1] - y) / 0.35, 0, 1)
    swag = pleats(1.75 * (y - 0.16 * (x - 0.5) ** 2) + 0.12 * np.sin(3 * x + 1), 13, 0.36)
    hang = pleats(1.5 * x - 0.5 * y + 0.3 * np.sin(2 * y), 17, 0.42)
    aside = np.clip(np.abs(x) - 0.9, 0, 1)
    fold = (0.13 * swag * (1 - 0.6 * aside) + 0.10 * hang * (0.35 + 0.65 * aside)) * bare
    hidden = np.clip((_OVER[0] - 0.1 - y) / 0.15, 0, 1) * np.clip((y - _OVER[1] - 0.15) / 0.15, 0, 1)
    off = 0.02 - 0.10 * hidden + fold + 0.03 * np.exp(-((((1 - share) * (top - low) - 0.03) / 0.03) ** 2))
    off = gaussian_filter(off, (0.6, 1.4), mode=("nearest", "wrap"))
    tint = 1 - 0.10 * np.exp(-((((1 - share) * (top - low) - 0.10) / 0.014) ** 2))
    off[0], off[-1], tint[-1] = -0.2, -0.12, 0.6
    return _laid(core, y, off), tint


_SIDE, _SPAN, _DIRECTIONS = 768, 9.6, 160


def _open(skin: Skin, sheets: list[Points]) -> list[Grid]:
    """The share of the surroundings' light that reaches each point of the cloth, by z-buffers from many directions."""
    points, faces, first = [skin.points], [skin.faces], len(skin.points)
    for sheet in sheets:
        grid, flat = sheet_faces(*sheet.shape[:2], True), sheet.reshape(-1, 3)
        corners = flat[grid]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        outward = (normal * (corners[:, 0] - flat.mean(0))).sum() > 0
        faces.append((grid if outward else grid[:, ::-1]) + first)
        points.append(flat)
        first += len(flat)
    at, all_ = np.concatenate(points).astype(np.float32), np.concatenate(faces).astype(np.int32)
    normals, lit = np.empty_like(at), np.empty(len(at), np.float32)
    find_normals(at, np.ascontiguousarray(all_), normals)
    total, seen = np.zeros(len(at)), np.zeros(len(at))
    number = np.arange(_DIRECTIONS) + 0.5
    up = 1 - 1.5 * number / _DIRECTIONS  # from the zenith to a little below the horizon
    turn = np.pi * (1 + 5**0.5) * number
    for towards in np.stack([np.sqrt(1 - up**2) * np.sin(turn), up, np.sqrt(1 - up**2) * np.cos(turn)], 1):
        across = unit(np.cross([0.0, 0.0, 1.0] if abs(towards[1]) > 0.9 else [0.0, 1.0, 0.0], towards)[None])[0]
        turned = at @ np.stack([across, np.cross(towards, across), towards]).T
        screen = turned * [1, -1, 1] * [_SIDE / _SPAN, _SIDE / _SPAN, 1] + [_SIDE / 2, _SIDE / 2 - 90, 0]
        screen, depth = screen.astype(np.float32), np.full((_SIDE, _SIDE), -1e9, np.float32)
        rasterize(screen, all_, depth, np.full((_SIDE, _SIDE), -1, np.int32), np.zeros((_SIDE, _SIDE, 2), np.float32))
        read_shadow(screen, depth, 0.03, lit)
        weight = np.clip(normals @ towards, 0, 1)
        total += weight
        seen += weight * lit
    share, found, first = seen / np.maximum(total, 1e-6), [], len(skin.points)
    for sheet in sheets:
        rows = share[first : first + sheet.shape[0] * ROUND].reshape(sheet.shape[:2])
        found.append(gaussian_filter(rows, (0.7, 0.7), mode=("nearest", "wrap")))
        first += rows.size
    return found


def headscarf(skin: Skin, farthest: Farthest) -> list[tuple[Points, Grid, bool]]:
    """The hood, what falls on the chest, and the end that is wound over both."""
    hood, tint = _hood(skin, farthest)
    core = _core(skin, hood, farthest)
    parts, found = [(_tucked(hood), tint), _front(core), _end(core)], []
    for (points, shade), kept in zip(parts, _open(skin, [of for of, _ in parts]), strict=True):
        tinted = shade * (0.16 + 0.90 * kept)
        tinted[0] = 0.65 * tinted[1]  # the turned edge's own side, not what lies deeper
        found.append((points, tinted, False))
    return found
