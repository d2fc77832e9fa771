"""What is put on a photograph's face: a head of FaceWorld is fitted to it and wears glasses, a hat, a mask or bangs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, final

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int32, UInt8
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from transect.generators.faceworld.attributes import HAIR_STYLES, HATS, IDENTITY, NAMES, TRAITS
from transect.generators.faceworld.mesh import shading, worn
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.complexion import ambient_of, key_of
from transect.generators.faceworld.mesh.drawing import Colors, Drawing, draw, samples_of, shadow_of
from transect.generators.faceworld.mesh.kernels import find_normals
from transect.generators.faceworld.mesh.shape import Values, face_vertices, pose_of, rest_shape, weights
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.reflectance import LUMINANCE, skin_reflectance
from transect.generators.photographs.appearance.colors import Camera, front_of
from transect.generators.photographs.appearance.faces import Face, Layer, blurred, layer_of, scene_of

SIZE: Final = 512
"""Pixels of the picture in which FaceWorld's landmarks are fitted."""
_SHAPE: Final = (
    *("face_width", "face_shape", "brow_raise", "mouth_open"),
    *(name for name in TRAITS if name.split("_")[0] in {"nose", "eye", "brow", "mouth", "jaw", "chin", "cheek"}),
    *("cheekbones", "lip_fullness", "forehead_width"),
    *(f"shape_{number}" for number in range(1, 8)),
    *("relief_1", "relief_2"),
)
_POSE: Final = ("yaw", "pitch")
_BOUNDED: Final[Mapping[str, tuple[float, float]]] = {
    "yaw": (-45.0, 45.0), "pitch": (-20.0, 20.0), "face_shape": (0.0, 1.0),
    "brow_raise": (-1.0, 1.0), "mouth_open": (0.0, 1.0),
}  # fmt: skip
_SPREADS: Final[Mapping[str, float]] = {
    "yaw": 12.0, "pitch": 8.0, "face_shape": 0.3, "brow_raise": 0.4, "mouth_open": 0.3,
}  # fmt: skip
_FREE: Final = (*_POSE, *_SHAPE)
_LIMITS: Final = np.array([_BOUNDED.get(name, (-2.0, 2.0)) for name in _FREE]).T
_SPREAD: Final = np.array([_SPREADS.get(name, 1.0) for name in _FREE])
"""Standard deviations of the prior: degrees, then shape."""
_STEPS: Final = 0.1 * _SPREAD
_TOLERANCE: Final = 6.0
"""Pixels of SIZE by which landmarks are uncertain."""
_WEIGHTS: Final = np.repeat((0.3, 0.5, 1.0, 1.5, 0.3), (17, 10, 9, 12, 20))
"""Of jaw, brows, nose, eyes and mouth."""
_ROUNDS: Final = 5
_LEAST_SKIN: Final = 40
_USUAL: Final[Mapping[str, float]] = {
    "skin_tone": 5.0, "age": 40.0, "face_shape": 0.5, "distance": 1.0, "jpeg_quality": 100.0, "light_elevation": 30.0,
    "background_lightness": 0.5, "hair_color": 0.3, "clothing_lightness": 0.5, "eye_color": 0.3, "smile": 0.2,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Head:
    """A fitted head. values: FaceWorld's attributes; identity: its code [d]. to_photograph: float64 [2, 3], from
    pixels of a picture of SIZE to those of the photograph; scale: its pixels of the photograph per pixel.
    error: root mean square distance of the landmarks inside the face, over the distance of the eyes' outer corners.
    """

    values: Mapping[str, float]
    identity: Float[np.ndarray, " d"]
    to_photograph: Float[np.ndarray, "2 3"]
    scale: float
    error: float

    def person(self, **changed: float) -> tuple[Values, Colors]:
        """FaceWorld's parameters and colors with some attributes set."""
        values = {name: np.array([value]) for name, value in (dict(self.values) | changed).items()}
        found, colors = parameters(values, self.identity[None])[0]
        return found, Colors(*(colors[name] for name in ("skin", "hair", "iris", "cloth", "hat_cloth")))

    def onto(self, canvas_size: int) -> Float[np.ndarray, "2 3"]:
        """As to_photograph, from pixels of a canvas of that size; pixel i of both is centered at i."""
        ratio = SIZE / canvas_size
        matrix = self.to_photograph.copy()
        matrix[:, 2] += matrix[:, :2] @ np.full(2, 0.5 * ratio) - 0.5
        matrix[:, :2] *= ratio
        return matrix

    def placed(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
        """Where points of the head at rest lie on the photograph; pixel i spans i to i + 1."""
        pose = pose_of(self.person()[0])
        at = pose.project(pose.turn(points), SIZE)[:, :2]
        return np.asarray(at @ self.to_photograph[:, :2].T + self.to_photograph[:, 2])


def head_of(face: Face) -> Head:
    """The head whose landmarks lie nearest to those of the face."""
    usual = np.array([_USUAL.get(name, 0.0) for name in _FREE])
    free = usual.copy()
    precision = np.diag((_TOLERANCE / _SPREAD) ** 2)
    for _ in range(_ROUNDS):
        found = _points(np.vstack([free, free + np.diag(_STEPS)]))
        placed = [_placed(points, face.points) for points in found]
        unit = np.linalg.norm(placed[0][1][:, 0])
        wrong = [((moved - face.points) * np.sqrt(_WEIGHTS)[:, None]).ravel() / unit for moved, _ in placed]
        slopes = (np.array(wrong[1:]) - wrong[0]).T / _STEPS
        pull = slopes.T @ wrong[0] + precision @ (free - usual)
        free = np.clip(free - np.linalg.solve(slopes.T @ slopes + precision, pull), *_LIMITS)
    moved, matrix = _placed(_points(free[None])[0], face.points)
    error = float(np.sqrt(((moved - face.points)[17:48] ** 2).sum(axis=1).mean()) / face.width)
    named = dict(zip(_FREE, free.tolist(), strict=True))
    code = np.array([named.get(name, 0.0) for name in IDENTITY])
    values = {name: named.get(name, _USUAL.get(name, 0.0)) for name in NAMES}
    return Head(values, code, matrix, float(np.linalg.norm(matrix[:, 0])), error)


def _points(free: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n 68 2"]:
    """The landmarks of upright heads of these poses and shapes in a picture of SIZE."""
    named = dict(zip(_FREE, free.T, strict=True))
    zero = np.zeros(len(free))
    values = {name: named.get(name, zero + _USUAL.get(name, 0.0)) for name in NAMES}
    rows = parameters(values, np.stack([named.get(name, zero) for name in IDENTITY], axis=1))
    found = []
    for p, _ in rows:
        pose = pose_of(p)
        found.append(pose.project(pose.turn(rest_landmarks(p)), SIZE)[:, :2])
    return np.array(found, dtype=np.float64)


@functools.cache
def _landmark_parts() -> tuple[Float[np.ndarray, "k 68 3"], Float[np.ndarray, "k 2 3"], int]:
    """Landmarks and middles of the eyes of the mean head and of each displacement; the first that is a movement."""
    held = asset()
    parts = np.concatenate([held.mean[None], held.fields])
    marks = (parts[:, held.landmark_corners] * held.landmark_weights[..., None]).sum(axis=2)
    eyes = [parts[:, vertices_of(part)].mean(axis=1) for part in (shading.LEFT_EYE, shading.RIGHT_EYE)]
    return marks, np.stack(eyes, axis=1), held.names.index("browDownLeft")


def rest_landmarks(p: Values) -> Float[np.ndarray, "68 3"]:
    """The landmarks of `rest_shape`, without the other vertices."""
    marks, eyes, moving = _landmark_parts()
    weighing = np.concatenate([[1.0], weights(p)])
    still = weighing[: moving + 1]
    left, right = np.tensordot(still, eyes[: moving + 1], 1)
    moved = np.tensordot(weighing, marks, 1)
    return np.asarray((moved - (left + right) / 2) / np.linalg.norm(left - right))


def _placed(
    points: Float[np.ndarray, "68 2"], wanted: Float[np.ndarray, "68 2"]
) -> tuple[Float[np.ndarray, "68 2"], Float[np.ndarray, "2 3"]]:
    """Points moved, turned and scaled to lie nearest to those wanted, and the matrix that does it."""
    shares = _WEIGHTS / _WEIGHTS.sum()
    middle, target = shares @ points, shares @ wanted
    away, goal = points - middle, wanted - target
    power = (shares * (away**2).sum(axis=1)).sum()
    a = (shares * (away * goal).sum(axis=1)).sum() / power
    b = (shares * (away[:, 0] * goal[:, 1] - away[:, 1] * goal[:, 0])).sum() / power
    turn = np.array([[a, -b], [b, a]])
    return away @ turn.T + target, np.column_stack([turn, target - turn @ middle])


def lit(head: Head, face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Head:
    """The head under the light that the skin shows, as far as FaceWorld's key and fill light have it."""
    p, _ = head.person()
    rest, front = rest_shape(p), face_vertices()
    normals = np.empty_like(rest)
    pose = pose_of(p)
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


_FINER: Final = 1.6
"""Points of FaceWorld's picture across a pixel of the photograph."""
_COARSER: Final = 0.4
HATS_WORN: Final = tuple(HATS.index(name) for name in ("cap", "beanie", "headscarf"))
"""The hats that photographs are given, as FaceWorld's levels: those that hold the hair close to the head."""
_LARGEST, _SMALLEST = 1024, 72
_DENSEST: Final = 0.7
_LEAST_SHOWN: Final = 1e-3
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
    """Pictures of a fitted head, `finer` than the photograph, and the way from them to it."""

    def __init__(self, head: Head, face: Face, key: int = 0, finer: float = _FINER) -> None:
        self.head, self.face, self.key = _owning(head, key), face, key
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
        return np.asarray(cv2.warpAffine(smooth, self.matrix, (width, height), flags=cv2.INTER_LINEAR))


def own_things(key: int) -> dict[str, float]:
    """The shape and color of frames and the color of hats, drawn by that key: numbers of FaceWorld's identity.

    Frames are black to dark brown: grey metal needs a room to mirror.
    """
    names = ("frame_shape", "frame_color", "hat_hue", "hat_lightness")
    draws = np.random.Generator(np.random.Philox(key)).standard_normal(len(names)).tolist()
    return dict(zip(names, draws, strict=True)) | {"frame_color": abs(draws[1]) / 2}


def _owning(head: Head, key: int) -> Head:
    """The head with its own shape of frames and color of hats."""
    identity = head.identity.copy()
    for name, value in own_things(key).items():
        identity[IDENTITY.index(name)] = value
    return replace(head, identity=identity)


def glasses_of(stage: Stage, camera: Camera, kind: int) -> Layer:
    """The glasses of that kind (index of GLASSES) on a head; hair lies over their temples."""
    matte = stage.matte(shading.SPECTACLES, glasses=float(kind))
    p, _ = stage.head.person(glasses=float(kind))
    frame, lenses = worn.spectacles(p, rest_shape(p))
    near = frame.points[frame.points[:, 2] > lenses.points[:, 2].min() - 0.02]
    hidden = ~stage.hull(near) * stage.seen(stage.face.masks["hair"])
    return stage.layer(camera, matte.where(1 - hidden))


def beard_of(stage: Stage, camera: Camera, amount: float, hair_color: float, tone: float) -> Layer:
    """The shade of stubble, from none (0) to dense (1), on skin of that tone: it is never lighter than the skin."""
    matte = stage.matte(facial_hair=_DENSEST * amount, hair_color=hair_color)
    passed = np.minimum(matte.passed + matte.added / np.maximum(stage.bare_with(tone), _LEAST_SHOWN), 1)
    shade = Matte(passed.astype(np.float32), np.zeros_like(matte.added), matte.covers)
    return stage.layer(camera, shade.where(stage.seen(stage.face.masks["skin"])))


_AROUND, _WIDEST, _SLACK = 96, 1.4, 1.06
"""Angles at which the outline of a hat is widened, by how much at most, and how far it lies off the hair."""
_SOFT_SHADE, _SHADED = 0.05, 0.75
_LEVEL: Final = 0.25
"""How far above the brows the middle of a hat's rim lies, in distances between the eyes' outer corners."""


def hat_of(stage: Stage, camera: Camera, kind: int, picture: UInt8[np.ndarray, "h w 3"]) -> Layer:
    """The hat of that kind (index of FaceWorld's HATS) on a head, and its shade on skin and hair.

    It is as wide as the hair under it, within limits; hair that would still stand out above its rim is pressed down:
    what is behind the person shows there. Hair beside and below the rim stays.
    """
    matte, inside = fitted_hat(stage, stage.matte(shading.HEADWEAR, hat=float(kind)))
    matte = softly_shaded(matte, _SOFT_SHADE * stage.face.width * stage.finer)
    matte = matte.where(np.maximum(matte.covers, stage.person()))
    passed = 1 - blurred(stage.shown(1 - matte.passed), camera.blur)
    added = blurred(stage.shown(matte.added * np.float32(camera.gain)), camera.blur)
    pressed = pressed_hair(stage, inside)[:, :, None]
    behind = background_of(stage.face, picture) * pressed * passed
    return layer_of(passed * (1 - pressed), added + behind, camera.noise, stage.key)


def softly_shaded(matte: Matte, deviation: float) -> Matte:
    """The same with a soft shade: lamps of photographs are wide, and one of them hardly ever gives all light."""
    bare = (~matte.covers).astype(np.float32)[..., None]
    shade = (
        blurred((1 - matte.passed) * bare, deviation) / np.maximum(blurred(bare[..., 0], deviation), 0.05)[..., None]
    )
    return Matte(np.where(matte.covers[..., None], matte.passed, 1 - _SHADED * shade), matte.added, matte.covers)


def fitted_hat(stage: Stage, matte: Matte) -> tuple[Matte, Bool[np.ndarray, "_ _"]]:
    """A hat's matte, widened until hair above its rim is under it, within limits; and what it encloses."""
    rim, turn = _rim(stage), np.linspace(-np.pi, np.pi, _AROUND, endpoint=False)
    hair, hat = (_reach(mask, rim, turn) for mask in (stage.seen(_head(stage.face)), matte.covers))
    wider = np.clip(np.where(hat > 0, _SLACK * hair / np.maximum(hat, 1), 1), 1, _WIDEST)
    wider = gaussian_filter1d(maximum_filter1d(wider, 5, mode="wrap"), 3, mode="wrap")
    wider = 1 + (wider - 1) * np.clip(np.sin(turn) * 4 + 1, 0, 1)
    rows, columns = np.mgrid[: stage.points, : stage.points]
    across, down = columns - rim[0], rows - rim[1]
    at = np.arctan2(-down, across)
    scale, far = (np.interp(at, turn, values, period=2 * np.pi) for values in (wider, hat * wider))
    parts = (1 - matte.passed, matte.added, matte.covers)
    hidden, added, cover = (_taken(part, rim[0] + across / scale, rim[1] + down / scale) for part in parts)
    return Matte(1 - hidden, added, cover > 0.5), (cover > 0.5) | (np.hypot(across, down) < far)


def _reach(mask: Float[np.ndarray, "_ _"], rim: Float[np.ndarray, " 2"], turn: Float[np.ndarray, " a"]) -> np.ndarray:
    """How far a mask reaches from the middle of a rim, by angle."""
    radii = np.arange(len(mask))
    ray = _taken(mask, rim[0] + np.outer(np.cos(turn), radii), rim[1] - np.outer(np.sin(turn), radii))
    return np.asarray(((ray > 0.3) * radii).max(axis=1))


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


def pressed_hair(stage: Stage, inside: Bool[np.ndarray, "_ _"]) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that is hair above the rim of a hat, and outside of it."""
    hair, cover = _head(stage.face), stage.shown(inside.astype(np.float32))
    x, y = stage.matrix[:, :2] @ _rim(stage) + stage.matrix[:, 2]
    rows, columns = np.mgrid[: hair.shape[0], : hair.shape[1]].astype(np.float32)
    above = np.clip((np.arctan2(y - rows, np.abs(columns - x)) - 0.15) / 0.3, 0, 1)
    wide = cv2.dilate(hair, np.ones((3, 3), np.uint8), iterations=max(1, round(0.05 * stage.face.width)))
    return np.asarray(np.minimum(1.5 * wide, 1) * above * (1 - cover), dtype=np.float32)


def _head(face: Face) -> Float[np.ndarray, "h w"]:
    return np.asarray(np.maximum(face.masks["skin"], face.masks["hair"]))


def background_of(face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "h w 3"]:
    """The scene light behind a person, continued smoothly from around them."""
    edge = max(1, round(0.06 * face.width))
    known = (cv2.dilate(_head(face), np.ones((3, 3), np.uint8), iterations=edge) < 0.05).astype(np.float32)
    scene = scene_of(picture)
    found, share = np.zeros_like(scene), np.zeros((*known.shape, 1), dtype=np.float32)
    for far in (0.05, 0.15, 0.5, 2.0):
        weight = blurred(known, far * face.width)[:, :, None]
        sure = np.clip(weight / 0.05, 0, 1) * (1 - share)
        found += sure * blurred(scene * known[:, :, None], far * face.width) / np.maximum(weight, 1e-6)
        share += sure
    return np.asarray(found / np.maximum(share, 1e-6), dtype=np.float32)


def face_mask_of(stage: Stage, camera: Camera) -> Layer:
    """A surgical mask on a head, and its shade on the skin; hair lies over its loops."""
    matte = stage.matte(shading.MASKED, face_mask=1.0)
    cloth = worn.face_mask(rest_shape(stage.head.person()[0]))
    hidden = ~stage.hull(cloth.points[: worn.MASK_POINTS]) * stage.seen(stage.face.masks["hair"])
    return stage.layer(camera, matte.where(np.maximum(matte.covers, stage.person()) * (1 - hidden)))


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
