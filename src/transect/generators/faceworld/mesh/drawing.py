"""One person drawn over a background: mesh, hair and lenses, with a label for each point of the picture."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int32, UInt8

from transect.generators.faceworld.attributes import FACE_MASKS, GLASSES, HATS
from transect.generators.faceworld.mesh import shading, shape, worn
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.complexion import KEY, WRAP, ambient_of, skin_colors, skin_surface, zones
from transect.generators.faceworld.mesh.kernels import enlarge, find_normals, rasterize, read_shadow
from transect.generators.faceworld.mesh.shape import KEPT, Head, Pose, Values, head_of, remembered, solid_faces
from transect.generators.faceworld.mesh.strands import Hair, hair_of

_ABOVE = np.float32(0.3)
"""How much nearer a hat counts than it is, so that no hair comes through."""
_SHADOW, _SHADOW_VIEW, _BIAS = 256, 8.0, 0.05
"""Points across the lamp's picture, its width in distances between the eyes, and what counts as one depth."""
_CASTING = np.isin(np.arange(12), (shading.SKIN, shading.HAT, shading.FACE_MASK, shading.GARMENT))
"""Parts that cast shadows through the lamp's picture."""
_LIGHT_COLOR = np.array([1.12, 0.973, 0.914], np.float32)
"""What a camera's white balance leaves of a warm light, as in most portraits: it discounts most of it."""
_SPREAD = 4
_BEFORE = np.float32(0.16)
"""How much nearer clothes count than they are beside skin, and farther beside hair."""
_BEHIND = np.float32(0.05)
"""How much farther teeth and tongue count than they are, and eyes by half of it."""
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
    """Radiance [h, w, 3], labels as in shading.py, where lenses are, and the number of the face at each point.

    depth: minus the distance from the camera, of what is nearest.
    """

    radiance: Float[np.ndarray, "h w 3"]
    label: UInt8[np.ndarray, "h w"]
    lens: Bool[np.ndarray, "h w"]
    nearest: Int32[np.ndarray, "h w"]
    depth: Float[np.ndarray, "h w"]

    @property
    def front(self) -> Bool[np.ndarray, "h w"]:
        """Where the head before the ears and below the hair's line is seen."""
        faces = np.append(_ahead(), False)  # its last entry stands for no face (-1) and for worn pieces
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


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What is rasterized of a head and what it wears: points at rest and posed, their normals, faces and parts.

    albedo, gloss: of the points that are worn, which follow those of the head. beside: the share of the surroundings'
    light that clothes and mask leave to the head's.
    """

    rest: Float[np.ndarray, "v 3"]
    posed: Float[np.ndarray, "v 3"]
    normals: Float[np.ndarray, "v 3"]
    faces: Int32[np.ndarray, "f 3"]
    parts: UInt8[np.ndarray, " f"]
    albedo: Float[np.ndarray, "w 3"]
    gloss: Float[np.ndarray, " w"]
    beside: Float[np.ndarray, " v"]


@remembered(KEPT, "hat", "face_mask", "earrings", "clothing")
def _scene(p: Values, head: Head, cloths: bytes, seed: int) -> Scene:
    """The head with what it wears but glasses."""
    nothing, (cloth, hat) = np.zeros((0, 3), np.float32), np.frombuffer(cloths, np.float32).reshape(2, 3)
    clothes, outer, name = worn.garment(p, cloth, head.rest, seed)
    faces, parts = solid_faces()
    scarf, twill = (HATS[int(p["hat"])] == name for name in ("headscarf", "cap"))
    faces = np.where(scarf & worn.under_scarf()[:, None], np.int32(0), faces)
    others = (kinds[int(p[what])] for what, kinds in (("hat", HATS), ("face_mask", FACE_MASKS)) if p[what] > 0)
    beside = np.prod([worn.beside(of) for of in (name, *others)], axis=0)
    scene = Scene(head.rest, head.posed, head.normals, faces, parts, nothing, nothing[:, 0], beside)
    scene = _wearing(scene, clothes, shading.GARMENT, outer, head.pose)
    worn.tuck(name, scene.posed, len(head.rest), head.pose.turn(worn.CHEST))
    if p["hat"] > 0:
        scene = _wearing(scene, worn.hat(p, head.rest, hat), shading.HAT, 0.003 * twill, head.pose)
    if p["face_mask"] > 0:
        mask = worn.face_mask(head.rest, int(p["face_mask"]), seed)
        scene = _wearing(scene, mask, shading.FACE_MASK, 0.0, head.pose)
    if p["earrings"] > 0 and not scarf:
        scene = _wearing(scene, worn.earrings(head.rest, seed), shading.EARRING, 0.8, head.pose)
    return scene


def _wearing(scene: Scene, piece: worn.Piece, code: int, gloss: float | np.ndarray, pose: Pose) -> Scene:
    posed = pose.turn(piece.points) if code != shading.GARMENT else _carried(piece.points, pose)
    normals = np.empty_like(posed)
    find_normals(posed, piece.faces, normals)
    return Scene(
        np.concatenate([scene.rest, piece.points]),
        np.concatenate([scene.posed, posed]),
        np.concatenate([scene.normals, normals]),
        np.concatenate([scene.faces, piece.faces + np.int32(len(scene.rest))]),
        np.concatenate([scene.parts, np.full(len(piece.faces), code, np.uint8)]),
        np.concatenate([scene.albedo, piece.albedo]),
        np.concatenate([scene.gloss, np.broadcast_to(np.float32(gloss), len(posed))]),
        scene.beside,
    )


def _carried(points: Float[np.ndarray, "n 3"], pose: Pose) -> Float[np.ndarray, "n 3"]:
    """Collars go and tilt with the neck, but do not turn with it; what lies on shoulders moves with these."""
    up, low = pose.rotation[:, 1], np.clip((-2.1 - points[:, 1:2]) / 0.3, 0, 1)
    across = np.array([up[1], -up[0], 0.0]) / np.hypot(up[0], up[1])
    ahead = Pose(np.stack([across, up, np.cross(across, up)], 1), pose.distance)
    middle = points * np.array([0, 1, 0], np.float32) + np.array([0, 0, -1.5], np.float32)
    tilted = ahead.turn(points) + pose.turn(middle) - ahead.turn(middle)
    return np.asarray(tilted + (pose.turn(points) - tilted) * low, dtype=np.float32)


def _columns(scene: Scene, first: int = 0) -> Float[np.ndarray, "w 21"]:
    """Columns of a scene's vertices from one on, as shading.shade wants them, of what is worn in full light."""
    found = np.zeros((len(scene.rest) - first, 21), np.float32)
    for column, of in ((shading.REST, scene.rest), (shading.NORMAL, scene.normals), (shading.POSED, scene.posed)):
        found[:, column : column + 3] = of[first:]
    found[:, shading.LIGHT : shading.ALBEDO], found[:, 19:] = 1, 1
    own = min(len(scene.albedo), len(found))
    found[-own:, shading.ALBEDO : shading.SURFACE] = scene.albedo[-own:]
    found[-own:, shading.SURFACE] = scene.gloss[-own:]
    return found


@functools.lru_cache(maxsize=KEPT)
def _seen(scene: Scene, head: Head, hair: Hair, lamp: bytes) -> tuple[np.ndarray, Float[np.ndarray, "v 21"]]:
    """The key light's picture of depths, and columns of vertices with the shares that they see of all light.

    lamp: the axes of its picture: across, up and towards it.
    """
    held, count, axes = asset(), len(head.rest), np.frombuffer(lamp, np.float32).reshape(3, 3)
    at, depth = _from_lamp(scene.posed, np.ascontiguousarray(scene.faces[_CASTING[scene.parts]]), axes)
    spread, found = np.empty(count, np.float32), _columns(scene)
    read_shadow(at[:count], depth, _BIAS, spread)
    left, sky_left = hair.shade(axes[2], head.posed, head.rest)
    spread *= left
    shading.spread(spread, held.starts, held.near, _SPREAD)
    seen = np.clip(held.sky, 0.02, 1) * np.exp(-np.clip(0.8 * head.hollow, -0.12, 1.5)) * sky_left * scene.beside
    seen = np.maximum(seen, np.float32(0.5) * zones().margin)  # the wet edge of the lower lid lies open
    # What comes out of hollows has met skin more often, and is redder.
    found[:count, shading.LIGHT : shading.ALBEDO] = seen[:, None] ** np.array([0.94, 1.03, 1.05], np.float32)
    found[:count, : shading.NORMAL] = held.mean
    found[:count, 16], found[:count, 19], found[:count, 20] = spread, np.minimum(seen, 1), left
    return depth, found


@remembered(KEPT, "fill_light")
def _ambient(p: Values, scene: Scene) -> Float[np.ndarray, "v 3"]:
    """Light of the surroundings on every vertex, without occlusion."""
    return ambient_of(p, scene.normals)


def _vertices(
    p: Values, colors: Colors, seed: int, scene: Scene, seen: Float[np.ndarray, "v 21"], key: np.ndarray, head: Head
) -> Float[np.ndarray, "v 21"]:
    """Columns of vertices, in their colors and under the light of the surroundings."""
    found, count, ambient = seen.copy(), len(head.rest), _ambient(p, scene)
    light = found[:, shading.LIGHT : shading.ALBEDO]
    light *= ambient
    # Cheeks are rounder than the mesh; a smile lifts them to the light, and make-up lights them.
    raised = np.float32(0.97) + np.float32(0.08 + 0.08 * p["smile"] + 0.04 * p["makeup"]) * zones().apple
    found[:count, shading.ALBEDO : shading.SURFACE] = skin_colors(p, colors.skin, colors.hair, seed) * raised[:, None]
    found[:count, [15, 17, 18]] = skin_surface(p)
    for part in (shading.LEFT_EYE, shading.RIGHT_EYE):
        eye = vertices_of(part)
        light[eye] = ambient[eye].mean(0) * (0.62 + 0.40 * p["face_shape"])  # long lashes shade it
    teeth = vertices_of(shading.UPPER_TEETH, shading.LOWER_TEETH, shading.TONGUE)
    side, ahead = np.abs(head.rest[teeth, 0]), head.rest[teeth, 2]
    corner = np.abs(head.rest[:, 0][asset().regions["lips"] > 0.5]).max()
    entering = np.clip((ahead - ahead.min()) / 1.2, 0, 1) ** 2 * np.clip(3.1 - 4 * side / corner, 0.4, 1)
    inside = head.pose.rotation[:, 2]
    entering[np.isin(teeth, vertices_of(shading.TONGUE))] *= 0.4  # it lies in the shade of the teeth
    light[teeth] = (2.1 + 0.6 * p["mouth_open"]) * (2.2 * ambient_of(p, np.array([inside])) + key) * entering[:, None]
    found[teeth, 19] = entering
    return found


def _from_lamp(
    points: Float[np.ndarray, "v 3"], casting: Int32[np.ndarray, "f 3"], axes: Float[np.ndarray, "3 3"]
) -> tuple[Float[np.ndarray, "v 3"], Float[np.ndarray, "m m"]]:
    """Where points lie in the lamp's picture, and its depths."""
    turned, scale, buffers = points @ axes.T, _SHADOW / _SHADOW_VIEW, Buffers.empty(_SHADOW)
    down = _SHADOW / 2 - (turned[:, 1] + 0.3) * scale
    seen = np.stack([_SHADOW / 2 + turned[:, 0] * scale, down, turned[:, 2]], 1).astype(np.float32)
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


@remembered(KEPT, "light_azimuth", "light_elevation")
def _lamp(p: Values, seed: int) -> Float[np.ndarray, "10 3"]:
    """The lights, as shading.shade wants them; how hard the key light is and what shines from behind are the seed's."""
    draws = np.random.Generator(np.random.Philox(key=[seed, 11])).random(4)
    soft, (a, b) = draws[0] ** 2, (p["light_azimuth"], p["light_elevation"])
    towards = np.array([np.sin(a) * np.cos(b), np.sin(b), np.cos(a) * np.cos(b)], np.float32)
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
    size, head, lamp = len(background) * samples_of(len(background)), head_of(p), _lamp(p, seed)
    cloths = np.stack([colors.cloth, colors.hat]).astype(np.float32).tobytes()
    scene, hair, axes = _scene(p, head, cloths, seed), hair_of(p, head, size), lamp[6:9]
    shadow, seen = _seen(scene, head, hair, axes.tobytes())
    entering = 0.35 * max(0.3, float(lamp[0] @ head.pose.rotation[:, 2])) * lamp[2]
    vertices, full, lens = _vertices(p, colors, seed, scene, seen, entering, head), scene, None
    if p["glasses"] > 0:
        frame, lens = worn.spectacles(p, head.rest)
        full = _wearing(scene, frame, shading.FRAME, 0.05 if worn.of_horn(p) else 0.12, head.pose)
        behind, left = worn.shade_of_spectacles(p, head.rest, lamp[0] @ head.pose.rotation)
        vertices[behind, shading.LIGHT : shading.ALBEDO] *= left[:, 1:]
        vertices[behind[:, None], [16, 20]] *= left[:, :1]
        added = _columns(full, len(vertices))
        added[:, shading.LIGHT : shading.ALBEDO] = ambient_of(p, full.normals[len(vertices) :])
        vertices = np.concatenate([vertices, added])
    buffers, solid = _rasterized(scene, full, head.pose, size)
    picture, label = np.empty((size, size, 3), np.float32), np.zeros((size, size), np.uint8)
    enlarge(np.ascontiguousarray(background, np.float32), picture)
    shading.shade(
        buffers.nearest, buffers.depth, buffers.weights, full.faces, full.parts, vertices, lamp, shadow,
        _eyes(p, colors, head), _cloth(p, colors), _look(p, size), shading.pores(), _unrolled(), picture, label,
        np.empty((9, 21), np.float32), np.zeros((4, size), np.int32),
    )  # fmt: skip
    masked = label == shading.MASKED if p["face_mask"] > 0 else None
    skin = vertices[: len(head.rest), shading.LIGHT : shading.SURFACE].reshape(-1, 2, 3)
    skin[:, 0] += (np.clip(head.normals @ lamp[0] + 0.3, 0, None) / 1.3 * vertices[: len(skin), 16])[:, None] * lamp[2]
    hair.paint(p, lamp[0], colors.hair, _LIGHT_COLOR, skin, solid, buffers.depth, picture, label, masked)
    lenses = _draw_lenses(p, lens, head.pose, buffers, picture)
    depth = buffers.depth - _ABOVE * (label == shading.HEADWEAR) + _BEFORE * (label == shading.CLOTH)
    return Drawing(picture, label, lenses, buffers.nearest, depth)


def _rasterized(scene: Scene, full: Scene, pose: Pose, size: int) -> tuple[Buffers, Float[np.ndarray, "h w"]]:
    """What is seen where, and the depth without frames of glasses; a hat lies over what is next to it.

    scene, full: without and with frames. Only depths are the caller's to write.
    """
    kept, covered = _without_frames(scene, pose, size)
    solid, first = kept.depth.copy(), len(scene.faces)
    if covered is not None:
        solid[covered] += _ABOVE
    if first == len(full.faces):
        return kept._replace(depth=solid.copy()), solid
    buffers, over = Buffers(*(part.copy() for part in kept)), np.full_like(kept.nearest, -1)
    rasterize(pose.project(full.posed, size), full.faces[first:], buffers.depth, over, buffers.weights)
    buffers.nearest[over >= 0] = over[over >= 0] + first
    if covered is not None:
        buffers.depth[covered & (over < 0)] += _ABOVE
    return buffers, solid


@functools.lru_cache(maxsize=KEPT)
def _without_frames(scene: Scene, pose: Pose, size: int) -> tuple[Buffers, Bool[np.ndarray, "h w"] | None]:
    """What is seen where, and where that is a hat, if one is worn."""
    buffers, hat = Buffers.empty(size), scene.parts == shading.HAT
    screen, clothes = pose.project(scene.posed, size), scene.faces[scene.parts == shading.GARMENT]
    # Clothes do not turn with the neck: what of it would come through them stays behind.
    screen[clothes.min() : clothes.max() + 1, 2] += _BEFORE
    scarf = np.unique(scene.faces[hat])  # its end lies over the clothes
    screen[scarf, 2] += 2 * _BEFORE * np.clip((-2.1 - scene.rest[scarf, 1]) / 0.3, 0, 1)
    # Nor may teeth come through lips and chins that age has thinned, or eyes through lids that a smile lifts.
    screen[vertices_of(shading.UPPER_TEETH, shading.LOWER_TEETH, shading.TONGUE), 2] -= _BEHIND
    screen[vertices_of(shading.LEFT_EYE, shading.RIGHT_EYE), 2] -= _BEHIND / 2
    rasterize(screen, scene.faces, *buffers)
    clothed = (scene.parts == shading.GARMENT)[buffers.nearest] & (buffers.nearest >= 0)
    buffers.depth[clothed] -= 2 * _BEFORE  # hair lies on them
    return buffers, hat[buffers.nearest] & (buffers.nearest >= 0) if hat.any() else None


def _eyes(p: Values, colors: Colors, head: Head) -> Float[np.ndarray, "4 3"]:
    centers = [head.posed[vertices_of(part)].mean(0) for part in (shading.LEFT_EYE, shading.RIGHT_EYE)]
    turn, ease = head.pose.rotation, np.array([0.22, 0.15])
    # Eyes turn toward the camera, and past it, but a head that is turned far away takes them along.
    aside, up = np.tanh(np.arcsin(turn[2, :2]) / ease) * ease + np.array([0.42 * p["gaze"], 0])
    gaze = turn @ np.array([np.sin(aside) * np.cos(up), np.sin(up), np.cos(aside) * np.cos(up)])
    return np.stack([*centers, gaze, colors.iris]).astype(np.float32)


def _cloth(p: Values, colors: Colors) -> Float[np.ndarray, "3 3"]:
    second = 0.5 * colors.cloth + np.array([0.07, 0.07, 0.075])
    return np.stack([colors.cloth, second, [0, int(p["clothing"]), p["clothing_pattern"]]]).astype(np.float32)


def _look(p: Values, size: int) -> Float[np.ndarray, " 9"]:
    old = min(max((p["age"] - 28) / 45, 0), 1.1)
    pores = 0.055 + 0.014 * old + 0.020 * (p["face_shape"] - 0.5)
    white = 0.028 + 0.325 * min(p["sclera"], 1.1)
    others = (size / shape.VIEW / p["distance"], p["smile"], _crease(p), 0.40 * max(p["face_shape"] - 0.5, 0))
    return np.array([pores, old, p["brow_raise"], white, 2 * p["relief_1"], *others], np.float32)


def _crease(p: Values) -> float:
    """How dark the crease of the upper lid is: some people have none."""
    return 0.40 * min(max(0.75 - 0.35 * p["eye_fold"] - 0.4 * max(p["shape_2"], 0), 0), 1)


@functools.cache
def _unrolled() -> Float[np.ndarray, "v 4"]:
    """The mean head laid flat: around its axis, and up over the crown; how open pores are, and where a beard grows."""
    zone = zones()
    open_ = 0.70 + 0.50 * zone.nose + 0.35 * zone.apple + 0.15 * zone.cheek - 0.10 * zone.forehead - 0.35 * zone.socket
    x, y, z = asset().mean.T - np.array([[0.0], [0.35], [-0.7]])
    out = np.hypot(x, z)
    up = np.where(y > 0, 1.25 * np.arctan2(y, out), y)
    flat = [1.25 * np.arctan2(x, z) * np.cos(np.maximum(up, 0) / 1.25), up, np.clip(open_, 0.15, 1.2), zone.beard]
    return np.stack(flat, 1).astype(np.float32)


@functools.cache
def _ahead() -> Bool[np.ndarray, " f"]:
    """Faces of the front of the head; eyes and what is inside the mouth belong to it."""
    faces, parts = solid_faces()
    return np.asarray((parts != shading.SKIN) | np.isin(faces, shape.face_vertices()).all(1))


def _draw_lenses(
    p: Values, lens: worn.Piece | None, pose: Pose, buffers: Buffers, picture: np.ndarray
) -> Bool[np.ndarray, "h w"]:
    """Lenses absorb, and mirror a little of the surroundings; where they are seen."""
    if lens is None:
        return np.zeros(picture.shape[:2], dtype=bool)
    found = Buffers(buffers.depth.copy(), np.full_like(buffers.nearest, -1), np.empty_like(buffers.weights))
    rasterize(pose.project(pose.turn(lens.points), len(picture)), lens.faces, *found)
    seen = found.nearest >= 0
    passed = np.array(_CLEAR.get(GLASSES[int(p["glasses"])], (0.92, 0.93, 0.92)), np.float32)
    weights, (a, b, c) = found.weights[seen], lens.faces[found.nearest[seen]].T
    (x, y), (u, v) = lens.points[:, :2].T, weights.T
    x, y = (u * of[a] + v * of[b] + (1 - u - v) * of[c] for of in (x - np.float32(0.52) * np.sign(x), y))
    aside, above = (8 * x - 4 * y + 1) ** 2, (5.5 * y - np.float32(0.5)) ** 2
    window = np.clip(2 - aside * aside - above * above, 0, 1) * (np.float32(0.8) + np.float32(1.5) * y)
    edge = np.clip(1 - (1 - u - v) * np.float32(14), 0, 1)  # which is cut at a slant
    mirrored = np.float32(0.004) + np.float32(0.007) * (edge + np.clip(np.float32(2.5) * y + np.float32(0.4), 0, 1))
    picture[seen] = picture[seen] * passed + (mirrored + np.float32(0.016) * window)[:, None] * _LIGHT_COLOR
    return seen
