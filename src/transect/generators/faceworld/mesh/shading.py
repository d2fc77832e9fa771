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
    surface: Float[np.ndarray, "v 4"],
    key: Float[np.ndarray, "3 3"],
    eyes: Float[np.ndarray, "4 3"],
    cloth: Float[np.ndarray, "3 3"],
    look: Float[np.ndarray, " 8"],
    fine: Float[np.ndarray, "d d 3"],
    picture: Float[np.ndarray, "h w 3"],
    label: UInt8[np.ndarray, "h w"],
) -> None:
    """Radiance and label of every pixel with a face.

    surface: gloss, share of the key light, share of lip, of the mouth's inside. key: direction, half vector, color.
    eyes: centers of both, direction of the gaze, color of the iris. cloth: color, second color, neckline's height,
    kind, pattern. look: depth of pores, age 0..1, raised brows, sclera, phase of wrinkles, pixels a unit, smile.
    """
    height, width = nearest.shape
    tile = fine.shape[0]
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    for y in range(height):
        for x in range(width):
            f = nearest[y, x]
            if f < 0:
                continue
            a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
            u, v = weights[y, x, 0], weights[y, x, 1]
            w = one - u - v
            nx = u * normals[a, 0] + v * normals[b, 0] + w * normals[c, 0]
            ny = u * normals[a, 1] + v * normals[b, 1] + w * normals[c, 1]
            nz = u * normals[a, 2] + v * normals[b, 2] + w * normals[c, 2]
            lit = u * surface[a, 1] + v * surface[b, 1] + w * surface[c, 1]
            e0 = u * light[a, 0] + v * light[b, 0] + w * light[c, 0]
            e1 = u * light[a, 1] + v * light[b, 1] + w * light[c, 1]
            e2 = u * light[a, 2] + v * light[b, 2] + w * light[c, 2]
            part = parts[f]
            if part == 1 or part == 2:
                label[y, x] = 3
                px = u * posed[a, 0] + v * posed[b, 0] + w * posed[c, 0] - eyes[part - 1, 0]
                py = u * posed[a, 1] + v * posed[b, 1] + w * posed[c, 1] - eyes[part - 1, 1]
                pz = u * posed[a, 2] + v * posed[b, 2] + w * posed[c, 2] - eyes[part - 1, 2]
                scale = one / np.sqrt(px * px + py * py + pz * pz)
                px, py, pz = px * scale, py * scale, pz * scale
                ahead = px * eyes[2, 0] + py * eyes[2, 1] + pz * eyes[2, 2]
                angle = np.arccos(min(one, max(-one, ahead)))
                soft = max(np.float32(0.05), np.float32(7) / look[5])
                iris = min(one, max(zero, (np.float32(0.49) + half * soft - angle) / soft))
                pupil = min(one, max(zero, (np.float32(0.18) + half * soft - angle) / soft))
                ring = np.exp(-(((angle - np.float32(0.46)) / np.float32(0.07)) ** 2))
                turn = np.arctan2(py - eyes[2, 1], px - eyes[2, 0])
                fibers = one + np.float32(0.20) * np.sin(
                    turn * np.float32(31) + np.float32(3) * np.sin(turn * np.float32(9))
                )
                if py < eyes[2, 1]:
                    fibers += np.float32(0.5) * angle
                dark = (one - half * ring * iris) * (one - np.float32(0.96) * pupil)
                vein = one - np.float32(0.20) * min(one, max(zero, angle - np.float32(0.55)))
                mirrored = max(zero, px * key[1, 0] + py * key[1, 1] + pz * key[1, 2])
                lobe = mirrored * mirrored
                lobe *= lobe
                lobe *= lobe
                lobe *= lobe
                lobe *= lobe * lobe
                lobe *= lobe
                for k in range(3):
                    white = look[3] * (vein if k else one) * (one if k == 0 else np.float32(0.93 if k == 1 else 0.88))
                    own = white * (one - iris) + eyes[3, k] * fibers * iris
                    e = e0 if k == 0 else (e1 if k == 1 else e2)
                    picture[y, x, k] = own * dark * e + np.float32(0.65) * lobe * key[2, k] * lit
                continue
            if part > 2:
                label[y, x] = 2 if part < 6 else (6 if part == 7 else (7 if part == 8 else 8))
                gloss = u * surface[a, 0] + v * surface[b, 0] + w * surface[c, 0]
                lobe = max(zero, nx * key[1, 0] + ny * key[1, 1] + nz * key[1, 2])
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
                for k in range(3):
                    own = weave * (u * albedo[a, k] + v * albedo[b, k] + w * albedo[c, k])
                    e = e0 if k == 0 else (e1 if k == 1 else e2)
                    picture[y, x, k] = own * e + gloss * lobe * lit * key[2, k]
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
                    picture[y, x, k] = own * e * hem * (one + fold)
                continue
            lip = u * surface[a, 2] + v * surface[b, 2] + w * surface[c, 2]
            inside = u * surface[a, 3] + v * surface[b, 3] + w * surface[c, 3]
            label[y, x] = 2 if lip > 0 or inside > half else 1
            # Fine relief on two scales by the place at rest, then lines that age and the face's muscles draw.
            i = int(rx * np.float32(420) + rz * np.float32(210)) % tile
            j = int(ry * np.float32(420) - rz * np.float32(130)) % tile
            gx, gy, deep = fine[j, i, 0], fine[j, i, 1], fine[j, i, 2]
            i = int(rx * np.float32(150) + rz * np.float32(75)) % tile
            j = int(ry * np.float32(150) - rz * np.float32(47)) % tile
            gx, gy = look[0] * (gx + fine[j, i, 0]), look[0] * (gy + fine[j, i, 1])
            mottled = one + np.float32(0.03) * deep + np.float32(0.025) * fine[j, i, 2]
            old = look[1]
            above = min(one, max(zero, (ry - np.float32(0.62)) * np.float32(6)))
            above *= min(one, max(zero, (np.float32(1.25) - ry) * np.float32(5))) * max(zero, one - side * side)
            if above > 0 and (old > 0 or look[2] > 0):
                brow = (old * np.float32(0.5) + max(zero, look[2]) * (np.float32(0.12) + half * old)) * above
                wave = ry * np.float32(42) + np.float32(2) * np.sin(rx * np.float32(2.3) + look[4]) + look[4]
                gy += np.float32(0.55) * brow * np.cos(wave)
            if (old > 0 or look[6] > 0) and abs(ry) < np.float32(0.55) and rz > np.float32(-1.2):
                ox, oy = side - np.float32(0.70), ry + np.float32(0.06)
                far = np.sqrt(ox * ox + oy * oy)
                crow = np.exp(-(((far - np.float32(0.22)) / np.float32(0.12)) ** 2)) * (ox > 0)
                crow *= old * np.float32(0.6) + look[6] * (np.float32(0.06) + np.float32(0.3) * old)
                gy += np.float32(0.5) * crow * np.cos(np.float32(13) * np.arctan2(oy, ox) + look[4])
                bag = np.exp(-(((side - np.float32(0.48)) / np.float32(0.2)) ** 2)) * np.exp(
                    -(((ry + np.float32(0.30)) / np.float32(0.05)) ** 2)
                )
                gy += np.float32(0.35) * old * bag
            nx, ny = nx + gx, ny + gy
            scale = one / np.sqrt(nx * nx + ny * ny + nz * nz)
            nx, ny, nz = nx * scale, ny * scale, nz * scale
            mirrored = max(zero, nx * key[1, 0] + ny * key[1, 1] + nz * key[1, 2])
            squared = mirrored * mirrored
            fourth = squared * squared
            wide = fourth * fourth * mirrored
            narrow = wide * wide
            turned = one - min(one, max(zero, nz))
            turned *= turned
            edge = np.float32(0.04) + np.float32(0.30) * turned * turned
            gloss = u * surface[a, 0] + v * surface[b, 0] + w * surface[c, 0]
            shine = gloss * edge * lit * (np.float32(2.0) * narrow + wide)
            sky = gloss * edge * np.float32(0.15) * max(zero, np.float32(0.4) + np.float32(0.6) * ny)
            relief = one + np.float32(0.9) * (gx * key[0, 0] + gy * key[0, 1]) * (
                np.float32(0.3) + np.float32(0.7) * lit
            )
            relief = max(np.float32(0.3), relief) * mottled
            for k in range(3):
                own = u * albedo[a, k] + v * albedo[b, k] + w * albedo[c, k]
                e = e0 if k == 0 else (e1 if k == 1 else e2)
                picture[y, x, k] = own * e * relief + shine * key[2, k] + sky
