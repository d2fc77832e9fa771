"""Loops over vertices, triangles, strands and pixels, compiled by Numba; every array is float32 unless it says so.

Nothing here runs on several threads or reorders sums, so that a picture's bits depend on its own numbers alone.
Pixels of a buffer are read as [y, x], y downwards; depth grows towards the viewer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

import numba
import numpy as np
from jaxtyping import Float, Int32, UInt8

Compiled = TypeVar("Compiled", bound=Callable[..., None])


def compiled(function: Compiled) -> Compiled:
    """The function as machine code, kept beside the package, in the user's cache, or nowhere if neither is writable."""
    plain = inspect.unwrap(function)
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(plain)  # type: ignore[return-value]
    except RuntimeError:  # Numba found no folder that it may write
        return numba.njit(nogil=True, error_model="numpy")(plain)  # type: ignore[return-value]


@compiled
def blend(
    mean: Float[np.ndarray, "v 3"],
    fields: Float[np.ndarray, "k v 3"],
    weights: Float[np.ndarray, " k"],
    out: Float[np.ndarray, "v 3"],
) -> None:
    """The mean shape and a weighted sum of displacements."""
    count = mean.shape[0]
    for v in range(count):
        for c in range(3):
            out[v, c] = mean[v, c]
    for k in range(fields.shape[0]):
        weight = weights[k]
        if weight == 0:
            continue
        for v in range(count):
            for c in range(3):
                out[v, c] += weight * fields[k, v, c]


@compiled
def find_normals(
    points: Float[np.ndarray, "v 3"], faces: Int32[np.ndarray, "f 3"], out: Float[np.ndarray, "v 3"]
) -> None:
    """Unit normals of vertices: the sum of their faces' normals, each as long as twice its area."""
    out[:] = 0
    for f in range(faces.shape[0]):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, ay, az = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        bx, by, bz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        for v in (i, j, k):
            out[v, 0] += x
            out[v, 1] += y
            out[v, 2] += z
    for v in range(out.shape[0]):
        scale = 1 / np.sqrt(out[v, 0] ** 2 + out[v, 1] ** 2 + out[v, 2] ** 2 + np.float32(1e-20))
        for c in range(3):
            out[v, c] *= scale


@compiled
def rasterize(
    screen: Float[np.ndarray, "v 3"],
    faces: Int32[np.ndarray, "f 3"],
    depth: Float[np.ndarray, "h w"],
    nearest: Int32[np.ndarray, "h w"],
    weights: Float[np.ndarray, "h w 2"],
) -> None:
    """A z-buffer: the nearest face of each pixel that faces the viewer, and its first two barycentric weights."""
    height, width = depth.shape
    half = np.float32(0.5)
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, ay, bx, by = screen[a, 0], screen[a, 1], screen[b, 0], screen[b, 1]
        cx, cy = screen[c, 0], screen[c, 1]
        area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
        if area >= 0:
            continue
        left, right = (
            max(0, int(np.ceil(min(ax, bx, cx) - half))),
            min(width - 1, int(np.floor(max(ax, bx, cx) - half))),
        )
        top, bottom = (
            max(0, int(np.ceil(min(ay, by, cy) - half))),
            min(height - 1, int(np.floor(max(ay, by, cy) - half))),
        )
        if right < left or bottom < top:
            continue
        scale = np.float32(1) / area
        for y in range(top, bottom + 1):
            py = y + half
            for x in range(left, right + 1):
                px = x + half
                first = ((bx - px) * (cy - py) - (cx - px) * (by - py)) * scale
                second = ((cx - px) * (ay - py) - (ax - px) * (cy - py)) * scale
                third = np.float32(1) - first - second
                if first < 0 or second < 0 or third < 0:
                    continue
                z = first * screen[a, 2] + second * screen[b, 2] + third * screen[c, 2]
                if z > depth[y, x]:
                    depth[y, x] = z
                    nearest[y, x] = f
                    weights[y, x, 0] = first
                    weights[y, x, 1] = second


@compiled
def scatter(
    light: Float[np.ndarray, "v 3"],
    starts: Int32[np.ndarray, " v1"],
    neighbors: Int32[np.ndarray, " e"],
    steps: int,
    kept: Float[np.ndarray, " 3"],
    scratch: Float[np.ndarray, "v 3"],
) -> None:
    """Light that spreads under the skin: each step keeps a share of a vertex's light and takes the rest of the mean of
    its neighbors, less of it in red. Vertices without neighbors keep all.
    """
    count = starts.shape[0] - 1
    for _ in range(steps):
        for v in range(count):
            first, end = starts[v], starts[v + 1]
            for c in range(3):
                total = np.float32(0)
                for e in range(first, end):
                    total += light[neighbors[e], c]
                own = light[v, c]
                scratch[v, c] = own if end == first else kept[c] * own + (1 - kept[c]) * total / (end - first)
        for v in range(count):
            for c in range(3):
                light[v, c] = scratch[v, c]


@compiled
def find_noise(points: Float[np.ndarray, "v 3"], frequency: float, seed: int, out: Float[np.ndarray, " v"]) -> None:
    """Value noise in -1..1 on a cubic lattice of that many knots a unit (Perlin 1985, doi:10.1145/325165.325247)."""
    for i in range(points.shape[0]):
        x, y, z = points[i, 0] * frequency, points[i, 1] * frequency, points[i, 2] * frequency
        kx, ky, kz = int(np.floor(x)), int(np.floor(y)), int(np.floor(z))
        u, v, w = x - kx, y - ky, z - kz
        u, v, w = u * u * (3 - 2 * u), v * v * (3 - 2 * v), w * w * (3 - 2 * w)
        total = 0.0
        for dx in range(2):
            for dy in range(2):
                for dz in range(2):
                    key = (
                        np.uint32((kx + dx) * 73856093)
                        ^ np.uint32((ky + dy) * 19349663)
                        ^ np.uint32((kz + dz) * 83492791)
                        ^ np.uint32(seed * 2654435761)
                    )
                    key = np.uint32((key ^ (key >> np.uint32(13))) * np.uint32(1274126177))
                    key = np.uint32(key ^ (key >> np.uint32(16)))
                    share = (u if dx else 1 - u) * (v if dy else 1 - v) * (w if dz else 1 - w)
                    total += (key / 4294967295.0 * 2 - 1) * share
        out[i] = total


@compiled
def read_shadow(
    seen: Float[np.ndarray, "v 3"], depth: Float[np.ndarray, "h w"], bias: float, out: Float[np.ndarray, " v"]
) -> None:
    """Share of nine points around each vertex that the light's z-buffer leaves lit."""
    height, width = depth.shape
    for v in range(seen.shape[0]):
        lit = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                x = min(width - 1, max(0, int(seen[v, 0] + np.float32(1.2) * dx)))
                y = min(height - 1, max(0, int(seen[v, 1] + np.float32(1.2) * dy)))
                lit += depth[y, x] < seen[v, 2] + bias
        out[v] = lit / 9


@compiled
def place_strands(
    strands: Float[np.ndarray, "n k 3"],
    roots: Int32[np.ndarray, "n 3"],
    weights: Float[np.ndarray, "n 3"],
    moved: Float[np.ndarray, "v 3"],
    stretch: Float[np.ndarray, " n"],
    drawn: Int32[np.ndarray, "n 2"],
    rotation: Float[np.ndarray, "3 3"],
    pivot: Float[np.ndarray, " 3"],
    neck: Float[np.ndarray, " 2"],
    camera: Float[np.ndarray, " 4"],
    points: Float[np.ndarray, "n k 3"],
    screen: Float[np.ndarray, "n k 3"],
) -> None:
    """Strands on a person: each goes with its root, is stretched from it, turned with the head and projected.

    moved: of vertices, from the mean head. drawn: as in paint_strands; all else stays unwritten. neck, camera: as
    Pose.turn and Pose.project use them: height and width of the bend; middle, its height, distance and focal length.
    """
    one = np.float32(1)
    for s in range(strands.shape[0]):
        first, end = drawn[s, 0], drawn[s, 1]
        if end - first < 2:
            continue
        sx, sy, sz = np.float32(0), np.float32(0), np.float32(0)
        for k in range(3):
            w, v = weights[s, k], roots[s, k]
            sx, sy, sz = sx + w * moved[v, 0], sy + w * moved[v, 1], sz + w * moved[v, 2]
        rx, ry, rz = strands[s, 0, 0], strands[s, 0, 1], strands[s, 0, 2]
        grown = stretch[s]
        for i in range(first, end):
            x = rx + sx + (strands[s, i, 0] - rx) * grown
            y = ry + sy + (strands[s, i, 1] - ry) * grown
            z = rz + sz + (strands[s, i, 2] - rz) * grown
            follows = one / (one + np.exp(min(-(y - neck[0]) / neck[1], np.float32(60))))
            px, py, pz = x - pivot[0], y - pivot[1], z - pivot[2]
            tx = pivot[0] + rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz
            ty = pivot[1] + rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz
            tz = pivot[2] + rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
            x, y, z = x + (tx - x) * follows, y + (ty - y) * follows, z + (tz - z) * follows
            points[s, i, 0], points[s, i, 1], points[s, i, 2] = x, y, z
            away = camera[2] - z
            scale = camera[3] / away
            screen[s, i, 0] = camera[0] + x * scale
            screen[s, i, 1] = camera[0] - (y - camera[1]) * scale
            screen[s, i, 2] = -away


@compiled
def paint_strands(  # noqa: C901
    points: Float[np.ndarray, "n k 3"],
    screen: Float[np.ndarray, "n k 3"],
    drawn: Int32[np.ndarray, "n 2"],
    shade: Float[np.ndarray, " n"],
    pigment: Float[np.ndarray, " 3"],
    light: Float[np.ndarray, "4 3"],
    look: Float[np.ndarray, " 6"],
    depth: Float[np.ndarray, "h w"],
    picture: Float[np.ndarray, "h w 3"],
    label: UInt8[np.ndarray, "h w"],
) -> None:
    """Lines of hair, lit as fibers (Kajiya & Kay 1989, doi:10.1145/74334.74361).

    drawn: the first point of each strand that is drawn, and the one after the last. shade: factor on its pigment.
    light: direction, key color, ambient color, middle of the hair's mass. look: coverage, bias of depth, shine, width
    in pixels, label, darkness of roots.
    """
    height, width = depth.shape
    one, zero = np.float32(1), np.float32(0)
    cover, bias, shine, brush, code, roots = look[0], look[1], look[2], int(look[3]), int(look[4]), look[5]
    colors = np.empty((points.shape[1], 3), np.float32)
    for s in range(points.shape[0]):
        first, count = drawn[s, 0], drawn[s, 1]
        if count - first < 2:
            continue
        for i in range(first, count):
            a, b = max(first, i - 1), min(count - 1, i + 1)
            tx, ty = points[s, b, 0] - points[s, a, 0], points[s, b, 1] - points[s, a, 1]
            tz = points[s, b, 2] - points[s, a, 2]
            scale = one / np.sqrt(tx * tx + ty * ty + tz * tz + np.float32(1e-12))
            tx, ty, tz = tx * scale, ty * scale, tz * scale
            along = tx * light[0, 0] + ty * light[0, 1] + tz * light[0, 2]
            across = np.sqrt(max(zero, one - along * along))
            lobe = max(zero, across * np.sqrt(max(zero, one - tz * tz)) - along * tz)
            mx, my, mz = points[s, i, 0] - light[3, 0], points[s, i, 1] - light[3, 1], points[s, i, 2] - light[3, 2]
            if my < 0:
                my *= np.float32(0.3)
            scale = one / np.sqrt(mx * mx + my * my + mz * mz + np.float32(1e-12))
            facing = (mx * light[0, 0] + my * light[0, 1] + mz * light[0, 2]) * scale
            facing = max(np.float32(0.05), np.float32(0.25) + np.float32(0.75) * facing)
            open_ = one - roots + roots * np.sqrt(np.float32(i) / (count - 1))
            sky = np.float32(0.6) + np.float32(0.4) * my * scale
            lobe2 = lobe * lobe
            lobe4 = lobe2 * lobe2
            lobe16 = lobe4 * lobe4 * lobe4 * lobe4
            lobe64 = lobe16 * lobe16 * lobe16 * lobe16
            for c in range(3):
                own = pigment[c] * shade[s]
                key = own * across * np.float32(1.25) + shine * (np.float32(0.05) * lobe64 + own * lobe16)
                colors[i, c] = (key * facing * light[1, c] + own * sky * light[2, c]) * open_
        for i in range(first, count - 1):
            x0, y0, z0 = screen[s, i, 0], screen[s, i, 1], screen[s, i, 2]
            x1, y1, z1 = screen[s, i + 1, 0], screen[s, i + 1, 1], screen[s, i + 1, 2]
            if max(x0, x1) < 0 or min(x0, x1) >= width or max(y0, y1) < 0 or min(y0, y1) >= height:
                continue
            steps = int(max(abs(x1 - x0), abs(y1 - y0))) + 1
            flat = abs(x1 - x0) > abs(y1 - y0)
            for j in range(steps):
                t = (np.float32(j) + np.float32(0.5)) / steps
                z = z0 + t * (z1 - z0)
                for k in range(brush):
                    x = int(np.floor(x0 + t * (x1 - x0))) + (0 if flat else k)
                    y = int(np.floor(y0 + t * (y1 - y0))) + (k if flat else 0)
                    if x < 0 or y < 0 or x >= width or y >= height or z + bias <= depth[y, x]:
                        continue
                    if z > depth[y, x]:
                        depth[y, x] += (z - depth[y, x]) * cover
                    for c in range(3):
                        own = colors[i, c] + t * (colors[i + 1, c] - colors[i, c])
                        picture[y, x, c] += (own - picture[y, x, c]) * cover
                    if label[y, x] != 7:  # frames stay what they are where hair lies over them
                        label[y, x] = code
