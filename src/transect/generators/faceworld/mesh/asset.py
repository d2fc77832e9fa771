"""The stored head: mean shape, displacements, regions, hats and grooms; made by tools/head_mesh.py from CC0 data."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import numpy as np
from jaxtyping import Float, Int32, UInt8

FILE = "head.npz"


@dataclass(frozen=True, slots=True, eq=False)
class Groom:
    """Strands [n, k, 3] on the mean head, root to tip; vertices and weights of roots' triangles; factors on pigment."""

    strands: Float[np.ndarray, "n k 3"]
    roots: Int32[np.ndarray, "n 3"]
    weights: Float[np.ndarray, "n 3"]
    shade: Float[np.ndarray, " n"]


@dataclass(frozen=True, slots=True, eq=False)
class WornMesh:
    """What lies on the mean head: points, triangles, the vertex of the head with which each point moves, lightness."""

    points: Float[np.ndarray, "w 3"]
    faces: Int32[np.ndarray, "g 3"]
    anchors: Int32[np.ndarray, " w"]
    tint: Float[np.ndarray, " w"]


@dataclass(frozen=True, slots=True, eq=False)
class Asset:
    """The head. Lengths are distances between the eyes, whose middle is the origin; x to the viewer's right, y up.

    parts: of each face, as in shading.py. starts, near: which vertices of the skin share an edge. sky: share of the sky
    that a vertex sees. fields: displacements by name, in the order of names. landmark_corners, landmark_weights:
    dlib's 68 points. regions: 0..1 by vertex.
    """

    mean: Float[np.ndarray, "v 3"]
    faces: Int32[np.ndarray, "f 3"]
    parts: UInt8[np.ndarray, " f"]
    starts: Int32[np.ndarray, " v1"]
    near: Int32[np.ndarray, " e"]
    sky: Float[np.ndarray, " v"]
    names: tuple[str, ...]
    fields: Float[np.ndarray, "k v 3"]
    landmark_corners: Int32[np.ndarray, "68 3"]
    landmark_weights: Float[np.ndarray, "68 3"]
    regions: Mapping[str, Float[np.ndarray, " v"]]
    grooms: Mapping[str, Groom]
    worn: Mapping[str, WornMesh]


@functools.cache
def asset() -> Asset:
    """The built-in head, read once."""
    file = resources.files("transect.generators.faceworld") / "facts" / FILE
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        held = {name: archive[name] for name in archive.files}
    grooms = {name: _groom(held, name) for name in _stems(held, "groom_", "_roots")}
    worn = {name: _worn(held, name) for name in _stems(held, "worn_", "_points")}
    regions = {name.removeprefix("region_"): held[name] for name in held if name.startswith("region_")}
    names = tuple(str(name) for name in held["names"])
    fields = _unpacked(held, "fields")
    return Asset(
        mean=held["mean"],
        faces=held["faces"],
        parts=held["parts"],
        starts=held["starts"],
        near=held["near"],
        sky=held["sky"],
        names=names,
        fields=fields,
        landmark_corners=held["landmark_corners"],
        landmark_weights=held["landmark_weights"],
        regions=regions,
        grooms=grooms,
        worn=worn,
    )


@functools.cache
def vertices_of(*parts: int) -> Int32[np.ndarray, " n"]:
    """The vertices of those parts of the head."""
    return np.unique(asset().faces[np.isin(asset().parts, parts)]).astype(np.int32)


def _stems(held: Mapping[str, np.ndarray], first: str, last: str) -> list[str]:
    return [
        name.removeprefix(first).removesuffix(last) for name in held if name.startswith(first) and name.endswith(last)
    ]


def _unpacked(held: Mapping[str, np.ndarray], name: str) -> Float[np.ndarray, ...]:
    values, scale = held[f"{name}_values"], held[f"{name}_scale"]
    return np.asarray(values * scale.reshape(-1, *(1,) * (values.ndim - 1)), dtype=np.float32)


def _groom(held: Mapping[str, np.ndarray], name: str) -> Groom:
    """Strands from stored changes: a point continues the line through the two before it, plus its change."""
    starts, changes, roots, weights, shade, step = (
        held[f"groom_{name}_{part}"] for part in ("starts", "changes", "roots", "weights", "shade", "step")
    )
    ways = np.cumsum(changes, axis=1, dtype=np.int64)
    whole = np.concatenate([starts[:, None], starts[:, None] + np.cumsum(ways, axis=1)], 1)
    first = weights.astype(np.float32) / 255
    every = np.concatenate([first, 1 - first.sum(1, keepdims=True)], 1)
    return Groom(
        (whole * float(step[0])).astype(np.float32),
        roots.astype(np.int32),
        every,
        np.exp(shade / 100).astype(np.float32),
    )


def _worn(held: Mapping[str, np.ndarray], name: str) -> WornMesh:
    """A worn mesh; its triangles are stored as differences, which are alike in a grid."""
    points, steps, anchors, tint = (held[f"worn_{name}_{part}"] for part in ("points", "steps", "anchors", "tint"))
    faces = np.cumsum(steps, axis=0, dtype=np.int32)
    return WornMesh(points.astype(np.float32), faces, anchors.astype(np.int32), tint.astype(np.float32))
