"""Hair grown on the mean head, hats laid on it and points on it: what tools/head_mesh.py stores beside the mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from transect.generators.faceworld.mesh.kernels import find_normals

Held: TypeAlias = Mapping[str, Any]
Points: TypeAlias = Float[np.ndarray, "n 3"]
Strands: TypeAlias = tuple[Float[np.ndarray, "n k 3"], Int[np.ndarray, "n 3"], Points]
CROWN = np.array([0.1, 1.5, -1.85])
KNOT, TAIL = np.array([0.0, 1.05, -3.25]), np.array([0.0, 0.75, -3.1])
_DOWN = np.array([0.0, -1.0, 0.0])


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


class Skin:
    """The mean head's skin: where hair grows, and what it may not enter."""

    def __init__(self, held: Held) -> None:
        self.points = held["mean"].astype(float)
        self.faces = held["faces"][held["parts"] == 0]
        normals = np.empty_like(held["mean"])
        find_normals(held["mean"], self.faces, normals)
        self.normals = normals.astype(float)
        self.used = np.unique(self.faces)
        self.tree = cKDTree(self.points[self.used])
        self.ears = held["region_ears"] > 0.5

    def roots(
        self, count: int, inside: Callable[[Points], Bool[np.ndarray, " n"]], draws: np.random.Generator
    ) -> Roots:
        """So many roots, evenly on the part of the skin that is inside."""
        corners = self.points[self.faces]
        near = inside(corners.mean(1)) | inside(corners[:, 0]) | inside(corners[:, 1]) | inside(corners[:, 2])
        faces = self.faces[near]
        sides = self.points[faces]
        area = np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1)
        chosen = faces[draws.choice(len(faces), 4 * count, p=area / area.sum())]
        weights = draws.dirichlet(np.ones(3), 4 * count)
        at = (self.points[chosen] * weights[..., None]).sum(1)
        normal = unit((self.normals[chosen] * weights[..., None]).sum(1))
        kept = np.flatnonzero(inside(at))[:count]
        return Roots(at, normal, chosen, weights).take(kept)

    def grow(
        self, roots: Roots, direction: Points, length: Float[np.ndarray, " n"], points: int, draws: np.random.Generator,
        lift: Float[np.ndarray, " n"] | float = 0.03, fall: float = 0.0, jitter: float = 0.02,
        comb: Callable[[Points], Points] | None = None,
    ) -> Float[np.ndarray, "n k 3"]:  # fmt: skip
        """Strands that start in a direction, fall, follow the comb and stay above the skin."""
        at, towards, step = roots.at.copy(), unit(direction), (length / (points - 1))[:, None]
        strands = [at]
        for number in range(1, points):
            room = lift * min(1, 4 * number / points)
            towards = towards + fall * step * _DOWN + (0 if comb is None else comb(at) * step)
            towards = unit(towards + jitter * draws.standard_normal(at.shape))
            at = at + towards * step
            nearest = self.used[self.tree.query(at)[1]]
            normal = self.normals[nearest]
            above = ((at - self.points[nearest]) * normal).sum(1)
            pushed = np.clip(room - above, 0, None)[:, None]
            at = at + normal * pushed
            inwards = np.minimum((towards * normal).sum(1), 0)[:, None]
            towards = np.where(pushed > 0, unit(towards - normal * inwards), towards)
            strands.append(at)
        return np.stack(strands, 1)


def hairline(at: Points) -> Float[np.ndarray, " n"]:
    """How far inside the hair's border a point of the skin lies; below 0 outside."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
    front = y - (1.10 - 0.22 * np.clip(x - 0.25, 0, 1) ** 2 - 1.05 * np.clip(-0.62 - z, 0, 1.7))
    front = front - 0.10 * np.exp(-(((x - 0.72) / 0.2) ** 2)) * (z > -0.9)
    ear = np.maximum(np.abs(y + 0.28) / 0.72, np.abs(z + 1.42) / 0.42)
    nape = y + 1.15 + 0.3 * np.clip(z + 2.4, 0, 1)
    inside = np.minimum(np.where(z < -1.75, np.maximum(front, 0.3), front), nape)
    return np.where((ear < 1) & (x > 0.95), -0.2, inside)


def grows(at: Points) -> Bool[np.ndarray, " n"]:
    """Where hair of the head grows, with a ragged border."""
    ragged = 0.05 * np.sin(at[:, 0] * 37 + 11 * at[:, 2]) + 0.04 * np.sin(at[:, 1] * 53 - 17 * at[:, 0])
    return hairline(at) + ragged > 0


def locks(roots: Roots, count: int, draws: np.random.Generator) -> Int[np.ndarray, " n"]:
    """The number of each root's lock."""
    centers = roots.at[draws.choice(len(roots.at), count, replace=False)]
    return np.asarray(cKDTree(centers).query(roots.at)[1])


def curled(
    strands: Float[np.ndarray, "n k 3"], radius: float, turns: float, phase: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n k 3"]:
    """Strands as helices around their paths. turns: in radians a unit of length."""
    along = np.linalg.norm(np.diff(strands, axis=1, prepend=strands[:, :1]), axis=2).cumsum(1)
    tangent = unit(np.gradient(strands, axis=1))
    side = unit(np.cross(tangent, np.array([0, 1.0, 0.3])))
    other = np.cross(tangent, side)
    angle, size = phase[:, None] + turns * along, radius * np.clip(along / 0.3, 0, 1)[..., None]
    return np.asarray(strands + size * (side * np.cos(angle)[..., None] + other * np.sin(angle)[..., None]))


def away_from_face(at: Points) -> Points:
    """A pull that parts hair before the face, and draws what hangs towards the neck."""
    x, y, z = at[:, :1], at[:, 1:2], at[:, 2:]
    before = np.clip((z + 1.15) / 0.6, 0, 1) * np.clip(1.45 - np.abs(x), 0, 1.2) * (y < 1.6)
    hanging = np.clip(-0.6 - y, 0, 1)
    side = np.where(x > 0.12, 1.0, -1.0)
    return np.concatenate([3.2 * before * side - 0.10 * hanging * x, 0 * y, -3.2 * before - 0.15 * hanging], 1)


def long_hair(skin: Skin, draws: np.random.Generator, points: int, count: int = 4500) -> tuple[Strands, Roots]:
    """Hair that is parted beside the middle and falls to one height."""
    roots = skin.roots(count, grows, draws)
    at = roots.at
    side = np.where(at[:, :1] > 0.22, 1.0, -1.0)
    high = np.clip((at[:, 1:2] - 0.7) / 1.0, 0, 1)
    lock = locks(roots, 220, draws)
    strayed = 0.12 * draws.standard_normal((220, 3))[lock]
    start = (
        side * np.array([1.0, 0.0, -0.45]) * (0.25 + 0.75 * high)
        + (1 - high) * _DOWN * 1.2
        + 0.35 * roots.normal
        + strayed
    )
    length = at[:, 1] + 3.3 + 0.55 * high[:, 0] + 0.10 * draws.standard_normal(len(at))
    lift = (0.03 + 0.16 * draws.random(len(at))) * (0.5 + 0.5 * high[:, 0])
    strands = skin.grow(roots, start, length, points, draws, lift, 1.7, 0.012, away_from_face)
    inner = (np.abs(strands[..., 0]) < 0.88) & (strands[..., 1] < 0.95) & (strands[..., 2] > -0.85)
    kept = ~inner.any(1)
    roots = roots.take(kept)
    return (strands[kept], roots.corners, roots.weights), roots


def short_hair(skin: Skin, draws: np.random.Generator) -> Strands:
    """Hair combed from the crown forwards and to the sides, shorter there."""
    roots = skin.roots(4800, grows, draws)
    away = unit(roots.at - CROWN)
    along = unit(away - (away * roots.normal).sum(1, keepdims=True) * roots.normal)
    high = np.clip((roots.at[:, 1] - 0.8) / 1.0, 0, 1)
    lock = locks(roots, 420, draws)
    turn = 0.35 * draws.standard_normal(420)[lock][:, None]
    start = along + 0.45 * turn * np.cross(roots.normal, along) + roots.normal * (0.22 + 0.30 * high[:, None])
    length = (0.22 + 0.50 * high) * np.exp(0.15 * draws.standard_normal(len(high)))
    return skin.grow(roots, start, length, 7, draws, 0.03 + 0.05 * high, 0.35, 0.03), roots.corners, roots.weights


def coily_hair(skin: Skin, draws: np.random.Generator) -> Strands:
    """Coils that stand off the head."""
    roots = skin.roots(5600, grows, draws)
    lock = locks(roots, 1500, draws)
    out = unit(roots.at - np.array([0, 0.6, -1.5]))
    start = 0.5 * roots.normal + 0.7 * out + 0.3 * draws.standard_normal((1500, 3))[lock]
    length = 0.85 * np.exp(0.10 * draws.standard_normal(len(lock)))
    strands = skin.grow(roots, start, length, 12, draws, 0.02, 0.0, 0.10)
    return curled(strands, 0.06, 24.0, draws.uniform(0, 6.3, 1500)[lock]), roots.corners, roots.weights


def gathered_hair(
    skin: Skin, draws: np.random.Generator, knot: Float[np.ndarray, " 3"], points: int
) -> tuple[Roots, np.ndarray]:
    """Hair drawn back to a knot."""
    roots = skin.roots(3600, grows, draws)
    way = knot - roots.at
    length = np.linalg.norm(way, axis=1) * 1.05
    start = way * 0.6 + roots.normal * 0.15
    return roots, skin.grow(roots, start, length, points, draws, 0.05, 0.0, 0.006, lambda at: 3.0 * unit(knot - at))


def bun(skin: Skin, draws: np.random.Generator) -> Strands:
    """A knot at the back of the head, wound of a third of the strands."""
    roots, strands = gathered_hair(skin, draws, KNOT, 12)
    count, turn = 1300, np.linspace(0, 2.2, 12)[None, :, None]
    axis = unit(draws.standard_normal((count, 3)))
    side = unit(np.cross(axis, draws.standard_normal((count, 3))))
    wound = side[:, None] * np.cos(turn) + np.cross(axis, side)[:, None] * np.sin(turn)
    wound = KNOT + np.array([0, 0.42, 0.05]) + 0.62 * (0.8 + 0.2 * draws.random((count, 1, 1))) * wound
    pick = draws.integers(0, len(strands), count)
    both = np.concatenate([strands, wound]), np.concatenate([roots.corners, roots.corners[pick]])
    return *both, np.concatenate([roots.weights, roots.weights[pick]])


def ponytail(skin: Skin, draws: np.random.Generator) -> Strands:
    """Hair drawn back, whose ends hang beside the neck."""
    roots, strands = gathered_hair(skin, draws, TAIL, 10)
    count, points = 1400, 10
    pick = draws.integers(0, len(strands), count)
    down = np.linspace(0, 1, points)[None, :, None]
    spread = 0.10 * draws.standard_normal((count, 1, 3)) * (0.3 + down) * np.array([1.6, 0.2, 0.8])
    path = (
        TAIL
        + np.array([0.95, 0, 0]) * np.sin(down * 1.7)
        + np.array([0, 0.55, -0.45]) * np.sin(down * np.pi) * (down < 0.9)
    )
    hung = path + down * np.array([0.15, -3.2, 0.5]) + spread
    tail = np.broadcast_to(hung, (count, points, 3))
    both = np.concatenate([strands, tail]), np.concatenate([roots.corners, roots.corners[pick]])
    return *both, np.concatenate([roots.weights, roots.weights[pick]])


def fringe(skin: Skin, draws: np.random.Generator) -> Strands:
    """Hair over the forehead, down to the brows."""

    def above(at: Points) -> Bool[np.ndarray, " n"]:
        return grows(at) & (hairline(at) < 0.75) & (at[:, 2] > -1.35) & (np.abs(at[:, 0]) < 1.0) & (at[:, 1] > 0.9)

    roots = skin.roots(1300, above, draws)
    lock = locks(roots, 60, draws)
    aside = 0.16 * draws.standard_normal(60)[lock][:, None] + 0.25 * roots.at[:, :1]
    start = np.array([0, 0.15, 1.0]) + aside * np.array([1.0, 0, 0]) + 0.35 * roots.normal
    length = (
        roots.at[:, 1] - 0.42 + 0.55 * np.clip(-0.4 - roots.at[:, 2], 0, 1) + 0.13 * draws.standard_normal(len(lock))
    )
    return skin.grow(roots, start, length, 9, draws, 0.05, 2.2, 0.012), roots.corners, roots.weights


def brow_line(x: np.ndarray) -> np.ndarray:
    """Height of the middle of a brow at that distance from the middle of the face."""
    return np.asarray(
        0.385 + 0.06 * np.sin(np.clip((x - 0.17) / 0.80, 0, 1) * np.pi) - 0.04 * np.clip((x - 0.72) / 0.25, 0, 1)
    )


def brows(skin: Skin, draws: np.random.Generator) -> Strands:
    """Both brows."""

    def inside(at: Points) -> Bool[np.ndarray, " n"]:
        x = np.abs(at[:, 0])
        thick = np.interp(x, [0.16, 0.24, 0.5, 0.78, 0.97], [0.0, 0.060, 0.058, 0.030, 0.0])
        off = np.abs(at[:, 1] - brow_line(x)) / np.maximum(thick, 1e-6)
        return (off < 0.4 + 0.6 * np.abs(np.sin(at[:, 0] * 91 + at[:, 1] * 57))) & (at[:, 2] > -0.9) & (thick > 0)

    roots = skin.roots(900, inside, draws)
    side, x = np.sign(roots.at[:, :1]), np.abs(roots.at[:, :1])
    start = side * np.array([1, 0, -0.25]) + np.array([0, 0.9, 0]) * (1 - np.clip((x - 0.17) / 0.3, 0, 1))
    start = (
        start
        - np.array([0, 0.45, 0]) * np.clip(x - 0.55, 0, 1)
        + 0.15 * draws.standard_normal(x.shape)
        + 0.2 * roots.normal
    )
    length = 0.12 * np.exp(0.2 * draws.standard_normal(len(x)))
    return skin.grow(roots, start, length, 4, draws, 0.004, 0.0, 0.02), roots.corners, roots.weights


def beard(skin: Skin, draws: np.random.Generator) -> Strands:
    """A full beard with its mustache; other styles leave parts of it out."""

    def inside(at: Points) -> Bool[np.ndarray, " n"]:
        x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
        lips = (x / 0.46) ** 2 + ((y + 1.13) / 0.17) ** 2 < 1
        mustache = (x < 0.50) & (y < -0.82) & (y > -1.17) & (z > -0.25)
        chin = (x < 0.60) & (y < -1.2) & (z > -0.7)
        cheek = -0.98 - 0.55 * np.clip(1.0 - x, 0, 1) * (x > 0.3)
        jaw = (y < cheek) & (y > -2.05) | (x > 0.95) & (y < -0.5) & (z < -0.4) & (z > -1.25) & (y > -1.7)
        return (mustache | chin | jaw) & ~lips & (z > -1.4) & (y > -2.2)

    roots = skin.roots(5200, inside, draws)
    kept = roots.normal[:, 1] > -0.94
    roots = roots.take(kept)
    low = roots.at[:, 1:2] > -1.17
    start = roots.normal * 0.4 + np.array([0, -1, 0.1]) + np.sign(roots.at[:, :1]) * np.array([0.4, 0, 0]) * low
    start = start + 0.22 * draws.standard_normal(start.shape)
    length = (
        0.36
        * np.exp(0.25 * draws.standard_normal(len(start)))
        * np.clip(0.45 + (-0.6 - roots.at[:, 1]) * 0.6, 0.35, 1.1)
    )
    strands = skin.grow(roots, start, length, 5, draws, 0.01, 0.4, 0.07)
    return curled(strands, 0.015, 12.0, draws.uniform(0, 6.3, len(start))), roots.corners, roots.weights


def grooms(held: Held) -> dict[str, Strands]:
    """All grooms by name."""
    skin, draws = Skin(held), np.random.Generator(np.random.Philox(key=44))
    straight, _ = long_hair(skin, draws, 18)
    base, roots = long_hair(skin, draws, 26)
    lock = locks(roots, 220, draws)
    phase = draws.uniform(0, 6.3, 220)[lock] + 0.25 * draws.standard_normal(len(lock))
    wavy = curled(base[0], 0.075, 4.6, phase), *base[1:]
    base, roots = long_hair(skin, draws, 34)
    lock = locks(roots, 420, draws)
    phase = draws.uniform(0, 6.3, 420)[lock] + 0.15 * draws.standard_normal(len(lock))
    curly = curled(base[0], 0.115, 10.5, phase), *base[1:]
    return {
        "cropped": short_hair(skin, draws), "coily": coily_hair(skin, draws), "curly": curly, "wavy": wavy,
        "straight": straight, "ponytail": ponytail(skin, draws), "bun": bun(skin, draws), "fringe": fringe(skin, draws),
        "brows": brows(skin, draws), "beard": beard(skin, draws),
    }  # fmt: skip


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


def grid_faces(rows: int, columns: int) -> Int[np.ndarray, "g 3"]:
    """Triangles of a grid whose columns close around."""
    row, column = (part.ravel() for part in np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij"))
    a, b = row * columns + column, row * columns + (column + 1) % columns
    c, d = a + columns, b + columns
    return np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])


def crown(skin: Skin, rim: Callable[[np.ndarray], np.ndarray], thick: float, tall: float) -> Float[np.ndarray, "r c 3"]:
    """A cap over the skull from its rim (an elevation by azimuth from the front) to the top: rows, columns."""
    origin = np.array([0.0, 0.35, -1.4])
    turn = np.arange(72) / 72 * 2 * np.pi
    share = np.linspace(0, 1, 15)[:, None]
    raise_ = rim(turn) + (np.pi / 2 - rim(turn)) * share
    towards = np.stack([np.cos(raise_) * np.sin(turn), np.sin(raise_), np.cos(raise_) * np.cos(turn)], -1)
    skull = skin.points[skin.faces[~skin.ears[skin.faces].any(1)]]
    reach = farthest(origin, towards.reshape(-1, 3), skull).reshape(towards.shape[:2])
    reach = gaussian_filter(reach, (0.8, 2.0), mode=("nearest", "wrap"))
    reach += thick * np.minimum(1, 0.5 + 3 * share) + tall * share**2
    return np.asarray(origin + reach[..., None] * towards)


def brim(edge: Float[np.ndarray, "c 3"], width: Float[np.ndarray, " c"], droop: float) -> Float[np.ndarray, "r c 3"]:
    """A sheet that goes out from an edge, flat at first, by a width for each of its points."""
    out = unit((edge - edge.mean(0)) * np.array([1.0, 0.0, 1.0]))
    share = np.linspace(0, 1, 7)[:, None, None]
    return np.asarray(edge + share * width[:, None] * out - share**2 * droop * width[:, None] * np.array([0, 1.0, 0]))


def wrap(skin: Skin, opening: tuple[float, float, float], thick: float) -> Float[np.ndarray, "r c 3"]:
    """Cloth around head and neck; opening: angles from the front at its top, sides and bottom, in degrees."""
    origin = np.array([0.0, 0.05, -1.3])
    turn = np.arange(72) / 72 * 2 * np.pi  # from the top over the viewer's right
    top, side, bottom = np.radians(opening)
    start = side + np.where(np.cos(turn) > 0, (top - side) * np.cos(turn) ** 2, (bottom - side) * np.cos(turn) ** 2)
    share = np.linspace(0, 1, 22)[:, None]
    angle = start + (0.97 * np.pi - start) * share
    towards = np.stack([np.sin(angle) * np.sin(turn), np.sin(angle) * np.cos(turn), np.cos(angle)], -1)
    body = skin.points[skin.faces]
    reach = farthest(origin, towards.reshape(-1, 3), body).reshape(angle.shape)
    reach = np.clip(np.where(reach > 0, reach, 3.2), 0, 3.6)
    smooth = gaussian_filter(reach, (1.2, 2.0), mode=("nearest", "wrap"))
    reach = np.maximum(smooth, reach * 0.98) + 0.04 + (thick - 0.04) * np.minimum(1, 5 * share)
    return np.asarray(origin + reach[..., None] * towards)


def worn_meshes(held: Held) -> dict[str, np.ndarray]:
    """Hats as arrays of the file: points, faces, anchors and tint of each."""
    skin = Skin(held)
    ahead = lambda turn: np.maximum(np.cos(turn), -1)  # noqa: E731
    knit = crown(skin, lambda turn: 0.20 + 0.26 * ahead(turn), 0.17, 0.12)
    panel = crown(skin, lambda turn: 0.24 + 0.26 * ahead(turn), 0.12, 0.10)
    felt = crown(skin, lambda turn: 0.26 + 0.22 * ahead(turn), 0.14, 0.35)
    turn = np.arange(72) / 72 * 2 * np.pi
    peak = brim(panel[0], np.clip(1.15 * (np.cos(turn) - 0.42) / 0.58, 0, None) ** 0.7, 0.55)
    ring = brim(felt[0], np.full(72, 0.85), 0.12)
    sheets = {
        "beanie": [(knit, False)], "cap": [(panel, False), (peak, True)], "brimmed hat": [(felt, False), (ring, True)],
        "hood": [(wrap(skin, (44, 62, 63), 0.30), True)], "headscarf": [(wrap(skin, (37, 50, 58), 0.10), True)],
    }  # fmt: skip
    found: dict[str, np.ndarray] = {}
    for name, parts in sheets.items():
        points, faces, tint = [], [], []
        for sheet, both in parts:
            flat, grid = sheet.reshape(-1, 3), grid_faces(*sheet.shape[:2])
            corners = flat[grid]
            normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            outward = (normal * (corners[:, 0] - np.array([0, 0.35, -1.4]))).sum() > 0
            grid = grid if outward else grid[:, ::-1]
            rows = np.repeat(np.arange(sheet.shape[0]), sheet.shape[1])
            # Both sides of a sheet have points of their own, for a normal each.
            for side in (grid, grid[:, ::-1]) if both else (grid,):
                faces.append(side + sum(len(part) for part in points))
                points.append(flat)
                tint.append(np.where(rows < 2, 0.82, 1.0))
        every = np.concatenate(points)
        found |= {
            f"worn_{name}_points": every.astype(np.float32),
            f"worn_{name}_faces": np.concatenate(faces).astype(np.int32),
            f"worn_{name}_anchors": skin.used[skin.tree.query(every)[1]].astype(np.int32),
            f"worn_{name}_tint": np.concatenate(tint).astype(np.float32),
        }  # fmt: skip
    return found
