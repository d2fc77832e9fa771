"""What is put on a photograph's face: a head of FaceWorld is fitted to it and wears glasses, a hat or a mask."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Final, NamedTuple, final

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int32, UInt8

from transect.generators.faceworld.attributes import GLASSES, HATS, IDENTITY
from transect.generators.faceworld.mesh import shading, worn
from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.mesh.complexion import ambient_of, key_of
from transect.generators.faceworld.mesh.drawing import Drawing, draw, samples_of, shadow_of
from transect.generators.faceworld.mesh.kernels import find_normals
from transect.generators.faceworld.mesh.shape import Values, face_vertices, pose_of, rest_shape
from transect.generators.faceworld.reflectance import LUMINANCE, skin_reflectance
from transect.generators.fitted_heads import SIZE, Head
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
    held, towards = asset(), _direction(10.0 * azimuth, 10.0 * elevation)
    across = np.cross([0.0, 1.0, 0.0], towards)
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(towards, across), towards]).astype(np.float32)
    return shadow_of(held.mean, held.faces[held.parts == shading.SKIN], axes)


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
            x, y, z = rotation.T @ towards
            reached = _reached(*(round(np.degrees(angle) / 10) for angle in (np.arctan2(x, z), np.arcsin(y))))
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
_LARGEST, _SMALLEST, _MIDDLE = 1024, 72, 5.0
_APART: Final = 0.03
"""Radiance by which dark and light skin must differ for what lies on them to be told from it."""


class Matte(NamedTuple):
    """What lies before a bare head: the light that passes it and that it adds [h, w, 3], and where it covers all."""

    passed: Float[np.ndarray, "h w 3"]
    added: Float[np.ndarray, "h w 3"]
    covers: Bool[np.ndarray, "h w"]

    def where(self, share: Float[np.ndarray, "h w"]) -> Matte:
        """That share of it."""
        part = np.asarray(share, dtype=np.float32)[..., None]
        return Matte(1 - (1 - self.passed) * part, self.added * part, self.covers)

    def taken(self, x: Float[np.ndarray, "_ _"], y: Float[np.ndarray, "_ _"]) -> Matte:
        """It with what lies at those places, and nothing beyond."""
        parts = (np.ascontiguousarray(of, dtype=np.float32) for of in (1 - self.passed, self.added, self.covers))
        places = x.astype(np.float32), y.astype(np.float32)
        hidden, added, covers = (np.asarray(cv2.remap(part, *places, cv2.INTER_LINEAR)) for part in parts)
        return Matte(1 - hidden, added, covers > 0.5)


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
    def bare(self) -> tuple[Drawing, Drawing]:
        """The head that wears nothing."""
        return self.pair()

    def drawn(self, light: float = 0.0, **changed: float) -> Drawing:
        """The head, shaven unless an attribute says so, with those attributes set, before a background so light."""
        values, colors = self.head.person(**changed)
        values = {**values, "face_mask": changed.get("face_mask", 0.0)}
        return draw(values, colors, self.key, np.full((self.size, self.size, 3), light, np.float32))

    def pair(self, **changed: float) -> tuple[Drawing, Drawing]:
        """With the darkest skin before black, and with the lightest before white."""
        return (self.drawn(0.0, **changed, skin_tone=10.0), self.drawn(1.0, **changed, skin_tone=1.0))

    def matte(self, *covering: int, **changed: float) -> Matte:
        """What these attributes put before the bare head. covering: labels of what lets no light pass."""
        (bare, light), (dark, lit_) = self.bare, self.pair(**changed)
        told = (apart := light.radiance - bare.radiance) > _APART
        passed = (lit_.radiance - dark.radiance) / np.where(told, apart, 1)
        passed = np.clip(np.where(told, passed, lit_.radiance / np.maximum(light.radiance, 1e-4)), 0, 1)
        covers = np.isin(dark.label, covering)
        if dark.lens.any():  # eyes are no skin: before them a lens is as before the skin around them
            lens, skin = dark.lens, told.all(axis=2)
            passed[lens & ~skin] = np.median(passed[lens & skin], axis=0) if (lens & skin).any() else 1
        passed[covers] = 0
        added = np.maximum(dark.radiance - passed * bare.radiance, 0)
        return Matte(passed.astype(np.float32), added.astype(np.float32), covers)

    def bare_with(self, tone: float) -> Float[np.ndarray, "_ _ 3"]:
        """The radiance of the bare head with skin of that tone."""
        dark, light = (drawing.radiance for drawing in self.bare)
        most, least, own = skin_reflectance(np.array([1.0, 10.0, tone]))
        return np.asarray(dark + (light - dark) * ((own - least) / (most - least)))

    def radiance(self, tone: float) -> float:
        """Median luminance of the front of the head's face with skin of that tone."""
        front = (self.seen(front_of(self.face).astype(np.float32)) > 0.5) & self.bare[0].front
        shown = self.bare_with(tone)[front if front.any() else self.bare[0].front]
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

    def at(self, place: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " 2"]:
        """Where a place on the photograph lies on the canvas."""
        return np.asarray(cv2.invertAffineTransform(self.matrix) @ [*(place - 0.5), 1])

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
        return np.asarray(cv2.warpAffine(smooth, self.matrix, (width, height), flags=cv2.INTER_LINEAR))


def own_things(key: int) -> dict[str, float]:
    """The shape and color of frames and the color of hats, drawn by that key: numbers of FaceWorld's identity."""
    random = np.random.Generator(np.random.Philox(key))
    shape, frame, _, lighter = random.standard_normal(4).tolist()
    hue, lightness = _DYES[random.integers(len(_DYES))]
    dark = -1.4 if frame < 0.4 else 1.4  # black, or dark brown and gunmetal: light metal needs a room to mirror
    return {"frame_shape": shape, "frame_color": dark, "hat_hue": hue, "hat_lightness": lightness + 0.15 * lighter}


_DYES: Final = ((0.01, -1.2), (0.01, -0.7), (0.31, -2.6), (0.64, -0.5), (0.83, 0.6), (0.31, 0.1))
"""FaceWorld's hue and lightness of hats: dark and lighter navy, black, dark red, khaki and grey, as most are."""
_HORN: Final = (GLASSES.index("thick frame"), GLASSES.index("dark"))
_CLEAR, _MATTE, _EVEN = 0.45, 0.55, 1.0
"""The exponent of what FaceWorld's clear lenses pass and the share that they mirror; how much less light
frames spread; the blur of their edges."""
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
    shine = np.maximum(added - 2 * usual, 0)
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
        far = out * (stage.at(ear)[0] - hinge)
        if len(hinge) and far > 0.04 * face.width * stage.finer:  # else the head is turned and hides the ear
            moved = inverse[:, :2] @ moved
            share = np.clip(out * (columns - hinge) / (far + out * moved[0]), 0, 1.3)
            x, y = x - share * moved[0], y - share * moved[1]
        left, top = np.rint(face.points[jaw].mean(axis=0) + 0.03 * out * across - 0.05 * face.width).astype(int)
        beside = slice(max(0, left), max(0, left + round(0.1 * face.width)))
        skin = face.masks["skin"][max(0, top) : max(0, top + round(0.1 * face.width)), beside]
        if skin.size and skin.mean() > 0.35:  # the ear is seen
            hidden = np.where(out * (columns - stage.points / 2) > 0, 0, hidden)
    return matte.taken(x, y).where(1 - hidden)


_SIZES: Final = {"cap": (0.95, 1.02), "beanie": (1.0, 1.15)}
_SLACK: Final = 1.04
"""By how much a hat is widened, at least and at most, and by how much more than the hair under it."""
_LAMP: Final = {"light_azimuth": (-45.0, 45.0), "light_elevation": (34.0, 50.0), "fill_light": (0.0, 0.5)}
"""A portrait's lamp: skin alone tells its height poorly, and the shade of a peak shows it."""
_STILL, _AFAR = (0.9, 0.6), 1.75
"""Where a headscarf begins to be drawn out, and over what way, in distances between the eyes; how far it is seen."""
_THREADS: Final = {"beanie": 0.07, "cap": 0.008}
_SHADE: Final = {"cap": (0.18, 0.8), "beanie": (0.11, 0.8), "headscarf": (0.06, 0.5)}
"""How far the threads of what is worn differ in lightness, how far its shade reaches, and how dark it is."""
_FLARE: Final = 0.8
"""How hair widens from under a rim to what it is beside the nose: the exponent of the way down."""
_LEVEL: Final = 0.2
"""How far above the brows the middle of a hat's rim lies, in distances between the eyes' outer corners."""


def hat_of(stage: Stage, camera: Camera, kind: int, background: Float[np.ndarray, "h w 3"]) -> Layer:
    """The hat of that kind (index of FaceWorld's HATS) on a head, and its shade on skin and hair. background: light.

    Hair that would stand out above its rim gives way to what is behind the person; below it is held in beside it. A
    headscarf is drawn out over hair and ends on the chest.
    """
    if (name := HATS[kind]) == "cap":
        stage, camera = _under_lamp(stage, camera)
    if wrapped := name == "headscarf":
        stage = Stage(stage.head.from_afar(_AFAR), stage.face, stage.key, stage.finer)
    matte, inside = fitted_hat(stage, stage.matte(shading.HEADWEAR, hat=float(kind)), name)
    matte = textured(matte._replace(added=matte.added * _WHITER), stage, _THREADS.get(name, 0.0))
    matte = edged(matte, _SHADE[name][0] * stage.face.width * stage.finer, _SHADE[name][1])
    lower = np.arange(stage.points)[:, None] > stage.at(stage.face.points[8] + [0, 0.5 * stage.face.width])[1]
    matte = matte.where(np.maximum(matte.covers | (wrapped & lower), stage.person()))  # lower down it lies on clothes
    passed = 1 - blurred(stage.shown(1 - matte.passed), camera.blur)
    added = blurred(stage.shown(matte.added * np.float32(camera.gain)), camera.blur)
    pressed = pressed_hair(stage, inside, wrapped)[:, :, None]
    open_ = 1 - blurred(stage.shown(matte.covers.astype(np.float32)), camera.blur)[:, :, None]
    eyes, nose = stage.face.points[36:48, 1].mean(), stage.face.points[33, 1]  # between them the shade on hair ends
    low = np.clip((np.arange(len(passed), dtype=np.float32) - eyes) / max(nose - eyes, 1), 0, 1)[:, None, None]
    passed = passed + (1 - passed) * low * open_ * (stage.face.masks["hair"] > 0.5)[..., None]
    return layer_of(passed * (1 - pressed), added + background * pressed * open_, camera.noise, stage.key)


def _under_lamp(stage: Stage, camera: Camera) -> tuple[Stage, Camera]:
    """The same under a lamp as portraits have it, by which the face is as bright."""
    lamp = {name: float(np.clip(stage.head.values[name], *limits)) for name, limits in _LAMP.items()}
    found = Stage(replace(stage.head, values={**stage.head.values, **lamp}), stage.face, stage.key, stage.finer)
    return found, replace(camera, gain=camera.gain * stage.radiance(_MIDDLE) / found.radiance(_MIDDLE))


def fitted_hat(stage: Stage, matte: Matte, name: str = "beanie") -> tuple[Matte, Bool[np.ndarray, "_ _"]]:
    """A hat's matte, enlarged until it is as large as the hair above its rim, within limits; and what it encloses."""
    if name == "headscarf":
        return _over_hair(stage, matte)
    rim = _rim(stage)
    high = np.arange(stage.points)[:, None] < rim[1]
    hair, hat = ((mask * high).sum() for mask in (stage.seen(_head(stage.face)) > 0.3, matte.covers))
    scale = float(np.clip(_SLACK * np.sqrt(hair / max(hat, 1)), *_SIZES[name]))
    rows, columns = np.mgrid[: stage.points, : stage.points].astype(np.float32)
    matte = matte.taken(rim[0] + (columns - rim[0]) / scale, rim[1] + (rows - rim[1]) / scale)
    return matte, _between(matte.covers) & high | matte.covers


def _between(covers: Bool[np.ndarray, "_ _"]) -> Bool[np.ndarray, "_ _"]:
    """All between the outer edges, row by row."""
    left, right = (np.logical_or.accumulate(of, axis=1) for of in (covers, covers[:, ::-1]))
    return np.asarray(left & right[:, ::-1])


def _over_hair(stage: Stage, matte: Matte) -> tuple[Matte, Bool[np.ndarray, "_ _"]]:
    """A headscarf's matte drawn outwards over hair beside it, and all between its outer edges, row by row."""
    unit, middle = stage.face.width * stage.finer / 1.45, stage.at(stage.face.points[36:48].mean(axis=0))
    y, x = np.mgrid[: stage.points, : stage.points].astype(np.float32) - middle[::-1, None, None].astype(np.float32)
    away = np.maximum(np.hypot(x, np.minimum(y, 0)), 1)  # from the eyes, and from the middle below them
    near = blurred(matte.covers.astype(np.float32), 0.25 * unit) > 0.06
    hair = (stage.seen(stage.face.masks["hair"]) > 0.5) & ~matte.covers & near & (away > unit)
    # A band of hair as thick as the blur is wide leaves a third of itself at the cloth's edge.
    out = np.minimum(3 * blurred(hair.astype(np.float32), 0.35 * unit), 1) * 0.35 * unit
    back = 1 - out * np.clip((away / unit - _STILL[0]) / _STILL[1], 0, 1) / away
    matte = matte.taken(x * back + middle[0], y * np.where(y > 0, 1, back) + middle[1])
    return matte, _between(matte.covers)


def _rim(stage: Stage) -> Float[np.ndarray, " 2"]:
    """Where the middle of a hat's rim lies on the canvas."""
    face, up = stage.face, stage.face.points[27] - stage.face.points[8]
    return stage.at(face.points[17:27].mean(axis=0) + _LEVEL * face.width * up / np.linalg.norm(up))


def pressed_hair(stage: Stage, inside: Bool[np.ndarray, "_ _"], wrapped: bool = False) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that is hair outside of a hat (wrapped: all of it), or that its rim holds in."""
    hair = stage.face.masks["hair"] if wrapped else _head(stage.face)
    cover = stage.shown(inside.astype(np.float32))
    rows, columns = np.mgrid[: hair.shape[0], : hair.shape[1]].astype(np.float32)
    width, covered, above = stage.face.width, cover > 0.5, np.full(hair.shape, wrapped, np.float32)
    ragged = np.random.Generator(np.random.Philox(key=[stage.key, 4])).standard_normal(hair.shape, np.float32)
    ragged = np.float32(0.10 * width) * blurred(ragged, 2.5)
    nose = int(np.clip(stage.face.points[33, 1], 0, len(hair) - 1))
    widest, kernel = np.flatnonzero(stage.face.masks["hair"][nose] > 0.5), np.ones((3, 3), np.uint8)
    ears = cv2.dilate(stage.face.masks["skin"], kernel, iterations=max(1, round(0.05 * width)))
    for out in (-1, 1) if covered.any() and not wrapped else ():
        end = int(np.flatnonzero(covered.any(axis=0))[0 if out < 0 else -1])
        near = (covered[:, np.abs(columns[0] - end) <= far * width].any(axis=1) for far in (0.03, 0.1))
        edge, low = (float(np.flatnonzero(those)[-1]) for those in near)
        down = np.maximum(rows - low, 0) / max(nose - low, 0.1 * width)
        flare = (out * (widest - end)).max(initial=0) * down**_FLARE
        away = out * (columns - end) - flare + 0.03 * width + ragged
        held = np.clip(away / (0.06 * width), 0, 1) * np.clip(6 - 6 * down, 0, 1) * np.clip(2 - 4 * ears, 0, 1)
        outside = 1.0 - np.logical_or.accumulate(covered[:, ::-out], axis=1)[:, ::-out]
        outside = cv2.dilate(outside, np.ones((1, 5), np.uint8)) * (rows < edge)
        above = np.maximum(above, np.maximum(held, outside)).astype(np.float32)
    wide = cv2.dilate(hair, kernel, iterations=max(1, round(0.07 * width)))
    return np.asarray(np.minimum(2.5 * wide, 1) * above * np.minimum(1, 4 * (1 - cover)), dtype=np.float32)


def _head(face: Face) -> Float[np.ndarray, "h w"]:
    return np.asarray(np.maximum(face.masks["skin"], face.masks["hair"]))


def background_of(face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "h w 3"]:
    """The scene light behind a person, continued smoothly from around them."""
    edge = max(1, round(0.10 * face.width))
    known = (cv2.dilate(_head(face), np.ones((3, 3), np.uint8), iterations=edge) < 0.05).astype(np.float32)
    scene = scene_of(picture)
    if not known.any():
        return scene
    found, share = np.zeros_like(scene), np.zeros((*known.shape, 1), dtype=np.float32)
    for far in (0.05, 0.15, 0.5, 2.0):
        weight = blurred(known, far * face.width)[:, :, None]
        sure = np.clip(weight / 0.05, 0, 1) * (1 - share)
        found += sure * blurred(scene * known[:, :, None], far * face.width) / np.maximum(weight, 1e-6)
        share += sure
    return np.asarray(found / np.maximum(share, 1e-6), dtype=np.float32)


_NONWOVEN, _PALE, _WHITER = np.array([[0.78, 0.92, 1.06], [1.75, 1.15, 1.0], [0.89, 1.02, 1.09]], dtype=np.float32)
"""FaceWorld's cloth of masks in the whiter light of photographs, loops beside it, and cloth of hats in that light."""
_NARROWER, _HEM, _ELASTIC = 0.94, 0.035, 0.022
"""How much narrower masks are than FaceWorld's, and how wide hems and loops, in distances of the outer corners."""
_ROOTS: Final = ((1.0, 0.0, 0.0), (0.0, 0.5, 0.5))
"""Where the upper and lower roots of an ear lie between the first three points of the jaw's outline."""


def face_mask_of(stage: Stage, camera: Camera) -> Layer:
    """A surgical mask on a head, and its shade on the skin; its loops run over skin to the photograph's ears."""
    wide, (rows, columns) = stage.face.width * stage.finer, np.mgrid[: stage.points, : stage.points].astype(np.float32)
    matte = stage.matte(shading.MASKED, face_mask=1.0)
    thin = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (max(3, round(0.08 * wide)),) * 2)
    cut = cv2.morphologyEx(matte.covers.astype(np.uint8), cv2.MORPH_OPEN, thin) > 0  # without FaceWorld's loops
    middle = float(columns[cut].mean()) if cut.any() else stage.points / 2
    source = middle + (columns - middle) / _NARROWER, rows
    matte = matte._replace(added=matte.added * _NONWOVEN * cut[..., None], covers=cut).taken(*source)
    added, cloth = matte.added, matte.covers
    inside = cv2.distanceTransform(cloth.astype(np.uint8), cv2.DIST_L2, 5) / wide
    folds = (added / np.maximum(blurred(added, 0.08 * wide), 1e-4)) ** 0.8  # deeper than FaceWorld's
    sewn = 1 - 0.16 * np.exp(-(((inside - _HEM) / 0.009) ** 2)) + 0.05 * (inside < _HEM)
    turned = (sewn * (0.72 + 0.28 * _smoothstep(inside, 0, 0.22)))[..., None].astype(np.float32)
    matte = Matte(np.repeat(~cloth[..., None], 3, 2).astype(np.float32), added * folds * turned, cloth)
    matte = edged(textured(matte, stage, 0.03), 0.05 * wide, 0.6)
    skin = stage.seen(np.clip(2 * stage.face.masks["skin"] - stage.face.masks["hair"], 0, 1))
    loops, lit = (part * skin * ~cloth for part in _loops(stage, middle))
    shade = 1 - 0.5 * blurred(np.roll(loops, round(0.02 * wide), 0), 0.015 * wide)
    color = _PALE * np.median(added[cloth], axis=0) if cloth.any() else _PALE
    passed, added = matte.passed * (shade * (1 - loops))[..., None], matte.added + lit[..., None] * color
    return stage.layer(camera, Matte(passed, added, cloth).where(np.maximum(cloth, stage.person())))


def _loops(stage: Stage, middle: float) -> tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, "_ _"]]:
    """Where a mask's loops lie, from its corners to the roots of the ears, and how lit they are: darker at the ears."""
    face, inverse = stage.face, cv2.invertAffineTransform(stage.matrix)
    grid = worn.face_mask(rest_shape(stage.head.person()[0])).points[: worn.MASK_POINTS]
    grid = stage.head.placed(grid).reshape(worn.MASK_DOWN, worn.MASK_ACROSS, 2)
    across, up = face.points[45] - face.points[36], face.points[27] - face.points[8]
    places = np.moveaxis(np.mgrid[: stage.points, : stage.points][::-1], 0, 2).astype(np.float32)
    loops, lit = np.zeros((2, stage.points, stage.points), dtype=np.float32)
    for end in (0, -1):
        out = 1 if grid[1, end, 0] > face.points[33, 0] else -1
        ears = _ROOTS @ face.points[[16, 15, 14] if out > 0 else [0, 1, 2]] + 0.07 * out * across
        ears[0] -= 0.06 * up * face.width / np.linalg.norm(up)
        corners = 0.9 * grid[[1, -2], end] + 0.1 * grid[worn.MASK_DOWN // 2, worn.MASK_ACROSS // 2]
        for ends in np.stack([corners, ears], axis=1) - 0.5:
            first, last = (ends @ inverse[:, :2].T + inverse[:, 2]).astype(np.float32)
            first[0] = middle + (first[0] - middle) * _NARROWER
            way = last - first
            share = np.clip((places - first) @ way / (way @ way), 0, 1)
            away = np.linalg.norm(places - first - share[..., None] * way, axis=2)
            drawn = np.clip(0.5 * (_ELASTIC * face.width * stage.finer + 1) - away, 0, 1)
            loops, lit = np.maximum(loops, drawn), np.maximum(lit, drawn * (1 - 0.5 * share))
    return loops, lit


def textured(matte: Matte, stage: Stage, spread: float) -> Matte:
    """The same of cloth whose threads differ by that spread, on two scales."""
    draw = np.random.Generator(np.random.Philox(key=[stage.key, 3])).standard_normal(matte.covers.shape, np.float32)
    fine, wide = (blurred(draw, deviation) * np.float32(2 * deviation) for deviation in (1.0, 2.5))
    raised = np.float32(spread) * (np.float32(1.6) * fine + wide)
    return matte._replace(added=matte.added * (1 + raised * matte.covers)[..., None])


def edged(matte: Matte, deviation: float, most: float) -> Matte:
    """The same with a soft shade around what covers, which keeps the surroundings' light from what it lies on."""
    covers = matte.covers.astype(np.float32)
    smooth, open_ = (blurred(of, 0.15 * deviation) for of in (matte.passed, 1 - covers))  # shadows are drawn in steps
    smooth = np.minimum(smooth / np.maximum(open_, 0.02)[..., None], 1)
    return matte._replace(passed=smooth * ((1 - covers) * (1 - most * blurred(covers, deviation)))[..., None])


def hair_beside(head: Head, face: Face) -> float:
    """The most hair that would have to be pressed under a cap or a beanie, over what that covers."""
    stage, most = Stage(head, face, finer=_COARSER), 0.0
    for kind in HATS_WORN[:2]:
        bare = stage.drawn(hat=float(kind)).label == shading.HEADWEAR
        nothing = np.zeros((*bare.shape, 3), dtype=np.float32)
        hat, inside = fitted_hat(stage, Matte(1 - nothing, nothing, bare), HATS[kind])
        cover = stage.shown(hat.covers.astype(np.float32)).sum()
        most = max(most, float(pressed_hair(stage, inside).sum() / max(cover, 1.0)))
    return most


def _smoothstep(values: Float[np.ndarray, "h w"], low: float, high: float) -> Float[np.ndarray, "h w"]:
    share = np.clip((values - low) / (high - low), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
