"""What color and gloss each vertex of the head has, and how much light it receives."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from transect.generators.faceworld.attributes import FACIAL_HAIR_STYLES
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.hair import balding, beard_density, beard_regions, hairline, remaining
from transect.generators.faceworld.mesh.kernels import find_noise
from transect.generators.faceworld.mesh.shading import LASH, LOWER_TEETH, SKIN, TONGUE, UPPER_TEETH
from transect.generators.faceworld.mesh.shape import KEPT, Values, remembered
from transect.generators.faceworld.reflectance import LUMINANCE

KEY, AMBIENT, FILL, WRAP = 1.28, 0.29, 1.16, (0.22, 0.08, 0.05)
"""Irradiance of key light, surroundings and all the fill light; how far red, green and blue light creep around."""


class Zones(NamedTuple):
    """Parts of the mean head, 0..1 by vertex."""

    cheek: Float[np.ndarray, " v"]
    nose: Float[np.ndarray, " v"]
    under_eye: Float[np.ndarray, " v"]
    lid: Float[np.ndarray, " v"]
    forehead: Float[np.ndarray, " v"]
    scalp: Float[np.ndarray, " v"]
    beard: Float[np.ndarray, " v"]
    lips: Float[np.ndarray, " v"]
    inside: Float[np.ndarray, " v"]
    bridge: Float[np.ndarray, " v"]
    socket: Float[np.ndarray, " v"]
    rim: Float[np.ndarray, " v"]
    ears: Float[np.ndarray, " v"]
    balding: Float[np.ndarray, " v"]
    apple: Float[np.ndarray, " v"]
    painted: Float[np.ndarray, " v"]
    margin: Float[np.ndarray, " v"]
    vermilion: Float[np.ndarray, " v"]


@functools.cache
def zones() -> Zones:
    """Soft regions of the skin by their place on the mean head."""
    held = asset()
    x, y, z = np.abs(held.mean[:, 0]), held.mean[:, 1], held.mean[:, 2]

    def near(cx: float, cy: float, wide: float, high: float, ahead: float) -> Float[np.ndarray, " v"]:
        return np.asarray(np.exp(-(((x - cx) / wide) ** 2 + ((y - cy) / high) ** 2)) * (z > ahead), dtype=np.float32)

    ears = np.clip(held.regions["ears"], 0, 1)
    scalp = np.clip(2.6 * hairline(held.mean) + 0.04, 0, 1) * (1 - ears) * (y > -1.2)
    beard = beard_density(held.mean)
    lips = np.clip((held.regions["lips"] - 0.3) * 2.0, 0, 1)
    # The red fades over two millimeters, and is gone before the corners, where its borders meet.
    far = cKDTree(held.mean[(held.regions["lips"] < 0.1) & (z > 0)]).query(held.mean)[0]
    red = np.clip((far - 0.008) / 0.075, 0, 1)
    red = (lips > 0) * red * red * (3 - 2 * red)
    # What is behind the lips is wet and red, and only what is behind the teeth is dark.
    inside = (held.regions["inside_mouth"] > 0.5) * np.clip(1 - 2 * z, 0.55, 1)
    socket = near(0.52, 0.10, 0.34, 0.19, -0.5) + 0.15 * near(0.22, 0.04, 0.09, 0.12, 0)
    lash, skin = held.mean[vertices_of(LASH)], vertices_of(SKIN)
    edge = lash[np.linalg.norm(lash - np.sign(lash[:, :1]) * np.array([0.5, 0, 0]), axis=1) < 0.31]
    rim, upper = np.zeros(len(held.mean), np.float32), (y > -0.02).astype(np.float32)
    rim[skin] = np.exp(-((cKDTree(edge).query(held.mean[skin])[0] / 0.026) ** 2))
    return Zones(
        near(0.66, -0.62, 0.32, 0.28, -0.4), near(0, -0.70, 0.20, 0.22, 0.2), near(0.46, -0.19, 0.23, 0.13, -0.3),
        near(0.50, 0.14, 0.28, 0.12, -0.5), near(0, 0.8, 0.55, 0.40, -0.3), scalp.astype(np.float32),
        (beard * (1 - lips)).astype(np.float32), lips, inside.astype(np.float32),
        near(0, -0.18, 0.22, 0.35, 0.1), socket, rim * upper, ears.astype(np.float32),
        balding(held.mean).astype(np.float32), near(0.47, -0.36, 0.30, 0.27, -0.3),
        (np.clip(3 * (y + 1.80), 0, 1) * np.clip(2 * (z + 1.0), 0, 1)).astype(np.float32), rim * (1 - upper),
        red.astype(np.float32),
    )  # fmt: skip


@functools.cache
def beard_zones() -> dict[str, Float[np.ndarray, " v"]]:
    """Where each style of beard grows, by vertex."""
    return {style: inside.astype(np.float32) for style, inside in beard_regions(asset().mean).items()}


@functools.lru_cache(maxsize=64)
def _mottle(seed: int) -> Float[np.ndarray, "v 3"]:
    """The person's own blotches on three scales."""
    found = np.empty((3, len(asset().mean)), np.float32)
    for row, frequency in enumerate((3.1, 8.0, 20.0)):
        find_noise(asset().mean, frequency, (seed + 7919 * row) % (1 << 31), found[row])
    return found


def skin_colors(
    p: Values, skin: Float[np.ndarray, " 3"], hair: Float[np.ndarray, " 3"], seed: int
) -> Float[np.ndarray, "v 3"]:
    """Albedo of every vertex of the head."""
    short = (p["hair_style"] == 1) * max(1 - 2.5 * p["hair_length"], 0)
    through = 0.05 if p["hair_style"] > 2 else 0.015 + 0.06 * short
    return _skin_colors(p, skin.tobytes(), hair.tobytes(), seed, through)


@remembered(
    KEPT, "skin_tone", "complexion", "makeup", "old", "face_shape", "hair_style", "baldness", "facial_hair",
    "facial_hair_style", "lipstick", "sclera",
)  # fmt: skip
def _skin_colors(p: Values, of_skin: bytes, of_hair: bytes, seed: int, through: float) -> Float[np.ndarray, "v 3"]:
    """Computed once for pictures that differ in other things."""
    skin, hair = np.frombuffer(of_skin, np.float32), np.frombuffer(of_hair, np.float32)
    zone, mottle = zones(), _mottle(seed)
    pale = 1 - min(max((p["skin_tone"] - 1) / 9, 0), 1)
    blotched = 0.6 * mottle[0] + 0.55 * mottle[1] + 0.22 * mottle[2]
    evened = 1 - 0.5 * p["makeup"] * zone.painted
    flush = 0.72 + 0.16 * blotched + (0.55 + 0.10 * pale) * zone.cheek + 0.84 * zone.nose + 0.36 * zone.ears
    flush = flush + 0.10 * zone.socket - 0.14 * zone.forehead + 0.10 * p["complexion"] * (1 + zone.cheek + zone.nose)
    flush = evened * flush + 0.16 * p["makeup"] * zone.cheek
    blood = np.exp(flush[:, None] * np.array([0.01, -0.24, -0.22]) * (1.18 + 0.14 * pale - 0.25 * pale * (1 - pale)))
    shade = 1 + 0.065 * evened * blotched - 0.12 * zone.forehead + 0.01 * zone.bridge + 0.07 * zone.nose
    shade = shade - (0.22 + 0.08 * p["old"] - 0.32 * p["face_shape"]) * zone.under_eye
    lashes = 0.55 - 0.20 * p["old"] - 0.25 * p["face_shape"] + 0.30 * p["makeup"]
    socket = (0.19 + 0.10 * pale) * (1 - 0.35 * p["old"]) * zone.socket
    shade = shade * (1 - socket) * (1 - lashes * zone.rim) * (1 - 0.10 * zone.lid)
    spots = np.clip(mottle[2] - 0.35, 0, 1) * (0.15 * p["old"] + 0.08 * max(p["complexion"], 0) * pale)
    blood = blood * (1 + zone.margin[:, None] * np.array([0.12, -0.06, -0.04]))
    color = skin * shade[:, None] * blood * np.exp(-spots[:, None] * np.array([0.5, 0.9, 1.1]))
    # The shadow of a shaven beard.
    color = color * np.exp(-0.41 * max(p["face_shape"] - 0.35, 0) * zone.beard[:, None] * np.array([1.16, 1.0, 0.80]))
    color = color * np.exp(-0.75 * p["makeup"] * zone.lid[:, None] * np.array([0.9, 1.2, 1.0]))
    scalp = zone.scalp * (0.10 + 0.85 * (p["hair_style"] > 0) * remaining(zone.balding, p["baldness"]) ** 2)
    color = color + (0.50 * hair + through * skin - color) * scalp[:, None]
    style = FACIAL_HAIR_STYLES[int(p["facial_hair_style"])]
    bearded = (0.42 if style == "stubble" else 0.92) * p["facial_hair"] ** 0.5 * zone.beard * beard_zones()[style]
    grown = 0.8 * hair + 0.10 * skin
    color = color + (grown * min(1.0, 1.45 * skin.mean() / grown.mean()) - color) * bearded[:, None]
    return _mouth(p, color, skin, pale).astype(np.float32)


def _mouth(p: Values, color: Float[np.ndarray, "v 3"], skin: Float[np.ndarray, " 3"], pale: float) -> np.ndarray:
    """Lips, lipstick, teeth, tongue and the dark of the mouth."""
    zone = zones()
    bare = skin * (np.array([0.74, 0.54, 0.62]) + pale * np.array([-0.24, -0.32, -0.34]))
    # Paint keeps what lightness the lips have: on dark skin it is wine, and never pink.
    painted = np.sqrt(bare * np.array([3.2, 0.40, 0.60]) * min(0.75 * float(bare @ LUMINANCE), 0.1))
    share = zone.vermilion + 0.7 * p["lipstick"] * (zone.lips - zone.vermilion)
    lips = (bare + (painted - bare) * 0.9 * p["lipstick"]) * (1 - 0.26 * (asset().mean[:, 1:2] > -1.158))
    color = color + (lips - color) * share[:, None]
    color[zone.inside > 0] = bare * np.array([0.8, 0.65, 0.65])
    white = min(p["sclera"] ** 1.15, 1.0)
    color[vertices_of(UPPER_TEETH, LOWER_TEETH)] = np.array([0.60, 0.525, 0.43]) * white * (1 - 0.15 * p["old"])
    color[vertices_of(TONGUE)] = np.array([0.14, 0.05, 0.046]) * white
    color[vertices_of(LASH)] = 0.01
    return color


@remembered(KEPT, "old", "lipstick", "hair_style", "sclera")
def skin_surface(p: Values) -> Float[np.ndarray, "v 3"]:
    """Gloss of each vertex, and how much it belongs to the lips and to the inner mouth."""
    zone = zones()
    gloss = 0.56 + 0.54 * zone.cheek + 1.05 * zone.nose + 0.72 * zone.forehead + 0.75 * zone.bridge - 0.30 * zone.socket
    lower = np.where(asset().mean[:, 1] > -1.158, -0.8, 1.0)
    gloss = gloss + 1.2 * zone.margin + (0.22 + 0.4 * p["lipstick"]) * zone.lips * lower
    gloss = gloss * (0.74 + 0.34 * min(p["sclera"], 1.0)) * (1 - 0.30 * p["old"])
    gloss = gloss * (1 - 0.7 * zone.scalp * (p["hair_style"] > 0))
    return np.stack([gloss, zone.lips, zone.inside], 1).astype(np.float32)


def key_of(direction: Float[np.ndarray, " 3"], normals: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """The key light on surfaces, without shadows, as hard as it is on average."""
    facing = (normals @ direction.astype(np.float32))[:, None]
    wrap = np.array(WRAP, np.float32) + np.float32(0.1)
    return np.asarray(KEY * np.clip((facing + wrap) / (1 + wrap), 0, None), dtype=np.float32)


def ambient_of(p: Values, normals: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """Light from above, from below and from the fill light, without occlusion."""
    sky = (0.5 + 0.5 * normals[:, 1])[:, None]
    around = AMBIENT * (1.15 * np.array([1.07, 0.99, 0.94]) * sky + 0.75 * np.array([1.14, 0.97, 0.88]) * (1 - sky))
    ahead = np.clip(0.25 + 0.75 * normals[:, 2], 0, 1)[:, None]
    return np.asarray(around + FILL * p["fill_light"] * ahead, dtype=np.float32)
