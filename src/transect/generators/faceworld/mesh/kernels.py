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

Compiled = TypeVar("Compiled", bound=Callable[..., object])


def compiled(function: Compiled) -> Compiled:
    """The function as machine code, kept beside the package, in the user's cache, or nowhere if neither is writable.

    It holds no references to its arrays, whose counting would cost half of its time, and so cannot make arrays.
    """
    plain = inspect.unwrap(function)
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(plain)  # type: ignore[call-overload, no-any-return]
    except RuntimeError:  # Numba found no folder that it may write
        return numba.njit(nogil=True, error_model="numpy", _nrt=False)(plain)  # type: ignore[call-overload, no-any-return]


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
    for v in range(out.shape[0]):
        for c in range(3):
            out[v, c] = 0
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
def turn_points(
    points: Float[np.ndarray, "v 3"],
    rotation: Float[np.ndarray, "3 3"],
    pivot: Float[np.ndarray, " 3"],
    neck: Float[np.ndarray, " 2"],
    out: Float[np.ndarray, "v 3"],
) -> None:
    """Points of the head, turned around the pivot; below the neck they follow less. neck: as in place_strands."""
    for v in range(points.shape[0]):
        x, y, z = points[v, 0], points[v, 1], points[v, 2]
        follows = _follows(y, neck)
        px, py, pz = x - pivot[0], y - pivot[1], z - pivot[2]
        for k in range(3):
            turned = pivot[k] + rotation[k, 0] * px + rotation[k, 1] * py + rotation[k, 2] * pz
            out[v, k] = points[v, k] + (turned - points[v, k]) * follows


@compiled
def _follows(height: np.float32, neck: Float[np.ndarray, " 2"]) -> np.float32:
    """How much of the head's turn a place of that height follows."""
    one, above = np.float32(1), (height - neck[0]) / neck[1]
    if above > np.float32(12):
        return one
    return np.float32(one / (one + np.exp(min(-above, np.float32(60)))))


@compiled
def enlarge(picture: Float[np.ndarray, "s s 3"], out: Float[np.ndarray, "h w 3"]) -> None:
    """Each pixel as a square of points."""
    points = out.shape[0] // picture.shape[0]
    for y in range(picture.shape[0]):
        for i in range(y * points, (y + 1) * points):
            for x in range(picture.shape[1]):
                for j in range(x * points, (x + 1) * points):
                    for c in range(3):
                        out[i, j, c] = picture[y, x, c]


@compiled
def shrink(picture: Float[np.ndarray, "h w 3"], out: Float[np.ndarray, "3 s s"]) -> None:
    """The mean of each pixel's points."""
    points = picture.shape[0] // out.shape[1]
    share = np.float32(1) / np.float32(points * points)
    for y in range(out.shape[1]):
        for x in range(out.shape[2]):
            for c in range(3):
                total = np.float32(0)
                for i in range(points):
                    for j in range(points):
                        total += picture[y * points + i, x * points + j, c]
                out[c, y, x] = total * share


@compiled
def mix(  # noqa: C901
    picture: Float[np.ndarray, "c h w"], taps: Float[np.ndarray, " r"], scale: Float[np.ndarray, " s"], size: int,
    room: Float[np.ndarray, "h w"],
) -> None:  # fmt: skip
    """Blurs the first `size` rows and columns of each channel in place. taps: weights by distance; scale: by place."""
    reach = taps.shape[0]
    for c in range(picture.shape[0]):
        for y in range(size):
            for x in range(size):
                room[y, x] = taps[0] * picture[c, y, x]
            for step in range(1, min(reach, size)):
                for x in range(size - step):
                    room[y, x] += taps[step] * picture[c, y, x + step]
                for x in range(step, size):
                    room[y, x] += taps[step] * picture[c, y, x - step]
            for x in range(size):
                room[y, x] *= scale[x]
        for y in range(size):
            for x in range(size):
                picture[c, y, x] = taps[0] * room[y, x]
            for step in range(1, min(reach, size)):
                for other in (y - step, y + step):
                    if 0 <= other < size:
                        for x in range(size):
                            picture[c, y, x] += taps[step] * room[other, x]
            for x in range(size):
                picture[c, y, x] *= scale[y]


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
    half, least = np.float32(0.5), np.float32(-1e-5)
    for f in range(faces.shape[0]):
        a, b, c = np.uint32(faces[f, 0]), np.uint32(faces[f, 1]), np.uint32(faces[f, 2])
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
        # Weights change by constants from column to column and from row to row; edges of neighbors overlap a little.
        scale = np.float32(1) / area
        px, py = np.float32(left) + half, np.float32(top) + half
        first_here = ((bx - px) * (cy - py) - (cx - px) * (by - py)) * scale
        second_here = ((cx - px) * (ay - py) - (ax - px) * (cy - py)) * scale
        first_across, first_down = (by - cy) * scale, (cx - bx) * scale
        second_across, second_down = (cy - ay) * scale, (ax - cx) * scale
        az, bz, cz = screen[a, 2], screen[b, 2], screen[c, 2]
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                right_of, below = np.float32(x - left), np.float32(y - top)
                first = first_here + first_across * right_of + first_down * below
                second = second_here + second_across * right_of + second_down * below
                third = np.float32(1) - first - second
                if first < least or second < least or third < least:
                    continue
                z = first * az + second * bz + third * cz
                if z > depth[y, x]:
                    depth[y, x] = z
                    nearest[y, x] = f
                    weights[y, x, 0] = first
                    weights[y, x, 1] = second


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
    spans: Float[np.ndarray, "n 2"],
    rotation: Float[np.ndarray, "3 3"],
    pivot: Float[np.ndarray, " 3"],
    neck: Float[np.ndarray, " 2"],
    camera: Float[np.ndarray, " 4"],
    detail: float,
    points: Float[np.ndarray, "n k 3"],
    screen: Float[np.ndarray, "n k 3"],
    counts: Int32[np.ndarray, " n"],
) -> None:
    """Strands on a person: each goes with its root, is stretched from it, turned with the head and projected.

    moved: of vertices, from the mean head. spans: between which of its points each strand is drawn, fractions too.
    counts: how many points that gives, detail times as many as it has; the others stay unwritten. neck, camera: as
    Pose.turn and Pose.project use them: height and width of the bend; middle, its height, distance and focal length.
    """
    most = strands.shape[1]
    for s in range(strands.shape[0]):
        first, last = spans[s, 0], min(spans[s, 1], np.float32(most - 1))
        if last - first < np.float32(0.3):
            counts[s] = 0
            continue
        count = min(most, int(np.ceil((last - first) * np.float32(detail))) + 1)
        counts[s] = count
        sx, sy, sz = np.float32(0), np.float32(0), np.float32(0)
        for k in range(3):
            w, v = weights[s, k], roots[s, k]
            sx, sy, sz = sx + w * moved[v, 0], sy + w * moved[v, 1], sz + w * moved[v, 2]
        rx, ry, rz = strands[s, 0, 0], strands[s, 0, 1], strands[s, 0, 2]
        grown = stretch[s]
        for j in range(count):
            at = first + (last - first) * np.float32(j) / np.float32(count - 1)
            i = min(int(at), most - 2)
            t = at - np.float32(i)
            x = rx + sx + (strands[s, i, 0] + t * (strands[s, i + 1, 0] - strands[s, i, 0]) - rx) * grown
            y = ry + sy + (strands[s, i, 1] + t * (strands[s, i + 1, 1] - strands[s, i, 1]) - ry) * grown
            z = rz + sz + (strands[s, i, 2] + t * (strands[s, i + 1, 2] - strands[s, i, 2]) - rz) * grown
            follows = _follows(y, neck)
            px, py, pz = x - pivot[0], y - pivot[1], z - pivot[2]
            tx = pivot[0] + rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz
            ty = pivot[1] + rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz
            tz = pivot[2] + rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
            x, y, z = x + (tx - x) * follows, y + (ty - y) * follows, z + (tz - z) * follows
            points[s, j, 0], points[s, j, 1], points[s, j, 2] = x, y, z
            away = camera[2] - z
            scale = camera[3] / away
            screen[s, j, 0] = camera[0] + x * scale
            screen[s, j, 1] = camera[0] - (y - camera[1]) * scale
            screen[s, j, 2] = -away


@compiled
def fill_volume(
    points: Float[np.ndarray, "n k 3"],
    counts: Int32[np.ndarray, " n"],
    corner: Float[np.ndarray, " 3"],
    cell: float,
    weight: float,
    volume: Float[np.ndarray, "a b c"],
) -> None:
    """Adds the length of strands to the cells in which they lie."""
    for s in range(points.shape[0]):
        for i in range(counts[s] - 1):
            dx = points[s, i + 1, 0] - points[s, i, 0]
            dy = points[s, i + 1, 1] - points[s, i, 1]
            dz = points[s, i + 1, 2] - points[s, i, 2]
            x = int((points[s, i, 0] + np.float32(0.5) * dx - corner[0]) / cell)
            y = int((points[s, i, 1] + np.float32(0.5) * dy - corner[1]) / cell)
            z = int((points[s, i, 2] + np.float32(0.5) * dz - corner[2]) / cell)
            if 0 <= x < volume.shape[0] and 0 <= y < volume.shape[1] and 0 <= z < volume.shape[2]:
                volume[x, y, z] += np.float32(weight) * np.sqrt(dx * dx + dy * dy + dz * dz)


@compiled
def light_volume(  # noqa: C901
    hair: Float[np.ndarray, "a b c"],
    solid: Float[np.ndarray, "a b c"],
    towards: Float[np.ndarray, " 3"],
    steps: int,
    out: Float[np.ndarray, "a b c 3"],
) -> None:
    """What lies between each cell and the light, in cells: out[..., 0] of hair alone and out[..., 1] with what is
    solid; out[..., 2]: hair and solid on the way to open sky, by five ways.
    """
    a, b, c = hair.shape
    half = np.float32(0.5)
    for x in range(a):
        for y in range(b):
            for z in range(c):
                through, whole = half * hair[x, y, z], half * hair[x, y, z]
                for k in range(1, steps):
                    i = int(np.float32(x) + half + towards[0] * np.float32(k))
                    j = int(np.float32(y) + half + towards[1] * np.float32(k))
                    m = int(np.float32(z) + half + towards[2] * np.float32(k))
                    if i < 0 or j < 0 or m < 0 or i >= a or j >= b or m >= c:
                        break
                    through += hair[i, j, m]
                    whole += hair[i, j, m] + solid[i, j, m]
                out[x, y, z, 0] = through
                out[x, y, z, 1] = whole
                out[x, y, z, 2] = 0
    for way in range(5):
        share = np.float32(0.34) if way == 0 else (np.float32(0.30) if way == 1 else np.float32(0.12))
        first, second, third = (b, a, c) if way == 0 or way == 4 else ((c, a, b) if way == 1 else (a, b, c))
        for i in range(second):
            for j in range(third):
                gone = np.float32(0)
                for k in range(first):
                    if way == 0:
                        x, y, z = i, b - 1 - k, j
                    elif way == 4:
                        x, y, z = i, k, j
                    elif way == 1:
                        x, y, z = i, j, c - 1 - k
                    elif way == 2:
                        x, y, z = k, i, j
                    else:
                        x, y, z = a - 1 - k, i, j
                    own = hair[x, y, z] + solid[x, y, z]
                    out[x, y, z, 2] += share * np.exp(-(gone + half * hair[x, y, z]))
                    gone = min(gone + own, np.float32(30))


@compiled
def _within(
    x: np.float32, y: np.float32, z: np.float32, corner: Float[np.ndarray, " 4"], volume: Float[np.ndarray, "a b c 3"]
) -> tuple[np.float32, np.float32, np.float32]:
    """The volume's three values at a place, between the middles of its cells; those of its border beyond it."""
    half, zero, one, least = np.float32(0.5), np.float32(0), np.float32(1), np.float32(1.001)
    a, b, c = volume.shape[:3]
    u = min(max((x - corner[0]) / corner[3] - half, zero), np.float32(a) - least)
    v = min(max((y - corner[1]) / corner[3] - half, zero), np.float32(b) - least)
    w = min(max((z - corner[2]) / corner[3] - half, zero), np.float32(c) - least)
    i, j, m = int(u), int(v), int(w)
    u, v, w = u - np.float32(i), v - np.float32(j), w - np.float32(m)
    first, second, third = zero, zero, zero
    for di in range(2):
        for dj in range(2):
            for dm in range(2):
                share = (u if di else one - u) * (v if dj else one - v) * (w if dm else one - w)
                first += share * volume[i + di, j + dj, m + dm, 0]
                second += share * volume[i + di, j + dj, m + dm, 1]
                third += share * volume[i + di, j + dj, m + dm, 2]
    return first, second, third


@compiled
def read_volume(
    points: Float[np.ndarray, "n 3"],
    corner: Float[np.ndarray, " 4"],
    volume: Float[np.ndarray, "a b c 3"],
    out: Float[np.ndarray, "n 3"],
) -> None:
    """The volume's three values at each point. corner: the volume's lowest, and the width of its cells."""
    for s in range(points.shape[0]):
        out[s, 0], out[s, 1], out[s, 2] = _within(points[s, 0], points[s, 1], points[s, 2], corner, volume)


@compiled
def _hidden(x: np.float32, y: np.float32, z: np.float32, solid: Float[np.ndarray, "h w"]) -> bool:
    """Whether a point lies behind what is drawn at its pixel, or at the border's nearest."""
    px, py = min(max(int(x), 0), solid.shape[1] - 1), min(max(int(y), 0), solid.shape[0] - 1)
    return bool(z <= solid[py, px])


@compiled
def light_strands(
    points: Float[np.ndarray, "n k 3"],
    screen: Float[np.ndarray, "n k 3"],
    counts: Int32[np.ndarray, " n"],
    solid: Float[np.ndarray, "h w"],
    corner: Float[np.ndarray, " 4"],
    volume: Float[np.ndarray, "a b c 3"],
    passed: float,
    shade: Float[np.ndarray, " n"],
    pigment: Float[np.ndarray, " 3"],
    light: Float[np.ndarray, "4 3"],
    shine: float,
    out: Float[np.ndarray, "n k 3"],
) -> None:
    """Radiance of points of strands: a diffuse share, a white lobe shifted to the tip and one in the hair's own color
    shifted to the root (Marschner et al. 2003, doi:10.1145/882262.882345, by the tangents of Scheuermann 2004).

    Points of pieces that are hidden, as paint_strands finds, stay unwritten. corner, volume: as in read_volume, of what
    the hair leaves of light; passed: how dark its strands are. shade: factor on each strand's pigment.
    light: direction, key color, ambient color, middle of the hair's mass.
    """
    one, zero, half = np.float32(1), np.float32(0), np.float32(0.5)
    hx, hy, hz = light[0, 0], light[0, 1], light[0, 2] + one
    scale = one / np.sqrt(hx * hx + hy * hy + hz * hz + np.float32(1e-6))
    hx, hy, hz = hx * scale, hy * scale, hz * scale
    dark, nearer, gloss = np.float32(passed), np.float32(0.03), np.float32(shine)
    for s in range(points.shape[0]):
        count = counts[s]
        # A fixed jitter of each strand's scales keeps highlights from being one line.
        turn = np.float32(0.10) * np.float32((s * 7919) % 97 - 48) / np.float32(48)
        out_tip, out_root = turn - np.float32(0.12), turn + np.float32(0.22)
        after = _hidden(screen[s, 0, 0], screen[s, 0, 1], screen[s, 0, 2] + nearer, solid)
        here = True
        for i in range(count):
            before, here, after = here, after, True
            if i + 1 < count:
                after = _hidden(screen[s, i + 1, 0], screen[s, i + 1, 1], screen[s, i + 1, 2] + nearer, solid)
            if before and here and after:
                continue
            _, key_seen, sky_seen = _within(points[s, i, 0], points[s, i, 1], points[s, i, 2], corner, volume)
            key_seen = np.exp(-dark * np.float32(1.1) * key_seen)
            sky_seen = min(max(np.float32(1.5) * sky_seen, zero), one) ** (half + np.float32(0.8) * dark)
            a, b = max(0, i - 1), min(count - 1, i + 1)
            tx, ty = points[s, b, 0] - points[s, a, 0], points[s, b, 1] - points[s, a, 1]
            tz = points[s, b, 2] - points[s, a, 2]
            scale = one / np.sqrt(tx * tx + ty * ty + tz * tz + np.float32(1e-12))
            tx, ty, tz = tx * scale, ty * scale, tz * scale
            nx, ny, nz = points[s, i, 0] - light[3, 0], points[s, i, 1] - light[3, 1], points[s, i, 2] - light[3, 2]
            if ny < 0:
                ny *= np.float32(0.25)
            along = nx * tx + ny * ty + nz * tz
            nx, ny, nz = nx - along * tx, ny - along * ty, nz - along * tz
            scale = one / np.sqrt(nx * nx + ny * ny + nz * nz + np.float32(1e-6))
            nx, ny, nz = nx * scale, ny * scale, nz * scale
            along = tx * light[0, 0] + ty * light[0, 1] + tz * light[0, 2]
            across = np.sqrt(max(zero, one - along * along))
            facing = nx * light[0, 0] + ny * light[0, 1] + nz * light[0, 2]
            facing = max(zero, (facing + np.float32(0.35)) / np.float32(1.35))
            body = np.float32(0.35) * across + np.float32(0.65) * facing
            to_tip = (tx + out_tip * nx) * hx + (ty + out_tip * ny) * hy + (tz + out_tip * nz) * hz
            to_root = (tx + out_root * nx) * hx + (ty + out_root * ny) * hy + (tz + out_root * nz) * hz
            first, second = max(zero, one - to_tip * to_tip), max(zero, one - to_root * to_root)
            for _ in range(3):
                first, second = first * first, second * second
            first *= first
            front = min(one, max(zero, np.float32(0.2) + facing))
            sky = half + half * ny
            for c in range(3):
                own = pigment[c] * shade[s]
                mirrored = gloss * front * (np.float32(0.095) * first + np.float32(0.65) * own * second)
                key = (own * np.float32(1.15) * body + mirrored) * key_seen
                around = (own + np.float32(0.004) * gloss) * (np.float32(0.55) + np.float32(0.45) * sky) * sky_seen
                out[s, i, c] = key * light[1, c] + around * light[2, c]


@compiled
def paint_strands(  # noqa: C901
    screen: Float[np.ndarray, "n k 3"],
    colors: Float[np.ndarray, "n k 3"],
    counts: Int32[np.ndarray, " n"],
    fine: Float[np.ndarray, " n"],
    look: Float[np.ndarray, " 7"],
    solid: Float[np.ndarray, "h w"],
    depth: Float[np.ndarray, "h w"],
    picture: Float[np.ndarray, "h w 3"],
    label: UInt8[np.ndarray, "h w"],
) -> None:
    """Lines of hair that taper to tips and roots; edges cover the share of a pixel that they do.

    fine: share of the coverage that each strand has. look: coverage, bias of depth, width in pixels, label, factor on
    colors, share of the width at the tip, every which strand is drawn or, below 0, left out. solid: depth without
    frames of glasses, which hide what lies behind them and nothing beside them.
    """
    height, width = depth.shape
    one, half = np.float32(1), np.float32(0.5)
    cover, bias, wide, code, dim, tip, every = look[0], look[1], look[2], int(look[3]), look[4], look[5], int(look[6])
    for s in range(0, screen.shape[0], max(every, 1)):
        if every < 0 and s % -every == 0:
            continue
        count, own_cover = counts[s], cover * fine[s]
        for i in range(count - 1):
            x0, y0, z0 = screen[s, i, 0], screen[s, i, 1], screen[s, i, 2]
            x1, y1, z1 = screen[s, i + 1, 0], screen[s, i + 1, 1], screen[s, i + 1, 2]
            if max(x0, x1) < -wide or min(x0, x1) >= width + wide:
                continue
            if max(y0, y1) < -wide or min(y0, y1) >= height + wide:
                continue
            # A piece whose two ends lie behind what is drawn is taken to lie behind it.
            px, py = min(max(int(x0), 0), width - 1), min(max(int(y0), 0), height - 1)
            if z0 + bias <= solid[py, px]:
                px, py = min(max(int(x1), 0), width - 1), min(max(int(y1), 0), height - 1)
                if z1 + bias <= solid[py, px]:
                    continue
            dx, dy = x1 - x0, y1 - y0
            flat = abs(dx) > abs(dy)
            long = max(abs(dx), abs(dy))
            steps = int(long) + 1
            step = one / np.float32(steps)
            slope = np.sqrt(dx * dx + dy * dy) / max(long, np.float32(1e-3))
            from_tip0 = np.float32(count - 1 - i) / np.float32(count - 1)
            per = one / np.float32(count - 1)
            for j in range(steps):
                t = (np.float32(j) + half) * step
                left = from_tip0 - t * per
                thick = min(one, np.float32(2.2) * left, np.float32(0.3) + np.float32(4) * (one - left))
                thick = tip + (one - tip) * thick
                reach = half * wide * thick * slope
                z = z0 + t * (z1 - z0) + bias
                x, y = x0 + t * dx, y0 + t * dy
                middle = y if flat else x
                fixed = int(np.floor(x if flat else y))
                if fixed < 0 or fixed >= (width if flat else height):
                    continue
                low, high = middle - reach, middle + reach
                first, last = int(np.floor(low)), int(np.floor(high))
                first, last = max(0, first), min((height if flat else width) - 1, last)
                for k in range(first, last + 1):
                    share = min(high, np.float32(k + 1)) - max(low, np.float32(k))
                    alpha = own_cover * min(one, share)
                    px, py = (fixed, k) if flat else (k, fixed)
                    if z <= solid[py, px] or alpha <= np.float32(0.02):
                        continue
                    if alpha > np.float32(0.35):
                        solid[py, px] = max(solid[py, px], min(z, z - bias))
                    if z <= depth[py, px]:
                        continue
                    if label[py, px] == 0:  # whatever it touches is no background
                        label[py, px] = code if code < 200 else 1
                    if alpha > np.float32(0.35):
                        depth[py, px] = max(depth[py, px], min(z, z - bias))
                        if code < 200 and label[py, px] != 7:  # frames stay what they are where hair lies over them
                            label[py, px] = code
                    for c in range(3):
                        own = dim * (colors[s, i, c] + t * (colors[s, i + 1, c] - colors[s, i, c]))
                        picture[py, px, c] += (own - picture[py, px, c]) * alpha
