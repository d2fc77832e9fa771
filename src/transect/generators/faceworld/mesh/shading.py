"""The shader of one picture: skin with pores and wrinkles, cloth, eyes and all other surfaces, pixel by pixel."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float, Int8, Int32, UInt8
from scipy.ndimage import gaussian_filter

from transect.generators.faceworld.mesh.kernels import compiled

SKIN, LEFT_EYE, RIGHT_EYE, UPPER_TEETH, LOWER_TEETH, TONGUE, LASH, HAT, FRAME, EARRING, FACE_MASK, GARMENT = range(12)
"""Parts of the mesh, by face."""

NOTHING, BARE, LIPS, EYE, HAIR, CLOTH, HEADWEAR, SPECTACLES, RING, BEARD, MASKED = range(11)
"""What a pixel of the drawing shows. Lips: and what is between them."""

_SCATTERED, _STEP = 512, np.float32(1 / 24)
"""Width in cells of the relief's tile, and steps per unit of height: stored in bytes it fits a core's cache."""


@functools.cache
def pores() -> Int8[np.ndarray, "d d 3"]:
    """A tile of skin's fine relief: its slopes in x and y and its height, each of variance 1 / _STEP²."""
    draws = np.random.Generator(np.random.Philox(key=3))
    height = np.zeros((_SCATTERED, _SCATTERED))
    for width, share in ((1.2, 0.5), (2.5, 1.0), (5.0, 0.7)):
        layer = gaussian_filter(draws.standard_normal(height.shape), width, mode="wrap")
        height += share * layer / layer.std()
    height = np.tanh(0.9 * height) - 0.25 * np.sqrt(np.abs(height))
    height = (height - height.mean()) / height.std()
    across = np.roll(height, -1, 1) - np.roll(height, 1, 1)
    down = np.roll(height, -1, 0) - np.roll(height, 1, 0)
    relief = np.stack([across / across.std(), down / down.std(), height], -1)
    return np.rint(relief / _STEP).clip(-127, 127).astype(np.int8)


@compiled
def find_hollows(
    points: Float[np.ndarray, "v 3"], normals: Float[np.ndarray, "v 3"], starts: Int32[np.ndarray, " v1"],
    near: Int32[np.ndarray, " e"], steps: int, room: Float[np.ndarray, "2 v 3"], out: Float[np.ndarray, " v"],
) -> None:  # fmt: skip
    """How far each vertex lies below its surroundings, on three scales: folds, sockets, the sides of a nose.

    The surroundings are what is left of the shape after 1, 3 and `steps` rounds of averaging over neighbors.
    """
    count = starts.shape[0] - 1
    smooth, scratch = room[0], room[1]
    for v in range(count):
        out[v] = 0
        for c in range(3):
            smooth[v, c] = scratch[v, c] = points[v, c]
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
            weight = np.float32(3.0) if step == 1 else (np.float32(5.0) if step == 3 else np.float32(3.5))
            for v in range(count):
                depth = np.float32(0)
                for c in range(3):
                    depth += (smooth[v, c] - points[v, c]) * normals[v, c]
                out[v] += weight * depth


@compiled
def spread(
    values: Float[np.ndarray, " v"], starts: Int32[np.ndarray, " v1"], near: Int32[np.ndarray, " e"], steps: int
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


REST, NORMAL, POSED, LIGHT, ALBEDO, SURFACE = 0, 3, 6, 9, 12, 15
"""Where the columns of a vertex begin; six of its surface are the last."""


@compiled
def _gather(
    face: Int32[np.ndarray, " 3"], weights: Float[np.ndarray, " 2"], vertices: Float[np.ndarray, "v 21"],
    at: Float[np.ndarray, " 21"],
) -> None:  # fmt: skip
    """What a face's vertices say of one of its points."""
    a, b, c = np.uint32(face[0]), np.uint32(face[1]), np.uint32(face[2])
    u, v = weights[0], weights[1]
    w = np.float32(1) - u - v
    for k in range(21):
        at[k] = u * vertices[a, k] + v * vertices[b, k] + w * vertices[c, k]


@compiled
def _square(value: np.float32) -> np.float32:
    return value * value


@compiled
def _bump(value: np.float32) -> np.float32:
    """exp(-value²), and 0 where that is below 1e-4."""
    return np.float32(np.exp(-value * value)) if abs(value) < np.float32(3.04) else np.float32(0)


_DISC = np.array([[np.cos(2.4 * k), np.sin(2.4 * k), 1] for k in range(16)]) * np.sqrt(np.arange(0.3, 16)[:, None] / 16)
_DISC = _DISC.astype(np.float32)
"""Points spread evenly over a disc, and how far each is from its middle."""


@compiled
def _reached(
    at: Float[np.ndarray, " 21"], lamp: Float[np.ndarray, "10 3"], shadow: Float[np.ndarray, "m m"], facing: np.float32
) -> np.float32:
    """The share of the key light that reaches a point: sixteen points of its shadow, which is the softer the farther
    away what casts it is (Fernando 2005, doi:10.1145/1187112.1187153), and what hair leaves.
    """
    if facing <= np.float32(-0.35):
        return np.float32(0)
    far, zero, half = shadow.shape[0], np.float32(0), np.float32(0.5)
    scale, least = lamp[5, 1], np.float32(1) + np.float32(2.6) * lamp[5, 0]
    lamp_wide, off = np.float32(0.10) + np.float32(0.24) * lamp[5, 0], np.float32(0.045)
    sx, sy, sz = at[6] + off * at[3], at[7] + off * at[4], at[8] + off * at[5]
    across = half * np.float32(far) + (sx * lamp[6, 0] + sy * lamp[6, 1] + sz * lamp[6, 2]) * scale
    down = half * np.float32(far) - (sx * lamp[7, 0] + sy * lamp[7, 1] + sz * lamp[7, 2] + np.float32(0.3)) * scale
    near = sx * lamp[8, 0] + sy * lamp[8, 1] + sz * lamp[8, 2] + lamp[5, 2]
    total, count, wide = zero, zero, np.float32(1.5) * scale * lamp_wide
    for n in range(13):  # what is close by, then all in the cone of light
        m, r = (3 * n, least) if n < 5 else (2 * n - 9, wide)
        i = min(far - 1, max(0, int(across + r * _DISC[m, 0])))
        j = min(far - 1, max(0, int(down + r * _DISC[m, 1])))
        above = shadow[j, i] - near
        if above >= (zero if n < 5 else r * _DISC[m, 2] / (scale * lamp_wide)):
            total, count = total + above, count + np.float32(1)
    if count == 0 or count == np.float32(13):
        return np.float32(zero if count else at[20])
    wide, lit = max(least, min(total / count, np.float32(1.5)) * lamp_wide * scale), zero
    for n in range(16):
        i = min(far - 1, max(0, int(across + wide * _DISC[n, 0])))
        j = min(far - 1, max(0, int(down + wide * _DISC[n, 1])))
        if shadow[j, i] - near < max(zero, wide * _DISC[n, 2] - np.float32(3)) / scale:
            lit += np.float32(1 / 16)
    return np.float32(lit * at[20])


@compiled
def _shade_eye(
    at: Float[np.ndarray, " 21"], number: int, above: int, wet: bool, lit: np.float32, lamp: Float[np.ndarray, "10 3"],
    eyes: Float[np.ndarray, "4 3"], look: Float[np.ndarray, " 9"], out: Float[np.ndarray, " 3"],
) -> None:  # fmt: skip
    """An eye; above: how many points of it lie over this one; wet: whether the lower lid is next to it."""
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    px, py, pz = at[6] - eyes[number, 0], at[7] - eyes[number, 1], at[8] - eyes[number, 2]
    scale = one / np.sqrt(px * px + py * py + pz * pz)
    px, py, pz = px * scale, py * scale, pz * scale
    ahead = px * eyes[2, 0] + py * eyes[2, 1] + pz * eyes[2, 2]
    angle = np.arccos(min(one, max(-one, ahead)))
    soft = max(np.float32(0.035), np.float32(4) / look[5])
    iris = min(one, max(zero, (np.float32(0.39) + half * soft - angle) / soft))
    turn = np.arctan2(py - eyes[2, 1], px - eyes[2, 0])
    wave = np.sin(turn * np.float32(9) + eyes[3, 0] * np.float32(300))
    pupil = min(one, max(zero, (np.float32(0.125) + half * soft - angle) / soft))
    ring = min(one, max(zero, (angle - np.float32(0.285)) * np.float32(9.5)))  # the limbus is dark, and soft inwards
    fibers = np.float32(0.92) + np.float32(0.17) * np.sin(turn * np.float32(23) + np.float32(3) * wave)
    fibers += np.float32(0.12) * np.sin(turn * np.float32(41) - np.float32(2) * wave + angle * np.float32(12))
    collar = _bump((angle + np.float32(0.008) * wave - np.float32(0.195)) / np.float32(0.05))
    # Light that the cornea gathers opposite to where it comes from.
    across = (px - eyes[2, 0] * ahead) * lamp[0, 0] + (py - eyes[2, 1] * ahead) * lamp[0, 1]
    fibers *= max(half, one - np.float32(1.4) * across) * (np.float32(0.85) + np.float32(0.60) * collar)
    dark = (one - np.float32(0.72) * ring * ring * iris) * (one - np.float32(0.97) * pupil)
    vein = one - np.float32(0.22) * min(one, max(zero, angle - np.float32(0.50)))
    pink = min(one, max(zero, (np.float32(0.375) - abs(at[0])) * np.float32(22)))  # the caruncle
    below = np.float32(above) / look[5]
    lid = one - np.float32(0.22) * np.exp(-below * np.float32(16)) - np.float32(0.42) * _bump(below * np.float32(30))
    corner = one - np.float32(0.26) * min(one, max(zero, angle - np.float32(0.50)) * np.float32(1.8))
    turned = max(zero, (px * lamp[0, 0] + py * lamp[0, 1] + pz * lamp[0, 2] + np.float32(0.45)) / np.float32(1.45))
    cx, cy, cz = px, py, pz
    if angle < np.float32(0.40):  # the cornea bulges
        cx, cy, cz = px - half * eyes[2, 0], py - half * eyes[2, 1], pz - half * eyes[2, 2]
        scale = one / np.sqrt(cx * cx + cy * cy + cz * cz)
        cx, cy, cz = cx * scale, cy * scale, cz * scale
    # Lamps of portraits are tall and wide: some of them is mirrored below the lid, wherever their middle stands.
    hx = eyes[2, 0] + min(max(lamp[1, 0] - eyes[2, 0], np.float32(-0.34)), np.float32(0.34))
    hy = eyes[2, 1] + min(max(lamp[1, 1] - eyes[2, 1], np.float32(0.29)), np.float32(0.38))
    mirrored = (cx * hx + cy * hy + cz * lamp[1, 2]) / np.sqrt(hx * hx + hy * hy + lamp[1, 2] * lamp[1, 2])
    spot = (mirrored - np.float32(0.9974) + np.float32(0.004) * lamp[5, 0]) * np.float32(500)
    spot = min(one, max(zero, spot)) * (half + half * lit)
    window = np.float32(0.016) * max(zero, cy) * (one - np.float32(0.7) * pupil)
    moist = np.float32(0.5) * look[3] * (one - iris) * (np.float32(0.4) + np.float32(0.6) * lit) if wet else zero
    collar *= min(one, eyes[3, 2] / eyes[3, 0])  # blue and green irises are hazel around the pupil
    for k in range(3):
        white = look[3] * (vein if k else one) * (one if k == 0 else np.float32(0.95 if k == 1 else 0.91))
        white *= one - pink * (np.float32(0.12) if k == 0 else np.float32(0.50))
        own = white * (one - iris) + eyes[3, k] * fibers * iris * (one + np.float32(0.25 - 0.20 * k) * collar)
        e = at[9 + k] + lamp[2, k] * turned * (np.float32(0.32) + np.float32(0.68) * lit)
        shine = spot * np.float32(0.75) * lamp[2, k] + (window + np.float32(0.35) * moist) * e
        out[k] = own * dark * e * lid * corner + shine * min(one, lid + np.float32(0.3))


@compiled
def _weave(at: Float[np.ndarray, " 21"], fine: Int8[np.ndarray, "d d 3"]) -> np.float32:
    """How light a thread of cloth is; where cloth turns away, its fibers catch the light."""
    one, mask = np.float32(1), fine.shape[0] - 1
    i = int((at[0] + np.float32(0.5) * at[2]) * np.float32(330)) & mask
    j = int((at[1] - np.float32(0.3) * at[2]) * np.float32(330)) & mask
    edge = _square(one - min(one, max(np.float32(0), at[5])))
    raised = np.float32(np.int32(fine[j, i, 0]) + np.int32(fine[j, i, 2]))
    return max(np.float32(0.5), one + np.float32(0.035) * _STEP * raised + np.float32(0.35) * edge * edge)


_CROWNS = np.array(
    [[0, 0.135, 0.241, 0.363, 0.474, 0.585, 0.9], [0, 0.083, 0.177, 0.285, 0.396, 0.51, 0.9]], np.float32
)
"""Where upper and lower teeth end along the arch from its middle: mean crowns (Wheeler 1974), eyes 63 mm apart."""


@compiled
def _tooth(
    at: Float[np.ndarray, " 21"], row: int, below: np.float32, soft: np.float32
) -> tuple[np.float32, np.float32]:
    """How light a place of the upper (0) or lower teeth (1) is, and how much of it is gum; edges are that soft."""
    zero, one, half, n = np.float32(0), np.float32(1), np.float32(0.5), 0
    back = max(zero, np.float32(0.375 - 0.02 * row) - at[2])
    along = abs(at[0]) + back * (np.float32(0.27) + np.float32(0.6) * back)
    while n < 5 and along > _CROWNS[row, n + 1]:
        n += 1
    wide = half * (_CROWNS[row, n + 1] - _CROWNS[row, n])
    beside = abs(along - _CROWNS[row, n] - wide) / wide
    # From the biting edge, whose corners are round, and from the gum, which is an arch over each tooth.
    bite = at[1] - np.float32(0.1) * along * along + np.float32(1.177 + 0.01 * row)
    edge, short = bite if row == 0 else -bite, np.float32(0.014 if row == 0 and n == 1 else 0)
    root = np.float32(0.150 - 0.03 * row) - short - np.float32(0.035) * beside * beside - edge
    past = min(one, max(zero, half - (edge - short - np.float32(0.030) * _square(_square(beside))) / soft))
    gap = np.float32(0.009) + half * soft
    light = (np.float32(0.93 if n == 2 else 1) - np.float32(0.16) * beside * beside) * (one - np.float32(0.6) * past)
    light *= one - np.float32(0.008) / gap * _bump((one - beside) * wide / gap)
    light *= one - np.float32(0.5) * np.exp(-below * np.float32(26))  # under the lip; and towards the corners:
    light *= (np.float32(0.45) + np.float32(0.55) * max(zero, at[5])) * _bump(along / np.float32(0.55))
    return light, max(past, min(one, max(zero, half - root / soft)))


@compiled
def _shade_other(
    at: Float[np.ndarray, " 21"], part: int, below: np.float32, facing: np.float32, lit: np.float32,
    lamp: Float[np.ndarray, "10 3"], fine: Int8[np.ndarray, "d d 3"], soft: np.float32, out: Float[np.ndarray, " 3"],
) -> None:  # fmt: skip
    """Teeth, so far below the lip, tongue, hats, frames, earrings and masks."""
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    lobe = max(zero, at[3] * lamp[1, 0] + at[4] * lamp[1, 1] + at[5] * lamp[1, 2])
    for _ in range(5):
        lobe *= lobe
    weave = _weave(at, fine) if part == 7 and at[15] == 0 else one  # twill's threads are finer than points
    if part == 10:  # finer cloth
        across, down = np.float32(110) * (at[0] + half * at[2]), np.float32(110) * (at[1] - np.float32(0.3) * at[2])
        weave = one + np.float32(0.035) * np.sin(across) * np.sin(down)
    weave, gum = _tooth(at, part - 3, below, soft) if part == 3 or part == 4 else (weave, zero)
    direct = max(zero, facing * np.float32(0.9) + np.float32(0.1)) * lit if part > 6 else zero
    shine = at[15] * lobe * (lit if part > 6 else at[19])
    if part == 8:  # what is polished mirrors the bright ceiling at its upper edges
        above = max(zero, at[4] - np.float32(0.55))
        shine += np.float32(0.35) * above * above
    for k in range(3):
        pink = one - gum * (np.float32(0.45) if k == 0 else np.float32(0.74))
        out[k] = pink * weave * at[12 + k] * (at[9 + k] + lamp[2, k] * direct) + shine * lamp[2, k]


@compiled
def _shade_clothes(
    at: Float[np.ndarray, " 21"], facing: np.float32, lit: np.float32, lamp: Float[np.ndarray, "10 3"],
    cloth: Float[np.ndarray, "3 3"], fine: Int8[np.ndarray, "d d 3"], out: Float[np.ndarray, " 3"],
) -> None:  # fmt: skip
    """Clothes with their weave and the pattern of their outer cloth."""
    zero, one, half, four = np.float32(0), np.float32(1), np.float32(0.5), np.float32(4)
    rx, ry, weave = at[0], at[1] - np.float32(0.3) * at[2], _weave(at, fine)
    share, pattern = zero, int(cloth[2, 2])
    if pattern and at[15] > half:
        share = half + half * np.tanh(four * np.sin(ry * np.float32(19)))
        if pattern == 1 and cloth[2, 1] == 2:  # pinstripes
            share = np.float32(0.5) * _bump(np.sin(rx * np.float32(14)) * np.float32(4.5))
        if pattern == 2:
            share = half * (share + half + half * np.tanh(four * np.sin(rx * np.float32(19))))
    direct = max(zero, facing * np.float32(0.9) + np.float32(0.1)) * lit
    for k in range(3):
        second = cloth[1, k] / max(cloth[0, k], np.float32(0.004))
        own = at[12 + k] * (one + (second - one) * np.float32(0.8) * share)
        out[k] = own * (at[9 + k] + lamp[2, k] * direct) * weave


@compiled
def _find_relief(
    places: Float[np.ndarray, "n 7"], fine: Int8[np.ndarray, "d d 3"], out: Float[np.ndarray, " 7"]
) -> None:
    """Fine relief on three scales by the place on the unrolled skin, averaged over places, as deep as pores are there.

    Slopes across and down, depth of the two finer scales, depth and slope of the third, how red, stubble of a beard.
    """
    mask, share = fine.shape[0] - 1, _STEP / np.float32(places.shape[0])
    out[:] = 0
    for n in range(places.shape[0]):
        over, down, open_ = places[n, 3], places[n, 4], np.float32(0.38) * share * places[n, 5]
        i, j = np.uint32(int(over * np.float32(420)) & mask), np.uint32(int(down * np.float32(420)) & mask)
        gx, gy, deep = 4 * np.int32(fine[j, i, 0]), 4 * np.int32(fine[j, i, 1]), 4 * np.int32(fine[j, i, 2])
        out[6] += np.float32(0.25) * share * np.float32(deep) * places[n, 6]
        i, j = np.uint32(int(over * np.float32(190)) & mask), np.uint32(int(down * np.float32(190)) & mask)
        gx, gy, deep = gx + 5 * fine[j, i, 0], gy + 5 * fine[j, i, 1], deep + 5 * fine[j, i, 2]
        i, j = np.uint32(int(over * np.float32(60)) & mask), np.uint32(int(down * np.float32(60)) & mask)
        wide = share * np.float32(fine[j, i, 0])
        out[0] += open_ * np.float32(gx) + np.float32(0.25) * wide
        out[1] += open_ * np.float32(gy) + np.float32(0.25) * share * np.float32(fine[j, i, 1])
        out[2] += open_ * np.float32(deep)
        out[3] += share * np.float32(fine[j, i, 2])
        out[4] += wide
        out[5] += share * np.float32(fine[i, j, 2])


@compiled
def _wrinkle(  # noqa: C901
    at: Float[np.ndarray, " 3"], wave: np.float32, look: Float[np.ndarray, " 9"], out: Float[np.ndarray, " 3"]
) -> None:
    """Lines that age and the face's muscles draw at a place: adds to both slopes, and what falls into hollows."""
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    rx, ry, rz, old, smile = at[0], at[1], at[2], look[1], look[6]
    side = abs(rx)
    gx, gy, hole = zero, zero, zero
    if ry > np.float32(0.62) and ry < np.float32(1.25) and side < one and (old > 0 or look[2] > 0):
        above = min(one, (ry - np.float32(0.62)) * np.float32(6))
        above *= min(one, (np.float32(1.25) - ry) * np.float32(5)) * (one - side * side)
        brow = (old * half + max(zero, look[2]) * (np.float32(0.06) + half * old)) * above
        turn = ry * np.float32(34) + np.float32(2) * np.sin(rx * np.float32(2.3) + look[4]) + look[4] + half * wave
        gy += np.float32(0.30) * brow * np.cos(turn) * (half + half * np.sin(rx * np.float32(3) + look[4]))
    if (old > 0 or smile > 0) and abs(ry) < np.float32(0.55) and rz > np.float32(-1.2):
        ox, oy = side - np.float32(0.70), ry + np.float32(0.06)
        if ox > 0:
            crow = _bump((np.sqrt(ox * ox + oy * oy) - np.float32(0.22)) / np.float32(0.12))
            crow *= old * np.float32(0.6) + smile * (np.float32(0.06) + np.float32(0.3) * old)
            if crow > 0:
                turn = np.arctan2(oy, ox)
                bent = np.float32(14) * turn + np.float32(1.4) * (wave + np.sin(ox * np.float32(21))) + look[4]
                gy += np.float32(0.30) * crow * _bump(turn + np.float32(0.1)) * np.cos(bent)
        bag = _bump((ry + np.float32(0.30)) / np.float32(0.05)) * (old + np.float32(0.4) * smile)
        if bag > 0:
            gy += np.float32(0.35) * bag * _bump((side - np.float32(0.48)) / np.float32(0.2))
    # Nostrils, the wings' edges, the fold from nose to mouth and the lid's crease.
    if side < np.float32(0.75) and rz > zero:
        if ry < np.float32(-0.6) and ry > np.float32(-1.3):
            ox, oy = (side - np.float32(0.125)) / np.float32(0.060), (ry + np.float32(0.792)) / np.float32(0.026)
            if rz > np.float32(0.4):
                hole = np.float32(0.80) * _bump(ox) * _bump(oy)
            edge = max(zero, one - side * np.float32(4))
            if edge > 0:
                hole += np.float32(0.30) * _bump((ry + np.float32(0.845)) / np.float32(0.05)) * edge
            ox, oy = (side - np.float32(0.315)) / np.float32(0.030), (ry + np.float32(0.74)) / np.float32(0.085)
            hole += np.float32(0.14) * _bump(ox) * _bump(oy)
            path = np.float32(0.30) - np.float32(0.42) * (ry + np.float32(0.72))
            ox, oy = (side - path) / np.float32(0.045), (ry + np.float32(0.95)) / np.float32(0.22)
            line = _bump(ox)
            if line > 0:
                line *= _bump(oy) * (np.float32(0.08) + np.float32(0.45) * old + np.float32(0.24) * smile)
                fold = line * ox
                gx -= np.float32(0.60) * (fold if rx > 0 else -fold)
                hole += np.float32(0.24) * line
        elif ry > zero and ry < np.float32(0.3):
            ox = (side - np.float32(0.52)) / np.float32(0.20)
            oy = (ry - np.float32(0.135) + np.float32(0.05) * ox * ox) / np.float32(0.016)
            hole = look[7] * _bump(oy) * max(zero, one - np.float32(0.45) * ox * ox)
    out[0] += gx
    out[1] += gy
    out[2] += hole


@compiled
def _shade_skin(
    at: Float[np.ndarray, " 21"], places: Float[np.ndarray, "n 7"], facing: np.float32, lit: np.float32,
    lamp: Float[np.ndarray, "10 3"], look: Float[np.ndarray, " 9"], fine: Int8[np.ndarray, "d d 3"],
    relief: Float[np.ndarray, " 7"], lines: Float[np.ndarray, " 3"], out: Float[np.ndarray, " 3"],
) -> None:  # fmt: skip
    """Skin and lips. places: at rest and unrolled, over which relief is averaged; relief, lines: room for them."""
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    _find_relief(places, fine, relief)
    lines[:] = 0
    for n in range(places.shape[0]):
        _wrinkle(places[n], relief[4], look, lines)
    share = one / np.float32(places.shape[0])
    gx, gy, hole = look[0] * relief[0] + share * lines[0], look[0] * relief[1] + share * lines[1], share * lines[2]
    hole = min(hole, one)
    mottled, two = one + look[0] * (np.float32(0.40) * relief[2] + np.float32(0.40) * relief[3]), np.float32(2)
    if at[17] > 0:  # upright creases of the lips
        fold, mask = zero, fine.shape[0] - 1
        for n in range(places.shape[0]):
            i, j = int(places[n, 3] * np.float32(260)) & mask, int(places[n, 4] * np.float32(38)) & mask
            fold += share * _STEP * at[17] * np.float32(fine[j, i, 2])
            gx += np.float32(0.06) * share * _STEP * at[17] * np.float32(fine[j, i, 0])
        mottled *= one + np.float32(0.045) * max(-two, fold)
    nx, ny, nz = at[3], at[4], at[5]
    bx, by = nx + gx, ny + gy
    scale = one / np.sqrt(bx * bx + by * by + nz * nz)
    bx, by, bz = bx * scale, by * scale, nz * scale
    bumped = bx * lamp[0, 0] + by * lamp[0, 1] + bz * lamp[0, 2]
    bx, by, bz = half * (bx + nx), half * (by + ny), half * (bz + nz)
    spread_lit, seen, gloss, inside = at[16], at[19], at[15], at[18]
    wide = _square(_square(_square(max(zero, bx * lamp[1, 0] + by * lamp[1, 1] + bz * lamp[1, 2]))))
    narrow = wide * wide * wide
    turned = _square(one - min(one, max(zero, nz)))
    edge = gloss * (one - inside) * (np.float32(0.035) + np.float32(0.45) * turned * turned * turned)
    # Pores break the film of oil.
    edge *= max(zero, one + np.float32(0.07) * relief[2])
    shine = edge * lit * seen * (np.float32(2.1) * narrow + np.float32(0.80) * wide)
    behind = max(zero, bx * lamp[3, 0] + by * lamp[3, 1] + bz * lamp[3, 2])
    sky = edge * seen * np.float32(0.22) * max(zero, np.float32(0.45) + np.float32(0.55) * by)
    sky = (sky + edge * np.float32(1.5) * behind * lamp[4, 1]) / max(at[10], np.float32(0.05))
    raised = max(np.float32(0.4), one + np.float32(0.6) * (gx * lamp[0, 0] + gy))
    dark = (one - np.float32(0.75) * inside) * mottled * (one + look[8] * min(zero, max(-half, half * relief[6])))
    red = one - np.float32(0.022) * relief[5]
    for k in range(3):
        own = at[12 + k] * (red if k else one) * (one - hole * (one if k else np.float32(0.86))) * dark
        smooth = np.float32(0.60) if k == 0 else (np.float32(0.30) if k == 1 else np.float32(0.20))
        creep = lamp[9, k]
        given = max(zero, (bumped + (facing - bumped) * smooth + creep) / (one + creep))
        through = lit + (spread_lit - lit) * (smooth + np.float32(0.1))
        e = at[9 + k] * raised + lamp[2, k] * given * through * (np.float32(0.35) + np.float32(0.65) * seen)
        e += lamp[4, k] * behind * seen + np.float32(0.13) * at[17] * lamp[2, k] * spread_lit  # from lip to lip
        out[k] = own * e + shine * lamp[2, k] + sky * at[11 if k == 2 else 10]


@compiled
def _label_of(part: int, lip: np.float32, inside: np.float32) -> int:
    """What a point of a part shows."""
    if part == 0:
        return 2 if lip > 0 or inside > np.float32(0.5) else 1
    if part < 3:
        return 3
    return 2 if part < 6 else (part - 1 if part < 10 else (10 if part == 10 else 5))


@compiled
def shade(  # noqa: C901
    nearest: Int32[np.ndarray, "h w"], depth: Float[np.ndarray, "h w"], weights: Float[np.ndarray, "h w 2"],
    faces: Int32[np.ndarray, "f 3"], parts: UInt8[np.ndarray, " f"], vertices: Float[np.ndarray, "v 21"],
    lamp: Float[np.ndarray, "10 3"], shadow: Float[np.ndarray, "m m"], eyes: Float[np.ndarray, "4 3"],
    cloth: Float[np.ndarray, "3 3"], look: Float[np.ndarray, " 9"], fine: Int8[np.ndarray, "d d 3"],
    unrolled: Float[np.ndarray, "v 4"], picture: Float[np.ndarray, "h w 3"], label: UInt8[np.ndarray, "h w"],
    room: Float[np.ndarray, "9 21"], counts: Int32[np.ndarray, "4 w"],
) -> None:  # fmt: skip
    """Radiance and label of every point with a face. Points two by two are shaded at once, with relief averaged over
    all four, where they show the same and lie at one depth.

    vertices: place at rest, normal, place in pose, light of the surroundings, albedo, and the surface: gloss, share of
    the key light spread under the skin, share of lip, of the mouth's inside, share of the surroundings that a vertex
    sees, and of the key light that hair leaves. lamp:
    direction, half vector and irradiance of the key light; direction and irradiance of the light from behind; softness
    of the key light, pixels of its shadow a unit, bias of the shadow; axes of the shadow's picture; how far the light
    creeps around by color. eyes: centers of both, direction of the gaze, color of the iris. cloth: color, second
    color, neckline's height, kind, pattern. look: depth of pores, age 0..1, raised brows, sclera, phase of wrinkles,
    points a unit, smile, crease of the lid, stubs of a shaven beard. unrolled: where the head's vertices lie on its
    skin laid flat, how open pores are there, and how dense a beard would grow.
    """
    height, width = nearest.shape
    steep = np.float32(6) / look[5]
    at, other, out, relief, lines = room[0], room[1], room[2], room[3], room[4]
    places = room[5:9]
    run, shown, runs, kinds = counts[0], counts[1], counts[2], counts[3]
    for top in range(0, height, 2):
        for left in range(0, width, 2):
            low, high = np.float32(1e9), np.float32(-1e9)
            for n in range(4):
                y, x = top + n // 2, left + n % 2
                f = nearest[y, x]
                shown[n], kinds[n] = 0, parts[f] if f >= 0 else -1
                run[x] = run[x] + 1 if 0 < kinds[n] < 5 else 0
                runs[n] = run[x]
                low, high = min(low, depth[y, x]), max(high, depth[y, x])
                if f < 0:
                    continue
                a, b, c = np.uint32(faces[f, 0]), np.uint32(faces[f, 1]), np.uint32(faces[f, 2])
                u, v = weights[y, x, 0], weights[y, x, 1]
                w = np.float32(1) - u - v
                for k in range(3):
                    places[n, k] = u * vertices[a, k] + v * vertices[b, k] + w * vertices[c, k]
                if parts[f] == 0:
                    for k in range(4):
                        places[n, 3 + k] = u * unrolled[a, k] + v * unrolled[b, k] + w * unrolled[c, k]
                lip = u * vertices[a, 17] + v * vertices[b, 17] + w * vertices[c, 17]
                inside = u * vertices[a, 18] + v * vertices[b, 18] + w * vertices[c, 18]
                shown[n] = _label_of(parts[f], lip, inside)
                label[y, x] = shown[n]
            if high < np.float32(-1e8):
                continue
            same = shown[0] == shown[1] == shown[2] == shown[3] != 3 and high - low < steep
            same = same and kinds[0] == kinds[1] == kinds[2] == kinds[3]
            for n in range(1 if same else 4):
                if shown[n] == 0:
                    continue
                y, x = top + n // 2, left + n % 2
                f = nearest[y, x]
                _gather(faces[f], weights[y, x], vertices, at)
                if same:
                    f = nearest[top + 1, left + 1]
                    _gather(faces[f], weights[top + 1, left + 1], vertices, other)
                    for k in range(21):
                        at[k] = np.float32(0.5) * (at[k] + other[k])
                scale = np.float32(1) / np.sqrt(at[3] * at[3] + at[4] * at[4] + at[5] * at[5])
                at[3], at[4], at[5] = at[3] * scale, at[4] * scale, at[5] * scale
                facing = at[3] * lamp[0, 0] + at[4] * lamp[0, 1] + at[5] * lamp[0, 2]
                lit = _reached(at, lamp, shadow, facing)
                part = parts[f]
                if shown[n] == 3:
                    wet = y + 2 < height and nearest[y + 2, x] >= 0 and parts[nearest[y + 2, x]] == 0
                    _shade_eye(at, part - 1, runs[n], wet, lit, lamp, eyes, look, out)
                elif shown[n] == 5:
                    _shade_clothes(at, facing, lit, lamp, cloth, fine, out)
                elif part > 2:
                    _shade_other(at, part, runs[n] / look[5], facing, lit, lamp, fine, np.float32(2) / look[5], out)
                else:
                    among = places if same else places[n : n + 1]
                    _shade_skin(at, among, facing, lit, lamp, look, fine, relief, lines, out)
                for m in range(4 if same else 1):
                    for k in range(3):
                        picture[y + m // 2, x + m % 2, k] = out[k]
