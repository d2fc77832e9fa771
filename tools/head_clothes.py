"""Clothes laid on the mean head's neck and shoulders: sheets of points that tools/head_hats.py stores with hats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import LinearNDInterpolator
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.spatial import cKDTree

from transect.generators.faceworld.mesh.worn import AROUND

Angles: TypeAlias = Float[np.ndarray, "*a"]
Sheet: TypeAlias = tuple[Float[np.ndarray, "r c 3"], Float[np.ndarray, "r c"], bool, bool]
"""Points, how light each is plus twice the number of its cloth, whether both sides are seen, whether columns close."""
Line: TypeAlias = Callable[[Angles, Angles], Angles]
_ORIGIN = np.array([0.0, -3.9, -1.75])
"""CHEST of mesh/worn.py: from there neck, shoulders and chest are seen without overlap."""
_AROUND, _DOWN = 96, 121
_LOWEST = np.radians(118)
_COLUMNS = np.linspace(-np.pi, np.pi, AROUND, endpoint=False) + 0.01
_TURN = _COLUMNS - 0.48 * np.sin(_COLUMNS)
"""Azimuths of columns from the front, where they are dense."""
SECOND, TIE = 2.0, 4.0


class Body:
    """How far skin lies from the origin, by azimuth and by angle from the upright."""

    def __init__(self, farthest: Callable[..., np.ndarray], points: np.ndarray, faces: np.ndarray) -> None:
        corners = points[faces]
        middle = corners.mean(1)
        used = (middle[:, 1] < -1.95) & ((middle[:, 2] < -0.55) | (middle[:, 1] < -2.35)) & (middle[:, 1] > -6)
        around = np.arange(_AROUND) / _AROUND * 2 * np.pi + 0.003
        self.fall = np.linspace(0, _LOWEST, _DOWN)
        turn, fall = np.meshgrid(around, self.fall, indexing="ij")
        reach = farthest(_ORIGIN, _towards(turn, fall).reshape(-1, 3), corners[used]).reshape(turn.shape)
        top = (-1.75 - _ORIGIN[1]) / np.maximum(np.cos(fall), 0.05)
        bare = np.where((reach > 0) | (fall < 0.7), np.minimum(np.where(reach > 0, reach, top), top), 0.0)
        for column in range(1, _DOWN):  # past the arms' ends: as far as before
            bare[:, column] = np.where(bare[:, column] > 0, bare[:, column], bare[:, column - 1])
        smooth = gaussian_filter(bare, (3.0, 2.5), mode=("wrap", "nearest"))
        self.bare, self.reach = bare, np.maximum(smooth, bare - 0.05)  # over the muscles' relief
        draped = gaussian_filter(bare, (3.0, 5.0), mode=("wrap", "nearest"))
        self.draped = np.maximum(draped, 0.995 * self.reach)

    def at(self, turn: Angles, fall: Angles, off: Angles | float, loose: Angles | float = 0.0) -> np.ndarray:
        """Points so far off the skin, or off what hangs loosely over it."""
        place = np.stack([(turn - 0.003) % (2 * np.pi) / (2 * np.pi) * _AROUND, fall / _LOWEST * (_DOWN - 1)])
        near, far = (
            map_coordinates(np.concatenate([of, of[:1]]), place, order=1, mode="nearest")
            for of in (self.reach, self.draped)
        )
        return np.asarray(_ORIGIN + (near + (far - near) * loose + off)[..., None] * _towards(turn, fall))

    def edge(self, turn: Float[np.ndarray, " c"], line: Line) -> Float[np.ndarray, " c"]:
        """The angle at which each column first lies below a height that depends on place."""
        fall = np.linspace(0.1, _LOWEST, 600)
        at = self.at(turn[:, None] + 0 * fall, fall + 0 * turn[:, None], 0.0)
        below = at[..., 1] < line(at[..., 0], at[..., 2])
        first = np.where(below.any(1), np.argmax(below, 1), len(fall) - 1)
        return np.asarray(gaussian_filter(fall[first], 3.0, mode="wrap"))


def _towards(turn: Angles, fall: Angles) -> np.ndarray:
    return np.stack([np.sin(fall) * np.sin(turn), np.cos(fall), np.sin(fall) * np.cos(turn)], -1)


def around(front: float, side: float, back: float) -> Line:
    """A neckline that is lowest in front."""

    def height(x: Angles, z: Angles) -> Angles:
        ahead = (z + 1.45) / np.hypot(x, z + 1.45)
        return np.asarray(side + np.where(ahead > 0, front - side, back - side) * np.abs(ahead) ** 1.7)

    return height


def pointed(low: float, wide: float, side: float, back: float) -> Line:
    """A neckline that falls to a point in front; wide: half its width beside the neck."""
    round_ = around(side, side, back)

    def height(x: Angles, z: Angles) -> Angles:
        share = np.clip(np.abs(x) / wide, 0, 1)
        return np.where(z > -1.35, low + (side - low) * share, round_(x, z))

    return height


_NEAR, _FAR = (
    (0, 0, 0.012, 0.04, 0.08, 0.11, 0.125, 0.14, 0.18, 0.25, 0.36, 0.5),
    (0.64, 0.8, 1.0, 1.25, 1.5, 1.8, 2.2, 2.7, 3.3),
)
_STEPS = np.array([*_NEAR, *_FAR])
"""How far rows lie below the neckline."""


def torso(
    body: Body,
    line: Line,
    thick: float,
    band: float = 0.0,
    loose: float = 1.0,
    fold: float = 0.035,
    pad: float = 0.0,
    over: bool = False,
    shade: float = 0.38,
) -> Sheet:
    """Cloth from its neckline down; band: how much the ribbing at its edge stands out; pad: of shoulders; over:
    whether it lies over other cloth; shade: how much darker it is beside the neckline.
    """
    turn, step = _TURN[None], _STEPS[:, None]
    start = body.edge(_TURN, line)[None]
    fall = np.minimum(start + step / 1.75, _LOWEST)
    far = np.clip(step / 0.9, 0, 1)
    wave = np.sin(6.1 * turn + 5 * fall) + 0.7 * np.sin(9.7 * turn - 7 * fall + 1) + 0.8 * np.sin(3 * turn + 13 * fall)
    pulled = 0.7 * np.abs(turn) + 2.1 * fall  # from the shoulders to the chest
    wave = 0.35 * wave + 2.2 * (1 - np.abs(np.sin(3.3 * pulled + 0.4 * np.sin(5 * turn) + 0.3 * np.sign(turn)))) ** 2
    ribbed = np.clip((0.125 - step) / 0.012, 0, 1)
    off = 0.012 + thick * np.clip(step / 0.04, 0, 1) ** 0.5 + band * ribbed + fold * far * wave
    off += pad * np.exp(-(((np.abs(turn) - 1.6) / 0.5) ** 2)) * np.clip((fall - 0.75) / 0.3, 0, 1)
    points = body.at(turn + 0 * fall, fall, off, loose * far)
    points[0] = body.at(_TURN, start[0], 0.05 if over else -0.34)
    if over:
        off = off + 0.05 * np.exp(-step / 0.3)
        points[1:] = body.at(turn + 0 * fall, fall, off, loose * far)[1:]
    seam = np.exp(-(((step - 0.13) / 0.014) ** 2)) * (band > 0)
    light = (
        (1 - 0.30 * seam)
        * (1 - (0.05 if over else shade) * (1 - np.clip(step / 0.5, 0, 1) ** 0.6))
        * (1 + 0.07 * far * wave)
    )
    light[0] = 0.45 if shade > 0.2 or over else 0.8
    return points, light + 0 * turn, False, True


def roll(body: Body) -> Sheet:
    """A collar that is turned down around the neck, up to under the chin."""
    turn = _TURN[None]
    top, low = (body.edge(_TURN, around(*of))[None] for of in ((-2.17, -2.02, -1.92), (-2.70, -2.48, -2.36)))
    share = np.array([-0.02, 0, 0, 0.03, 0.08, 0.2, 0.4, 0.6, 0.75, 0.82, 0.87, 0.90, 0.90])[:, None]
    off = np.array([-0.03, 0.03, 0.05, 0.07, 0.085, 0.09, 0.09, 0.095, 0.10, 0.10, 0.09, 0.06, 0.0])[:, None]
    fold = 0.016 * np.sin(2.3 * turn + 9 * share) + 0.010 * np.sin(5 * turn - 14 * share)
    fold = fold + 0.03 * (1 - np.abs(np.sin(4.2 * share + 0.5 * np.sin(2 * turn) + 0.2 * turn))) ** 2
    points = body.at(turn + 0 * share, top + (low - top) * share, off + fold * (off > 0.055))
    light = np.interp(share, [0, 0.05, 0.8, 0.88, 0.9], [0.55, 0.85, 1.0, 0.9, 0.4]) * (1 + 4 * fold)
    return points, light, True, True


def collar(
    body: Body, top: tuple[float, float, float], gap: float, tips: float, close: float = 1.0, low: float = -2.98
) -> Sheet:
    """A shirt's collar: its stand goes around the neck, and its leaf falls from there to two tips.

    top: heights of the fold in front, aside and behind; gap, tips: how far from the middle its front edges begin and
    end; low: height of the tips.
    """
    share = np.array([-0.5, -0.3, -0.12, -0.03, 0.0, 0.02, 0.06, 0.14, 0.3, 0.5, 0.7, 0.86, 0.96, 0.995, 1.0])[:, None]
    bend = np.linspace(-1, 1, 97)
    bend = np.pi * (0.55 * bend + 0.45 * bend**3)  # dense in front
    turn = np.pi + bend * (1 - gap / np.pi)
    ahead, aside = np.minimum(turn, 2 * np.pi - turn), np.where(turn < np.pi, 1.0, -1.0)
    moved = turn + aside * (tips - gap) * np.exp(-(((ahead - gap) / 0.5) ** 2))
    first = body.edge(turn, around(*top))[None]
    last = body.edge(moved, around(low, -2.56, -2.36))[None]
    down = np.clip(share, 0, 1)
    fall = np.where(share < 0, first - share * 0.32, first + (last - first) * down)
    leaf = np.interp(down, [0, 0.04, 0.2, 0.5, 0.9, 0.985, 1.0], [0.055, 0.085, 0.105, 0.115, 0.085, 0.07, 0.035])
    off = np.where(share < 0, 0.05 - 0.03 * np.clip(-share / 0.3, 0, 1), 0.02 + close * leaf)
    off = off + 0.008 * np.sin(5 * turn + 1) * down
    points = body.at(turn + (moved - turn) * down, fall, off, 0.6 * down)
    beside = np.abs(np.minimum(turn, 2 * np.pi - turn) - gap)
    stitch = np.exp(-(((down - 0.90) / 0.02) ** 2)) + np.exp(-(((beside - 0.07) / 0.02) ** 2))
    stand = 0.42 + 0.45 * np.exp(-((beside / 0.35) ** 2))  # its front lies open to the light
    light = np.where(share < 0, stand, 1.0 - 0.12 * np.clip(stitch, 0, 1) - 0.5 * (share > 0.997))
    light = light * (0.80 + 0.20 * np.clip(down / 0.25 + (share < 0), 0, 1))
    return points, light + 0 * turn, True, False


class Front:
    """The depth of cloth in front by its place in the picture's plane."""

    def __init__(self, body: Body, off: float) -> None:
        turn, fall = np.meshgrid(np.linspace(-1.9, 1.9, 80), np.linspace(0.3, _LOWEST, 80), indexing="ij")
        at = body.at(turn, fall, off, 0.8).reshape(-1, 3)
        self.depth = LinearNDInterpolator(at[:, :2], at[:, 2], fill_value=-0.9)

    def sheet(
        self,
        sides: tuple[np.ndarray, np.ndarray],
        across: int,
        bulge: float | np.ndarray,
        light: np.ndarray,
        steep: float = 6.0,
    ) -> Sheet:
        """Cloth between two lines down the chest, rows by columns; bulge, steep: how far and soon it stands off."""
        (left, right), share = sides, np.linspace(0, 1, across)[None, :, None]
        flat = left[:, None] + (right - left)[:, None] * share
        out = (
            np.reshape(bulge, (-1, 1)) * np.sin(np.pi / 2 * np.clip(steep * np.minimum(share, 1 - share), 0, 1))[..., 0]
        )
        points = np.concatenate([flat, (self.depth(flat) + 0.01 + out)[..., None]], -1)
        return points, light + 0 * out, False, False


def lapels(front: Front, beside: float, side: float, low: float) -> list[Sheet]:
    """Both lapels of a jacket whose front edges run from beside the neck down to a point."""
    share = np.array([0, 0.06, 0.12, 0.17, 0.20, 0.205, 0.215, 0.225, 0.26, 0.32, 0.4, 0.5, 0.62, 0.75, 0.9])
    wide = np.interp(share, [0, 0.17, 0.205, 0.215, 0.225, 0.3, 0.9], [0.26, 0.46, 0.52, 0.22, 0.66, 0.74, 0.45])
    found = []
    for aside in (1.0, -1.0):
        inner = np.stack([aside * beside * (1 - share), side + (low - side) * share], 1)
        outer = inner + wide[:, None] * np.array([0.93 * aside, 0.28])
        light = np.array([0.72, 0.95, 1.0, 1.02, 1.02, 1.0, 0.45])[None] + 0 * share[:, None]
        light = light - 0.35 * np.exp(-(((share - 0.213) / 0.01) ** 2))[:, None] * np.array([0, 0, 0, 0.5, 1, 1, 1.0])
        found.append(front.sheet((inner, outer), 7, 0.085, light))
    return found


def tie(front: Front, top: float) -> list[Sheet]:
    """A knot and the blade below it."""
    down = np.linspace(0, 1, 17)
    half = np.minimum(0.10 + 0.85 * down, 0.34 - 0.14 * down) - 0.02 * np.sin(np.pi * down)
    high = top - 0.46 * down
    sides = np.stack([-half, high], 1), np.stack([half, high], 1)
    across = np.linspace(-1, 1, 9)
    lit = (0.62 + 0.42 * np.sin(np.pi * down) ** 0.7)[:, None] * (1 - 0.5 * across**4)
    lit = lit * (1 - 0.25 * np.exp(-(((across - 0.5 + 0.9 * down[:, None]) / 0.16) ** 2)))  # one turn over another
    out = 0.26 * np.clip(down / 0.5, 0, 1) ** 0.7 - 0.06  # from under the collar
    knot = front.sheet(sides, 9, out, lit + SECOND * 2, 2.0)
    half = 0.17 + 0.16 * down
    high = top - 0.43 - 2.2 * down
    sides = np.stack([-half, high], 1), np.stack([half, high], 1)
    dimple = 1 - 0.35 * np.exp(-((across / 0.2) ** 2)) * np.exp(-down / 0.12)[:, None] - 0.2 * across**4
    lit = (0.45 + 0.5 * np.clip(6 * down, 0, 1)[:, None]) * dimple
    return [knot, front.sheet(sides, 9, 0.085, lit + SECOND * 2)]


def placket(front: Front, top: float, tops: tuple[float, ...]) -> list[Sheet]:
    """The strip of double cloth down a shirt's front, and buttons on it. tops: their heights."""
    high = np.linspace(top, -5.0, 40)
    sides = np.stack([0 * high - 0.13, high], 1), np.stack([0 * high + 0.13, high], 1)
    light = np.array([0.6, 0.9, 1.0, 1.0, 1.0, 1.0, 0.9, 0.6])[None] + 0 * high[:, None]
    found = [front.sheet(sides, 8, 0.03, light)]
    ring, turn = np.array([0.0, 0.5, 0.85, 1.0, 1.25])[:, None], np.linspace(0, 2 * np.pi, 14, endpoint=False)
    for middle in tops:
        flat = np.stack([0.062 * ring * np.sin(turn), middle + 0.062 * ring * np.cos(turn)], -1)
        out = np.array([0.055, 0.055, 0.06, 0.05, 0.035])[:, None]
        light = np.array([0.75, 0.95, 1.12, 0.85, 0.6])[:, None] + 0 * turn
        found.append((np.concatenate([flat, (front.depth(flat) + 0.03 + out)[..., None]], -1), light, False, True))
    return found


def under(sheets: list[Sheet]) -> list[Sheet]:
    """The same of the second cloth."""
    return [(points, light + SECOND, both, closed) for points, light, both, closed in sheets]


def clothes(body: Body) -> dict[str, list[Sheet]]:
    """Garments by name: what each level of clothing may be is said in mesh/worn.py."""
    crew, low = around(-2.64, -2.38, -2.24), around(-2.54, -2.30, -2.18)
    closed, fold = around(-2.39, -2.24, -2.08), (-2.42, -2.15, -1.97)
    open_ = pointed(-3.05, 0.44, -2.32, -2.14)
    jacket, lapel = pointed(-5.4, 1.02, -2.34, -2.08), (1.02, -2.34, -5.4)
    front = Front(body, 0.10)
    suit = [torso(body, jacket, 0.12, fold=0.015, pad=0.08, over=True), *lapels(front, *lapel)]
    worn = {
        "tee": [torso(body, crew, 0.02, 0.009)],
        "sweater": [torso(body, low, 0.05, 0.022, fold=0.05)],
        "v": [torso(body, pointed(-3.0, 0.80, -2.34, -2.18), 0.035, 0.016)],
        "blazer": [*under([torso(body, crew, 0.02, 0.009, 0.3, 0.0)]), *suit],
        "shirt": [
            torso(body, closed, 0.03, shade=0.15), collar(body, fold, -0.015, 0.44),
            *placket(Front(body, 0.03), -2.5, (-2.60, -3.08, -3.62)),
        ],
        "jacket": [
            *under([torso(body, open_, 0.02, loose=0.4, fold=0.01, shade=0.05), collar(body, fold, 0.42, 0.72, 0.8)]),
            *suit,
        ],
        "suit": [
            *under([torso(body, closed, 0.02, loose=0.4, fold=0.01, shade=0.15)]),
            *under([collar(body, fold, -0.015, 0.46, 0.8)]),
            *tie(Front(body, 0.06), -2.36), *suit,
        ],
        "roll": [torso(body, around(-2.64, -2.46, -2.34), 0.06), roll(body)],
    }  # fmt: skip
    return {name: [(squared(of[0], name), *of[1:]) for of in sheets] for name, sheets in worn.items()}


def squared(points: np.ndarray, name: str) -> np.ndarray:
    """Shoulders that the cloth fills up: more so in a jacket."""
    high = 0.22 if name in ("blazer", "jacket", "suit") else 0.08
    share = np.clip((np.abs(points[..., 0]) - 0.85) / 1.9, 0, 1)
    lift = high * share**2 * (3 - 2 * share)
    return np.asarray(points + lift[..., None] * np.array([0, 1.0, 0]))


def sheet_faces(rows: int, columns: int, closed: bool) -> Int[np.ndarray, "g 3"]:
    """Triangles of a grid."""
    row, column = np.meshgrid(np.arange(rows - 1), np.arange(columns - (not closed)), indexing="ij")
    a, b = (row * columns + column).ravel(), (row * columns + (column + 1) % columns).ravel()
    return np.concatenate([np.stack([a, b, a + columns], 1), np.stack([b, b + columns, a + columns], 1)])


class Anchors(Protocol):
    """The vertices of the skin, and a tree of where they lie."""

    used: Int[np.ndarray, " v"]
    tree: cKDTree


def stored_mesh(
    skin: Anchors, name: str, points: Float[np.ndarray, "n 3"], faces: np.ndarray, tint: np.ndarray,
    joined: Float[np.ndarray, "n 3"] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """A worn mesh as the file has it: a point moves with the vertex of the skin next to it, or to what it joins."""
    return {
        f"worn_{name}_points": (np.rint(points * 1000) / 1000).astype(np.float32),
        f"worn_{name}_steps": np.diff(faces, axis=0, prepend=0).astype(np.int32),
        f"worn_{name}_anchors": skin.used[skin.tree.query(points if joined is None else joined)[1]].astype(np.uint16),
        f"worn_{name}_tint": tint.astype(np.float16),
    }
