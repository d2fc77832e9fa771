"""Hair grown on the mean head, hats laid on it and points on it: what tools/head_mesh.py stores beside the mesh.

python -m tools.head_grooms grows hair and hats anew in the stored file, or the grooms named, and leaves the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from tools.head_clothes import Body, clothes, sheet_faces, stored_mesh
from tools.head_masks import face_masks
from transect.generators.faceworld.mesh.asset import FILE
from transect.generators.faceworld.mesh.hair import beard_density, hairline
from transect.generators.faceworld.mesh.kernels import find_normals

Held: TypeAlias = Mapping[str, Any]
Points: TypeAlias = Float[np.ndarray, "n 3"]
Curves: TypeAlias = Float[np.ndarray, "n k 3"]
Draws: TypeAlias = np.random.Generator
CROWN = np.array([0.12, 1.75, -1.75])
KNOT, TAIL = np.array([0.0, 1.35, -2.95]), np.array([0.0, 0.95, -3.0])
_DOWN = np.array([0.0, -1.0, 0.0])
_STEP = 0.002
"""Strands are stored in whole multiples of this length."""
FACTS = Path("src/transect/generators/faceworld/facts")


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1."""
    return np.asarray(vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-9))


class Roots(NamedTuple):
    """Points on the skin, normals there, the vertices of their triangles and the weights of these."""

    at: Points
    normal: Points
    corners: Int[np.ndarray, "n 3"]
    weights: Points

    def take(self, pick: np.ndarray) -> Roots:
        """Some of them."""
        return Roots(*(part[pick] for part in self))


class Grown(NamedTuple):
    """Strands, their roots, the lock that each belongs to, and how near the surface of all hair it lies (0..1)."""

    strands: Curves
    roots: Roots
    lock: Int[np.ndarray, " n"]
    layer: Float[np.ndarray, " n"]

    def take(self, pick: np.ndarray) -> Grown:
        """Some of them."""
        return Grown(self.strands[pick], self.roots.take(pick), self.lock[pick], self.layer[pick])


class Skin:
    """The mean head's skin: where hair grows, and what it may not enter."""

    def __init__(self, held: Held) -> None:
        self.points = held["mean"].astype(float)
        self.faces = held["faces"][held["parts"] == 0]
        self.lashes = held["faces"][held["parts"] == 6]
        normals = np.empty_like(held["mean"])
        find_normals(held["mean"], self.faces, normals)
        self.normals = normals.astype(float)
        self.used = np.unique(self.faces)
        self.tree = cKDTree(self.points[self.used])
        self.ears = held["region_ears"] > 0.5

    def roots(self, count: int, dense: Callable[[Points], Float[np.ndarray, " n"]], draws: Draws) -> Roots:
        """So many roots on the skin, as dense at each place as said there (0..1)."""
        corners = self.points[self.faces]
        near = np.max([dense(corners.mean(1)), *(dense(corners[:, k]) for k in range(3))], axis=0) > 0
        faces = self.faces[near]
        sides = self.points[faces]
        area = np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1)
        chosen = faces[draws.choice(len(faces), 5 * count, p=area / area.sum())]
        weights = draws.dirichlet(np.ones(3), 5 * count)
        at = (self.points[chosen] * weights[..., None]).sum(1)
        normal = unit((self.normals[chosen] * weights[..., None]).sum(1))
        kept = np.flatnonzero(draws.random(len(at)) < dense(at))[:count]
        return Roots(at, normal, chosen, weights).take(kept)

    def above(self, at: Points) -> tuple[Float[np.ndarray, " n"], Points]:
        """How far above the skin points lie, and the skin's normal there."""
        nearest = self.used[self.tree.query(at)[1]]
        return ((at - self.points[nearest]) * self.normals[nearest]).sum(1), self.normals[nearest]

    def grow(
        self, roots: Roots, direction: Points, length: Float[np.ndarray, " n"], points: int, draws: Draws,
        lift: Float[np.ndarray, " n"] | float = 0.03, fall: float = 0.0, jitter: float = 0.02,
        comb: Callable[[Points], Points] | None = None, deep: Float[np.ndarray, " n"] | float = 0.0,
        cling: float = 0.0, pace: float = 0.0,
    ) -> Curves:  # fmt: skip
        """Strands that start in a direction, fall, follow the comb and stay above the skin.

        lift: how far above it, deep: and how much farther with each unit of length, for hair lies on hair. cling: the
        share of what is more than that by which each step of length nears the skull. pace: how much shorter the first
        step is than the middle one, and the last one longer.
        """
        at, towards, gone = roots.at.copy(), unit(direction), np.zeros(len(length))
        strands = [at]
        for share in np.linspace(1 - pace, 1 + pace, points - 1):
            step = (share * length / (points - 1))[:, None]
            gone = gone + step[:, 0]
            room = lift * np.minimum(1, (5 + 5 * pace) * gone / length) + deep * gone
            towards = towards + fall * step * _DOWN + (0 if comb is None else comb(at) * step)
            towards = unit(towards + jitter * draws.standard_normal(at.shape))
            at = at + towards * step
            above, normal = self.above(at)
            pushed = np.clip(room - above, 0, None)[:, None]
            drawn = cling * np.clip(above - room, 0, 1) * np.clip(2 * at[:, 1], 0, 1)
            at = at + normal * (pushed - np.minimum(drawn * step[:, 0] * 5, drawn)[:, None])
            inwards = np.minimum((towards * normal).sum(1), 0)[:, None]
            towards = np.where(pushed > 0, unit(towards - normal * inwards), towards)
            strands.append(at)
        return np.stack(strands, 1)

    def outside(self, strands: Curves, room: float = 0.012) -> Curves:
        """Strands pushed out of the skin."""
        flat = strands[:, 1:].reshape(-1, 3)
        above, normal = self.above(flat)
        close = above > -0.6
        flat = flat + normal * (np.clip(room - above, 0, None) * close)[:, None]
        return np.concatenate([strands[:, :1], flat.reshape(len(strands), -1, 3)], 1)


def scalp(at: Points) -> Float[np.ndarray, " n"]:
    """How dense hair of the head grows: ever thinner within two fingers' breadth of its border."""
    return np.clip(0.40 + hairline(at) * 5.5, 0, 1)


def locks(at: Points, count: int, draws: Draws) -> Int[np.ndarray, " n"]:
    """The number of each root's lock."""
    centers = at[draws.choice(len(at), count, replace=False)]
    return np.asarray(cKDTree(centers).query(at)[1])


def clumped(grown: Grown, tight: float, draws: Draws, power: float = 1.3) -> Curves:
    """Strands drawn to the middle one of their lock, towards the tips by that share."""
    strands, lock = grown.strands, grown.lock
    count = lock.max() + 1
    held = np.maximum(np.bincount(lock, minlength=count), 1)
    middle = np.stack([np.bincount(lock, grown.roots.at[:, k], count) / held for k in range(3)], 1)
    away = ((grown.roots.at - middle[lock]) ** 2).sum(1)
    order = np.lexsort((away, lock))
    first = order[np.searchsorted(lock[order], np.arange(count)).clip(0, len(lock) - 1)]
    share = np.linspace(0, 1, strands.shape[1])[None, :, None] ** power
    pull = tight * draws.uniform(0.5, 1.0, (len(lock), 1, 1)) * share
    return np.asarray(strands + pull * (strands[first[lock]] - strands))


def strayed(strands: Curves, lock: Int[np.ndarray, " n"], amount: float, draws: Draws) -> Curves:
    """Locks that each bend a way of their own, more towards their tips."""
    share = np.linspace(0, 1, strands.shape[1])[None, :, None]
    bend = amount * draws.standard_normal((2, lock.max() + 1, 1, 3))
    return np.asarray(strands + bend[0][lock] * share**1.5 + 0.7 * bend[1][lock] * share * np.sin(3 * share))


def curled(
    strands: Curves, radius: float | np.ndarray, turns: float | np.ndarray, phase: Float[np.ndarray, " n"],
    straight: float = 0.3,
) -> Curves:  # fmt: skip
    """Strands as helices around their paths, wide from that length on. turns: in radians a unit of length."""
    along = np.linalg.norm(np.diff(strands, axis=1, prepend=strands[:, :1]), axis=2).cumsum(1)
    tangent = unit(np.gradient(strands, axis=1))
    side = unit(np.cross(tangent, np.array([0, 0.3, 1.0])))
    other = np.cross(tangent, side)
    angle = phase[:, None] + np.reshape(turns, (-1, 1)) * along
    size = (np.reshape(radius, (-1, 1)) * np.clip(along / straight, 0, 1) ** 1.5)[..., None]
    return np.asarray(strands + size * (side * np.cos(angle)[..., None] + other * np.sin(angle)[..., None]))


PARTING = 0.24


def long_fall(at: Points, side: Points, front: Points) -> Points:
    """The pull on long hair: from its parting over the crown, beside the face, in to the neck, over the shoulders.

    front: how much of the face's frame a strand is.
    """
    x, y, z = at[:, :1], at[:, 1:2], at[:, 2:]
    wide, out = np.abs(x), np.sign(x)
    high = np.clip((y - 1.1) / 0.6, 0, 1)
    before = np.clip((z + 0.62) / 0.4, 0, 1) * np.clip(1.14 - wide, 0, 1) * (y < 1.70)
    below = np.clip((-0.55 - y) / 0.7, 0, 1)
    across = side * (1.2 * high * np.clip(1 - wide, 0, 1) + 4.5 * before)
    across = across - out * (1.5 * below * np.clip(wide - 1.0, -0.1, 0.6) + 2.2 * np.clip(wide - 1.42, 0, 1))
    framing = 2.0 * front * np.clip(0.9 - y, 0, 1) * np.clip(-0.80 - z, -0.3, 0.6)
    forward = framing + 1.5 * np.clip(-2.8 - z, 0, 1) - 0.30 * high * (1 - front) - 1.8 * before
    return np.concatenate([across, -2.0 * (1 - high), forward], 1)


def long_hair(skin: Skin, draws: Draws, points: int, count: int, body: float, pace: float, mess: float = 0.05) -> Grown:
    """Hair that falls to the shoulders. body: how far it stands off the skull; mess: how blurred its parting is."""
    roots = skin.roots(count, scalp, draws)
    at = roots.at
    parted = PARTING + 0.05 * np.sin(5 * at[:, 2:]) + mess * draws.standard_normal((len(at), 1))
    side = np.where(at[:, :1] > parted, 1.0, -1.0)
    near = np.exp(-(((at[:, :1] - parted) / 0.14) ** 2))
    loose = near * draws.uniform(-1.4, 0.2, (len(at), 1))
    high = np.clip((at[:, 1:2] - 0.7) / 1.0, 0, 1)
    lock, layer = locks(at, 260, draws), draws.random(len(at)) ** 0.75
    start = side * np.array([1.0, 0.0, -0.30]) * (0.2 + 0.7 * high) * (1 - 0.7 * near) + (1 - high) * _DOWN
    start = (
        start
        + loose * np.array([0.2, 0.0, 0.9])
        + (0.40 + 0.35 * high * layer[:, None] + 0.2 * near) * roots.normal
        + 0.10 * draws.standard_normal((260, 3))[lock]
    )
    length = at[:, 1] + 3.25 + 0.50 * high[:, 0]
    lift = 0.02 + body * layer * (0.55 + 0.45 * high[:, 0])
    front = np.clip((at[:, 2:] + 1.5) / 0.6, 0, 1)
    pull = lambda here: long_fall(here, side, front)  # noqa: E731
    strands = skin.grow(roots, start, length, points, draws, lift, 1.0, 0.010, pull, 0.02 * layer, 0.6, pace)
    return Grown(ended(strands), roots, lock, layer)


def ended(strands: Curves) -> Curves:
    """Strands that end where they meet the top of a shoulder."""
    x, y, z = np.abs(strands[..., 0]), strands[..., 1], strands[..., 2]
    met = (y < -2.15) & (x > 1.05) & (z < -1.0)
    last = np.where(met.any(1), met.argmax(1), strands.shape[1] - 1)
    number = np.minimum(np.arange(strands.shape[1])[None], last[:, None])
    return np.asarray(np.take_along_axis(strands, number[..., None], 1))


def off_the_face(grown: Grown, edge: float = 0.92) -> Grown:
    """Without strands that cross face or throat, up to that far from the middle of the face."""
    x, y, z = np.abs(grown.strands[..., 0]), grown.strands[..., 1], grown.strands[..., 2]
    face = (x < edge) & (y < 0.85) & (z > -0.75)
    throat = (x < 0.85) & (y < -1.0) & (z > -1.25)
    return grown.take(~(face | throat).any(1))


def straight_hair(skin: Skin, draws: Draws) -> Grown:
    """Long and smooth."""
    grown = long_hair(skin, draws, 20, 7200, 0.25, 0.5)
    strands = strayed(clumped(grown, 0.40, draws), grown.lock, 0.030, draws)
    return off_the_face(grown._replace(strands=skin.outside(strands)))


def wavy_hair(skin: Skin, draws: Draws) -> Grown:
    """Long, with waves that neighbors share."""
    grown = long_hair(skin, draws, 24, 6400, 0.26, 0.45, 0.10)
    count = grown.lock.max() + 1
    strands = strayed(clumped(grown, 0.50, draws), grown.lock, 0.035, draws)
    phase = 1.3 * grown.roots.at[:, 0] + 0.9 * draws.standard_normal(count)[grown.lock]
    phase = phase + 0.22 * draws.standard_normal(len(grown.lock))
    turns = 4.2 * np.exp(0.12 * draws.standard_normal(count))[grown.lock]
    return off_the_face(grown._replace(strands=skin.outside(curled(strands, 0.085, turns, phase, 0.9))), 0.85)


def curly_hair(skin: Skin, draws: Draws) -> Grown:
    """Long ringlets with some loose hair between them."""
    grown = long_hair(skin, draws, 40, 5400, 0.32, 0.3, 0.35)
    lock = locks(grown.roots.at, 330, draws)
    grown = grown._replace(lock=lock)
    strands = strayed(clumped(grown, 0.75, draws, 1.1), lock, 0.10, draws)
    phase = draws.uniform(0, 6.3, 330)[lock] + 0.45 * draws.standard_normal(len(lock))
    turns = 8.0 * np.exp(0.18 * draws.standard_normal(330))[lock]
    radius = 0.095 * np.exp(0.20 * draws.standard_normal(330))[lock]
    return off_the_face(grown._replace(strands=skin.outside(curled(strands, radius, turns, phase, 0.5))), 0.80)


def along_skull(roots: Roots, way: Points) -> Points:
    """The part of a way that runs along the skin."""
    return unit(way - (way * roots.normal).sum(1, keepdims=True) * roots.normal)


Way: TypeAlias = Callable[[Points, Float[np.ndarray, "n 1"]], Points]


def crop(
    skin: Skin, draws: Draws, way: Way, top: float, sides: float, rise: float, stray: float, fall: float = 0.25
) -> Grown:
    """Short hair along a way: so long on top and at the sides, rising so steeply; stray: how locks differ."""
    roots = skin.roots(8400, scalp, draws)
    at, normal = roots.at, roots.normal
    high = np.clip((normal[:, 1] - 0.25) / 0.45, 0, 1) * np.clip((at[:, 1] - 0.9) / 0.3, 0, 1)
    lock = locks(at, 700, draws)
    along = along_skull(roots, way(at, high[:, None]))
    turn = 0.8 * draws.standard_normal(700)[lock] + 0.6 * draws.standard_normal(len(at))
    turn = stray * turn[:, None] * (0.3 + 0.7 * high[:, None])
    edge = np.clip(hairline(at) / 0.30 + 0.15, 0.25, 1)
    start = along + turn * np.cross(normal, along) + normal * (0.10 + rise * high[:, None])
    length = (sides + (top - sides) * high) * (0.50 + 0.50 * np.maximum(edge, 0.7 * high))
    length *= 1 - 0.35 * high * np.clip((np.abs(at[:, 0]) - 0.45) / 0.4, 0, 1)
    length *= np.exp(0.10 * draws.standard_normal(700)[lock] + 0.14 * draws.standard_normal(len(at)))
    layer = draws.random(len(at))
    strands = skin.grow(
        roots, start, length, 8, draws, 0.012 + 0.06 * high * layer, fall, 0.02, None, 0.14 * layer * high, 0.8
    )
    grown = Grown(strands, roots, lock, layer)
    return grown._replace(strands=skin.outside(clumped(grown, 0.35, draws)))


def from_crown(at: Points, high: Float[np.ndarray, "n 1"]) -> Points:
    """Away from the whorl at the crown; down at the sides."""
    return high * unit(at - CROWN) + (1 - high) * (_DOWN + np.array([0, 0, -0.35]))


def from_parting(at: Points, high: Float[np.ndarray, "n 1"]) -> Points:
    """From a parting at one side over the top, forwards a little; the sides lie back and down."""
    side = np.where(at[:, :1] > 0.55, 0.7, -1.0)
    over = side * np.array([1.0, 0, 0.0]) + np.array([0, 0, 0.35]) * np.clip(at[:, 2:] + 1.0, -1, 0.8)
    return high * over + (1 - high) * (1.0 * _DOWN + np.array([0, 0, -0.6]))


def backwards(at: Points, high: Float[np.ndarray, "n 1"]) -> Points:
    """Back over the top; back and down at the sides."""
    return np.array([0, 0.12, -1.0]) + (1 - high) * 0.9 * _DOWN - 0.12 * at[:, :1] * np.array([1.0, 0, 0])


def coily_hair(skin: Skin, draws: Draws) -> Grown:
    """Coils that stand off the head, in a round shape."""
    roots = skin.roots(6400, scalp, draws)
    lock = locks(roots.at, 1500, draws)
    out = unit(roots.at - np.array([0, 0.45, -1.35]))
    start = 0.35 * roots.normal + 0.9 * out + 0.22 * draws.standard_normal((1500, 3))[lock]
    edge = np.clip(0.35 + hairline(roots.at) / 0.5, 0.35, 1)
    layer = draws.random(len(lock))
    length = 0.78 * edge * np.exp(0.09 * draws.standard_normal(1500)[lock]) * (0.72 + 0.28 * layer)
    strands = skin.grow(roots, start, length, 14, draws, 0.02, 0.0, 0.045)
    grown = Grown(strands, roots, lock, layer)
    strands = clumped(grown, 0.6, draws, 0.8)
    phase = draws.uniform(0, 6.3, 1500)[lock] + 0.5 * draws.standard_normal(len(lock))
    return grown._replace(strands=skin.outside(curled(strands, 0.055, 30.0, phase, 0.10)))


def locs(skin: Skin, draws: Draws) -> Grown:
    """Ropes that hang from all over the head, each of strands wound around its middle."""
    paths = off_the_face(long_hair(skin, draws, 26, 430, 0.30, 0.2, 0.30))
    side, top = np.abs(paths.strands[..., 0]).max(1), paths.strands[..., 1].max(1)
    paths = paths.take((side < 1.65) & (top < 2.12))
    count = len(paths.lock)
    middle = strayed(paths.strands, np.arange(count), 0.07, draws)
    lock = np.repeat(np.arange(count), 13)
    phase, thick = draws.uniform(0, 6.3, len(lock)), 0.055 * np.exp(0.15 * draws.standard_normal(count))[lock]
    wound = curled(middle[lock], thick * draws.uniform(0.7, 1.0, len(lock)), 5.0, phase, 0.12)
    layer = 0.25 + 0.75 * draws.random(len(lock))
    return Grown(skin.outside(wound, 0.03), paths.roots.take(lock), lock, layer)


def gathered_hair(skin: Skin, draws: Draws, knot: Float[np.ndarray, " 3"], points: int, count: int) -> Grown:
    """Hair drawn back to a knot."""
    roots = skin.roots(count, scalp, draws)
    way = knot - roots.at
    length = np.linalg.norm(way, axis=1) * 1.12
    lock = locks(roots.at, 300, draws)
    start = along_skull(roots, way) + 0.12 * roots.normal + 0.05 * draws.standard_normal((300, 3))[lock]
    layer = draws.random(len(lock))
    strands = skin.grow(
        roots, start, length, points, draws, 0.015 + 0.05 * layer, 0.0, 0.006, lambda at: 2.6 * unit(knot - at)
    )
    far = np.linalg.norm(strands - knot, axis=2)
    high = skin.above(strands.reshape(-1, 3))[0].reshape(far.shape)
    lying = ((high < 0.16) | (far < 0.8)).all(1)
    strands = knot + (strands - knot) * (0.35 + 0.65 * np.clip(far / 0.5, 0, 1))[..., None]
    grown = Grown(strands, roots, lock, layer)
    return grown._replace(strands=skin.outside(clumped(grown, 0.25, draws))).take(lying)


def joined(drawn: Grown, more: Curves, lock: Int[np.ndarray, " m"], draws: Draws) -> Grown:
    """Gathered hair, then more strands that go with roots picked from it."""
    pick = draws.integers(0, len(drawn.lock), len(more))
    roots = Roots(*(np.concatenate([part, part[pick]]) for part in drawn.roots))
    both = np.concatenate([drawn.lock, drawn.lock.max() + 1 + lock])
    layer = np.concatenate([drawn.layer, draws.random(len(more))])
    return Grown(np.concatenate([drawn.strands, more]), roots, both, layer)


def bun(skin: Skin, draws: Draws) -> Grown:
    """A knot high at the back of the head, wound of a quarter of the strands."""
    drawn = gathered_hair(skin, draws, KNOT, 12, 5200)
    count, turn = 1800, np.linspace(0, 2.4, 12)[None, :, None]
    lock = draws.integers(0, 40, count)
    axis = unit(draws.standard_normal((40, 3)) * np.array([1.0, 0.6, 1.0]))[lock] + 0.10 * draws.standard_normal(
        (count, 3)
    )
    axis = unit(axis)
    side = unit(np.cross(axis, unit(draws.standard_normal((40, 3)))[lock] + 0.25 * draws.standard_normal((count, 3))))
    wound = side[:, None] * np.cos(turn) + np.cross(axis, side)[:, None] * np.sin(turn)
    shells = 0.62 * (0.80 + 0.20 * draws.random((count, 1, 1)) ** 0.5) * np.array([1.0, 0.85, 0.8])
    return joined(drawn, KNOT + np.array([0, 0.42, 0.10]) + shells * wound, lock, draws)


def hanging(down: np.ndarray) -> np.ndarray:
    """The middle of a tail over one shoulder at shares of its length."""
    up = np.array([0, 0.55, -0.30]) * np.sin(np.clip(down * 2.2, 0, 1) * np.pi)
    swung = np.array([1.35, 0, 0]) * np.sin(down * 1.7) + np.array([0, -3.3, 0]) * down**1.25
    return np.asarray(TAIL + up + swung + np.array([0, 0, 1.5]) * np.clip(down - 0.25, 0, 1))


def ponytail(skin: Skin, draws: Draws) -> Grown:
    """Hair drawn back, whose ends hang over one shoulder."""
    drawn = gathered_hair(skin, draws, TAIL, 12, 5200)
    count, down = 1800, np.linspace(0, 1, 12)[None, :, None]
    lock = draws.integers(0, 60, count)
    wide = np.interp(down, [0, 0.12, 0.3, 0.6, 0.85, 1.0], [0.05, 0.13, 0.24, 0.28, 0.20, 0.08])
    spread = draws.standard_normal((60, 1, 3))[lock] * 0.6 + 0.6 * draws.standard_normal((count, 1, 3))
    spread = np.clip(spread, -1.4, 1.4)
    tail = hanging(down) + wide * spread * np.array([1.0, 0.3, 0.9])
    return joined(drawn, np.broadcast_to(tail, (count, 12, 3)), lock, draws)


def braid(skin: Skin, draws: Draws) -> Grown:
    """Hair drawn back and plaited of three, over one shoulder."""
    drawn = gathered_hair(skin, draws, TAIL, 26, 3200)
    count, down = 1100, np.linspace(0, 1, 26)[None, :, None]
    lock = draws.integers(0, 3, count)
    turn = 2 * np.pi * (5.5 * down + lock[:, None, None] / 3)
    wide = np.interp(down, [0, 0.06, 0.15, 0.75, 0.85, 0.90, 1.0], [0.3, 0.7, 1.0, 0.8, 0.6, 0.35, 0.8])
    crossed = np.concatenate([0.17 * np.sin(turn), 0 * turn, 0.11 * np.sin(2 * turn)], 2)
    spread = 0.075 * unit(draws.standard_normal((count, 1, 3))) * draws.uniform(0.5, 1.0, (count, 1, 1))
    return joined(drawn, hanging(down) + wide * (crossed + spread), lock, draws)


def fringe(skin: Skin, draws: Draws) -> Grown:
    """Hair over the forehead, down to the brows."""

    def above(at: Points) -> Float[np.ndarray, " n"]:
        ahead = np.clip(1.15 - hairline(at) / 0.95, 0, 1) * (at[:, 2] > -1.35) * (at[:, 1] > 0.85)
        return scalp(at) * ahead * np.clip((1.02 - np.abs(at[:, 0])) / 0.45, 0, 1)

    roots = skin.roots(3000, above, draws)
    x, lock, layer = roots.at[:, :1], locks(roots.at, 200, draws), draws.random(len(roots.at))
    aside = 0.16 * draws.standard_normal(200)[lock][:, None] + 0.12 * x - 0.18
    start = np.array([0, 0.30, 1.0]) + aside * np.array([1.0, 0, 0]) + (0.3 + 0.3 * layer[:, None]) * roots.normal
    back = np.clip(0.1 - roots.at[:, 2], 0, 1.2)
    length = roots.at[:, 1] - 0.50 + 0.75 * back + 0.30 * np.abs(x[:, 0]) ** 1.5 + 0.08 * np.sin(5 * x[:, 0])
    length = length + 0.08 * draws.standard_normal(200)[lock] - 0.35 * draws.random(len(lock)) ** 2
    strands = skin.grow(roots, start, length, 10, draws, 0.015 + 0.06 * layer, 2.0, 0.014, None, 0.03, 0.4)
    grown = Grown(strands, roots, lock, layer)
    grown = grown._replace(strands=skin.outside(strayed(clumped(grown, 0.40, draws), lock, 0.03, draws)))
    return grown.take(np.abs(grown.strands[..., 0]).max(1) < 1.08)


_BROW_X = [0.15, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.88, 0.94]
_BROW_Y = [0.231, 0.240, 0.260, 0.282, 0.299, 0.311, 0.309, 0.287, 0.235, 0.182]


def brow_line(x: np.ndarray) -> np.ndarray:
    """Height of the middle of a brow at that distance from the middle of the face.

    That of photographs' portraits, less what lowers the mean head's brows to theirs: it does so in the middle most.
    """
    return np.asarray(np.interp(x, _BROW_X, _BROW_Y))


def brows(skin: Skin, draws: Draws) -> Grown:
    """Both brows: upright at their heads, then swept along their arch, the upper hairs down and the lower ones up."""

    def off(at: Points) -> Float[np.ndarray, " n"]:
        x = np.abs(at[:, 0])
        thick = np.interp(
            x, [0.23, 0.27, 0.32, 0.40, 0.55, 0.75, 0.92], [0.030, 0.056, 0.070, 0.075, 0.068, 0.046, 0.010]
        )
        return np.asarray((at[:, 1] - brow_line(x)) / thick)

    def dense(at: Points) -> Float[np.ndarray, " n"]:
        x = np.abs(at[:, 0])
        along = np.interp(x, [0.24, 0.30, 0.38, 0.65, 0.80, 0.92], [0.30, 0.90, 1.0, 0.85, 0.65, 0.15])
        return np.clip(np.exp(-1.6 * off(at) ** 2) - 0.08, 0, 1) * along * (at[:, 2] > -0.9) * (x > 0.24) * (x < 0.92)

    roots = skin.roots(1400, dense, draws)
    side, x = np.sign(roots.at[:, :1]), np.abs(roots.at[:, :1])
    upright = 1 - np.clip((x - 0.26) / 0.22, 0, 1)
    rise = (brow_line(x + 0.08) - brow_line(x)) / 0.08
    start = side * np.array([1, 0, -0.25]) * (1 - 0.75 * upright) + np.array([0, 1.0, 0]) * (0.55 * upright + rise)
    start = start - np.array([0, 0.38, 0]) * np.clip(off(roots.at), -1, 1)[:, None] * (1 - upright)
    start = start + 0.13 * draws.standard_normal(roots.at.shape) + 0.22 * roots.normal
    length = np.interp(x[:, 0], [0.24, 0.5, 0.75, 0.92], [0.085, 0.13, 0.10, 0.06])
    length *= np.exp(0.2 * draws.standard_normal(len(x)))
    strands = skin.grow(roots, start, length, 4, draws, 0.006, 0.0, 0.02)
    return Grown(strands, roots, np.arange(len(x)), draws.random(len(x)))


def beard(skin: Skin, draws: Draws) -> Grown:
    """A full beard with its mustache; other styles leave parts of it out."""
    above_lip = lambda at: (at[:, 1] > -1.17) & (np.abs(at[:, 0]) < 0.52) & (at[:, 2] > -0.25)  # noqa: E731
    roots = skin.roots(8600, lambda at: beard_density(at) * np.where(above_lip(at), 1.0, 0.72), draws)
    roots = roots.take(roots.normal[:, 1] > -0.96)
    at, x = roots.at, roots.at[:, :1]
    mustache = above_lip(at)[:, None]
    lock = locks(at, 500, draws)
    down = np.array([0, -1.0, 0.10]) - 0.30 * x * np.array([1.0, 0, 0]) * (at[:, 1:2] < -1.3)
    aside = np.array([0.9, 0, 0]) * np.clip(x / 0.15, -1, 1) + np.array([0, -1.0, 0.0])
    start = np.where(mustache, aside, down) + (0.25 - 0.1 * mustache) * roots.normal
    start = start + 0.10 * draws.standard_normal((500, 3))[lock] + 0.09 * draws.standard_normal(at.shape)
    low = np.clip(0.38 + (-0.85 - at[:, 1]) * 0.60, 0.18, 1.0)
    low *= 1 - 0.10 * np.clip((np.abs(x[:, 0]) - 0.30) / 0.5, 0, 1)
    length = 0.34 * np.where(mustache[:, 0], 0.36, low) * np.exp(0.16 * draws.standard_normal(len(at)))
    length *= np.clip(0.30 + beard_density(at), 0.4, 1)
    strands = skin.grow(roots, start, length, 6, draws, 0.012, 0.8, 0.03)
    grown = Grown(strands, roots, lock, draws.random(len(at)))
    strands = curled(clumped(grown, 0.25, draws), 0.010, 11.0, draws.uniform(0, 6.3, 500)[lock], 0.2)
    return grown._replace(strands=skin.outside(strands, 0.008))


def lashes(skin: Skin, draws: Draws) -> Grown:
    """Lashes of both eyes, on the mesh's own: from its border at the lids outwards and up, or down below."""
    corners = skin.points[skin.lashes]
    middles = corners.mean(1)
    chosen = draws.integers(0, len(corners), 9000)
    weights = draws.dirichlet(np.ones(3), 9000)
    at = (corners[chosen] * weights[..., None]).sum(1)
    side = np.sign(at[:, :1])
    eye = np.array([0.5, 0.0, 0.03]) * np.array([1.0, 1, 1])
    eye = np.stack([eye * np.array([s, 1, 1]) for s in (1.0, -1.0)])[(at[:, 0] < 0).astype(int)]
    eye[:, 2] = np.median(middles[:, 2]) - 0.25
    away = at - eye
    turn = np.arctan2(away[:, 1], np.abs(away[:, 0]) * np.sign(away[:, 0]) * side[:, 0])
    far = np.linalg.norm(away, axis=1)
    bins = np.digitize(turn, np.linspace(-np.pi, np.pi, 49))
    least = np.array([far[bins == k].min() if (bins == k).any() else np.inf for k in range(50)])
    near = np.flatnonzero(far < least[bins] + 0.018)
    upper = away[near, 1] > 0
    near = np.concatenate([near[upper][:190], near[~upper][:70]])
    roots = Roots(at[near], unit(away[near]), skin.lashes[chosen[near]], weights[near])
    upper = (away[near, 1] > 0)[:, None]
    start = unit(away[near]) * np.array([0.9, 0.55, 1.0]) + np.where(upper, 0.25, -0.25) * np.array([0, 1.0, 0])
    start = start + 0.10 * draws.standard_normal(start.shape)
    bend = np.where(upper, 0.55, 0.1) * np.array([0, 1.0, 0])
    outer = 0.75 + 0.45 * np.clip(np.abs(roots.at[:, 0]) - 0.4, -0.3, 0.4) / 0.4
    length = np.where(upper[:, 0], 0.075, 0.032) * outer * np.exp(0.15 * draws.standard_normal(len(near)))
    share = np.linspace(0, 1, 4)[None, :, None]
    strands = roots.at[:, None] + length[:, None, None] * (unit(start)[:, None] * share + bend[:, None] * share**2)
    return Grown(strands, roots, np.arange(len(near)), np.ones(len(near)))


def shades(grown: Grown, draws: Draws) -> np.ndarray:
    """The logarithm of each strand's pigment over that of all: its own, its lock's, darker deep down; 100 for 1."""
    own = 0.10 * draws.standard_normal(len(grown.lock)) + 0.12 * draws.standard_normal(grown.lock.max() + 1)[grown.lock]
    return np.clip(np.rint(100 * (own + 0.5 * (grown.layer**0.7 - 0.6))), -127, 127).astype(np.int8)


EVERY = 4
"""Each so manieth stored strand lies deep, and not at the hair's border: these make the undercoat."""


def mixed(grown: Grown, draws: Draws) -> Int[np.ndarray, " n"]:
    """An order in which every part is like the whole, and the deepest strands come at multiples of EVERY."""
    order = draws.permutation(len(grown.lock))
    deep = np.zeros(len(order), dtype=bool)
    flat = grown.strands.reshape(-1, 3)
    bare = (hairline(flat) < 0.05) & (flat[:, 2] > -0.60) & (flat[:, 1] > 0.5)
    shown = (hairline(grown.roots.at) < 0.2) | bare.reshape(grown.strands.shape[:2]).any(1)
    deep[np.argsort(grown.layer + shown, kind="stable")[: -(-len(order) // EVERY)]] = True
    found = np.empty_like(order)
    first = np.arange(len(order)) % EVERY == 0
    found[first], found[~first] = order[deep[order]], order[~deep[order]]
    return found


def packed_groom(grown: Grown, draws: Draws) -> dict[str, np.ndarray]:
    """Arrays of the file. Points are whole numbers that follow from the two before them and a stored change."""
    grown = grown.take(mixed(grown, draws))
    whole = np.rint(grown.strands / _STEP)
    before, ahead = whole[:, 0], whole[:, 0]
    changes = []
    for k in range(1, whole.shape[1]):
        guess = 2 * ahead - before if k > 1 else ahead
        change = np.clip(whole[:, k] - guess, -32767, 32767)
        before, ahead = ahead, guess + change
        changes.append(change)
    corners, weights = grown.roots.corners, np.rint(grown.roots.weights[:, :2] * 255)
    return {
        "roots": corners.astype(np.uint16), "weights": weights.astype(np.uint8), "starts": whole[:, 0].astype(np.int16),
        "changes": np.stack(changes, 1).astype(np.int16), "shade": shades(grown, draws),
        "step": np.array([_STEP], np.float32),
    }  # fmt: skip


def grooms(held: Held, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Arrays of the file for all grooms, or for these."""
    skin = Skin(held)
    growers: dict[str, Callable[[Draws], Grown]] = {
        "textured": lambda d: crop(skin, d, from_crown, 0.52, 0.17, 0.55, 0.45),
        "parted": lambda d: crop(skin, d, from_parting, 0.90, 0.22, 0.42, 0.14, 1.1),
        "slicked": lambda d: crop(skin, d, backwards, 0.90, 0.26, 0.22, 0.08, 0.2),
        "coily": lambda d: coily_hair(skin, d), "locs": lambda d: locs(skin, d), "curly": lambda d: curly_hair(skin, d),
        "wavy": lambda d: wavy_hair(skin, d), "straight": lambda d: straight_hair(skin, d),
        "ponytail": lambda d: ponytail(skin, d), "braid": lambda d: braid(skin, d),
        "bun": lambda d: bun(skin, d), "fringe": lambda d: fringe(skin, d),
        "brows": lambda d: brows(skin, d), "beard": lambda d: beard(skin, d), "lashes": lambda d: lashes(skin, d),
    }  # fmt: skip
    found = {}
    for number, (name, grower) in enumerate(growers.items()):
        if names and name not in names:
            continue
        draws = np.random.Generator(np.random.Philox(key=440 + number))
        found |= {f"groom_{name}_{part}": values for part, values in packed_groom(grower(draws), draws).items()}
    return found


def farthest(
    origin: Float[np.ndarray, " 3"], towards: Points, corners: Float[np.ndarray, "f 3 3"]
) -> Float[np.ndarray, " n"]:
    """Distance of each ray's last hit of some triangles, 0 without one (Möller & Trumbore 1997)."""
    first, second, start = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], origin - corners[:, 0]
    cross = np.cross(start, first)
    reach = np.zeros(len(towards))
    for i, ray in enumerate(towards):
        other = np.cross(ray, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1 / (first * other).sum(1)
            u, v = (start * other).sum(1) * scale, (cross @ ray) * scale
            far = (second * cross).sum(1) * scale
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (far > 0)
        reach[i] = far[hit].max() if hit.any() else 0.0
    return reach


_ROUND = 144
_TURN = np.arange(_ROUND) / _ROUND * 2 * np.pi + 0.5 * np.pi / _ROUND
"""Azimuths of a hat's columns from the front; no ray runs along the mesh's own middle."""
Sheet: TypeAlias = tuple[Float[np.ndarray, "r c 3"], Float[np.ndarray, "r c"], bool]


def crown(
    skin: Skin, rim: tuple[float, float, float], thick: float, tall: float, rows: int = 22
) -> Float[np.ndarray, "r c 3"]:
    """A cap over the skull from its rim to the top; rim: its elevation in front, at the sides and behind."""
    origin = np.array([0.0, 0.35, -1.4])
    front, side, back = rim
    ahead = np.cos(_TURN)
    low = side + np.where(ahead > 0, front - side, back - side) * np.abs(ahead) ** 1.6
    share = np.linspace(0, 1, rows)[:, None]
    raise_ = low + (np.pi / 2 - low) * share
    towards = np.stack([np.cos(raise_) * np.sin(_TURN), np.sin(raise_), np.cos(raise_) * np.cos(_TURN)], -1)
    skull = skin.points[skin.faces[~skin.ears[skin.faces].any(1)]]
    reach = farthest(origin, towards.reshape(-1, 3), skull).reshape(towards.shape[:2])
    reach = gaussian_filter(reach, (1.6, 6.0), mode=("nearest", "wrap"))
    reach += thick * np.minimum(1, 0.45 + 4 * share) + tall * np.sin(share * np.pi / 2) ** 2
    return np.asarray(origin + reach[..., None] * towards)


def beanie(skin: Skin) -> list[Sheet]:
    """Ribbed knitwear with a cuff that is turned up."""
    knit = crown(skin, (0.30, 0.04, -0.16), 0.13, 0.16, 30)
    middle = np.array([0.0, 0.35, -1.4])
    share = np.linspace(0, 1, 30)[:, None]
    ribs = np.cos(48 * _TURN)[None] * (1 - share) ** 0.4
    cuff = 0.075 * np.clip((0.27 - share) / 0.03, 0, 1)
    edge = np.exp(-(((share - 0.285) / 0.03) ** 2)) + np.exp(-((share / 0.02) ** 2))
    out = 1 + (cuff + 0.016 * ribs)[..., None] / np.linalg.norm(knit - middle, axis=2, keepdims=True)
    tint = (0.90 + 0.16 * ribs - 0.30 * edge) * np.ones_like(ribs)
    return [(middle + (knit - middle) * out, tint, False)]


def cap(skin: Skin) -> list[Sheet]:
    """A cap of six panels with a curved peak, a button and rows of stitches."""
    dome = crown(skin, (0.26, 0.03, -0.12), 0.17, 0.0, 30)
    share = np.linspace(0, 1, 30)[:, None]
    ahead = np.clip(np.cos(_TURN), 0, 1)[None] ** 2
    dome = dome + (0.10 * ahead * np.sin(share * np.pi) ** 0.8)[..., None] * np.array([0, 0.45, 0.85])
    away = np.abs((_TURN + np.pi / 6) % (np.pi / 3) - np.pi / 6)[None] * np.cos(share * np.pi / 2)
    seams = np.exp(-((away / 0.02) ** 2)) + 0.5 * np.exp(-(((away - 0.065) / 0.015) ** 2))
    dome = dome - (0.02 * np.exp(-((away / 0.03) ** 2)))[..., None] * unit(dome - np.array([0, 0.35, -1.4]))
    tint = 1 - 0.35 * np.clip(seams, 0, 1) * (share < 0.97) - 0.25 * np.exp(-(((share - 0.06) / 0.012) ** 2))
    tint = np.where(share > 0.955, 0.75, tint) * (1 - 0.15 * np.exp(-((share / 0.02) ** 2)))
    edge, across = dome[0], dome[0][:, 0]
    long = 1.05 * np.clip((np.cos(_TURN) - 0.50) / 0.50, 0, 1) ** 0.45
    step = np.linspace(0, 1, 19)[:, None, None]
    out = unit(np.stack([0.28 * across, -0.22 * np.ones_like(across), np.ones_like(across)], 1))
    bent = np.stack([0 * across, -0.34 * (across / 0.9) ** 2 - 0.10, 0 * across], 1)
    peak = edge + step * long[:, None] * out + step**1.5 * (long > 0)[:, None] * long[:, None] * bent
    rows = np.exp(-((((step[..., 0] * 6) % 1 - 0.5) / 0.14) ** 2)) * (step[..., 0] > 0.12)
    stitched = 0.95 - 0.16 * rows * np.ones((1, _ROUND)) - 0.25 * (step[..., 0] > 0.97)
    return [(dome, tint, False), (peak, stitched, True)]


def felt_hat(skin: Skin) -> list[Sheet]:
    """A hat of felt: walls that taper, a pinched crease along the top, a ribbon, a brim that dips in front."""
    base = crown(skin, (0.27, 0.10, -0.06), 0.42, 0.0)[0]
    base = gaussian_filter(base, (4.0, 0), mode="wrap")
    middle, top = np.array([0.0, 0.0, -1.30]), 1.97
    flat = (base - middle) * np.array([1.0, 0, 1.0])
    pinch = 0.09 * np.exp(-(((np.abs(np.sin(_TURN)) - 0.55) / 0.25) ** 2)) * (np.cos(_TURN) > 0)
    rows, tints = [], []
    for share in np.linspace(0, 1, 26):
        height = base[:, 1] + (top - base[:, 1]) * share - 0.06 * (share == 0)
        inward = 1 - 0.17 * share**1.5 - pinch * share - 0.03 * np.clip((share - 0.85) / 0.15, 0, 1) ** 2
        inward = inward + 0.02 * (share < 0.26)
        rows.append(middle + flat * inward[:, None] + height[:, None] * np.array([0, 1.0, 0]))
        tints.append(np.full(_ROUND, (0.30 if 0.01 < share < 0.25 else 0.20) if share < 0.26 else 1.0))
    for share in np.linspace(0.06, 1, 12):
        ring = flat * (0.80 - pinch)[:, None] * (1 - share)
        crease = 0.14 * np.exp(-((ring[:, 0] / 0.24) ** 2)) * min(1, 2.5 * share)
        height = top + 0.09 * np.sqrt(1 - (1 - share) ** 2) - crease
        rows.append(middle + ring + height[:, None] * np.array([0, 1.0, 0]))
        tints.append(np.ones(_ROUND) - 0.3 * crease)
    step = np.concatenate([[-0.34, -0.04], np.linspace(0, 1, 12)])[:, None, None]  # from inside the skull
    rise = 0.22 * np.abs(np.sin(_TURN)) ** 2 - 0.20 * np.clip(np.cos(_TURN), 0, 1) + 0.02 * np.sin(3 * _TURN + 1)
    out = np.clip(step, 0, 1)
    ring = base + (0.66 * out + np.minimum(step, 0)) * unit(flat) + out**1.7 * rise[:, None] * np.array([0, 1.0, 0])
    bound = 0.95 - 0.35 * (step[..., 0] > 0.94) * np.ones((1, _ROUND)) - 0.5 * (step[..., 0] < 0)
    return [(np.stack(rows), np.stack(tints), False), (ring, bound, True)]


def draped(origin: Float[np.ndarray, " 3"], towards: Float[np.ndarray, "r c 3"]) -> Float[np.ndarray, "r c"]:
    """How far rays stay inside of a scarf that hangs from chin and skull to the shoulders."""
    far = np.linspace(0.2, 4.2, 81)
    at = origin + far[:, None, None, None] * towards
    x, y, z = at[..., 0], at[..., 1], at[..., 2] + 1.3
    heights = [-4.6, -3.4, -2.6, -2.0, -1.5, -0.4, 0.6, 1.5]
    wide = np.interp(y, heights, [2.3, 1.95, 1.65, 1.45, 1.42, 1.52, 1.10, 0.6])
    ahead = np.interp(y, heights, [2.0, 1.95, 1.75, 1.50, 1.42, 1.2, 1.0, 0.6])
    behind = np.interp(y, heights, [2.0, 1.75, 1.55, 1.35, 1.25, 1.4, 1.5, 0.9])
    inside = (x / wide) ** 2 + (z / np.where(z > 0, ahead, behind)) ** 2 < 1
    inside &= (y < 1.6) & (y > -3.6)
    return np.where(inside, far[:, None, None], 0.0).max(0)


def wrap(skin: Skin, opening: tuple[float, float, float], edge: float, thick: float, folds: float) -> list[Sheet]:
    """Cloth around head and neck; opening: angles from the front at its top, sides and bottom, in degrees."""
    origin = np.array([0.0, 0.05, -1.3])
    top, side, bottom = np.radians(opening)
    high = np.cos(_TURN)
    start = side + np.where(high > 0, top - side, bottom - side) * high**2
    share = np.linspace(0, 1, 44)[:, None]
    angle = start + (0.97 * np.pi - start) * share**1.4
    towards = np.stack([np.sin(angle) * np.sin(_TURN), np.sin(angle) * high, np.cos(angle)], -1)
    head = skin.faces[~skin.ears[skin.faces].any(1) & (skin.points[skin.faces][..., 1].min(1) > -2.0)]
    reach = farthest(origin, towards.reshape(-1, 3), skin.points[head]).reshape(angle.shape)
    reach = np.maximum(reach, draped(origin, towards))
    smooth = gaussian_filter(reach, (1.5, 4.0), mode=("nearest", "wrap"))
    reach = np.maximum(smooth, reach * 0.97) + edge + (thick - edge) * np.minimum(1, 5 * share)
    reach = gaussian_filter(reach, (0.8, 3.0), mode=("nearest", "wrap"))
    low, side = np.clip(0.25 - high, 0, 1), np.abs(_TURN - np.pi)
    around = (1 - np.abs(np.sin(8 * angle + 1.2 * side))) ** 2 + 0.7 * (
        1 - np.abs(np.sin(13 * angle - 1.7 * side + 1))
    ) ** 2
    along = np.sin(5 * side + 6.5 * angle) + 0.6 * np.sin(9 * side - 4 * angle + 1)
    wave = (0.10 + low) * (0.8 * around + 0.6 * along) + 0.25 * along * np.clip(1 - np.abs(high), 0, 1)
    band, seam = np.clip((0.045 - share) / 0.01, 0, 1), np.exp(-(((share - 0.06) / 0.010) ** 2))
    tint = 1 + 0.34 * (wave - 0.3) - 0.28 * seam - 0.10 * np.exp(-((share / 0.012) ** 2))
    reach = reach + folds * wave * np.clip((share - 0.02) / 0.2, 0, 1) + 0.02 * band
    return [(origin + reach[..., None] * towards, tint, True)]


def worn_meshes(held: Held) -> dict[str, np.ndarray]:
    """Hats and clothes as arrays of the file: points, faces, anchors and tint of each."""
    skin = Skin(held)
    hats = {
        "beanie": beanie(skin), "cap": cap(skin), "brimmed hat": felt_hat(skin),
        "hood": wrap(skin, (38, 49, 59), 0.16, 0.30, 0.07), "headscarf": wrap(skin, (37, 49, 50.5), 0.03, 0.11, 0.09),
    }  # fmt: skip
    sheets = {name: [(*sheet, True) for sheet in parts] for name, parts in hats.items()}
    sheets |= clothes(Body(farthest, skin.points, skin.faces))
    found: dict[str, np.ndarray] = {}
    for name, parts in sheets.items():
        points, faces, tint = [], [], []
        for sheet, shade, both, closed in parts:
            flat, grid = sheet.reshape(-1, 3), sheet_faces(*sheet.shape[:2], closed)
            corners = flat[grid]
            normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            grid = grid[np.linalg.norm(normal, axis=1) > 1e-5]
            middle = np.array([0, 0.35 if name in hats else -3.9, -1.4])
            outward = (normal * (corners[:, 0] - middle)).sum() > 0
            grid = grid if outward else grid[:, ::-1]
            # Both sides of a sheet have points of their own, for a normal each.
            for side in (grid, grid[:, ::-1]) if both else (grid,):
                faces.append(side + sum(len(part) for part in points))
                points.append(flat)
                inner = 0.55 if side is not grid and name in hats else 1.0
                tint.append(np.broadcast_to(inner * shade, sheet.shape[:2]).ravel())
        found |= stored_mesh(skin, name, np.concatenate(points), np.concatenate(faces), np.concatenate(tint))
    for name, mask in face_masks(held, skin.points[skin.used]).items():
        found |= stored_mesh(skin, name, *mask)
    return found


def main() -> None:
    """Grows all anew in the file, or the grooms that are named."""
    names = sys.argv[1:]
    with np.load(FACTS / FILE, allow_pickle=False) as archive:
        held = {name: archive[name] for name in archive.files if names or not name.startswith(("groom_", "worn_"))}
    made = {} if names else worn_meshes(held)
    np.savez_compressed(FACTS / FILE, **{**held, **made, **grooms(held, names)})


if __name__ == "__main__":
    main()
