"""Hair grown on the mean head: what tools/head_mesh.py stores beside the mesh.

python -m tools.head_grooms grows all hair anew in the stored file, or the grooms named, and leaves the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from transect.generators.faceworld.mesh.asset import FILE
from transect.generators.faceworld.mesh.hair import beard_density, hairline
from transect.generators.faceworld.mesh.kernels import find_normals

Held: TypeAlias = Mapping[str, Any]
Points: TypeAlias = Float[np.ndarray, "n 3"]
Curves: TypeAlias = Float[np.ndarray, "n k 3"]
Draws: TypeAlias = np.random.Generator
CROWN = np.array([0.12, 1.75, -1.75])
TIED = np.array([0.0, 1.26, -2.72])
"""Where hair is tied: it begins to hang there, and a knot lies on it."""
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
        cling: float = 0.0, pace: float = 0.0, ramp: float = 5.0,
    ) -> Curves:  # fmt: skip
        """Strands that start in a direction, fall, follow the comb and stay above the skin.

        lift: how far above it, deep: and how much farther with each unit of length, for hair lies on hair. cling: the
        share of what is more than that by which each step of length nears the skull. pace: how much shorter the first
        step is than the middle one, and the last one longer. ramp: one over the share of length on which it lifts.
        """
        at, towards, gone = roots.at.copy(), unit(direction), np.zeros(len(length))
        strands = [at]
        for share in np.linspace(1 - pace, 1 + pace, points - 1):
            step = (share * length / (points - 1))[:, None]
            gone = gone + step[:, 0]
            room = lift * np.minimum(1, ramp * (1 + pace) * gone / length) + deep * gone
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


def clumped(grown: Grown, tight: float | np.ndarray, draws: Draws, power: float = 1.3) -> Curves:
    """Strands drawn to the middle one of their lock, towards the tips by that share."""
    strands, lock = grown.strands, grown.lock
    count = lock.max() + 1
    held = np.maximum(np.bincount(lock, minlength=count), 1)
    middle = np.stack([np.bincount(lock, grown.roots.at[:, k], count) / held for k in range(3)], 1)
    away = ((grown.roots.at - middle[lock]) ** 2).sum(1)
    order = np.lexsort((away, lock))
    first = order[np.searchsorted(lock[order], np.arange(count)).clip(0, len(lock) - 1)]
    share = np.linspace(0, 1, strands.shape[1])[None, :, None] ** power
    pull = np.reshape(tight, (-1, 1, 1)) * draws.uniform(0.5, 1.0, (len(lock), 1, 1)) * share
    return np.asarray(strands + pull * (strands[first[lock]] - strands))


def gathered_in_three(grown: Grown, draws: Draws) -> Curves:
    """Strands drawn together on three scales: the locks of real hair are of no one width."""
    strands = grown.strands
    for count, tight, power in ((45, 0.40, 2.5), (0, 0.50, 1.5), (900, 0.45, 1.2)):
        lock = locks(strands[:, strands.shape[1] // 3], count, draws) if count else grown.lock
        strands = clumped(grown._replace(strands=strands, lock=lock), tight, draws, power)
    return strands


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


PARTING = 0.30


def long_fall(at: Points, side: Points, front: Points, own: Points) -> Points:
    """The pull on long hair: from its parting over the crown, beside the face, in to the neck, over the shoulders.

    front: how much of the face's frame a strand is; own: how much nearer to the face than others its lock falls.
    """
    x, y, z = at[:, :1], at[:, 1:2], at[:, 2:]
    wide, out = np.abs(x), np.sign(x)
    high = np.clip((y - 1.1) / 0.6, 0, 1)
    edge = 1.06 + 0.10 * np.clip(np.abs(y + 0.45) - 0.35, -0.35, 0.5) - 0.20 * own
    before = np.clip((z + 0.62) / 0.4, 0, 1) * np.clip(edge - wide, 0, 1) * (y < 1.70)
    before = before * np.clip((1.35 - y) / 0.5, 0.45, 1)
    below = np.clip((-0.55 - y) / 0.7, 0, 1)
    across = side * (1.2 * high * np.clip(1 - wide, 0, 1) + 4.5 * before)
    limit = 0.96 + 0.10 * own
    across = across - out * (1.7 * below * np.clip(wide - limit, -0.1, 0.6) + 2.2 * np.clip(wide - 1.38, 0, 1))
    framing = 2.0 * front * np.clip(0.9 - y, 0, 1) * np.clip(-0.80 + 0.20 * own - z, -0.3, 0.6)
    forward = framing + 1.5 * np.clip(-2.8 - z, 0, 1) - 0.30 * high * (1 - front) - 1.5 * before
    return np.concatenate([across, -2.0 * (1 - high), forward], 1)


LOCKS = 170


def long_hair(skin: Skin, draws: Draws, points: int, count: int, body: float, pace: float, mess: float = 0.09) -> Grown:
    """Hair that falls to the shoulders. body: how far it stands off the skull; mess: how blurred its parting is."""

    def dense(at: Points) -> Float[np.ndarray, " n"]:
        """Hair leaves a parting on both sides: it needs twice as many roots there to hide the skin."""
        ahead = np.clip(1.4 * (at[:, 1] - 0.8), 0, 1)
        bare = np.exp(-(((at[:, 0] - PARTING) / 0.17) ** 2)) * ahead
        return np.clip(scalp(at) * (0.62 + 0.38 * bare) + 0.6 * bare * (hairline(at) > 0.01), 0, 1)

    roots = skin.roots(count, dense, draws)
    at = roots.at
    parted = PARTING + 0.04 * np.sin(5 * at[:, 2:]) + mess * draws.standard_normal((len(at), 1))
    side = np.where(at[:, :1] > parted, 1.0, -1.0)
    near = np.exp(-(((at[:, :1] - parted) / 0.11) ** 2))
    loose = near * draws.uniform(-0.8, 0.4, (len(at), 1))
    high = np.clip((at[:, 1:2] - 0.7) / 1.0, 0, 1)
    lock = locks(at, LOCKS, draws)
    layer = 0.4 * draws.random(LOCKS)[lock] + 0.6 * draws.random(len(at))
    own = np.clip(draws.standard_normal((LOCKS, 1)), -1.5, 1.5)[lock] + 0.25 * draws.standard_normal((len(at), 1))
    start = side * np.array([1.0, 0.0, -0.20]) * (0.2 + 0.7 * high) * (1 - 0.5 * near) + (1 - high) * _DOWN
    start = (
        start
        + loose * np.array([0.2, 0.0, 0.9])
        + (0.30 + 0.30 * high * layer[:, None] * (1 - near) - 0.20 * near) * roots.normal
        + 0.14 * draws.standard_normal((LOCKS, 3))[lock]
        + 0.03 * draws.standard_normal(at.shape)
    )
    length = at[:, 1] + 3.25 + 0.50 * high[:, 0]
    lift = 0.02 + body * layer * (0.55 + 0.45 * high[:, 0])
    front = np.clip((at[:, 2:] + 1.5) / 0.6, 0, 1)
    pull = lambda here: long_fall(here, side, front, own)  # noqa: E731
    strands = skin.grow(roots, start, length, points, draws, lift, 1.0, 0.012, pull, 0.02 * layer, 0.6, pace, 3.0)
    return Grown(ended(strands), roots, lock, layer)


def cut(strands: Curves, last: Int[np.ndarray, " n"]) -> Curves:
    """Strands that end at that point, with as many points as before."""
    along = last[:, None] * np.linspace(0, 1, strands.shape[1])
    before, rows = np.minimum(along.astype(int), strands.shape[1] - 2), np.arange(len(strands))[:, None]
    share = (along - before)[..., None]
    return np.asarray(strands[rows, before] * (1 - share) + strands[rows, before + 1] * share)


def ended(strands: Curves) -> Curves:
    """Strands that end where they meet the top of a shoulder."""
    x, y, z = np.abs(strands[..., 0]), strands[..., 1], strands[..., 2]
    met = (y < -2.15) & (x > 1.05) & (z < -1.0)
    return cut(strands, np.where(met.any(1), met.argmax(1), strands.shape[1] - 1))


def off_the_face(grown: Grown, edge: float = 0.84) -> Grown:
    """Without strands that cross face or throat, up to that far from the middle of the face."""
    x, y, z = np.abs(grown.strands[..., 0]), grown.strands[..., 1], grown.strands[..., 2]
    face = (x < edge + 0.10 * np.clip(1 - np.abs(y), 0, 1)) & (y < 0.85) & (z > -0.75)
    throat = (x < 0.80) & (y < -1.0) & (z > -1.25)
    return grown.take(~(face | throat).any(1))


def flown(grown: Grown, share: float, amount: float, draws: Draws) -> Grown:
    """Flyaways: a share of the strands leave their locks in random directions, and lie on top."""
    count, points = grown.strands.shape[:2]
    away = draws.random(count) < share
    along = np.linspace(0, 1, points)[None, :, None]
    bend = draws.standard_normal((2, count, 1, 3)) + np.array([0, 0.5, 0])
    moved = amount * (bend[0] * along**0.8 + 0.6 * bend[1] * along * np.sin(5 * along + 3 * bend[0]))
    strands = grown.strands + moved * away[:, None, None]
    return grown._replace(strands=strands, layer=np.where(away, 1.0, grown.layer))


def straight_hair(skin: Skin, draws: Draws) -> Grown:
    """Long and smooth; its lower half moves in one slow wave."""
    grown = long_hair(skin, draws, 20, 7200, 0.22, 0.5)
    strands = strayed(gathered_in_three(grown, draws), grown.lock, 0.06, draws)
    phase = 1.2 * grown.roots.at[:, 0] + 0.7 * draws.standard_normal(LOCKS)[grown.lock]
    grown = grown._replace(strands=curled(strands, 0.045, 2.1, phase, 2.0))
    grown = flown(grown, 0.03, 0.10, draws)
    return off_the_face(grown._replace(strands=skin.outside(grown.strands, 0.03)))


def wavy_hair(skin: Skin, draws: Draws) -> Grown:
    """Long, with waves that neighbors share."""
    grown = long_hair(skin, draws, 24, 6400, 0.26, 0.45, 0.12)
    strands = strayed(gathered_in_three(grown, draws), grown.lock, 0.06, draws)
    phase = 1.3 * grown.roots.at[:, 0] + 0.8 * draws.standard_normal(LOCKS)[grown.lock]
    phase = phase + 0.15 * draws.standard_normal(len(grown.lock))
    turns = 4.0 * np.exp(0.14 * draws.standard_normal(LOCKS))[grown.lock]
    grown = flown(grown._replace(strands=curled(strands, 0.115, turns, phase, 1.1)), 0.04, 0.12, draws)
    return off_the_face(grown._replace(strands=skin.outside(grown.strands, 0.03)), 0.80)


def curly_hair(skin: Skin, draws: Draws) -> Grown:
    """Long ringlets with some loose hair between them."""
    grown = long_hair(skin, draws, 40, 5600, 0.34, 0.3, 0.30)
    lock = locks(grown.strands[:, 12], 240, draws)
    grown = grown._replace(lock=lock)
    strands = strayed(clumped(grown, draws.uniform(0.7, 0.97, 240)[lock], draws, 0.8), lock, 0.13, draws)
    phase = draws.uniform(0, 6.3, 240)[lock] + 0.20 * draws.standard_normal(len(lock))
    turns = 7.4 * np.exp(0.24 * draws.standard_normal(240))[lock]
    radius = 0.135 * np.exp(0.35 * draws.standard_normal(240))[lock] * np.exp(0.10 * draws.standard_normal(len(lock)))
    grown = flown(grown._replace(strands=curled(strands, radius, turns, phase, 0.9)), 0.04, 0.12, draws)
    return off_the_face(grown._replace(strands=skin.outside(grown.strands)), 0.78)


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
    high = np.clip((normal[:, 1] - 0.20) / 0.45, 0, 1) * np.clip((at[:, 1] - 0.75) / 0.35, 0, 1)
    lock = locks(at, 420, draws)
    layer = np.clip(0.55 * draws.random(420)[lock] + 0.45 * draws.random(len(at)), 0, 1)
    along = along_skull(roots, way(at, high[:, None]))
    turn = 0.9 * draws.standard_normal(420)[lock] + 0.5 * draws.standard_normal(len(at))
    turn = stray * turn[:, None] * (0.3 + 0.7 * high[:, None])
    edge = np.clip(hairline(at) / 0.30 + 0.10, 0.15, 1)
    low = np.clip((at[:, 1] + 0.5) / 1.2, 0, 1)  # hair thickens upwards from the nape and the ears
    start = along + turn * np.cross(normal, along) + normal * (0.10 + 0.25 * low[:, None] + rise * high[:, None])
    length = (sides * (0.55 + 0.75 * low) + (top - sides) * high) * (0.40 + 0.60 * np.maximum(edge, 0.5 * high))
    length *= 1 - 0.30 * high * np.clip((np.abs(at[:, 0]) - 0.45) / 0.4, 0, 1)
    length *= np.exp(0.14 * draws.standard_normal(420)[lock] + 0.18 * draws.standard_normal(len(at)))
    body = (0.03 * low + 0.09 * high) * layer * np.minimum(edge + 0.3, 1)
    strands = skin.grow(roots, start, length, 8, draws, 0.012 + body, fall, 0.02, None, 0.16 * layer * high, 0.8)
    grown = Grown(strands, roots, lock, layer)
    strands = strayed(clumped(grown, 0.55, draws), lock, 0.25 * stray * top, draws)
    return grown._replace(strands=skin.outside(strands))


def from_crown(at: Points, high: Float[np.ndarray, "n 1"]) -> Points:
    """Away from the whorl at the crown, aside at the brow; down at the sides."""
    aside = np.array([0.5, 0, 0]) * np.clip((at[:, 2:] + 0.9) / 0.8, 0, 1)
    return high * (unit(at - CROWN) + aside) + (1 - high) * (_DOWN + np.array([0, 0, -0.35]))


def from_parting(at: Points, high: Float[np.ndarray, "n 1"]) -> Points:
    """From a parting at one side over the top, forwards a little, up again at the brow; the sides lie back and down."""
    side = np.where(at[:, :1] > 0.55, 0.7, -1.0)
    ahead = np.clip((at[:, 2:] + 0.45) / 0.4, 0, 1)
    over = side * np.array([1.0, 0, 0.0]) + np.array([0, 0, 0.40]) * np.clip(at[:, 2:] + 1.0, -1, 0.6) * (1 - ahead)
    over = over - np.array([0, 0, 0.5]) * ahead
    return high * over + (1 - high) * (1.0 * _DOWN + np.array([0, 0, -0.6]))


def backwards(at: Points, high: Float[np.ndarray, "n 1"]) -> Points:
    """Back over the top, in waves; back and down at the sides."""
    wave = 0.22 * np.sin(5.0 * at[:, :1] + 0.6) * np.array([1.0, 0, 0])
    return np.array([0, 0.12, -1.0]) + (1 - high) * 0.9 * _DOWN - 0.12 * at[:, :1] * np.array([1.0, 0, 0]) + wave


def coily_hair(skin: Skin, draws: Draws) -> Grown:
    """Coils that stand off the head, in a round shape."""
    roots = skin.roots(6800, scalp, draws)
    lock = locks(roots.at, 1500, draws)
    out = unit(roots.at - np.array([0, 0.45, -1.35]))
    start = 0.35 * roots.normal + 0.9 * out + 0.16 * draws.standard_normal((1500, 3))[lock]
    edge = np.clip(0.35 + hairline(roots.at) / 0.5, 0.35, 1)
    layer = draws.random(len(lock))
    length = 0.80 * edge * np.exp(0.06 * draws.standard_normal(1500)[lock]) * (0.80 + 0.20 * layer)
    strands = skin.grow(roots, start, length, 17, draws, 0.02, 0.0, 0.05)
    grown = Grown(strands, roots, lock, layer)
    strands = clumped(grown, np.clip(3 * hairline(roots.at), 0, 0.22), draws, 0.8)
    phase = draws.uniform(0, 6.3, 1500)[lock] + 0.8 * draws.standard_normal(len(lock))
    strands = strayed(strands, np.arange(len(lock)), 0.07, draws)
    radius = 0.044 * np.exp(0.35 * draws.standard_normal(1500)[lock] + 0.2 * draws.standard_normal(len(lock)))
    turns = 27.0 * np.exp(0.20 * draws.standard_normal(1500))[lock]
    return grown._replace(strands=skin.outside(curled(strands, radius, turns, phase, 0.08)))


def locs(skin: Skin, draws: Draws) -> Grown:
    """Thin knobbly ropes that hang from all over the head and taper; strands on a rope's outer side are the light ones.

    A few hairs leave each rope: without them ropes look like string.
    """
    paths = off_the_face(long_hair(skin, draws, 26, 560, 0.26, 0.2, 0.34))
    side, top = np.abs(paths.strands[..., 0]).max(1), paths.strands[..., 1].max(1)
    paths = paths.take((side < 1.58) & (top < 2.24))
    count = len(paths.lock)
    lock = np.repeat(np.arange(count), 13)
    middle = strayed(paths.strands, np.arange(count), 0.085, draws)[lock]
    turn, thick = draws.uniform(0, 6.3, len(lock)), 0.050 * np.exp(0.20 * draws.standard_normal(count))[lock]
    thick *= np.where(draws.random(len(lock)) < 0.12, 1.9, 1.0)
    along = np.linspace(0, 1, 26)[None]
    knobs = 1 + 0.30 * np.sin(110 * along + draws.uniform(0, 6.3, count)[lock][:, None])
    reach = thick[:, None] * knobs * np.minimum(1, 12 * along) * (1 - 0.7 * along**3)
    tangent, out = unit(np.gradient(middle, axis=1)), unit(middle - np.array([0, 0.2, -1.35]))
    out = unit(out - (out * tangent).sum(2, keepdims=True) * tangent)
    around = out * np.cos(turn)[:, None, None] + np.cross(tangent, out) * np.sin(turn)[:, None, None]
    own = 0.25 * draws.standard_normal(count)[lock] + 0.15 * draws.standard_normal(len(lock))
    layer = np.clip(np.clip(np.cos(turn), 0, 1) ** 1.5 + own, 0, 1)
    return Grown(skin.outside(middle + reach[..., None] * around, 0.03), paths.roots.take(lock), lock, layer)


def gathered_hair(skin: Skin, draws: Draws) -> Grown:
    """Hair drawn back to where it is tied."""
    roots = skin.roots(6400, scalp, draws)
    way = TIED - roots.at
    length = np.linalg.norm(way, axis=1) * 1.12
    lock = locks(roots.at, 300, draws)
    start = along_skull(roots, way) + 0.12 * roots.normal + 0.05 * draws.standard_normal((300, 3))[lock]
    layer = draws.random(len(lock))
    strands = skin.grow(
        roots, start, length, 12, draws, 0.015 + 0.05 * layer, 0.0, 0.006, lambda at: 2.6 * unit(TIED - at)
    )
    far = np.linalg.norm(strands - TIED, axis=2)
    high = skin.above(strands.reshape(-1, 3))[0].reshape(far.shape)
    lying = ((high < 0.16) | (far < 0.8)).all(1)
    strands = TIED + (strands - TIED) * (0.35 + 0.65 * np.clip(far / 0.5, 0, 1))[..., None]
    grown = Grown(cut(strands, far.argmin(1)), roots, lock, layer)
    grown = flown(grown._replace(strands=clumped(grown, 0.40, draws)), 0.025, 0.04, draws)
    return grown._replace(strands=skin.outside(grown.strands)).take(lying)


def tied(skin: Skin, strands: Curves, lock: Int[np.ndarray, " n"], layer: Float[np.ndarray, " n"]) -> Grown:
    """Hair beyond where it is tied, which moves with that place."""
    corners = skin.faces[np.argmin(((skin.points[skin.faces].mean(1) - TIED) ** 2).sum(1))]
    weights = np.full((len(lock), 3), 1 / 3)
    at = np.broadcast_to(skin.points[corners].mean(0), (len(lock), 3))
    roots = Roots(at, unit(TIED - at), np.broadcast_to(corners, (len(lock), 3)), weights)
    return Grown(np.asarray(strands), roots, lock, layer)


def knot(skin: Skin, draws: Draws) -> Grown:
    """A bun, wound of bands that each go around it in a circle of their own."""
    count, bands = 2600, 11
    lock = draws.integers(0, bands, count)
    axis = unit(np.array([0.15, 0.75, -0.65]) + 0.42 * draws.standard_normal((bands, 3)))[lock]
    first = unit(np.cross(axis, np.array([1.0, 0.2, 0.1])))
    across = draws.uniform(-1, 1, count)
    turn = draws.uniform(0, 2 * np.pi, (count, 1)) + np.linspace(0, 2.2, 10)[None]
    high = np.linspace(-0.95, 0.95, bands)[lock] + 0.20 * across
    high = high[:, None] + 0.06 * np.sin(2 * turn + draws.uniform(0, 6.3, bands)[lock][:, None])
    layer = np.clip(1 - across**2 - 0.35 * draws.random(count), 0, 1)
    reach = 0.51 * (0.80 + 0.05 * draws.random(bands)[lock] + 0.17 * np.sqrt(layer))
    around = first[:, None] * np.cos(turn)[..., None] + np.cross(axis, first)[:, None] * np.sin(turn)[..., None]
    wound = axis[:, None] * np.sin(high)[..., None] + around * np.cos(high)[..., None]
    strands = TIED + np.array([0, 0.56, -0.10]) + reach[:, None, None] * wound * np.array([1.08, 0.92, 0.9])
    return flown(tied(skin, strands, lock, layer), 0.03, 0.07, draws)


def hanging(down: np.ndarray) -> np.ndarray:
    """The middle of a tail over one shoulder at shares of its length."""
    up = np.array([0, 0.02, -0.40]) * np.sin(np.clip(down * 2.2, 0, 1) * np.pi)
    swung = np.array([1.35, 0, 0]) * np.sin(down * 1.7) + np.array([0, -3.7, 0]) * down**1.15
    return np.asarray(TIED + up + swung + np.array([0, 0, 1.4]) * np.clip(down - 0.25, 0, 1))


def tail(skin: Skin, draws: Draws) -> Grown:
    """Ends of hair that hang over one shoulder."""
    count, down = 2200, np.linspace(0, 1, 12)[None, :, None]
    lock = draws.integers(0, 40, count)
    wide = np.interp(down, [0, 0.12, 0.3, 0.6, 0.85, 1.0], [0.05, 0.13, 0.24, 0.28, 0.22, 0.11])
    spread = draws.standard_normal((40, 1, 3))[lock] * 0.6 + 0.5 * draws.standard_normal((count, 1, 3))
    spread = np.clip(spread, -1.4, 1.4)
    sway = 0.05 * np.sin(7 * down + draws.uniform(0, 6.3, (40, 1, 1))[lock]) * down
    strands = hanging(down * draws.uniform(0.80, 1.0, (count, 1, 1))) + wide * spread * np.array([1.0, 0.3, 0.9]) + sway
    layer = np.clip(np.linalg.norm(spread[:, 0, ::2], axis=1) / 1.4, 0, 1)
    return flown(tied(skin, strands, lock, layer), 0.04, 0.08, draws)


def plait(skin: Skin, draws: Draws) -> Grown:
    """Hair plaited of three, over one shoulder."""
    count, down = 1500, np.linspace(0, 1, 26)[None, :, None]
    lock = draws.integers(0, 3, count)
    turn = 2 * np.pi * (5.5 * down + lock[:, None, None] / 3)
    wide = np.interp(down, [0, 0.06, 0.15, 0.75, 0.85, 0.90, 1.0], [0.3, 0.7, 1.0, 0.8, 0.6, 0.35, 0.8])
    crossed = np.concatenate([0.17 * np.sin(turn), 0 * turn, 0.11 * np.sin(2 * turn)], 2)
    out = draws.uniform(0.3, 1.0, count)
    spread = 0.078 * unit(draws.standard_normal((count, 1, 3))) * out[:, None, None]
    return tied(skin, hanging(down) + wide * (crossed + spread), lock, out**2)


def fringe(skin: Skin, draws: Draws) -> Grown:
    """Hair over the forehead, down to the brows."""

    def above(at: Points) -> Float[np.ndarray, " n"]:
        ahead = np.clip(1.15 - hairline(at) / 0.95, 0, 1) * (at[:, 2] > -1.35) * (at[:, 1] > 0.85)
        return scalp(at) * ahead * np.clip((1.02 - np.abs(at[:, 0])) / 0.45, 0, 1)

    roots = skin.roots(4200, above, draws)
    x, lock, count = roots.at[:, :1], locks(roots.at, 240, draws), 240
    layer = 0.5 * draws.random(count)[lock] + 0.5 * draws.random(len(roots.at))
    aside = 0.12 * draws.standard_normal(count)[lock][:, None] + 0.14 * np.sin(7 * x + 1) + 0.15 * x - 0.45
    start = np.array([0, 0.35, 1.0]) + aside * np.array([1.0, 0, 0]) + (0.3 + 0.4 * layer[:, None]) * roots.normal
    back = np.clip(0.1 - roots.at[:, 2], 0, 1.2)
    length = roots.at[:, 1] - 0.16 + 0.80 * back + 0.45 * np.abs(x[:, 0] - 0.15) ** 1.5 + 0.07 * np.sin(9 * x[:, 0])
    length = length + 0.06 * draws.standard_normal(count)[lock] - 0.34 * draws.random(len(lock)) ** 1.7
    length *= 0.84 + 0.16 * layer**0.5  # the densest ends first, or its edge would be cut
    room = np.clip(1 + 0.8 * x, 0.1, 1)
    sweep = lambda at: -1.2 * room * np.clip(1.35 - at[:, 1:2], 0, 0.8) * np.array([1.0, 0, 0])  # noqa: E731
    strands = skin.grow(
        roots, start, np.maximum(length, 0.25), 10, draws, 0.015 + 0.07 * layer, 1.5, 0.02, sweep, 0.03, 1.0, 0.4
    )
    grown = Grown(strands, roots, lock, layer)
    grown = grown._replace(strands=strayed(clumped(grown, 0.26, draws, 1.6), lock, 0.030, draws))
    grown = flown(grown, 0.06, 0.08, draws)
    grown = grown._replace(strands=skin.outside(grown.strands))
    return grown.take(np.abs(grown.strands[..., 0]).max(1) < 1.18)


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
            x, [0.23, 0.27, 0.32, 0.40, 0.55, 0.75, 0.96], [0.050, 0.076, 0.092, 0.100, 0.092, 0.072, 0.040]
        )
        return np.asarray((at[:, 1] - brow_line(x)) / thick)

    def dense(at: Points) -> Float[np.ndarray, " n"]:
        x = np.abs(at[:, 0])
        along = np.interp(x, [0.23, 0.30, 0.40, 0.65, 0.82, 0.97], [0.0, 0.50, 1.0, 0.80, 0.55, 0.08])
        across = np.clip(np.exp(-1.3 * off(at) ** 2) - 0.05, 0, 1)
        return across * along * (at[:, 2] > -0.9) * (x > 0.22) * (x < 0.97)

    roots = skin.roots(2000, dense, draws)
    side, x = np.sign(roots.at[:, :1]), np.abs(roots.at[:, :1])
    upright = 1 - np.clip((x - 0.26) / 0.22, 0, 1)
    rise = (brow_line(x + 0.08) - brow_line(x)) / 0.08
    start = side * np.array([1, 0, -0.25]) * (1 - 0.75 * upright) + np.array([0, 1.0, 0]) * (0.55 * upright + rise)
    start = start - np.array([0, 0.26, 0]) * np.clip(off(roots.at), -1, 1)[:, None] * (1 - upright)
    start = start + 0.17 * draws.standard_normal(roots.at.shape) + 0.12 * roots.normal
    length = np.interp(x[:, 0], [0.24, 0.5, 0.75, 0.95], [0.075, 0.115, 0.095, 0.065])
    length *= np.exp(0.28 * draws.standard_normal(len(x)))
    strands = skin.grow(roots, start, length, 4, draws, 0.004, 0.0, 0.02, cling=1.0)
    return Grown(strands, roots, np.arange(len(x)), draws.random(len(x)))


def beard(skin: Skin, draws: Draws) -> Grown:
    """A full beard with its mustache; other styles leave parts of it out."""
    above_lip = lambda at: (at[:, 1] > -1.17) & (np.abs(at[:, 0]) < 0.52) & (at[:, 2] > -0.25)  # noqa: E731
    roots = skin.roots(8600, lambda at: beard_density(at) * np.where(above_lip(at), 1.0, 0.72), draws)
    # Under the jaw, which is seen from the side, as many would be a black line.
    roots = roots.take(draws.random(len(roots.at)) > 0.75 * np.clip((-0.15 - roots.normal[:, 1]) / 0.5, 0, 1))
    at, x = roots.at, roots.at[:, :1]
    mustache = above_lip(at)[:, None]
    lock = locks(at, 500, draws)
    down = np.array([0, -1.0, 0.10]) - 0.30 * x * np.array([1.0, 0, 0]) * (at[:, 1:2] < -1.3)
    aside = np.array([0.9, 0, 0]) * np.clip(x / 0.15, -1, 1) + np.array([0, -1.0, 0.0])
    start = np.where(mustache, aside, down) + (0.25 - 0.1 * mustache) * roots.normal
    start = start + 0.13 * draws.standard_normal((500, 3))[lock] + 0.16 * draws.standard_normal(at.shape)
    low = np.clip(0.38 + (-0.85 - at[:, 1]) * 0.60, 0.18, 1.0)
    low *= 1 - 0.10 * np.clip((np.abs(x[:, 0]) - 0.30) / 0.5, 0, 1)
    short = np.clip(0.16 + 1.5 * (at[:, 1] + 1.0), 0.16, 0.46)  # beside the lips, which hair leaves free
    length = 0.24 * np.where(mustache[:, 0], short, low) * np.exp(0.22 * draws.standard_normal(len(at)))
    length *= np.clip(0.30 + beard_density(at), 0.4, 1)
    strands = skin.grow(roots, start, length, 6, draws, 0.012, 0.8, 0.03)
    grown = Grown(strands, roots, lock, draws.random(len(at)))
    phase = draws.uniform(0, 6.3, 500)[lock] + 1.2 * draws.standard_normal(len(lock))
    strands = curled(clumped(grown, 0.18, draws), 0.014, 13.0, phase, 0.3)
    return grown._replace(strands=skin.outside(strands, 0.008))


def lashes(skin: Skin, draws: Draws) -> Grown:
    """Lashes of both eyes, from the lids' outer edges: many and fine, most of them in the outer third."""
    chosen = skin.lashes[draws.integers(0, len(skin.lashes), 60000)]
    weights = draws.dirichlet(np.ones(3), 60000)
    at = (skin.points[chosen] * weights[..., None]).sum(1)
    side = np.sign(at[:, :1])
    away = at - side * np.array([0.5, 0, 0])
    far, outer = np.linalg.norm(away, axis=1), np.clip((np.abs(at[:, 0]) - 0.33) / 0.37, 0, 1)
    upper = at[:, 1] > 0.02 - 0.06 * outer**4
    dense = np.where(upper, 0.3 + 0.7 * outer, 0.4) * np.clip(12 * outer, 0, 1) * np.clip(14 - 14 * outer, 0, 1)
    near = np.flatnonzero((np.abs(far - 0.294) < 0.007) & (draws.random(60000) < dense))
    near = np.concatenate([near[upper[near]][:520], near[~upper[near]][:130]])
    roots = Roots(at[near], unit(away[near]), chosen[near], weights[near])
    above, outer, aside = upper[near][:, None], outer[near][:, None], side[near] * np.array([1.0, 0, 0])
    # They fan out from the middle of the eye, and stand in tufts of a few.
    fan = aside * (np.clip(1.2 * outer - 0.6, -0.25, 0.45) + 0.10 * np.sin(160 * np.abs(roots.at[:, :1])))
    start = np.where(above, [0, -0.05, 0.9], [0, -1.0, 0.6]) + fan
    start = start + 0.10 * draws.standard_normal(start.shape)
    bend = np.where(above, 0.42, 0.0) * np.array([0, 1.0, 0]) + 0.30 * fan
    length = np.where(above, 0.058 + 0.014 * outer, 0.026)[:, 0] * np.exp(0.25 * draws.standard_normal(len(near)))
    share = np.linspace(0, 1, 4)[None, :, None]
    strands = roots.at[:, None] + length[:, None, None] * (unit(start)[:, None] * share + bend[:, None] * share**2)
    return Grown(strands, roots, np.arange(len(near)), np.where(above[:, 0], 0.6, 3.0))


def rim(grown: Grown) -> Float[np.ndarray, " n"]:
    """How far from the middle of its lock a strand grows, from 0 to 1 at the lock's rim: locks are round."""
    lock, count = grown.lock, grown.lock.max() + 1
    held = np.maximum(np.bincount(lock, minlength=count), 1)
    middle = np.stack([np.bincount(lock, grown.roots.at[:, k], count) / held for k in range(3)], 1)
    away = np.linalg.norm(grown.roots.at - middle[lock], axis=1)
    most = np.zeros(count)
    np.maximum.at(most, lock, away)
    return np.asarray(away / (most[lock] + 1e-6))


def shades(grown: Grown, draws: Draws) -> np.ndarray:
    """The logarithm of each strand's pigment over that of all: its own, its lock's, darker deep down; 100 for 1."""
    own = 0.10 * draws.standard_normal(len(grown.lock)) + 0.15 * draws.standard_normal(grown.lock.max() + 1)[grown.lock]
    own = own + 0.10 - 0.40 * rim(grown) ** 2
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
    high = grown.strands[..., 1].max(1)
    shown |= high > np.quantile(high, 0.97)
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
        "textured": lambda d: crop(skin, d, from_crown, 0.62, 0.24, 0.50, 0.45),
        "parted": lambda d: crop(skin, d, from_parting, 0.95, 0.28, 0.55, 0.22, 0.9),
        "slicked": lambda d: crop(skin, d, backwards, 0.90, 0.30, 0.40, 0.14, 0.2),
        "coily": lambda d: coily_hair(skin, d), "locs": lambda d: locs(skin, d), "curly": lambda d: curly_hair(skin, d),
        "wavy": lambda d: wavy_hair(skin, d), "straight": lambda d: straight_hair(skin, d),
        "drawn": lambda d: gathered_hair(skin, d), "knot": lambda d: knot(skin, d), "tail": lambda d: tail(skin, d),
        "fringe": lambda d: fringe(skin, d),
        "brows": lambda d: brows(skin, d), "beard": lambda d: beard(skin, d), "lashes": lambda d: lashes(skin, d),
        "plait": lambda d: plait(skin, d),
    }  # fmt: skip
    found = {}
    for number, (name, grower) in enumerate(growers.items()):
        if names and name not in names:
            continue
        draws = np.random.Generator(np.random.Philox(key=440 + number))
        found |= {f"groom_{name}_{part}": values for part, values in packed_groom(grower(draws), draws).items()}
    return found


def main() -> None:
    """Grows all anew in the file, or the grooms that are named."""
    names = sys.argv[1:]
    with np.load(FACTS / FILE, allow_pickle=False) as archive:
        held = {name: archive[name] for name in archive.files if names or not name.startswith("groom_")}
    np.savez_compressed(FACTS / FILE, **{**held, **grooms(held, names)})


if __name__ == "__main__":
    main()
