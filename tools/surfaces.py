"""Surfaces of quads: finer ones, and what is seen of them from before. For head_relief.py."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

Quads: TypeAlias = Int[np.ndarray, "m 4"]
"""Vertices, by number, of the corners of each quad in order."""


def subdivided(count: int, quads: Quads) -> tuple[sp.csr_matrix, Quads]:
    """A step of Catmull and Clark (1978): the matrix from vertices to finer vertices, and the finer quads."""
    faces = len(quads)
    ends = np.sort(np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    edges, of_side, sides = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    of_side = of_side.reshape(faces, 4)
    number = np.repeat(np.arange(faces), 4)
    center = _incidence(number, quads.ravel(), (faces, count)) / 4
    middle = _incidence(np.repeat(np.arange(len(edges)), 2), edges.ravel(), (len(edges), count)) / 2
    beside = _incidence(of_side.ravel(), number, (len(edges), faces))
    inner = sides == 2
    edge = sp.diags(np.where(inner, 0.5, 1.0)) @ middle + sp.diags(np.where(inner, 0.25, 0.0)) @ beside @ center
    around = _incidence(quads.ravel(), number, (count, faces))
    valence = np.maximum(np.asarray(around.sum(1)).ravel(), 1)
    at_edge = _incidence(edges.ravel(), np.repeat(np.arange(len(edges)), 2), (count, len(edges)))
    meeting = np.maximum(np.asarray(at_edge.sum(1)).ravel(), 1)
    smooth = sp.diags(valence**-2.0) @ around @ center + sp.diags(2 / valence / meeting) @ at_edge @ middle
    smooth = smooth + sp.diags((valence - 3) / valence)
    rim = np.zeros(count, dtype=bool)
    rim[edges[~inner].ravel()] = True
    corner = sp.diags(1.0 * ~rim) @ smooth + sp.diags(1.0 * rim)
    around_face = [quads, count + of_side, count + len(edges) + np.repeat(np.arange(faces)[:, None], 4, axis=1)]
    finer = np.stack([*around_face, count + np.roll(of_side, 1, axis=1)], axis=2).reshape(-1, 4)
    return sp.vstack([corner, edge, center]).tocsr(), finer


def _incidence(rows: Int[np.ndarray, " k"], columns: Int[np.ndarray, " k"], shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape)


def foremost(
    quads: Float[np.ndarray, "m 4 3"], x: Float[np.ndarray, " c"], y: Float[np.ndarray, " r"]
) -> Float[np.ndarray, "r c"]:
    """The greatest depth of triangles over each point of a grid, NaN where there is none."""
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    step = np.array([x[1] - x[0], y[1] - y[0]])
    corners = (triangles[..., :2] - [x[0], y[0]]) / step
    first = np.ceil(corners.min(1)).astype(int)
    size = np.floor(corners.max(1)).astype(int) - first + 1
    found = np.full((len(y), len(x)), -np.inf)
    edges = corners[:, 1:] - corners[:, :1]
    area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
    usable = (np.abs(area) > 1e-12) & (size > 0).all(1)
    for row, column in np.ndindex(*size[usable].max(0)[::-1]):
        some = np.flatnonzero(usable & (size[:, 1] > row) & (size[:, 0] > column))
        place = first[some] + [column, row]
        away = place - corners[some, 0]
        u = (away[:, 0] * edges[some, 1, 1] - away[:, 1] * edges[some, 1, 0]) / area[some]
        v = (away[:, 1] * edges[some, 0, 0] - away[:, 0] * edges[some, 0, 1]) / area[some]
        within = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
        within &= (place >= 0).all(1) & (place[:, 0] < len(x)) & (place[:, 1] < len(y))
        z = triangles[some, :, 2]
        depth = z[:, 0] + u * (z[:, 1] - z[:, 0]) + v * (z[:, 2] - z[:, 0])
        np.maximum.at(found, (place[within, 1], place[within, 0]), depth[within])
    return np.where(np.isfinite(found), found, np.nan)
