"""Clothes laid on the mean head's neck and shoulders: sheets of points that tools/head_hats.py stores with hats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import LinearNDInterpolator
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.spatial import cKDTree

Angles: TypeAlias = Float[np.ndarray, "*a"]
Sheet: TypeAlias = tuple[Float[np.ndarray, "r c 3"], Float[np.ndarray, "r c"], bool, bool]
"""Points, how light each is plus twice the number of its cloth, whether both sides are seen, whether columns close."""
Line: TypeAlias = Callable[[Angles, Angles], Angles]
_ORIGIN = np.array([0.0, -3.9, -1.75])
"""A point in the chest from which neck, shoulders and chest are seen without overlap."""
_AROUND, _DOWN = 96, 121
_LOWEST = np.radians(118)
_COLUMNS = np.linspace(-np.pi, np.pi, 76, endpoint=False) + 0.01
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
        smooth = gaussian_filter(bare, (2.0, 2.0), mode=("wrap", "nearest"))
        self.bare, self.reach = bare, np.maximum(smooth, bare)
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
        return np.asarray(gaussian_filter(fall[first], 2.0, mode="wrap"))


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
    fold: float = 0.025,
    pad: float = 0.0,
    over: bool = False,
) -> Sheet:
    """Cloth from its neckline down; band: how much the ribbing at its edge stands out; pad: of shoulders; over:
    whether it lies over other cloth.
    """
    turn, step = _TURN[None], _STEPS[:, None]
    start = body.edge(_TURN, line)[None]
    fall = np.minimum(start + step / 1.75, _LOWEST)
    far = np.clip(step / 0.9, 0, 1)
    wave = np.sin(6.1 * turn + 5 * fall) + 0.7 * np.sin(9.7 * turn - 7 * fall + 1) + 0.8 * np.sin(3 * turn + 13 * fall)
    wave = wave + 0.9 * np.clip(np.sin(4.3 * turn + 17 * fall + 2 * np.sin(2 * turn)), 0, 1) ** 3
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
        * ((0.95 if over else 0.62) + (0.05 if over else 0.38) * np.clip(step / 0.5, 0, 1) ** 0.6)
        * (1 + 0.07 * far * wave)
    )
    light[0] = 0.45
    return points, light + 0 * turn, False, True


def roll(body: Body) -> Sheet:
    """A collar that is turned down around the neck, up to under the chin."""
    turn = _TURN[None]
    top, low = (body.edge(_TURN, around(*of))[None] for of in ((-2.17, -2.02, -1.92), (-2.70, -2.48, -2.36)))
    share = np.array([-0.02, 0, 0, 0.03, 0.08, 0.2, 0.4, 0.6, 0.75, 0.82, 0.87, 0.90, 0.90])[:, None]
    off = np.array([-0.03, 0.05, 0.08, 0.115, 0.13, 0.14, 0.135, 0.145, 0.16, 0.16, 0.145, 0.10, 0.0])[:, None]
    fold = 0.02 * np.sin(2.3 * turn + 9 * share) + 0.012 * np.sin(5 * turn - 14 * share)
    points = body.at(turn + 0 * share, top + (low - top) * share, off + fold * (off > 0.1))
    light = np.interp(share, [0, 0.05, 0.8, 0.88, 0.9], [0.55, 0.85, 1.0, 0.9, 0.4]) * (1 + 4 * fold)
    return points, light, True, True


def collar(body: Body, gap: float, spread: float, high: float = 0.0, close: float = 1.0) -> Sheet:
    """A shirt's collar: it stands around the neck and falls to two points."""
    turn = np.linspace(gap, 2 * np.pi - gap, 89)[None]
    ahead = np.minimum(turn, 2 * np.pi - turn)
    aside = np.where(turn < np.pi, 1.0, -1.0)
    point = np.exp(-((ahead / 0.62) ** 2))
    top = body.edge(turn[0], around(-2.29 + high, -2.08 + high, -1.92))[None]
    share = np.array([-0.28, -0.12, -0.03, 0.0, 0.03, 0.12, 0.3, 0.5, 0.7, 0.86, 0.97, 1.0])[:, None]
    down = np.clip(share, 0, 1)
    long = 0.30 + 0.34 * point
    fall = top + np.where(share < 0, -share * 0.55, down * long) / 1.55
    fall = np.where(share < 0, top + (-share) * 0.5, fall)
    off = np.where(share < 0, 0.04, 0.07 + 0.065 * close * np.clip(down / 0.12, 0, 1) ** 0.5 - 0.02 * down)
    off = off + 0.012 * np.sin(3 * turn) * down
    points = body.at(turn + aside * spread * point * down, fall, off, 0.6 * down)
    points = np.where(
        (share > 0.99)[..., None], body.at(turn + aside * spread * point * down, fall, off - 0.02, 0.6), points
    )
    stitch = np.exp(-(((down - 0.86) / 0.035) ** 2)) + np.exp(
        -((((turn + 0 * down - gap) % (2 * np.pi - 2 * gap)) / 0.01) ** 2)
    )
    light = np.where(share < 0, 0.55, 0.97 - 0.10 * np.clip(stitch, 0, 1) + 0.05 * np.clip(1 - down / 0.2, 0, 1))
    return points, light, True, False


class Front:
    """The depth of cloth in front by its place in the picture's plane."""

    def __init__(self, body: Body, off: float) -> None:
        turn, fall = np.meshgrid(np.linspace(-1.9, 1.9, 80), np.linspace(0.3, _LOWEST, 80), indexing="ij")
        at = body.at(turn, fall, off, 0.8).reshape(-1, 3)
        self.depth = LinearNDInterpolator(at[:, :2], at[:, 2], fill_value=-0.9)

    def sheet(self, sides: tuple[np.ndarray, np.ndarray], across: int, bulge: float, light: np.ndarray) -> Sheet:
        """Cloth between two lines down the chest, rows by columns; bulge: how far it stands off."""
        (left, right), share = sides, np.linspace(0, 1, across)[None, :, None]
        flat = left[:, None] + (right - left)[:, None] * share
        out = bulge * np.clip(6 * np.minimum(share, 1 - share), 0, 1)[..., 0]
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
    down = np.linspace(0, 1, 9)
    half = 0.185 - 0.06 * down
    high = top - 0.36 * down
    sides = np.stack([-half, high], 1), np.stack([half, high], 1)
    lit = 0.75 + 0.35 * np.sin(np.pi * down)[:, None] + 0 * np.zeros(9)
    knot = front.sheet(sides, 9, 0.16, lit + SECOND * 2)
    half = 0.13 + 0.16 * down
    high = top - 0.34 - 2.2 * down
    sides = np.stack([-half, high], 1), np.stack([half, high], 1)
    lit = 0.45 + 0.5 * np.clip(6 * down, 0, 1)[:, None] + 0 * np.zeros(9)
    return [knot, front.sheet(sides, 9, 0.085, lit + SECOND * 2)]


def under(sheets: list[Sheet]) -> list[Sheet]:
    """The same of the second cloth."""
    return [(points, light + SECOND, both, closed) for points, light, both, closed in sheets]


def clothes(body: Body) -> dict[str, list[Sheet]]:
    """Garments by name: what each level of clothing may be is said in mesh/worn.py."""
    crew, low = around(-2.64, -2.38, -2.24), around(-2.54, -2.30, -2.18)
    dress = around(-2.40, -2.24, -2.10)
    open_ = pointed(-3.05, 0.50, -2.28, -2.10)
    jacket, lapel = pointed(-5.4, 1.02, -2.34, -2.08), (1.02, -2.34, -5.4)
    front = Front(body, 0.10)
    suit = [torso(body, jacket, 0.12, fold=0.012, pad=0.08, over=True), *lapels(front, *lapel)]
    worn = {
        "tee": [torso(body, crew, 0.03, 0.014)],
        "sweater": [torso(body, low, 0.075, 0.03, fold=0.03)],
        "v": [torso(body, pointed(-3.0, 0.80, -2.34, -2.18), 0.05, 0.022)],
        "blazer": [*under([torso(body, crew, 0.02, 0.012, 0.3, 0.0)]), *suit],
        "shirt": [torso(body, open_, 0.03), collar(body, 0.38, 0.46)],
        "jacket": [*under([torso(body, open_, 0.02, loose=0.4, fold=0), collar(body, 0.34, 0.34, 0.0, 0.6)]), *suit],
        "suit": [
            *under([torso(body, dress, 0.02, loose=0.4, fold=0), collar(body, 0.11, 0.5, 0.03, 0.6)]),
            *tie(Front(body, 0.06), -2.33), *suit,
        ],
        "roll": [torso(body, around(-2.64, -2.46, -2.34), 0.06), roll(body)],
    }  # fmt: skip
    return {name: [(squared(of[0], name), *of[1:]) for of in sheets] for name, sheets in worn.items()}


def squared(points: np.ndarray, name: str) -> np.ndarray:
    """Shoulders that the cloth fills up: more so in a jacket."""
    high = 0.30 if name in ("blazer", "jacket", "suit") else 0.20
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
    skin: Anchors, name: str, points: Float[np.ndarray, "n 3"], faces: np.ndarray, tint: np.ndarray
) -> dict[str, np.ndarray]:
    """A worn mesh as the file has it: each point moves with the nearest vertex of the skin."""
    return {
        f"worn_{name}_points": (np.rint(points * 1000) / 1000).astype(np.float32),
        f"worn_{name}_steps": np.diff(faces, axis=0, prepend=0).astype(np.int32),
        f"worn_{name}_anchors": skin.used[skin.tree.query(points)[1]].astype(np.uint16),
        f"worn_{name}_tint": tint.astype(np.float16),
    }
