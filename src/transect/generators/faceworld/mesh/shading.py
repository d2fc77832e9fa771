"""The shader of one picture: skin with pores and wrinkles, cloth, eyes and all other surfaces, pixel by pixel."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float, Int32, UInt8
from scipy.ndimage import gaussian_filter

from transect.generators.faceworld.mesh.kernels import compiled

SKIN, LEFT_EYE, RIGHT_EYE, UPPER_TEETH, LOWER_TEETH, TONGUE, LASH, HAT, FRAME, EARRING = range(10)
"""Parts of the mesh, by face."""

NOTHING, BARE, LIPS, EYE, HAIR, CLOTH, HEADWEAR, SPECTACLES, RING, BEARD = range(10)
"""What a pixel of the drawing shows. Lips: and what is between them."""

_SCATTERED = 512


@functools.cache
def pores() -> Float[np.ndarray, "d d 3"]:
    """A tile of skin's fine relief: its slopes in x and y and its height, each of variance 1."""
    draws = np.random.Generator(np.random.Philox(key=3))
    height = np.zeros((_SCATTERED, _SCATTERED))
    for width, share in ((1.2, 0.5), (2.5, 1.0), (5.0, 0.7)):
        layer = gaussian_filter(draws.standard_normal(height.shape), width, mode="wrap")
        height += share * layer / layer.std()
    height = -(np.abs(height) ** 0.8) + 0.3 * height
    height = (height - height.mean()) / height.std()
    across = np.roll(height, -1, 1) - np.roll(height, 1, 1)
    down = np.roll(height, -1, 0) - np.roll(height, 1, 0)
    return np.stack([across / across.std(), down / down.std(), height], -1).astype(np.float32)


@compiled
def find_hollows(
    points: Float[np.ndarray, "v 3"],
    normals: Float[np.ndarray, "v 3"],
    starts: Int32[np.ndarray, " v1"],
    near: Int32[np.ndarray, " e"],
    steps: int,
    out: Float[np.ndarray, " v"],
) -> None:
    """How far each vertex lies below its surroundings, on three scales: folds, sockets, the sides of a nose.

    The surroundings are what is left of the shape after 1, 3 and `steps` rounds of averaging over neighbors.
    """
    count = starts.shape[0] - 1
    smooth, scratch = points.copy(), points.copy()
    out[:] = 0
    for step in range(1, steps + 1):
        for v in range(count):
            first, end = starts[v], starts[v + 1]
            if end == first:
                continue
            share = np.float32(1) / np.float32(end - first)
            x, y, z = np.float32(0), np.float32(0), np.float32(0)
            for e in range(first, end):
                n = near[e]
                x, y, z = x + smooth[n, 0], y + smooth[n, 1], z + smooth[n, 2]
            scratch[v, 0], scratch[v, 1], scratch[v, 2] = x * share, y * share, z * share
        smooth, scratch = scratch, smooth
        if step == 1 or step == 3 or step == steps:
            weight = np.float32(6.0) if step == 1 else (np.float32(5.0) if step == 3 else np.float32(3.5))
            for v in range(count):
                depth = np.float32(0)
                for c in range(3):
                    depth += (smooth[v, c] - points[v, c]) * normals[v, c]
                out[v] += weight * depth


@compiled
def spread(
    values: Float[np.ndarray, " v"],
    starts: Int32[np.ndarray, " v1"],
    near: Int32[np.ndarray, " e"],
    steps: int,
) -> None:
    """Replace values of vertices by rounds of half themselves and half the mean of their neighbors."""
    count = starts.shape[0] - 1
    for _ in range(steps):
        for v in range(count):
            first, end = starts[v], starts[v + 1]
            if end > first:
                total = np.float32(0)
                for e in range(first, end):
                    total += values[near[e]]
                values[v] = np.float32(0.5) * (values[v] + total / np.float32(end - first))


@compiled
def shade(  # noqa: C901
    nearest: Int32[np.ndarray, "h w"],
    weights: Float[np.ndarray, "h w 2"],
    faces: Int32[np.ndarray, "f 3"],
    parts: UInt8[np.ndarray, " f"],
    posed: Float[np.ndarray, "v 3"],
    rest: Float[np.ndarray, "v 3"],
    normals: Float[np.ndarray, "v 3"],
    light: Float[np.ndarray, "v 3"],
    albedo: Float[np.ndarray, "v 3"],
    surface: Float[np.ndarray, "v 6"],
    lamp: Float[np.ndarray, "10 3"],
    shadow: Float[np.ndarray, "m m"],
    eyes: Float[np.ndarray, "4 3"],
    cloth: Float[np.ndarray, "3 3"],
    look: Float[np.ndarray, " 8"],
    fine: Float[np.ndarray, "d d 3"],
    picture: Float[np.ndarray, "h w 3"],
    label: UInt8[np.ndarray, "h w"],
) -> None:
    """Radiance and label of every pixel with a face.

    light: of the surroundings, by vertex. surface: gloss, share of the key light spread under the skin, share of lip,
    of the mouth's inside, share of the surroundings that a vertex sees, and of the key light that hair leaves. lamp:
    direction, half vector and irradiance of the key light; direction and irradiance of the light from behind; softness
    of the key light, pixels of its shadow a unit, bias of the shadow; axes of the shadow's picture; how far the light
    creeps around by color. eyes: centers of both, direction of the gaze, color of the iris. cloth: color, second
    color, neckline's height, kind, pattern. look: depth of pores, age 0..1, raised brows, sclera, phase of wrinkles,
    pixels a unit, smile.
    """
    height, width = nearest.shape
    tile, far = fine.shape[0], shadow.shape[0]
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    soft_light, scale_light, bias = lamp[5, 0], lamp[5, 1], lamp[5, 2]
    spread_by = np.float32(0.8) + np.float32(2.2) * soft_light
    run = np.zeros(width, np.int32)
    for y in range(height):
        for x in range(width):
            f = nearest[y, x]
            if f < 0:
                run[x] = 0
                continue
            a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
            u, v = weights[y, x, 0], weights[y, x, 1]
            w = one - u - v
            nx = u * normals[a, 0] + v * normals[b, 0] + w * normals[c, 0]
            ny = u * normals[a, 1] + v * normals[b, 1] + w * normals[c, 1]
            nz = u * normals[a, 2] + v * normals[b, 2] + w * normals[c, 2]
            scale = one / np.sqrt(nx * nx + ny * ny + nz * nz)
            nx, ny, nz = nx * scale, ny * scale, nz * scale
            qx = u * posed[a, 0] + v * posed[b, 0] + w * posed[c, 0]
            qy = u * posed[a, 1] + v * posed[b, 1] + w * posed[c, 1]
            qz = u * posed[a, 2] + v * posed[b, 2] + w * posed[c, 2]
            e0 = u * light[a, 0] + v * light[b, 0] + w * light[c, 0]
            e1 = u * light[a, 1] + v * light[b, 1] + w * light[c, 1]
            e2 = u * light[a, 2] + v * light[b, 2] + w * light[c, 2]
            part = parts[f]
            run[x] = run[x] + 1 if part == 1 or part == 2 else 0
            facing = nx * lamp[0, 0] + ny * lamp[0, 1] + nz * lamp[0, 2]
            lit = zero
            if facing > np.float32(-0.35):  # the shadow of the key light, nine points around
                sx, sy, sz = qx + np.float32(0.045) * nx, qy + np.float32(0.045) * ny, qz + np.float32(0.045) * nz
                at_x = half * far + (sx * lamp[6, 0] + sy * lamp[6, 1] + sz * lamp[6, 2]) * scale_light
                at_y = (
                    half * far - (sx * lamp[7, 0] + sy * lamp[7, 1] + sz * lamp[7, 2] + np.float32(0.3)) * scale_light
                )
                at_z = sx * lamp[8, 0] + sy * lamp[8, 1] + sz * lamp[8, 2] + bias
                for dy in range(-1, 2):
                    for dx in range(-1, 2):
                        i = min(far - 1, max(0, int(at_x + spread_by * (dx + np.float32(0.3) * dy))))
                        j = min(far - 1, max(0, int(at_y + spread_by * (dy - np.float32(0.3) * dx))))
                        lit += shadow[j, i] < at_z
                lit *= np.float32(1 / 9) * (u * surface[a, 5] + v * surface[b, 5] + w * surface[c, 5])
            if part == 1 or part == 2:
                label[y, x] = 3
                px, py, pz = qx - eyes[part - 1, 0], qy - eyes[part - 1, 1], qz - eyes[part - 1, 2]
                scale = one / np.sqrt(px * px + py * py + pz * pz)
                px, py, pz = px * scale, py * scale, pz * scale
                ahead = px * eyes[2, 0] + py * eyes[2, 1] + pz * eyes[2, 2]
                angle = np.arccos(min(one, max(-one, ahead)))
                soft = max(np.float32(0.04), np.float32(5) / look[5])
                iris = min(one, max(zero, (np.float32(0.45) + half * soft - angle) / soft))
                pupil = min(one, max(zero, (np.float32(0.165) + half * soft - angle) / soft))
                ring = np.exp(-(((angle - np.float32(0.44)) / np.float32(0.07)) ** 2))
                turn = np.arctan2(py - eyes[2, 1], px - eyes[2, 0])
                fibers = np.float32(0.9) + np.float32(0.25) * np.sin(
                    turn * np.float32(23) + np.float32(3) * np.sin(turn * np.float32(9))
                )
                fibers *= np.float32(0.55) + np.float32(1.3) * angle
                # Light that the cornea gathers opposite to where it comes from.
                across = (px - eyes[2, 0] * ahead) * lamp[0, 0] + (py - eyes[2, 1] * ahead) * lamp[0, 1]
                fibers *= max(np.float32(0.45), one - np.float32(1.6) * across)
                dark = (one - np.float32(0.6) * ring * iris) * (one - np.float32(0.97) * pupil)
                vein = one - np.float32(0.30) * min(one, max(zero, angle - np.float32(0.50)))
                below = np.float32(run[x]) / look[5]
                lid = one - np.float32(0.80) * np.exp(-below * np.float32(14))
                corner = one - np.float32(0.55) * min(one, max(zero, angle - np.float32(0.50)) * np.float32(1.8))
                turned = max(
                    zero, (px * lamp[0, 0] + py * lamp[0, 1] + pz * lamp[0, 2] + np.float32(0.45)) / np.float32(1.45)
                )
                cx, cy, cz = px, py, pz
                if angle < np.float32(0.46):  # the cornea bulges
                    cx, cy, cz = px - half * eyes[2, 0], py - half * eyes[2, 1], pz - half * eyes[2, 2]
                    scale = one / np.sqrt(cx * cx + cy * cy + cz * cz)
                    cx, cy, cz = cx * scale, cy * scale, cz * scale
                mirrored = cx * lamp[1, 0] + cy * lamp[1, 1] + cz * lamp[1, 2]
                size = np.float32(0.989) - np.float32(0.012) * soft_light
                spot = min(one, max(zero, (mirrored - size) / np.float32(0.006)))
                spot *= np.float32(0.3) + np.float32(0.7) * lit
                window = np.float32(0.03) * max(zero, cy) * (one - half * pupil)
                wet = zero
                if y + 2 < height and nearest[y + 2, x] >= 0 and parts[nearest[y + 2, x]] == 0:
                    wet = np.float32(0.10) * (np.float32(0.3) + np.float32(0.7) * lit)
                for k in range(3):
                    white = look[3] * (vein if k else one) * (one if k == 0 else np.float32(0.94 if k == 1 else 0.90))
                    own = white * (one - iris) + eyes[3, k] * fibers * iris
                    e = e0 if k == 0 else (e1 if k == 1 else e2)
                    e += lamp[2, k] * turned * (np.float32(0.25) + np.float32(0.75) * lit)
                    shine = spot * np.float32(0.75) * lamp[2, k] + (window + np.float32(0.35) * wet) * e
                    picture[y, x, k] = own * dark * e * lid * corner + shine * min(one, lid + np.float32(0.2))
                continue
            seen = u * surface[a, 4] + v * surface[b, 4] + w * surface[c, 4]
            gloss = u * surface[a, 0] + v * surface[b, 0] + w * surface[c, 0]
            if part > 2:
                label[y, x] = 2 if part < 6 else (6 if part == 7 else (7 if part == 8 else 8))
                lobe = max(zero, nx * lamp[1, 0] + ny * lamp[1, 1] + nz * lamp[1, 2])
                lobe *= lobe
                lobe *= lobe
                lobe *= lobe
                lobe *= lobe
                lobe *= lobe
                weave = one
                if part == 7:  # cloth
                    rx = u * rest[a, 0] + v * rest[b, 0] + w * rest[c, 0]
                    ry = u * rest[a, 1] + v * rest[b, 1] + w * rest[c, 1]
                    rz = u * rest[a, 2] + v * rest[b, 2] + w * rest[c, 2]
                    i = int((rx + half * rz) * np.float32(300)) % tile
                    j = int((ry - np.float32(0.3) * rz) * np.float32(300)) % tile
                    weave = max(half, one + np.float32(0.05) * fine[j, i, 0] + np.float32(0.05) * fine[j, i, 2])
                if part == 3 or part == 4:  # between one tooth and the next, and towards the gums
                    wide = np.float32(0.115) if part == 3 else np.float32(0.085)
                    at = abs(u * rest[a, 0] + v * rest[b, 0] + w * rest[c, 0]) / wide
                    at = abs(at - np.floor(at + half))
                    weave = one - np.float32(0.35) * np.exp(-((at / np.float32(0.07)) ** 2))
                for k in range(3):
                    own = weave * (u * albedo[a, k] + v * albedo[b, k] + w * albedo[c, k])
                    e = e0 if k == 0 else (e1 if k == 1 else e2)
                    if part > 6:
                        e += lamp[2, k] * max(zero, facing * np.float32(0.9) + np.float32(0.1)) * lit
                    picture[y, x, k] = own * e + gloss * lobe * (lit if part > 6 else seen) * lamp[2, k]
                continue
            rx = u * rest[a, 0] + v * rest[b, 0] + w * rest[c, 0]
            ry = u * rest[a, 1] + v * rest[b, 1] + w * rest[c, 1]
            rz = u * rest[a, 2] + v * rest[b, 2] + w * rest[c, 2]
            side = abs(rx)
            kind = int(cloth[2, 1])
            neck = cloth[2, 0]
            if kind == 1:
                neck -= np.float32(1.1) * max(zero, np.float32(0.75) - side) * (rz > np.float32(-1.6))
            elif kind == 2:
                neck += np.float32(0.35) * min(one, side) - np.float32(0.9) * max(zero, np.float32(0.5) - side) * (
                    rz > np.float32(-1.6)
                )
            elif kind == 0:
                neck += np.float32(0.16) * side - np.float32(0.20) * min(one, max(zero, rz + np.float32(1.3)))
            if ry < neck:
                label[y, x] = 5
                hem = one - np.float32(0.35) * np.exp(-(((neck - ry - np.float32(0.10)) / np.float32(0.02)) ** 2))
                fold = np.float32(0.05) * np.sin(rx * np.float32(5) + np.float32(3) * ry)
                fold += np.float32(0.04) * np.sin(rx * np.float32(11) - np.float32(5) * ry)
                pattern = int(cloth[2, 2])
                share = zero
                if pattern:
                    rows = half + half * np.tanh(4 * np.sin(ry * 19))
                    share = rows if pattern == 1 else half * (rows + half + half * np.tanh(4 * np.sin(rx * 19)))
                for k in range(3):
                    own = cloth[0, k] + (cloth[1, k] - cloth[0, k]) * np.float32(0.8) * share
                    e = e0 if k == 0 else (e1 if k == 1 else e2)
                    e += lamp[2, k] * max(zero, facing * np.float32(0.9) + np.float32(0.1)) * lit
                    picture[y, x, k] = own * e * hem * (one + fold)
                continue
            lip = u * surface[a, 2] + v * surface[b, 2] + w * surface[c, 2]
            inside = u * surface[a, 3] + v * surface[b, 3] + w * surface[c, 3]
            label[y, x] = 2 if lip > 0 or inside > half else 1
            over, down = rx - (rz if rx > 0 else -rz), ry + np.float32(0.6) * rz
            # Fine relief on three scales by the place at rest, then lines that age and the face's muscles draw.
            i, j = int(over * np.float32(420)) % tile, int(down * np.float32(420)) % tile
            gx, gy, deep = fine[j, i, 0], fine[j, i, 1], fine[j, i, 2]
            i, j = int(over * np.float32(170)) % tile, int(down * np.float32(170)) % tile
            gx, gy, deep = gx + fine[j, i, 0], gy + fine[j, i, 1], deep + fine[j, i, 2]
            i, j = int(over * np.float32(70)) % tile, int(down * np.float32(70)) % tile
            gx = look[0] * (gx + np.float32(0.7) * fine[j, i, 0])
            gy = look[0] * (gy + np.float32(0.7) * fine[j, i, 1])
            mottled = one + look[0] * (np.float32(0.45) * deep + np.float32(0.3) * fine[j, i, 2])
            red = np.float32(0.022) * fine[i, j, 2]
            old = look[1]
            above = min(one, max(zero, (ry - np.float32(0.62)) * np.float32(6)))
            above *= min(one, max(zero, (np.float32(1.25) - ry) * np.float32(5))) * max(zero, one - side * side)
            if above > 0 and (old > 0 or look[2] > 0):
                brow = (old * np.float32(0.5) + max(zero, look[2]) * (np.float32(0.06) + half * old)) * above
                wave = ry * np.float32(34) + np.float32(2) * np.sin(rx * np.float32(2.3) + look[4]) + look[4]
                wave += np.float32(0.5) * fine[j, i, 0]
                gy += np.float32(0.40) * brow * np.cos(wave) * (half + half * np.sin(rx * np.float32(3) + look[4]))
            if (old > 0 or look[6] > 0) and abs(ry) < np.float32(0.55) and rz > np.float32(-1.2):
                ox, oy = side - np.float32(0.70), ry + np.float32(0.06)
                away = np.sqrt(ox * ox + oy * oy)
                crow = np.exp(-(((away - np.float32(0.22)) / np.float32(0.12)) ** 2)) * (ox > 0)
                crow *= old * np.float32(0.6) + look[6] * (np.float32(0.06) + np.float32(0.3) * old)
                gy += np.float32(0.5) * crow * np.cos(np.float32(13) * np.arctan2(oy, ox) + look[4])
                bag = np.exp(-(((side - np.float32(0.48)) / np.float32(0.2)) ** 2)) * np.exp(
                    -(((ry + np.float32(0.30)) / np.float32(0.05)) ** 2)
                )
                gy += np.float32(0.35) * old * bag
            # Nostrils, the wings' edges, the fold from nose to mouth and the lid's crease.
            hole = zero
            if side < np.float32(0.75) and rz > np.float32(0.0):
                if ry < np.float32(-0.6) and ry > np.float32(-1.3):
                    ox, oy = (
                        (side - np.float32(0.125)) / np.float32(0.060),
                        (ry + np.float32(0.792)) / np.float32(0.026),
                    )
                    hole = np.float32(0.80) * np.exp(-(ox * ox + oy * oy)) * (rz > np.float32(0.4))
                    oy = (ry + np.float32(0.845)) / np.float32(0.05)
                    hole += np.float32(0.30) * np.exp(-(oy * oy)) * max(zero, one - side * np.float32(4))
                    ox, oy = (side - np.float32(0.315)) / np.float32(0.030), (ry + np.float32(0.74)) / np.float32(0.085)
                    hole += np.float32(0.22) * np.exp(-(ox * ox + oy * oy))
                    path = np.float32(0.30) - np.float32(0.42) * (ry + np.float32(0.72))
                    ox, oy = (side - path) / np.float32(0.045), (ry + np.float32(0.93)) / np.float32(0.20)
                    line = np.exp(-(oy * oy)) * (np.float32(0.10) + np.float32(0.55) * old + np.float32(0.25) * look[6])
                    fold = line * ox * np.exp(-(ox * ox))
                    gx -= np.float32(0.9) * (fold if rx > 0 else -fold)
                    hole += np.float32(0.22) * line * np.exp(-(ox * ox))
                elif ry > np.float32(0.0) and ry < np.float32(0.3):
                    ox = (side - np.float32(0.52)) / np.float32(0.20)
                    oy = (ry - np.float32(0.135) + np.float32(0.05) * ox * ox) / np.float32(0.016)
                    hole = look[7] * np.exp(-(oy * oy)) * max(zero, one - np.float32(0.45) * ox * ox)
            bx, by = nx + gx, ny + gy
            scale = one / np.sqrt(bx * bx + by * by + nz * nz)
            bx, by, bz = bx * scale, by * scale, nz * scale
            bumped = bx * lamp[0, 0] + by * lamp[0, 1] + bz * lamp[0, 2]
            spread_lit = u * surface[a, 1] + v * surface[b, 1] + w * surface[c, 1]
            mirrored = max(zero, bx * lamp[1, 0] + by * lamp[1, 1] + bz * lamp[1, 2])
            squared = mirrored * mirrored
            fourth = squared * squared
            wide = fourth * fourth
            narrow = wide * wide * wide
            turned = one - min(one, max(zero, nz))
            turned *= turned
            edge = np.float32(0.035) + np.float32(0.45) * turned * turned * turned
            shine = gloss * edge * lit * seen * (np.float32(1.2) * narrow + np.float32(1.0) * wide)
            behind = max(zero, bx * lamp[3, 0] + by * lamp[3, 1] + bz * lamp[3, 2])
            sky = gloss * edge * seen * np.float32(0.22) * max(zero, np.float32(0.45) + np.float32(0.55) * by)
            sky += gloss * edge * np.float32(1.5) * behind * lamp[4, 1]
            relief = max(np.float32(0.4), one + np.float32(0.6) * (gx * lamp[0, 0] + gy)) * mottled
            for k in range(3):
                own = u * albedo[a, k] + v * albedo[b, k] + w * albedo[c, k]
                if k:
                    own *= one - red
                e = (e0 if k == 0 else (e1 if k == 1 else e2)) * relief
                smooth = np.float32(0.60) if k == 0 else (np.float32(0.30) if k == 1 else np.float32(0.20))
                creep = lamp[9, k]
                given = max(zero, (bumped + (facing - bumped) * smooth + creep) / (one + creep))
                through = lit + (spread_lit - lit) * (smooth + np.float32(0.1))
                e += lamp[2, k] * given * through * (np.float32(0.35) + np.float32(0.65) * seen)
                e += lamp[4, k] * behind * seen
                own *= (one - np.float32(0.96) * inside) * (
                    one - min(hole, one) * (np.float32(0.86) if k == 0 else one)
                )
                picture[y, x, k] = (
                    own * e * mottled + shine * lamp[2, k] + sky * (e2 if k == 2 else e1) / max(e1, np.float32(0.05))
                )
