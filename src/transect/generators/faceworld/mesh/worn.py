"""What is worn on the mesh: hats and earrings that lie on it, and glasses built around the eyes."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int32
from scipy.ndimage import uniform_filter1d
from scipy.spatial import cKDTree

from transect.generators.faceworld.attributes import CLOTHES, FACE_MASKS, GLASSES, HATS
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.shape import Values, solid_faces

_AROUND, _RIM = 40, 8
_COLUMNS = 144
"""Points around a hat."""
_TEMPLES = np.array([[1.14, 0.02, -0.75], [-1.14, 0.02, -0.75]])
_PADS = np.array([[0.16, -0.20, 0.42], [-0.16, -0.20, 0.42]])
_PAD = np.array([[0.025, 0.06, 0.03], [0.018, 0, 0.015], [0.035, -0.07, 0.01]])
EAR_TOPS = np.array([[1.22, 0.05, -1.30], [-1.22, 0.05, -1.30]])
LOBES = np.array([[1.22, -0.82, -1.15], [-1.22, -0.82, -1.15]])


class Piece(NamedTuple):
    """Points at rest, triangles and the color of each point."""

    points: Float[np.ndarray, "w 3"]
    faces: Int32[np.ndarray, "g 3"]
    albedo: Float[np.ndarray, "w 3"]


@functools.cache
def nearest_vertex(x: float, y: float, z: float) -> int:
    """The skin's vertex nearest to a point of the mean head."""
    skin = vertices_of(0)
    away = ((asset().mean[skin] - np.array([x, y, z])) ** 2).sum(1)
    return int(skin[np.argmin(away)])


def vertices_at(points: Float[np.ndarray, "n 3"]) -> list[int]:
    """The skin's vertices nearest to points of the mean head."""
    return [nearest_vertex(*(round(float(c), 4) for c in point)) for point in points]


def hat(p: Values, rest: Float[np.ndarray, "v 3"], cloth: Float[np.ndarray, " 3"]) -> Piece:
    """The hat that is worn, moved with the head under it."""
    mesh = asset().worn[HATS[int(p["hat"])]]
    # What columns beside each other follow is averaged, or the cloth would tear where ears or jaws move.
    moved = (rest[mesh.anchors] - asset().mean[mesh.anchors]).reshape(-1, _COLUMNS, 3)
    moved = uniform_filter1d(moved, 17, axis=1, mode="wrap").reshape(-1, 3)
    return Piece((mesh.points + moved).astype(np.float32), mesh.faces, (mesh.tint[:, None] * cloth).astype(np.float32))


_GARMENTS = {
    "crew neck": ("tee", "sweater", "tee", "blazer"), "v-neck": ("v",), "shirt": ("shirt", "jacket", "suit", "jacket"),
    "turtleneck": ("roll",),
}  # fmt: skip
"""What each neckline may be: which is the seed's."""
_SHIRTS = np.array(
    [[0.62, 0.62, 0.61], [0.58, 0.59, 0.60], [0.30, 0.38, 0.52], [0.05, 0.055, 0.065], [0.40, 0.41, 0.42]]
)
CHEST = np.array([[0.0, -3.9, -1.75]], np.float32)
AROUND, _TUCK = 76, 0.27
"""A point in the chest; columns of a garment, whose first row is the neckline; how deep skin lies below clothes."""
_TIES = np.array(
    [[0.14, 0.012, 0.016], [0.015, 0.025, 0.075], [0.05, 0.055, 0.07], [0.02, 0.02, 0.022], [0.03, 0.08, 0.11]]
)
"""White, off-white, pale blue, black and grey; red, navy, slate, black and teal."""


@functools.cache
def _body() -> tuple[Int32[np.ndarray, " n"], Float[np.ndarray, "f n"]]:
    """Vertices of neck and shoulders, and what fits a smooth movement of cloth to theirs."""
    x, y, z = asset().mean.T
    found = np.flatnonzero((y < -2.1) & (y > -3.3) & (np.abs(x) < 2.4) & ((z < -0.55) | (y < -2.35)))
    return found.astype(np.int32), np.linalg.pinv(_features(asset().mean[found])).astype(np.float32)


def _features(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n f"]:
    x, y, z = points[:, 0], np.clip(points[:, 1], -3.3, None) + 2.6, points[:, 2]
    wide = np.minimum(np.abs(x), 2.4)
    return np.stack([np.ones_like(x), x, points[:, 1], z, x * y, z * y, y * y, wide, wide * wide, wide * y, x * z], 1)


@functools.cache
def _under(name: str) -> tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, "n 6"], Float[np.ndarray, "n 6"]]:
    """Vertices that lie under a garment, its points next to each as seen from the chest, and weights of these."""
    points, mean = (of - CHEST for of in (asset().worn[name].points[AROUND:], asset().mean))
    long, far = np.linalg.norm(points, axis=1), np.linalg.norm(mean, axis=1)
    tree, ray = cKDTree(points / long[:, None]), mean / far[:, None]
    (apart, at), above = tree.query(ray, 6), ray + np.array([0, 0.05, 0])  # a margin from the edge
    away = np.maximum(apart[:, 0], tree.query(above / np.linalg.norm(above, axis=1, keepdims=True))[0])
    weights = 1 / (apart**2 + 1e-4)
    weights /= weights.sum(1, keepdims=True)
    under = (away < 0.06 + 0.3 * np.clip(np.arccos(ray[:, 1]) - 1, 0, 1)) & (mean[:, 1] < 2.2)
    found = np.flatnonzero(under & (far < (long[at] * weights).sum(1) + 0.1))  # not the chin above
    return found.astype(np.int32), (at[found] + AROUND).astype(np.int32), weights[found].astype(np.float32)


def tuck(name: str, posed: Float[np.ndarray, "v 3"], first: int, chest: Float[np.ndarray, "1 3"]) -> None:
    """Moves what lies under a garment to where it cannot show through, however the neck turns; first: of the cloth."""
    under, near, weights = _under(name)
    skin, below = posed[under] - chest, np.linalg.norm(posed[first + near] - chest, axis=2)
    share = ((below * weights).sum(1) - _TUCK) / np.linalg.norm(skin, axis=1)
    posed[under] = chest + skin * np.minimum(1, share)[:, None]


@functools.cache
def under_scarf() -> Bool[np.ndarray, " f"]:
    """Faces of the head that a headscarf hides: they need not be drawn, and cannot show through."""
    (faces, parts), hidden = solid_faces(), (asset().regions["ears"] > 0.3) | (asset().mean[:, 1] < -2.0)
    return np.asarray(hidden[faces].all(1) & (parts == 0))


def garment(
    p: Values, cloth: Float[np.ndarray, " 3"], rest: Float[np.ndarray, "v 3"], seed: int
) -> tuple[Piece, np.ndarray, str]:
    """Clothes over neck and shoulders, where their outer cloth is, and their name: the seed's, of the neckline."""
    draws = np.random.Generator(np.random.Philox(key=[seed, 14])).random(3)
    kinds = _GARMENTS[CLOTHES[int(p["clothing"])]]
    name = kinds[int(draws[0] * len(kinds))]
    mesh = asset().worn[name]
    layer = (mesh.tint / 2).astype(np.int32)
    colors = np.stack([cloth, *(of[int(draw * len(of))] for of, draw in ((_SHIRTS, draws[1]), (_TIES, draws[2])))])
    points = _features(mesh.points) @ (_body()[1] @ rest[_body()[0]])
    albedo = (mesh.tint - 2 * layer)[:, None] * colors[layer]
    return Piece(points.astype(np.float32), mesh.faces, albedo.astype(np.float32)), layer == 0, name


def tube(path: Float[np.ndarray, "n 3"], half: Float[np.ndarray, " 2"], closed: bool) -> tuple[np.ndarray, np.ndarray]:
    """A rounded bar along a path: half its width across and in depth."""
    ahead = np.gradient(path, axis=0) if not closed else np.roll(path, -1, 0) - np.roll(path, 1, 0)
    ahead = ahead / (np.linalg.norm(ahead, axis=1, keepdims=True) + 1e-9)
    depth = np.where(np.abs(ahead[:, 2:]) > 0.8, np.array([1.0, 0, 0]), np.array([0, 0, 1.0]))
    across = _cross(ahead, depth)
    across /= np.linalg.norm(across, axis=1, keepdims=True) + 1e-9
    depth = _cross(across, ahead)
    turn = np.arange(_RIM) / _RIM * 2 * np.pi
    wide, deep = (np.sign(wave) * np.abs(wave) ** 0.6 for wave in (np.cos(turn), np.sin(turn)))
    ring = wide[:, None] * across[:, None] * half[0] + deep[:, None] * depth[:, None] * half[1]
    return (path[:, None] + ring).reshape(-1, 3), _bar(len(path), closed)


@functools.cache
def _bar(length: int, closed: bool) -> np.ndarray:
    """Triangles of a bar along a number of points."""
    row, column = (
        part.ravel() for part in np.meshgrid(np.arange(length - (not closed)), np.arange(_RIM), indexing="ij")
    )
    after, beside = (row + 1) % length, (column + 1) % _RIM
    a, b, c, d = row * _RIM + column, row * _RIM + beside, after * _RIM + column, after * _RIM + beside
    return np.concatenate([np.stack([c, b, a], 1), np.stack([c, d, b], 1)])


def _cross(a: Float[np.ndarray, "n 3"], b: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """NumPy's cross product, which takes five times as long for few vectors."""
    (x, y, z), (u, v, w) = a.T, b.T
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], 1)


def outwards(points: Float[np.ndarray, "n 3"], faces: np.ndarray) -> np.ndarray:
    """The triangles of a body, turned so that its volume is positive."""
    a, b, c = (points[faces[:, k]] - points.mean(0) for k in range(3))
    return faces if (_cross(a, b) * c).sum() > 0 else faces[:, ::-1]


@functools.cache
def _before_lenses() -> Int32[np.ndarray, " n"]:
    """Vertices of brows and cheeks that lenses must clear."""
    x, y, z = asset().mean.T
    return np.flatnonzero((np.abs(np.abs(x) - 0.50) < 0.34) & (np.abs(y + 0.05) < 0.34) & (z > -0.6)).astype(np.int32)


def _outline(p: Values, side: float) -> Float[np.ndarray, "n 3"]:
    """The edge of a lens, around the eye; rounder or squarer as the person's frames are, flatter above."""
    turn = np.arange(_AROUND) / _AROUND * 2 * np.pi
    power = 1 - 0.42 * p["squareness"]
    across, up = (np.sign(wave) * np.abs(wave) ** power for wave in (np.cos(turn), np.sin(turn)))
    x, y = 0.405 * across, (0.27 + 0.06 * (1 - p["squareness"])) * up * np.where(up > 0, 0.92, _drop(p))
    x = x * (1 + 0.07 * up * p["squareness"])
    return np.stack([side * (0.52 + x), y - 0.06, -0.10 * np.clip(x, 0, None) ** 2 - 0.05 * np.clip(x, 0, None)], 1)


def _drop(p: Values) -> float:
    """How far a lens reaches down, beside half its height: the roundest sunglasses cover the cheeks below the eyes."""
    return 1.15 + 0.75 * min(max(3.3 - 33 * p["squareness"], 0), 1) if GLASSES[int(p["glasses"])] == "dark" else 1.04


def _before(rest: Float[np.ndarray, "v 3"]) -> Float[np.ndarray, " 3"]:
    """Where the middle of the glasses is."""
    return np.array([0, 0, max(0.34, float(rest[_before_lenses(), 2].max()) + 0.09)])


def of_horn(p: Values) -> bool:
    """Whether the frame is of horn, not wire."""
    return GLASSES[int(p["glasses"])] in ("thick frame", "dark")


def _halves(p: Values) -> Float[np.ndarray, " 2"]:
    """Half the width and depth of the frame's bars: of horn, or of wire."""
    return np.array([0.032, 0.034]) if of_horn(p) else np.array([0.0165, 0.0165])


def spectacles(p: Values, rest: Float[np.ndarray, "v 3"]) -> tuple[Piece, Piece]:
    """Frames and lenses before the eyes, on the bridge of the nose and over the ears."""
    half, front, thick = _halves(p), _before(rest), of_horn(p)
    bars, lenses = [], []
    for number, side in enumerate((1.0, -1.0)):
        edge = _outline(p, side) + front
        bars.append(tube(edge, half, True))
        lenses.append(np.concatenate([edge, edge.mean(0, keepdims=True)]))
        ear = rest[vertices_at(EAR_TOPS)[number]] + np.array([0.03 * side, 0.06, 0])
        temple = rest[vertices_at(_TEMPLES)[number]] + np.array([0.06 * side, 0, 0])
        hinge = front + np.array([side * 0.935, 0.07, -0.05])
        temple[0] = side * max(side * temple[0], 0.98)
        behind = ear + np.array([[-0.01 * side, -0.05, -0.16], [-0.05 * side, -0.26, -0.26]])
        turned = [hinge[0] + 0.025 * side, hinge[1], hinge[2] - 0.05]
        knots = np.stack([hinge, turned, [temple[0], 0.4 * ear[1] + 0.6 * hinge[1], temple[2]], ear, *behind])
        bars.append(tube(through(knots), np.array([half[0] * 1.15, half[0] * 0.55]), False))
        rim, pad = front + np.array([side * 0.14, -0.07, -0.02]), rest[vertices_at(_PADS)[number]]
        path = through(np.stack([rim, *(pad + _PAD * [side, 1, 1])]))
        bars.append(tube(path, np.array([0.017, 0.008]), False))
    arch = np.linspace(-0.15, 0.15, 9)
    over = np.stack([arch, (0.04 if thick else 0.06) + 0.04 * np.cos(arch * 9), 0.03 * np.cos(arch * 9)], 1) + front
    bars.append(tube(over, half, False))
    return _joined(bars, _frame_color(p, thick)), _lens(lenses)


def shade_of_spectacles(
    p: Values, rest: Float[np.ndarray, "v 3"], towards: Float[np.ndarray, " 3"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"]]:
    """Vertices behind glasses, and the shares of the key light and the surroundings' that these leave.

    towards: the lamp, from the head. Bars are thinner than a point of the lamp's picture of depths, so their shade is
    found on the glasses' plane, softer the farther the skin lies behind it.
    """
    near, front, wide = _shaded(), _before(rest), _halves(p)[0]
    at, square = rest[near], p["squareness"]
    far = np.clip(front[2] - at[:, 2], 0, 1.2)
    tint = {"tinted": 0.85, "dark": 0.6}.get(GLASSES[int(p["glasses"])], 0.95)
    shares = []
    for slope, soft in ((towards[:2] / max(float(towards[2]), 0.35), 0.075), (np.zeros(2), 0.45)):
        x = np.abs(np.abs(at[:, 0] + slope[0] * far) - 0.52) / 0.405
        y = at[:, 1] + slope[1] * far + 0.06
        y = np.abs(y) / (0.33 - 0.06 * square) / np.where(y > 0, 0.92, _drop(p))
        power = 2 / (1 - 0.42 * square)
        size = (x**power + y**power) ** (1 / power)  # 1 at the edge of a lens, by _outline
        width = 1.3 * wide + 0.02 + soft * far
        bar = np.minimum(2.2 * wide / width, 0.85) * np.exp(-((0.33 * (size - 1) / width) ** 2))
        shares.append((1 - bar) * (1 - (1 - tint) * np.clip((1.05 - size) / 0.12 + 0.5, 0, 1)))
    return near, np.stack(shares, 1).astype(np.float32)


@functools.cache
def _shaded() -> Int32[np.ndarray, " n"]:
    """Vertices of the face on which glasses may cast shade."""
    x, y, z = asset().mean.T
    return np.flatnonzero((np.abs(x) < 1.2) & (y < 0.7) & (y > -1.3) & (z > -0.9)).astype(np.int32)


def through(knots: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "n 3"]:
    """Sixteen points on straight lines from knot to knot."""
    share = np.linspace(0, len(knots) - 1, 16)
    return np.stack([np.interp(share, np.arange(len(knots)), knots[:, axis]) for axis in range(3)], 1)


_HORN = np.array([[0.007, 0.007, 0.008], [0.007, 0.009, 0.016], [0.045, 0.020, 0.009], [0.018, 0.008, 0.005]])
_WIRE = np.array([[0.011, 0.011, 0.012], [0.055, 0.055, 0.06], [0.06, 0.035, 0.013], [0.026, 0.025, 0.024]])
"""Black, navy, tortoise and brown horn; black, silver, golden and gunmetal wire."""


def _frame_color(p: Values, thick: bool) -> Float[np.ndarray, " 3"]:
    """One of four, or between two, as the person's frames are."""
    place = np.clip(1.5 + 1.1 * p["frame_color"], 0, 3)
    return np.array([np.interp(place, np.arange(4), of) for of in (_HORN if thick else _WIRE).T], np.float32)


def _joined(parts: list[tuple[np.ndarray, np.ndarray]], color: Float[np.ndarray, " 3"]) -> Piece:
    starts = np.cumsum([0, *(len(points) for points, _ in parts)])
    faces = np.concatenate([faces + start for (_, faces), start in zip(parts, starts[:-1], strict=True)])
    points = np.concatenate([points for points, _ in parts]).astype(np.float32)
    return Piece(points, faces.astype(np.int32), np.tile(color, (len(points), 1)))


def _lens(outlines: list[Float[np.ndarray, "n 3"]]) -> Piece:
    fan = np.stack([np.arange(_AROUND), (np.arange(_AROUND) + 1) % _AROUND, np.full(_AROUND, _AROUND)], 1)
    both = np.concatenate([fan, fan[:, ::-1]])
    return _joined([(points, both) for points in outlines], np.zeros(3, np.float32))


_BLUE = np.array([0.26, 0.39, 0.46])
"""Reflectance of blue nonwoven cloth, linear RGB."""
_CLOTHS = np.array(
    [[0.02, 0.02, 0.022], [0.03, 0.04, 0.09], [0.52, 0.51, 0.48], [0.20, 0.20, 0.21], [0.28, 0.05, 0.05]]
)
"""Black, navy, white, grey and red."""
MASK_ACROSS, MASK_DOWN = 29, 41
MASK_POINTS = MASK_ACROSS * MASK_DOWN
"""Points of a mask's cloth, before those of its loops."""


def face_mask(rest: Float[np.ndarray, "v 3"], kind: int = 1, seed: int = 0) -> Piece:
    """A mask from the bridge of the nose to under the chin, moved with the head under it.

    kind: index of FACE_MASKS. The seed sets the cloth's color, by random numbers used for nothing else.
    """
    mesh, (near, weights) = asset().worn[FACE_MASKS[kind]], _carried_by(kind)
    points = mesh.points + ((rest - asset().mean)[near] * weights[..., None]).sum(1).astype(np.float32)
    albedo = np.repeat(mesh.tint[:, None], 3, 1)
    albedo[:MASK_POINTS] *= _mask_color(kind, seed)
    return Piece(points, mesh.faces, albedo)


@functools.cache
def _carried_by(kind: int) -> tuple[Int32[np.ndarray, "w 8"], Float[np.ndarray, "w 8"]]:
    """The eight vertices of the face with which each point of a mask moves, and their weights."""
    x, y, z = asset().mean.T
    face = np.flatnonzero((np.abs(x) < 1.1) & (y < 0.1) & (y > -2.1) & (z > -0.9)).astype(np.int32)
    away, near = cKDTree(asset().mean[face]).query(asset().worn[FACE_MASKS[kind]].points, 8)
    weights = 1 / (away**2 + 0.03)
    return face[near], weights / weights.sum(1, keepdims=True)


def _mask_color(kind: int, seed: int) -> Float[np.ndarray, " 3"]:
    """Blue, a little greener or paler by person; of cloth, one of several colors, lighter or darker."""
    draws = np.random.Generator(np.random.Philox(key=[seed, 12])).random(3)
    blue = _BLUE + draws[0] * np.array([0.10, 0.08, 0.02]) - draws[1] * np.array([0.05, 0, 0.05])
    color = blue if FACE_MASKS[kind] == "surgical" else _CLOTHS[int(draws[0] * len(_CLOTHS))] * (0.7 + 0.6 * draws[1])
    return np.asarray(color, dtype=np.float32)


@functools.cache
def beside(name: str) -> Float[np.ndarray, " v"]:
    """The share of the surroundings' light that clothes, a hat or a mask's cloth leave to each vertex of the head."""
    points = asset().worn[name].points[: MASK_POINTS if name in FACE_MASKS else None]
    away = cKDTree(points).query(asset().mean)[0]
    return np.asarray(1 - 0.45 * np.clip(1.2 - away / 0.2, 0, 1) ** 2, dtype=np.float32)


@functools.cache
def _ball() -> tuple[np.ndarray, np.ndarray]:
    """A sphere of radius 1 as a grid."""
    down, around = np.meshgrid(np.linspace(0, np.pi, 7), np.arange(10) / 10 * 2 * np.pi, indexing="ij")
    points = np.stack([np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)], -1).reshape(-1, 3)
    row, column = (part.ravel() for part in np.meshgrid(np.arange(6), np.arange(10), indexing="ij"))
    a, b = row * 10 + column, row * 10 + (column + 1) % 10
    faces = np.concatenate([np.stack([a, b, a + 10], 1), np.stack([b, b + 10, a + 10], 1)])
    return points, outwards(points, faces)


_METALS = np.array([[0.26, 0.165, 0.05], [0.17, 0.17, 0.18], [0.48, 0.45, 0.41]], np.float32)
"""Gold, silver and pearl."""


def earrings(rest: Float[np.ndarray, "v 3"], seed: int = 0) -> Piece:
    """A stud, a ball on a hook or a ring at each ear's lobe, by the seed."""
    draws = np.random.Generator(np.random.Philox(key=[seed, 15])).random(2)
    kind, color = int(draws[0] * 3), _METALS[int(draws[1] * 3) if draws[0] < 2 / 3 else int(draws[1] * 2)]
    parts, (ball, faces) = [], _ball()
    for number, at in enumerate(rest[vertices_at(LOBES)]):
        side = 1 - 2 * number
        lobe = at + np.array([0.02 * side, -0.03, 0.05])
        if kind == 0:
            parts.append((0.05 * ball + lobe, faces))
        elif kind == 1:
            parts.append((0.07 * ball + lobe - [0, 0.21, 0], faces))
            hook = np.array([[-0.01 * side, 0.02, -0.02], [0.01 * side, 0.01, 0.02], [0, -0.10, 0.01], [0, -0.16, 0]])
            parts.append(tube(through(lobe + hook), np.array([0.009, 0.009]), False))
        else:
            turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
            ring = np.stack([0.4 * side * np.sin(turn), np.cos(turn) - 1, np.sin(turn)], 1) * (0.13 + 0.10 * draws[1])
            parts.append(tube(lobe + ring, np.array([0.017, 0.017]), True))
    return _joined(parts, color)
