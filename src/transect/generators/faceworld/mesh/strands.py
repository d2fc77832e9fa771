"""A person's hair as it is drawn: placed, lit through its own volume, and painted over the mesh."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int32, UInt8
from scipy.ndimage import uniform_filter1d

from transect.generators.faceworld.mesh import hair
from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.mesh.complexion import ambient_of
from transect.generators.faceworld.mesh.kernels import (
    fill_volume,
    light_strands,
    light_volume,
    paint_strands,
    place_strands,
    read_volume,
)
from transect.generators.faceworld.mesh.shading import BEARD, HAIR
from transect.generators.faceworld.mesh.shape import KEPT, VIEW, Head, Pose, Values, remembered

_CELL, _SHAPE = 0.25, (21, 28, 23)
_CORNER = np.array([-2.625, -4.3, -4.2, _CELL], np.float32)
"""The volume in which hair shades: the width of its cells, how many there are, its lowest corner with that width."""
_STEPS = 7
_NEAREST = np.float32(1e9)
_OPAQUE = 0.69
"""Optical depth of a cell full of black hair."""
_FULL = 25.0
"""Length of strands in a cell that is full."""
_FINE = 768
"""Points across a drawing from which all strands are drawn, with all of their points."""
_SKULL, _AXES = np.array([0.0, 0.42, -1.35]), np.array([0.95, 1.20, 1.25])


class Placed(NamedTuple):
    """Strands of one groom on the person: points in space and on the picture, how many each strand has."""

    strands: hair.Strands
    points: Float[np.ndarray, "n k 3"]
    screen: Float[np.ndarray, "n k 3"]
    counts: Int32[np.ndarray, " n"]
    kept: float


class Hair:
    """All hair of a person, placed; what it leaves of the light at points of space."""

    def __init__(self, p: Values, head: Head, size: int) -> None:
        self.pose, self.unit = head.pose, size / VIEW / head.pose.distance
        brows = hair.brow_hair(p)
        # What turns away from the viewer covers less: else a brow stands out over the far edge of the face.
        seen = np.clip(2.6 * head.normals[brows.groom.roots[:, 0], 2] - 0.5, 0, 1)
        brows = brows._replace(fine=brows.fine * seen)
        every = (hair.lashes(p), brows, hair.facial_hair(p), *hair.head_hair(p))
        shift = head.rest - asset().mean
        self.placed = [_place(strands, shift, head.pose, size) for strands in every if strands is not None]

    def shade(
        self, towards: Float[np.ndarray, " 3"], at: Float[np.ndarray, "n 3"], rest: Float[np.ndarray, "n 3"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Shares of the key light and of the sky that hair leaves at points of the skin: all at nose and mouth."""
        volume = _volume(self, towards.tobytes())
        if volume is None:
            return np.ones(len(at), np.float32), np.ones(len(at), np.float32)
        found = np.empty((len(at), 3), np.float32)
        read_volume(at, _CORNER, volume, found)
        off = np.sqrt((rest[:, 0] / 0.75) ** 2 + ((rest[:, 1] + 0.7) / 0.95) ** 2)
        share = np.where(rest[:, 2] > -0.3, np.clip((off - 1) / 0.4, 0, 1), 1)
        key = np.exp(-1.7 * share * np.maximum(found[:, 0] - 0.05, 0))
        return key, 1 - 0.65 * share * (1 - np.clip(found[:, 2] * 1.6, 0, 1))

    def paint(
        self, p: Values, towards: Float[np.ndarray, " 3"], color: Float[np.ndarray, " 3"],
        key: Float[np.ndarray, " 3"], skin: Float[np.ndarray, "v 2 3"], solid: Float[np.ndarray, "h w"],
        depth: Float[np.ndarray, "h w"], picture: Float[np.ndarray, "h w 3"], label: UInt8[np.ndarray, "h w"],
        masked: Bool[np.ndarray, "h w"] | None,
    ) -> None:  # fmt: skip
        """Brows, beard, hair of the head: first their undercoat, then their strands. solid: depth without frames.

        skin: what light it receives, and its albedo. masked: where a mask lies over the beard, and nearer hair over it.
        """
        sky = ambient_of(p, np.array([[0.0, 0.4, 0.6]], np.float32))[0]
        own, lightness = _volume(self, towards.tobytes()), float(color.mean())
        for placed in self.placed:
            strands = placed.strands
            around = self.pose.turn(np.array([strands.middle]))[0]
            light = np.stack([towards, 1.2 * key, sky, around], dtype=np.float32)
            under = masked if strands.code == BEARD else None
            if under is not None:
                before = solid[under]
                solid[under] = _NEAREST
            pigment = _pigment(strands.name, color, p).astype(np.float32)
            shade = _mixture(strands.groom.shade[: len(placed.points)], color)
            if own is None or strands.code != HAIR:
                colors = _lit_as_skin(placed, shade, pigment, skin)
            else:
                colors = np.empty_like(placed.points)
                passed = 1 - 0.5 * min(1.0, (lightness / 0.25) ** 0.5)  # of black hair least, of what lies open most
                passed *= 0.4 if strands.name in ("fringe", *hair.BEYOND) else 1
                light_strands(
                    placed.points, placed.screen, placed.counts, solid, _CORNER, own,
                    passed, shade, pigment, light, strands.shine * max(0.0, 1 - lightness), colors,
                )  # fmt: skip
            cover, wide, every, dim = strands.under
            dim **= 1 - 0.6 * min(1.0, lightness / 0.4)
            tip, fine = strands.tip, np.full(len(placed.points), strands.fine[: len(placed.points)], np.float32)
            if cover > 0:
                look = np.array([cover, -0.03, max(1.5, wide * self.unit), strands.code, dim, 0.0, every], np.float32)
                paint_strands(placed.screen, colors, placed.counts, fine, look, solid, depth, picture, label)
            skip = -every if cover > 0 and every > 1 else 1
            width = max(0.8, strands.width * self.unit / placed.kept**0.6)
            look = np.array([strands.cover, 0.03, width, strands.code, 1.0, tip, skip], np.float32)
            paint_strands(placed.screen, colors, placed.counts, fine, look, solid, depth, picture, label)
            if under is not None:
                solid[under] = before


@functools.lru_cache(maxsize=KEPT)
def _volume(locks: Hair, towards: bytes) -> Float[np.ndarray, "a b c 3"] | None:
    """Optical depths through the hair of the head, in cells, by the light's direction."""
    heads = [placed for placed in locks.placed if placed.strands.code == HAIR]
    if not heads:
        return None
    dense = np.zeros(_SHAPE, np.float32)
    for placed in heads:
        fill_volume(placed.points, placed.counts, _CORNER, _CELL, 1 / placed.kept, dense)
    for axis in range(3):
        dense = uniform_filter1d(dense, 3, axis, mode="constant")
    dense = (_OPAQUE * np.minimum(dense / _FULL, 1.2)).astype(np.float32)
    found = np.empty((*_SHAPE, 3), np.float32)
    light_volume(dense, _solid(locks.pose), np.frombuffer(towards, np.float32).copy(), _STEPS, found)
    return found


hair_of = remembered(
    KEPT, "face_shape", "makeup", "brow_thickness", "facial_hair", "facial_hair_style", "hair_style", "hat",
    "hair_fall", "hair_length", "hair_volume", "hair_parting", "hair_curl", "hairline", "bangs", "baldness",
)(Hair)  # fmt: skip
"""The hair of a row on a head in a picture of that size, the same object for rows that share it."""


def _place(strands: hair.Strands, shift: Float[np.ndarray, "v 3"], pose: Pose, size: int) -> Placed:
    groom, kept, detail = strands.groom, 1.0, 1.0
    if size < _FINE and strands.name != "lashes":
        least, detail = {"brows": (0.35, 0.7), "coily": (0.17, 0.85)}.get(strands.name, (0.17, 0.7))
        kept = max((size / _FINE) ** 1.8, least)
    count = round(len(groom.strands) * kept)
    points = np.empty_like(groom.strands[:count])
    screen, counts = np.empty_like(points), np.empty(count, np.int32)
    place_strands(
        groom.strands[:count], groom.roots[:count], groom.weights[:count], shift,
        strands.stretch[:count].astype(np.float32), strands.spans[:count], *pose.numbers(size), detail,
        points, screen, counts,
    )  # fmt: skip
    return Placed(strands, points, screen, counts, kept)


def _lit_as_skin(
    placed: Placed, shade: Float[np.ndarray, " n"], pigment: Float[np.ndarray, " 3"], skin: Float[np.ndarray, "v 2 3"]
) -> Float[np.ndarray, "n k 3"]:
    """Colors of short hair: lit as the skin below, and little lighter than it, or hairs below a pixel would glitter."""
    groom, count = placed.strands.groom, len(placed.points)
    below = (skin[groom.roots[:count]] * groom.weights[:count, :, None, None]).sum(1)
    most = (1.45 + 0.75 * placed.strands.under[0] if placed.strands.code == BEARD else 2.5) * np.minimum(shade, 1.4)
    shade = np.minimum(shade, most * below[:, 1].mean(1) / pigment.mean())
    out = 0.25 + 0.55 * placed.strands.under[0]  # how far tips leave the shade of the jaw
    light = (1 - out) * below[:, 0] + out * below[:, 0].mean(0)
    along = np.linspace(0.85, 1.1, placed.points.shape[1], dtype=np.float32)
    return np.asarray((shade[:, None] * pigment * light)[:, None] * along[:, None], dtype=np.float32)


def _pigment(name: str, color: Float[np.ndarray, " 3"], p: Values) -> Float[np.ndarray, " 3"]:
    """Color of strands: lashes are nearly black; the skin below darkens and warms brows, which are sparse."""
    if name == "lashes":
        return np.asarray(0.012 + 0.10 * color)
    if name == "brows":
        darker = (1 - 0.9 * (p["skin_tone"] - 1) / 9) / (1 + 2.2 * float(color.mean()))
        return np.asarray(darker * color * np.array([1.12, 1.0, 0.88]))
    dense = color / (1 + 0.7 * color)
    # Matted hair scatters light as wool does.
    return np.asarray({"beard": 1.2 * dense + 0.008, "locs": 1.25 * dense + 0.007}.get(name, dense))


def _mixture(shade: Float[np.ndarray, " n"], color: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " n"]:
    """Strands differ most in grey hair, which is a mixture, and least in white hair, which light fills."""
    light = min(float(color.mean()), 0.6)
    return np.asarray(np.minimum(shade ** np.float32(1 + 6 * light * (0.5 - light)), 1.5), dtype=np.float32)


@functools.cache
def _cells() -> Float[np.ndarray, "n 3"]:
    """The middles of the volume's cells."""
    steps = [_CORNER[k] + _CELL * (np.arange(_SHAPE[k], dtype=np.float32) + 0.5) for k in range(3)]
    return np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, 3).astype(np.float32)


@functools.lru_cache(maxsize=KEPT)
def _solid(pose: Pose) -> Float[np.ndarray, "a b c"]:
    """Cells inside the skull."""
    own = (_cells() - pose.turn(_SKULL[None])[0]) @ (pose.rotation / _AXES).astype(np.float32)
    return np.asarray(((own**2).sum(1) < 1).reshape(_SHAPE) * 1.5, dtype=np.float32)
