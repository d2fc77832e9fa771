"""One person drawn over a background: mesh, hair and lenses, with a label for each point of the picture."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int32, UInt8

from transect.generators.faceworld.attributes import CLOTHES, GLASSES, PATTERNS
from transect.generators.faceworld.mesh import shading, worn
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.complexion import KEY, WRAP, ambient_of, skin_colors, skin_surface
from transect.generators.faceworld.mesh.kernels import enlarge, find_normals, rasterize, read_shadow
from transect.generators.faceworld.mesh.shape import VIEW, Pose, Values, face_vertices, pose_of, rest_shape
from transect.generators.faceworld.mesh.strands import Hair

_SHADOW = 200
_SHADOW_VIEW, _BIAS = 6.0, 0.05
_LIGHT_COLOR = np.array([1.12, 0.973, 0.914], np.float32)
"""What a camera's white balance leaves of a warm light, as in most portraits: it discounts most of it."""
_NECKLINE = {"crew neck": -2.62, "v-neck": -2.50, "shirt": -2.45, "turtleneck": -2.12}
_HOLLOWS, _SPREAD = 7, 4
_CLEAR = {"tinted": (0.42, 0.36, 0.30), "dark": (0.055, 0.055, 0.06)}


class Colors(NamedTuple):
    """Linear RGB of what a person and their clothes are made of."""

    skin: Float[np.ndarray, " 3"]
    hair: Float[np.ndarray, " 3"]
    iris: Float[np.ndarray, " 3"]
    cloth: Float[np.ndarray, " 3"]
    hat: Float[np.ndarray, " 3"]


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Radiance [h, w, 3], labels as in shading.py, where lenses are, and the number of the face at each point."""

    radiance: Float[np.ndarray, "h w 3"]
    label: UInt8[np.ndarray, "h w"]
    lens: Bool[np.ndarray, "h w"]
    nearest: Int32[np.ndarray, "h w"]

    @property
    def front(self) -> Bool[np.ndarray, "h w"]:
        """Where the head before the ears and below the hair's line is seen."""
        faces = np.append(_ahead(), False)  # the last one for no face, -1, and for what is worn
        seen = faces[np.where(self.nearest < len(faces), self.nearest, -1)]
        return np.asarray(seen & np.isin(self.label, (shading.BARE, shading.LIPS, shading.EYE, shading.BEARD)))


class Buffers(NamedTuple):
    """What the z-buffer fills."""

    depth: Float[np.ndarray, "h w"]
    nearest: Int32[np.ndarray, "h w"]
    weights: Float[np.ndarray, "h w 2"]

    @classmethod
    def empty(cls, size: int) -> Buffers:
        """Nothing is drawn yet."""
        shape = (size, size)
        return cls(np.full(shape, -1e9, np.float32), np.full(shape, -1, np.int32), np.zeros((*shape, 2), np.float32))


def samples_of(size: int) -> int:
    """Points across each pixel."""
    return 4 if size <= 64 else 2


@functools.cache
def _solid() -> tuple[Int32[np.ndarray, "f 3"], UInt8[np.ndarray, " f"]]:
    """Faces without lashes, which are drawn as strands, and their parts."""
    held = asset()
    kept = held.parts != shading.LASH
    return np.ascontiguousarray(held.faces[kept]), held.parts[kept]


class Scene(NamedTuple):
    """All that is rasterized: points at rest and posed, faces, parts, albedo and surface of the points."""

    rest: Float[np.ndarray, "v 3"]
    posed: Float[np.ndarray, "v 3"]
    faces: Int32[np.ndarray, "f 3"]
    parts: UInt8[np.ndarray, " f"]
    albedo: Float[np.ndarray, "v 3"]
    surface: Float[np.ndarray, "v 6"]


def _scene(
    p: Values, colors: Colors, seed: int, rest: Float[np.ndarray, "v 3"], pose: Pose
) -> tuple[Scene, worn.Piece | None]:
    """The head with what it wears, and the lenses."""
    faces, parts = _solid()
    places, triangles, codes = [rest], [faces], [parts]
    albedo, surface = [skin_colors(p, colors.skin, colors.hair, seed)], [skin_surface(p)]
    pieces, lens = [], None
    if p["hat"] > 0:
        pieces.append((worn.hat(p, rest, colors.hat), shading.HAT, 0.0))
    if p["face_mask"] > 0:
        pieces.append((worn.face_mask(rest, int(p["face_mask"]), seed), shading.FACE_MASK, 0.0))
    if p["earrings"] > 0:
        pieces.append((worn.earrings(rest), shading.EARRING, 0.8))
    if p["glasses"] > 0:  # last, as _rasterized expects
        frame, lens = worn.spectacles(p, rest)
        pieces.append((frame, shading.FRAME, 0.10))
    start = len(rest)
    for piece, code, gloss in pieces:
        places.append(piece.points)
        triangles.append(piece.faces + start)
        codes.append(np.full(len(piece.faces), code, np.uint8))
        albedo.append(piece.albedo)
        surface.append(np.tile(np.array([gloss, 0, 0, 0, 1, 1], np.float32), (len(piece.points), 1)))
        start += len(piece.points)
    every = np.concatenate(places).astype(np.float32)
    parts_ = np.concatenate(codes)
    joined = np.ascontiguousarray(np.concatenate(triangles), dtype=np.int32)
    scene = Scene(every, pose.turn(every), joined, parts_, np.concatenate(albedo), np.concatenate(surface))
    return scene, lens


def _lit(
    p: Values, scene: Scene, normals: Float[np.ndarray, "v 3"], lamp: Float[np.ndarray, "10 3"], pose: Pose, hair: Hair
) -> tuple[np.ndarray, Float[np.ndarray, "m m"]]:
    """Light of the surroundings on every vertex, and the key light's picture of depths.

    Writes into the scene's surface how much of either a vertex sees.
    """
    held, count = asset(), len(asset().mean)
    depth, shadow = _shadow(scene, lamp)
    scene.surface[:count, 5], sky_left = hair.shade(scene.posed[:count], scene.rest[:count])
    shadow[:count] *= scene.surface[:count, 5]
    hollow = np.empty(count, np.float32)
    room = np.empty((2, count, 3), np.float32)
    shading.find_hollows(scene.posed[:count], normals[:count], held.starts, held.near, _HOLLOWS, room, hollow)
    seen = np.ones(len(scene.posed), np.float32)
    seen[:count] = np.clip(held.sky, 0.02, 1) * np.exp(-np.clip(hollow, -0.12, 1.8)) * sky_left
    if p["face_mask"] > 0:
        seen[:count] *= worn.beside_mask(int(p["face_mask"]))
    spread = np.ascontiguousarray(shadow[:count])
    shading.spread(spread, held.starts, held.near, _SPREAD)
    scene.surface[:, 1], scene.surface[:, 4] = shadow, np.minimum(seen, 1)
    scene.surface[:count, 1] = spread
    # What comes out of hollows has met skin more often, and is redder.
    bounced = seen[:, None] ** np.array([0.85, 1.08, 1.12], np.float32)
    light = (ambient_of(p, normals) * bounced).astype(np.float32)
    for part in (shading.LEFT_EYE, shading.RIGHT_EYE):
        eye = vertices_of(part)
        light[eye] = ambient_of(p, normals[eye]).mean(0) * 0.75
    teeth = vertices_of(shading.UPPER_TEETH, shading.LOWER_TEETH, shading.TONGUE)
    side, ahead = np.abs(scene.rest[teeth, 0]), scene.rest[teeth, 2]
    corner = np.abs(scene.rest[:count, 0][held.regions["lips"] > 0.5]).max()
    entering = np.clip((ahead - ahead.min()) / 0.75, 0, 1) ** 2 * np.clip(3.0 - 4 * side / corner, 0.02, 1)
    facing = max(0.25, float(lamp[0] @ pose.rotation[:, 2]))
    light[teeth] = 1.42 * (ambient_of(p, np.array([pose.rotation[:, 2]])) + 0.75 * facing * lamp[2]) * entering[:, None]
    scene.surface[teeth, 4] = entering
    return light, depth


def _shadow(scene: Scene, lamp: Float[np.ndarray, "10 3"]) -> tuple[Float[np.ndarray, "m m"], Float[np.ndarray, " v"]]:
    """The key light's picture of depths, and the share of its light that reaches every vertex."""
    casting = np.isin(scene.parts, (shading.SKIN, shading.HAT, shading.FACE_MASK))
    seen, depth = _from_lamp(scene.posed, np.ascontiguousarray(scene.faces[casting]), lamp[6:9])
    lit = np.empty(len(seen), np.float32)
    own = len(asset().mean)
    read_shadow(seen[:own], depth, _BIAS, lit[:own])
    read_shadow(seen[own:], depth, 3 * _BIAS, lit[own:])
    return depth, lit


def _from_lamp(
    points: Float[np.ndarray, "v 3"], casting: Int32[np.ndarray, "f 3"], axes: Float[np.ndarray, "3 3"]
) -> tuple[Float[np.ndarray, "v 3"], Float[np.ndarray, "m m"]]:
    turned, scale = points @ axes.T, _SHADOW / _SHADOW_VIEW
    seen = np.stack([_SHADOW / 2 + turned[:, 0] * scale, _SHADOW / 2 - (turned[:, 1] + 0.3) * scale, turned[:, 2]], 1)
    seen = seen.astype(np.float32)
    buffers = Buffers.empty(_SHADOW)
    rasterize(seen, casting, *buffers)
    return seen, buffers.depth


def shadow_of(
    points: Float[np.ndarray, "v 3"], casting: Int32[np.ndarray, "f 3"], axes: Float[np.ndarray, "3 3"]
) -> Float[np.ndarray, " v"]:
    """The share of a lamp's light that reaches points. axes: rows across, up and towards the lamp; casting: faces."""
    seen, depth = _from_lamp(points, np.ascontiguousarray(casting), axes)
    lit = np.empty(len(seen), np.float32)
    read_shadow(seen, depth, _BIAS, lit)
    return lit


def _lamp(p: Values, seed: int) -> Float[np.ndarray, "10 3"]:
    """The lights, as shading.shade wants them; how hard the key light is and what shines from behind are the seed's."""
    draws = np.random.Generator(np.random.Philox(key=[seed, 11])).random(4)
    towards, soft = _direction(p), draws[0] ** 2
    half = towards + np.array([0, 0, 1], np.float32)
    half /= max(float(np.linalg.norm(half)), 1e-6)
    across = np.array([towards[2], 0, -towards[0]], np.float32)
    across /= np.linalg.norm(across)
    x, y, z = towards
    up = [y * across[2], z * across[0] - x * across[2], -y * across[0]]
    side = -np.sign(towards[0] + 1e-6) if draws[1] < 0.7 else np.sign(towards[0] + 1e-6)
    behind = np.array([0.80 * side, 0.35, -0.50])
    rim = max(0.0, 2.2 * draws[2] - 1.0) * np.array([0.98, 1.0, 1.03])
    warm = np.exp(0.12 * (draws[3] - 0.5) * np.array([1.0, 0.0, -1.2]))
    return np.stack([
        towards, half, KEY * _LIGHT_COLOR * warm, behind / np.linalg.norm(behind), rim,
        [soft, _SHADOW / _SHADOW_VIEW, _BIAS], across, up, towards,
        np.array(WRAP) + 0.16 * soft,
    ]).astype(np.float32)  # fmt: skip


def draw(p: Values, colors: Colors, seed: int, background: Float[np.ndarray, "s s 3"]) -> Drawing:
    """The picture before the camera, samples_of(size) points across each pixel of the background."""
    size = len(background) * samples_of(len(background))
    rest, pose = rest_shape(p), pose_of(p)
    scene, lens = _scene(p, colors, seed, rest, pose)
    normals = np.empty_like(scene.posed)
    find_normals(scene.posed, scene.faces, normals)
    lamp = _lamp(p, seed)
    hair = Hair(p, rest - asset().mean, pose, lamp[0], size)
    light, depth = _lit(p, scene, normals, lamp, pose, hair)
    buffers, solid = _rasterized(scene, pose, size)
    picture, label = np.empty((size, size, 3), np.float32), np.zeros((size, size), np.uint8)
    enlarge(np.ascontiguousarray(background, np.float32), picture)
    held = asset()
    rested = np.concatenate([held.mean, scene.rest[len(held.mean) :]])
    vertices = np.concatenate([rested, normals, scene.posed, light, scene.albedo, scene.surface], 1, dtype=np.float32)
    shading.shade(
        buffers.nearest, buffers.depth, buffers.weights, scene.faces, scene.parts, vertices, lamp, depth,
        _eyes(p, colors, scene.posed, pose), _cloth(p, colors), _look(p, size), shading.pores(), picture, label,
        np.empty((9, 21), np.float32), np.zeros((4, size), np.int32),
    )  # fmt: skip
    masked = label == shading.MASKED if p["face_mask"] > 0 else None
    hair.paint(colors.hair, _LIGHT_COLOR, solid, buffers.depth, picture, label, masked)
    seen = _draw_lenses(p, lens, pose, buffers, picture)
    return Drawing(picture, label, seen, buffers.nearest)


def _rasterized(scene: Scene, pose: Pose, size: int) -> tuple[Buffers, Float[np.ndarray, "h w"]]:
    """What is seen where, and the depth without frames of glasses; a hat lies over what is next to it."""
    screen, frame = pose.project(scene.posed, size), scene.parts == shading.FRAME
    first = len(frame) - int(frame.sum())
    buffers = Buffers.empty(size)
    rasterize(screen, scene.faces[:first], *buffers)
    hat = scene.parts == shading.HAT
    covered = hat[buffers.nearest] & (buffers.nearest >= 0) if hat.any() else np.zeros((size, size), dtype=bool)
    solid = buffers.depth.copy()
    solid[covered] += np.float32(0.3)
    over = np.full_like(buffers.nearest, -1)
    if first < len(frame):
        rasterize(screen, scene.faces[first:], buffers.depth, over, buffers.weights)
        buffers.nearest[over >= 0] = over[over >= 0] + first
    buffers.depth[covered & (over < 0)] += np.float32(0.3)
    return buffers, solid


def _direction(p: Values) -> Float[np.ndarray, " 3"]:
    azimuth, elevation = p["light_azimuth"], p["light_elevation"]
    across, ahead = np.sin(azimuth) * np.cos(elevation), np.cos(azimuth) * np.cos(elevation)
    return np.array([across, np.sin(elevation), ahead], np.float32)


def _eyes(p: Values, colors: Colors, posed: Float[np.ndarray, "v 3"], pose: Pose) -> Float[np.ndarray, "4 3"]:
    centers = [posed[vertices_of(part)].mean(0) for part in (shading.LEFT_EYE, shading.RIGHT_EYE)]
    aside = 0.42 * p["gaze"]
    gaze = pose.rotation @ np.array([np.sin(aside), 0.0, np.cos(aside)])
    return np.stack([*centers, gaze, 1.7 * colors.iris]).astype(np.float32)


def _cloth(p: Values, colors: Colors) -> Float[np.ndarray, "3 3"]:
    second = 0.5 * colors.cloth + np.array([0.07, 0.07, 0.075])
    kind = int(p["clothing"])
    return np.stack([colors.cloth, second, [_NECKLINE[CLOTHES[kind]], kind, _pattern(p)]]).astype(np.float32)


def _pattern(p: Values) -> int:
    return {"plain": 0, "stripes": 1, "checks": 2}[PATTERNS[int(p["clothing_pattern"])]]


def _look(p: Values, size: int) -> Float[np.ndarray, " 8"]:
    old = min(max((p["age"] - 28) / 45, 0), 1.1)
    pores = 0.046 + 0.014 * old + 0.020 * (p["face_shape"] - 0.5)
    unit = size / VIEW / p["distance"]
    white = 0.09 + 0.36 * min(p["sclera"], 1.1)
    return np.array([pores, old, p["brow_raise"], white, 2 * p["relief_1"], unit, p["smile"], _crease(p)], np.float32)


def _crease(p: Values) -> float:
    """How dark the crease of the upper lid is: some people have none."""
    return 0.32 * min(max(0.75 - 0.35 * p["eye_fold"] - 0.4 * max(p["shape_2"], 0), 0), 1)


@functools.cache
def _ahead() -> Bool[np.ndarray, " f"]:
    """Faces of the front of the head; eyes and what is inside the mouth belong to it."""
    faces, parts = _solid()
    return np.asarray((parts != shading.SKIN) | np.isin(faces, face_vertices()).all(1))


def _draw_lenses(
    p: Values, lens: worn.Piece | None, pose: Pose, buffers: Buffers, picture: np.ndarray
) -> Bool[np.ndarray, "h w"]:
    """Lenses absorb, and mirror a little of the surroundings; where they are seen."""
    if lens is None:
        return np.zeros(picture.shape[:2], dtype=bool)
    found = Buffers(buffers.depth.copy(), np.full_like(buffers.nearest, -1), np.empty_like(buffers.weights))
    rasterize(pose.project(pose.turn(lens.points), len(picture)), lens.faces, *found)
    seen = found.nearest >= 0
    passed = np.array(_CLEAR.get(GLASSES[int(p["glasses"])], (0.95, 0.955, 0.95)), np.float32)
    picture[seen] = picture[seen] * passed + np.float32(0.010)
    return seen
