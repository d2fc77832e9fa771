"""What is put on a photograph's face: a head of FaceWorld is fitted to it and wears glasses, a hat, a mask or bangs."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Final, NamedTuple, final

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int32, UInt8

from transect.generators.faceworld.attributes import GLASSES, HAIR_STYLES, HATS, IDENTITY
from transect.generators.faceworld.mesh import shading, worn
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.complexion import ambient_of, key_of
from transect.generators.faceworld.mesh.drawing import Drawing, draw, samples_of, shadow_of
from transect.generators.faceworld.mesh.kernels import find_normals
from transect.generators.faceworld.mesh.shape import Values, face_vertices, pose_of, rest_shape
from transect.generators.faceworld.reflectance import LUMINANCE, skin_reflectance
from transect.generators.fitted_heads import SIZE, Head, rest_landmarks
from transect.generators.photographs.appearance.colors import Camera, front_of
from transect.generators.photographs.appearance.faces import Face, Layer, blurred, layer_of, scene_of

_LEAST_SKIN: Final = 40


def lit(head: Head, face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Head:
    """The head under the light that the skin shows, as far as FaceWorld's key and fill light have it."""
    p, _ = head.person()
    rest, front = rest_shape(p), face_vertices()
    front = front[asset().sky[front] > 0.3]  # not behind lids or lips
    normals, pose = np.empty_like(rest), pose_of(p)
    find_normals(pose.turn(rest), asset().faces, normals)
    at = np.rint(head.placed(rest[front]) - 0.5).astype(int)
    height, width = face.masks["skin"].shape
    inside = (normals[front, 2] > 0.2) & (at >= 0).all(axis=1) & (at < (width, height)).all(axis=1)
    at = at[inside]
    skin = face.masks["skin"][at[:, 1], at[:, 0]] > 0.95
    if skin.sum() < _LEAST_SKIN:
        return head
    scene = (scene_of(picture) @ LUMINANCE.astype(np.float32))[at[skin, 1], at[skin, 0]]
    chosen = front[inside][skin]
    return replace(head, values={**head.values, **_light(normals[chosen], chosen, pose.rotation, scene)})


_AZIMUTHS, _ELEVATIONS = np.arange(-80, 81, 8), np.arange(-20, 76, 8)
_MOST_LOOKED_AT: Final = 600


@functools.lru_cache(maxsize=256)
def _reached(azimuth: int, elevation: int) -> Float[np.ndarray, " v"]:
    """The share of a lamp's light from there, in tens of degrees, that reaches each vertex of the mean head."""
    held = asset()
    towards = _direction(10.0 * azimuth, 10.0 * elevation)
    across = np.cross([0.0, 1.0, 0.0], towards)
    axes = np.stack([across / np.linalg.norm(across), np.zeros(3), towards])
    axes[1] = np.cross(towards, axes[0])
    return shadow_of(held.mean, held.faces[held.parts == shading.SKIN], axes.astype(np.float32))


def _direction(azimuth: float, elevation: float) -> Float[np.ndarray, " 3"]:
    around, up = np.radians(azimuth), np.radians(elevation)
    return np.asarray([np.sin(around) * np.cos(up), np.sin(up), np.cos(around) * np.cos(up)])


def _light(
    normals: Float[np.ndarray, "n 3"], vertices: Int32[np.ndarray, " n"], rotation: Float[np.ndarray, "3 3"],
    scene: Float[np.ndarray, " n"],
) -> dict[str, float]:  # fmt: skip
    """FaceWorld's light under which skin of one color is nearest to the scene's. rotation: of the head."""
    few = np.linspace(0, len(normals) - 1, min(len(normals), _MOST_LOOKED_AT)).astype(int)
    normals, vertices, seen = normals[few], vertices[few], scene[few] / np.median(scene)
    sky = np.clip(asset().sky[vertices], 0, 1)
    bare, filled = (ambient_of({"fill_light": share}, normals) @ LUMINANCE * sky for share in (0.0, 1.0))
    best, found = np.inf, {}
    for elevation in _ELEVATIONS:
        for azimuth in _AZIMUTHS:
            towards = _direction(float(azimuth), float(elevation))
            own = rotation.T @ towards
            reached = _reached(
                round(np.degrees(np.arctan2(own[0], own[2])) / 10), round(np.degrees(np.arcsin(own[1])) / 10)
            )
            key = key_of(towards, normals) @ LUMINANCE * (0.35 + 0.65 * sky) * reached[vertices]
            for share in (0.0, 0.25, 0.5, 1.0):
                shown = bare + key + share * (filled - bare)
                strength = float(shown @ seen / (shown @ shown))
                wrong = float(((strength * shown - seen) ** 2).sum())
                if wrong < best:
                    best = wrong
                    found = {"light_azimuth": float(azimuth), "light_elevation": float(elevation), "fill_light": share}
    return found


_COARSER: Final = 0.4
HATS_WORN: Final = tuple(HATS.index(name) for name in ("cap", "beanie", "headscarf"))
"""The hats that photographs are given, as FaceWorld's levels: those that hold the hair close to the head."""
_LARGEST, _SMALLEST = 1024, 72
_APART: Final = 0.03
"""Radiance by which dark and light skin must differ for what lies on them to be told from it."""


class Pair(NamedTuple):
    """A person with the darkest skin before black, and with the lightest before white."""

    dark: Drawing
    light: Drawing


class Matte(NamedTuple):
    """What lies before a bare head: the light that passes it and that it adds [h, w, 3], and where it covers all."""

    passed: Float[np.ndarray, "h w 3"]
    added: Float[np.ndarray, "h w 3"]
    covers: Bool[np.ndarray, "h w"]

    def where(self, share: Float[np.ndarray, "h w"]) -> Matte:
        """That share of it."""
        part = np.asarray(share, dtype=np.float32)[..., None]
        return Matte(1 - (1 - self.passed) * part, self.added * part, self.covers)


@final
class Stage:
    """Pictures of a fitted head, `finer` points across a pixel of the photograph, and the way from them to it."""

    def __init__(self, head: Head, face: Face, key: int = 0, finer: float = 1.6) -> None:
        # The head with its own shape of frames and color of hats.
        identity = head.identity.copy()
        for name, value in own_things(key).items():
            identity[IDENTITY.index(name)] = value
        self.head, self.face, self.key = replace(head, identity=identity), face, key
        wanted = SIZE * head.scale * finer
        self.size = int(np.clip(round(wanted / samples_of(_SMALLEST)), _SMALLEST, _LARGEST))
        self.points = self.size * samples_of(self.size)
        self.finer = self.points / (SIZE * head.scale)
        self.matrix = head.onto(self.points)

    @functools.cached_property
    def bare(self) -> Pair:
        """The head that wears nothing."""
        return self.pair()

    def drawn(self, light: float = 0.0, **changed: float) -> Drawing:
        """The head, shaven unless an attribute says so, with those attributes set, before a background so light."""
        values, colors = self.head.person(**changed)
        values = {**values, "face_mask": changed.get("face_mask", 0.0)}
        return draw(values, colors, self.key, np.full((self.size, self.size, 3), light, np.float32))

    def pair(self, **changed: float) -> Pair:
        """With the darkest and the lightest skin."""
        return Pair(self.drawn(0.0, **changed, skin_tone=10.0), self.drawn(1.0, **changed, skin_tone=1.0))

    def matte(self, *covering: int, **changed: float) -> Matte:
        """What these attributes put before the bare head. covering: labels of what lets no light pass."""
        bare, worn_ = self.bare, self.pair(**changed)
        apart = bare.light.radiance - bare.dark.radiance
        told = apart > _APART
        passed = (worn_.light.radiance - worn_.dark.radiance) / np.where(told, apart, 1)
        ratio = worn_.light.radiance / np.maximum(bare.light.radiance, 1e-4)
        passed = np.clip(np.where(told, passed, ratio), 0, 1)
        covers = np.isin(worn_.dark.label, covering)
        if worn_.dark.lens.any():  # eyes are no skin: before them a lens is as before the skin around them
            lens, skin = worn_.dark.lens, told.all(axis=2)
            passed[lens & ~skin] = np.median(passed[lens & skin], axis=0) if (lens & skin).any() else 1
        passed[covers] = 0
        added = np.maximum(worn_.dark.radiance - passed * bare.dark.radiance, 0)
        return Matte(passed.astype(np.float32), added.astype(np.float32), covers)

    def bare_with(self, tone: float) -> Float[np.ndarray, "_ _ 3"]:
        """The radiance of the bare head with skin of that tone."""
        dark, light = (drawing.radiance for drawing in self.bare)
        most, least, own = skin_reflectance(np.array([1.0, 10.0, tone]))
        return np.asarray(dark + (light - dark) * ((own - least) / (most - least)))

    def radiance(self, tone: float) -> float:
        """Median luminance of the front of the head's face with skin of that tone."""
        front = (self.seen(front_of(self.face).astype(np.float32)) > 0.5) & self.bare.dark.front
        shown = self.bare_with(tone)[front if front.any() else self.bare.dark.front]
        return float(np.median(shown @ LUMINANCE))

    def seen(self, mask: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "_ _"]:
        """A mask of the photograph on the canvas."""
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return np.asarray(cv2.warpAffine(mask, self.matrix, (self.points, self.points), flags=flags))

    def person(self) -> Float[np.ndarray, "_ _"]:
        """The skin, the hair and all between the features of the face on the canvas."""
        masks = self.face.masks
        inside = np.zeros(masks["skin"].shape, dtype=np.uint8)
        cv2.fillConvexPoly(inside, cv2.convexHull(np.rint(self.face.points).astype(np.int32)), (1,))
        return self.seen(np.clip(masks["skin"] + masks["hair"] + inside, 0, 1).astype(np.float32))

    def hull(self, points: Float[np.ndarray, "n 3"]) -> Bool[np.ndarray, "_ _"]:
        """Where points of the head at rest, and all between them, lie on the canvas."""
        pose = pose_of(self.head.person()[0])
        at = pose.project(pose.turn(points), self.points)[:, :2] - 0.5
        inside = np.zeros((self.points, self.points), dtype=np.uint8)
        cv2.fillConvexPoly(inside, cv2.convexHull(np.rint(at).astype(np.int32)), (1,))
        return inside > 0

    def layer(self, camera: Camera, matte: Matte) -> Layer:
        """A matte as what lies before the photograph, with its camera's blur and noise."""
        passed = 1 - blurred(self.shown(1 - matte.passed), camera.blur)
        added = blurred(self.shown(matte.added * np.float32(camera.gain)), camera.blur)
        return layer_of(passed, added, camera.noise, self.key)

    def shown(self, part: Float[np.ndarray, "_ _ *c"]) -> Float[np.ndarray, "h w *c"]:
        """A part of the canvas on the photograph, averaged over its pixels."""
        height, width = self.face.masks["skin"].shape
        smooth = blurred(np.ascontiguousarray(part, dtype=np.float32), 0.35 * self.finer)
        beyond = cv2.BORDER_REPLICATE  # below its last row the canvas continues, as a scarf does; above it is empty
        smooth[0] = 0
        shown = cv2.warpAffine(smooth, self.matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=beyond)
        return np.asarray(shown)


def own_things(key: int) -> dict[str, float]:
    """The shape and color of frames and the color of hats, drawn by that key: numbers of FaceWorld's identity.

    Frames are black, or dark brown and gunmetal: light metal needs a room to mirror. Hats are dark, as most are.
    """
    names = ("frame_shape", "frame_color", "hat_hue", "hat_lightness")
    draws = np.random.Generator(np.random.Philox(key)).standard_normal(len(names)).tolist()
    dark = {"frame_color": -1.4 if draws[1] < 0.4 else 1.4, "hat_lightness": 0.3 - 1.2 * abs(draws[3])}
    return dict(zip(names, draws, strict=True)) | dark


_HORN: Final = (GLASSES.index("thick frame"), GLASSES.index("dark"))
_CLEAR, _GLOSS, _MATTE, _EVEN = 0.45, 1.0, 0.55, 1.0
"""The exponent of what FaceWorld's clear lenses pass and the share that they mirror; how much more frames shine, and
how much less light they spread; the blur of their edges.
"""
_EAR, _FARTHEST = (0.03, 0.03), 0.1
"""How far outside of and above the jaw's end an ear's top lies, and how far what ends there is moved at most."""


def glasses_of(stage: Stage, camera: Camera, kind: int) -> Layer:
    """The glasses of that kind (index of GLASSES) on a head; hair that covers the ears lies over their temples."""
    matte = stage.matte(shading.SPECTACLES, glasses=float(kind))
    p, _ = stage.head.person(glasses=float(kind))
    frame, lenses = worn.spectacles(p, rest_shape(p))
    near = stage.hull(frame.points[frame.points[:, 2] > lenses.points[:, 2].min() - 0.02])
    covers, passed, added = matte.covers[..., None], matte.passed, matte.added
    if GLASSES[kind] in ("thin frame", "thick frame"):  # coated lenses mirror and shade hardly any light
        clear = near & ~matte.covers
        passed, added = passed.copy(), added.copy()
        passed[clear], added[clear] = passed[clear] ** _CLEAR, added[clear] * _CLEAR
    usual = np.median(matte.added[matte.covers], axis=0) if covers.any() else 0
    shine = np.maximum(added - 2 * usual, 0) * np.float32(_GLOSS)
    added = added + covers * (shine - np.float32(_MATTE) * np.minimum(added, 2 * usual))
    smooth = blurred(matte.covers.astype(np.float32), _EVEN)[..., None]  # without the steps of what is drawn
    cover = _smoothstep(smooth, 0.25, 0.75) if kind in _HORN else np.minimum(1.3 * smooth, 1)
    light = blurred(added * covers, _EVEN) / np.maximum(smooth, 0.05)
    behind = blurred(passed * ~covers, _EVEN) / np.maximum(1 - smooth, 0.05)
    passed = np.minimum(np.where(covers, behind, passed), 1) * (1 - cover)
    added = added * ~covers * (1 - cover) + light * cover
    return stage.layer(camera, _to_ears(stage, p, near, Matte(passed, added, matte.covers)))


def _to_ears(stage: Stage, p: Values, near: Bool[np.ndarray, "_ _"], matte: Matte) -> Matte:
    """What is worn with its ends moved to the photograph's ears, behind hair that covers them. near: its front."""
    face, inverse = stage.face, cv2.invertAffineTransform(stage.matrix)
    rows, columns = np.mgrid[: stage.points, : stage.points].astype(np.float32)
    x, y, hidden = columns.copy(), rows.copy(), ~near * stage.seen(face.masks["hair"])
    across, up = face.points[45] - face.points[36], face.points[27] - face.points[8]
    ears = stage.head.placed(rest_shape(p)[worn.vertices_at(worn.EAR_TOPS)])
    sides = np.flatnonzero(near.any(axis=0))
    for out, ear, jaw, hinge in ((1, ears[0], [16, 15], sides[-1:]), (-1, ears[1], [0, 1], sides[:1])):
        wanted = face.points[jaw[0]] + _EAR[0] * out * across + _EAR[1] * face.width * up / np.linalg.norm(up)
        moved = np.clip(wanted - ear, -_FARTHEST * face.width, _FARTHEST * face.width)
        moved[0] = out * max(out * moved[0], 0)
        far = out * (inverse[0, :2] @ (ear - 0.5) + inverse[0, 2] - hinge)
        if len(hinge) and far > 0.04 * face.width * stage.finer:  # else the head is turned and hides the ear
            moved = inverse[:, :2] @ moved
            share = np.clip(out * (columns - hinge) / (far + out * moved[0]), 0, 1.3)
            x, y = x - share * moved[0], y - share * moved[1]
        left, top = np.rint(face.points[jaw].mean(axis=0) + 0.03 * out * across - 0.05 * face.width).astype(int)
        beside = slice(max(0, left), max(0, left + round(0.1 * face.width)))
        skin = face.masks["skin"][max(0, top) : max(0, top + round(0.1 * face.width)), beside]
        if skin.size and skin.mean() > 0.35:  # the ear is seen
            hidden = np.where(out * (columns - stage.points / 2) > 0, 0, hidden)
    passed, added, covers = (_taken(part, x, y) for part in (matte.passed - 1, matte.added, matte.covers))
    return Matte(1 + passed, added, covers > 0.5).where(1 - hidden)


_WIDEST, _SLACK = 1.15, 1.04
"""By how much a hat is widened at most, and by how much more than the hair under it."""
_THREADS: Final = {"beanie": 0.07, "cap": 0.03}
"""How far the threads of what is worn differ in lightness."""
_FLARE: Final = 0.8
"""How far hair stands out from under a rim, over the way down from it."""
_LEVEL: Final = 0.2
"""How far above the brows the middle of a hat's rim lies, in distances between the eyes' outer corners."""


def hat_of(stage: Stage, camera: Camera, kind: int, background: Float[np.ndarray, "h w 3"]) -> Layer:
    """The hat of that kind (index of FaceWorld's HATS) on a head, and its shade on skin and hair. background: light.

    It is as wide as the hair under it, within limits; hair that would still stand out above its rim is pressed down:
    what is behind the person shows there. Hair below the rim stays, held in beside it.
    """
    wrapped = HATS[kind] == "headscarf"
    matte, inside = fitted_hat(stage, stage.matte(shading.HEADWEAR, hat=float(kind)), wrapped)
    added = textured(matte.added, matte.covers, stage, _THREADS.get(HATS[kind], 0.0))
    matte = edged(matte._replace(added=added), 0.11 * stage.face.width * stage.finer, 0.8)
    matte = matte.where(np.maximum(matte.covers, stage.person()))
    passed = 1 - blurred(stage.shown(1 - matte.passed), camera.blur)
    added = blurred(stage.shown(matte.added * np.float32(camera.gain)), camera.blur)
    pressed = pressed_hair(stage, inside, wrapped)[:, :, None]
    open_ = 1 - blurred(stage.shown(matte.covers.astype(np.float32)), camera.blur)[:, :, None]
    eyes, nose = stage.face.points[36:48, 1].mean(), stage.face.points[33, 1]  # between them the shade on hair ends
    low = np.clip((np.arange(len(passed), dtype=np.float32) - eyes) / max(nose - eyes, 1), 0, 1)[:, None, None]
    passed = passed + (1 - passed) * low * open_ * (stage.face.masks["hair"] > 0.5)[..., None]
    behind = background * pressed * open_
    return layer_of(passed * (1 - pressed), added + behind, camera.noise, stage.key)


def fitted_hat(stage: Stage, matte: Matte, wrapped: bool = False) -> tuple[Matte, Bool[np.ndarray, "_ _"]]:
    """A hat's matte, enlarged until it is as large as the hair above its rim, within limits; and what it encloses."""
    rim, high = _rim(stage), np.arange(stage.points)[:, None] < _rim(stage)[1]
    hair, hat = ((mask * high).sum() for mask in (stage.seen(_head(stage.face)) > 0.3, matte.covers))
    scale = 1.0 if wrapped else float(np.clip(_SLACK * np.sqrt(hair / max(hat, 1)), 1, _WIDEST))
    rows, columns = np.mgrid[: stage.points, : stage.points].astype(np.float32)
    source = rim[0] + (columns - rim[0]) / scale, rim[1] + (rows - rim[1]) / scale
    hidden, added, cover = (_taken(part, *source) for part in (1 - matte.passed, matte.added, matte.covers))
    covers, inside = cover > 0.5, np.zeros(cover.shape, dtype=np.uint8)
    if wrapped:  # between the cloth's outer edges, row by row: it is narrow at the neck
        between = np.logical_or.accumulate(covers, 1) & np.logical_or.accumulate(covers[:, ::-1], 1)[:, ::-1]
        return Matte(1 - hidden, added, covers), between
    if covers.any():
        cv2.fillConvexPoly(inside, cv2.convexHull(np.argwhere(covers)[:, ::-1].astype(np.int32)), (1,))
    return Matte(1 - hidden, added, covers), (inside > 0) & high | covers


def _taken(values: np.ndarray, x: Float[np.ndarray, "_ _"], y: Float[np.ndarray, "_ _"]) -> np.ndarray:
    """Values at places, 0 beyond."""
    floats = np.ascontiguousarray(values, dtype=np.float32)
    return np.asarray(cv2.remap(floats, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR))


def _rim(stage: Stage) -> Float[np.ndarray, " 2"]:
    """Where the middle of a hat's rim lies on the canvas."""
    face = stage.face
    at = face.points[17:27].mean(axis=0) - 0.5
    up = face.points[27] - face.points[8]
    at = at + _LEVEL * face.width * up / np.linalg.norm(up)
    inverse = cv2.invertAffineTransform(stage.matrix)
    return np.asarray(inverse[:, :2] @ at + inverse[:, 2])


def pressed_hair(stage: Stage, inside: Bool[np.ndarray, "_ _"], wrapped: bool = False) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that is hair above the rim of a hat and outside of it, or that the rim holds in.

    wrapped: whether all hair is under what is worn.
    """
    hair = stage.face.masks["hair"] if wrapped else _head(stage.face)
    cover = stage.shown(inside.astype(np.float32))
    x, y = stage.matrix[:, :2] @ _rim(stage) + stage.matrix[:, 2]
    rows, columns = np.mgrid[: hair.shape[0], : hair.shape[1]].astype(np.float32)
    above = np.clip((np.arctan2(y - rows, np.abs(columns - x)) - 0.15) / 0.3, wrapped, 1).astype(np.float32)
    width, covered = stage.face.width, cover > 0.5
    ragged = np.random.Generator(np.random.Philox(key=[stage.key, 4])).standard_normal(hair.shape, np.float32)
    ragged = np.float32(0.05 * width) * blurred(ragged, 1.2)
    for out in (-1, 1) if covered.any() and not wrapped else ():
        ends = np.flatnonzero(covered.any(axis=0))
        end = int(ends[0] if out < 0 else ends[-1])
        beside = slice(max(0, end - round(0.1 * width)), end + round(0.1 * width) + 1)
        low = float(np.flatnonzero(covered[:, beside].any(axis=1))[-1])
        away = out * (columns - end) - _FLARE * np.maximum(rows - low, 0) + 0.03 * width + ragged
        held = np.clip(away / (0.06 * width), 0, 1) * (rows < low + width)
        above = np.maximum(above, held).astype(np.float32)
    wide = cv2.dilate(hair, np.ones((3, 3), np.uint8), iterations=max(1, round(0.07 * width)))
    return np.asarray(np.minimum(2.5 * wide, 1) * above * (1 - cover), dtype=np.float32)


def _head(face: Face) -> Float[np.ndarray, "h w"]:
    return np.asarray(np.maximum(face.masks["skin"], face.masks["hair"]))


def background_of(face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "h w 3"]:
    """The scene light behind a person, continued smoothly from around them."""
    edge = max(1, round(0.10 * face.width))
    known = (cv2.dilate(_head(face), np.ones((3, 3), np.uint8), iterations=edge) < 0.05).astype(np.float32)
    scene = scene_of(picture)
    found, share = np.zeros_like(scene), np.zeros((*known.shape, 1), dtype=np.float32)
    for far in (0.05, 0.15, 0.5, 2.0):
        weight = blurred(known, far * face.width)[:, :, None]
        sure = np.clip(weight / 0.05, 0, 1) * (1 - share)
        found += sure * blurred(scene * known[:, :, None], far * face.width) / np.maximum(weight, 1e-6)
        share += sure
    return np.asarray(found / np.maximum(share, 1e-6), dtype=np.float32)


_NONWOVEN: Final = np.array([0.78, 0.92, 1.06], dtype=np.float32)
"""FaceWorld's cloth in the whiter light of photographs."""


def face_mask_of(stage: Stage, camera: Camera) -> Layer:
    """A surgical mask on a head, and its shade on the skin; hair lies over its loops."""
    matte = stage.matte(shading.MASKED, face_mask=1.0)
    p = stage.head.person()[0]
    near = stage.hull(worn.face_mask(rest_shape(p)).points[: worn.MASK_POINTS])
    added = textured(matte.added * _NONWOVEN, matte.covers, stage, 0.03)
    matte = edged(matte._replace(added=added), 0.06 * stage.face.width * stage.finer, 0.45)
    matte = _to_ears(stage, p, near, matte)
    return stage.layer(camera, matte.where(np.maximum(matte.covers, stage.person())))


def textured(
    added: Float[np.ndarray, "_ _ 3"], covers: Bool[np.ndarray, "_ _"], stage: Stage, spread: float
) -> Float[np.ndarray, "_ _ 3"]:
    """The light of cloth whose threads differ by that spread, on two scales."""
    draw = np.random.Generator(np.random.Philox(key=[stage.key, 3])).standard_normal(covers.shape, np.float32)
    fine, wide = (blurred(draw, deviation) * np.float32(2 * deviation) for deviation in (1.0, 2.5))
    raised = np.float32(spread) * (np.float32(1.6) * fine + wide)
    return np.asarray(added * (1 + raised * covers)[..., None])


def edged(matte: Matte, deviation: float, most: float) -> Matte:
    """The same with a soft shade around what covers: it keeps the surroundings' light from what it lies on."""
    covers = matte.covers.astype(np.float32)
    shade = 1 - most * blurred(covers, deviation)
    return matte._replace(passed=matte.passed * np.where(matte.covers, 1, shade)[..., None])


def hair_beside(head: Head, face: Face) -> float:
    """The most hair that would have to be pressed under a cap or a beanie, over what that covers."""
    stage = Stage(head, face, finer=_COARSER)
    most = 0.0
    for kind in HATS_WORN[:2]:
        bare = stage.drawn(hat=float(kind)).label == shading.HEADWEAR
        nothing = np.zeros((*bare.shape, 3), dtype=np.float32)
        hat, inside = fitted_hat(stage, Matte(1 - nothing, nothing, bare))
        cover = stage.shown(hat.covers.astype(np.float32)).sum()
        most = max(most, float(pressed_hair(stage, inside).sum() / max(cover, 1.0)))
    return most


_STYLE: Final = {"hair_style": float(HAIR_STYLES.index("cropped")), "hair_length": 0.6, "hair_volume": 0.0}
_JOIN: Final = 0.06
"""How far a fringe is mixed into the hair from which it falls, in distances of the eyes' outer corners."""
_SOFT_TIPS: Final = 0.02
_SPARSE: Final = 0.2
"""The share of hair nearby from which a place on the scalp is haired."""
_LEAST: Final = 1e-4
_ASIDE, _TOP, _FOREHEAD = 0.45, 1.25, (0.42, 0.95)
"""On the mean head, in distances between the eyes: how far from the middle, and how high, scalp and forehead lie."""


def fringe_of(stage: Stage, camera: Camera, level: float, color: Float[np.ndarray, " 3"], dark: float) -> Layer:
    """The fringe from none (0) to the brows (1). color: median light of the hair; dark: its level, 0 to 1."""
    style = {**_STYLE, "hair_color": dark}
    head, face = stage.head, stage.face
    front, without = (stage.matte(shading.HAIR, **style, bangs=bangs) for bangs in (level, 0.0))
    # Below the brows FaceWorld's own sideburns are no part of a fringe.
    brows = float(head.placed(rest_landmarks(head.person()[0])[17:27])[:, 1].max())
    rows = np.arange(face.masks["hair"].shape[0], dtype=np.float32)[:, None]
    low = np.broadcast_to(np.clip((rows - brows) / (0.1 * face.width), 0, 1), face.masks["hair"].shape)
    share = front.covers * (1 - stage.seen(np.ascontiguousarray(low)) * without.covers)
    deep = stage.seen(blurred(face.masks["hair"], _JOIN * face.width))
    share = share * stage.person() * (1 - _smoothstep(deep, 0.5, 0.95))
    middle = np.median(front.added[front.covers], axis=0) if front.covers.any() else np.full(3, _LEAST)
    tint = color / camera.gain / np.maximum(middle, _LEAST)
    matte = Matte(front.passed, (front.added * tint).astype(np.float32), front.covers)
    soft = blurred(np.ascontiguousarray(share, dtype=np.float32), _SOFT_TIPS * face.width * stage.finer)
    return stage.layer(camera, matte.where(np.minimum(soft, share)))


def hair_above(face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, " 3"] | None:
    """Median scene light of the hair above the forehead, from which a fringe falls; None without any."""
    x, y = face.points[17:27].mean(axis=0)
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]]
    place = (face.masks["hair"] > 0.9) & (rows < y) & (np.abs(columns - x) < 0.4 * face.width)
    return np.median(scene_of(picture[place]), axis=0) if place.sum() >= _LEAST_SKIN else None


def hair_over_forehead(head: Head, face: Face) -> tuple[float, float]:
    """The share of the top of the head, and of the forehead, that hair covers."""
    p, _ = head.person()
    rest = rest_shape(p)
    normals = np.empty_like(rest)
    find_normals(pose_of(p).turn(rest), asset().faces, normals)
    x, y, z = asset().mean.T
    skin = np.zeros(len(rest), dtype=bool)
    skin[vertices_of(shading.SKIN)] = True
    middle = skin & (np.abs(x) < _ASIDE) & (normals[:, 2] > 0) & (z > -2.0)
    low, high = _FOREHEAD
    hair = face.masks["hair"]
    near = (blurred(hair, _JOIN * face.width) > _SPARSE).astype(np.float32)
    shares = []
    for part, mask in ((middle & (y > _TOP), near), (middle & (y > low) & (y < high), hair)):
        at = np.rint(head.placed(rest[part]) - 0.5).astype(int)
        at = at[(at >= 0).all(axis=1) & (at < hair.shape[::-1]).all(axis=1)]
        shares.append(float(mask[at[:, 1], at[:, 0]].mean()) if len(at) else 0.0)
    return shares[0], shares[1]


def _smoothstep(values: Float[np.ndarray, "h w"], low: float, high: float) -> Float[np.ndarray, "h w"]:
    share = np.clip((values - low) / (high - low), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
