"""What is put on a photograph's face: a head of FaceWorld is fitted to it and wears glasses, a hat, a mask or bangs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import cv2
import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from transect.generators.faceworld.attributes import HAIR_STYLES, HATS, IDENTITY, NAMES
from transect.generators.faceworld.canvas import Canvas, canvas_of, draw_lattices, spread_over
from transect.generators.faceworld.reflectance import FILL, LUMINANCE
from transect.generators.faceworld.rows import Parameters, Rows, bump, color, coverage, smoothstep, tint, unit
from transect.generators.photographs.appearance.colors import Camera
from transect.generators.photographs.appearance.faces import Face, Layer, blurred, layer_of, scene_of
from transect.generators.photographs.drawn.facial_hair import facial_hair
from transect.generators.photographs.drawn.glasses import glasses
from transect.generators.photographs.drawn.hair import hair
from transect.generators.photographs.drawn.hats import hat
from transect.generators.photographs.drawn.head import HAIRLINE_Y, Frame, locate, read_maps, smooth_normal
from transect.generators.photographs.drawn.heads import cut, head_maps, upright_box
from transect.generators.photographs.drawn.landmarks import face_points, landmarks
from transect.generators.photographs.drawn.parameters import parameters
from transect.generators.photographs.drawn.skin import AMBIENT, KEY, Illumination, illuminate, light_color

SIZE: Final = 512
"""Pixels of the picture in which FaceWorld's landmarks are fitted."""
_SHAPE: Final = (
    *("face_width", "eye_spacing", "brow_height", "nose_length", "nose_width", "mouth_height", "mouth_width"),
    *("jaw_width", "chin_length", "face_length", "shape_1", "shape_2", "shape_3", "shape_4"),
)
_POSE: Final = ("yaw", "pitch")
_STEPS: Final = (2.0, 2.0, *(0.1,) * len(_SHAPE))
_LIMITS: Final = np.array([35.0, 20.0, 1.0, *(2.0,) * (len(_SHAPE) - 1)])
_SPREAD: Final = np.array([12.0, 8.0, 0.5, *(1.0,) * (len(_SHAPE) - 1)])
"""Standard deviations of the prior: degrees, then shape."""
_TOLERANCE: Final = 6.0
"""Pixels of SIZE by which landmarks are uncertain."""
_WEIGHTS: Final = np.repeat((0.3, 0.5, 1.0, 1.5, 0.3), (17, 10, 9, 12, 20))
"""Of jaw, brows, nose, eyes and mouth."""
_ROUNDS: Final = 5
_COARSE: Final = 64
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

    def rows(self, **columns: Float[np.ndarray, " n"]) -> Rows:
        """FaceWorld's parameters in as many rows as the columns have, which are set in them."""
        count = len(next(iter(columns.values()))) if columns else 1
        values = {name: np.full(count, value) for name, value in self.values.items()} | columns
        return parameters(values, np.tile(self.identity, (count, 1)))

    def frame(self, p: Rows, canvas: Canvas) -> Frame:
        """Where each pixel of the canvas lies on the head, its first row's."""
        maps = head_maps(p, [0], canvas)
        return locate(p, canvas, lambda x, y: read_maps(maps[:, :1], x, y).squeeze(1))

    def onto(self, canvas_size: int) -> Float[np.ndarray, "2 3"]:
        """As to_photograph, from pixels of a canvas of that size; pixel i of both is centered at i."""
        ratio = SIZE / canvas_size
        matrix = self.to_photograph.copy()
        matrix[:, 2] += matrix[:, :2] @ np.full(2, 0.5 * ratio) - 0.5
        matrix[:, :2] *= ratio
        return matrix


def head_of(face: Face) -> Head:
    """The head whose landmarks lie nearest to those of the face."""
    with torch.inference_mode():
        free = np.zeros(len(_LIMITS))
        for _ in range(_ROUNDS):
            steps = np.vstack([np.zeros(len(free)), np.diag(_STEPS)])
            found = _points(free + steps)
            placed = [_placed(points, face.points) for points in found]
            unit = np.linalg.norm(placed[0][1][:, 0])
            wrong = [((moved - face.points) * np.sqrt(_WEIGHTS)[:, None]).ravel() / unit for moved, _ in placed]
            slopes = (np.array(wrong[1:]) - wrong[0]).T / np.array(_STEPS)
            precision = np.diag((_TOLERANCE / _SPREAD) ** 2)
            pull = slopes.T @ wrong[0] + precision @ free
            free = np.clip(free - np.linalg.solve(slopes.T @ slopes + precision, pull), -_LIMITS, _LIMITS)
        moved, matrix = _placed(_points(free[None])[0], face.points)
    error = float(np.sqrt(((moved - face.points)[17:48] ** 2).sum(axis=1).mean()) / face.width)
    named = dict(zip((*_POSE, *_SHAPE), free.tolist(), strict=True))
    code = np.array([named.get(name, 0.0) for name in IDENTITY])
    values = {name: named.get(name, _USUAL.get(name, 0.0)) for name in NAMES}
    return Head(values, code, matrix, float(np.linalg.norm(matrix[:, 0])), error)


def lit(head: Head, face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> Head:
    """The head under the light that the skin shows, as far as FaceWorld's key and fill light have it."""
    canvas = canvas_of(_COARSE)
    matrix = head.onto(_COARSE)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    light = np.ascontiguousarray(scene_of(picture) @ LUMINANCE.astype(np.float32))
    scene, skin = (cv2.warpAffine(of, matrix, (_COARSE, _COARSE), flags=flags) for of in (light, face.masks["skin"]))
    with torch.inference_mode():
        p = head.rows()
        frame = head.frame(p, canvas)
        normal = torch.stack(smooth_normal(frame.tables, frame.face), 1)[0].numpy()
        inside = (frame.head[0].numpy() > 0.95) & (frame.face.cosine[0].numpy() > 0.2) & (skin > 0.95)
    if inside.sum() < _LEAST_SKIN:
        return head
    normals = _to_viewer(normal[:, inside], head.values["yaw"], head.values["pitch"])
    axes = np.vstack([np.ones(normals.shape[1]), normals]).T
    ridge = 0.02 * len(axes) * np.diag([0.0, 1.0, 1.0, 1.0])
    seen = scene[inside] / np.median(scene[inside])
    level, *direction = np.linalg.solve(axes.T @ axes + ridge, axes.T @ seen)
    return replace(head, values={**head.values, **_light(level, np.array(direction))})


def _light(level: float, direction: Float[np.ndarray, " 3"]) -> dict[str, float]:
    """FaceWorld's light by a constant and a direction of luminance over normals."""
    strength = max(float(np.linalg.norm(direction)), 1e-6)
    x, y, z = direction / strength
    azimuth = float(np.clip(np.degrees(np.arctan2(x, max(z, 0.05))), -80, 80))
    elevation = float(np.clip(np.degrees(np.arcsin(np.clip(-y, -1, 1))), -20, 75))
    ambient = (level / strength * KEY / 1.1 - 0.12) / 0.86
    fill = float(np.clip((ambient - AMBIENT) / FILL, 0, 1))
    return {"light_azimuth": azimuth, "light_elevation": elevation, "fill_light": fill}


def _to_viewer(normal: Float[np.ndarray, "3 n"], yaw: float, pitch: float) -> Float[np.ndarray, "3 n"]:
    """Vectors of the head's frame in the viewer's, but for roll: the inverse of `parameters.to_head`."""
    c, s = np.cos(np.radians(yaw)), np.sin(np.radians(yaw))
    x, y, z = c * normal[0] + s * normal[2], normal[1], c * normal[2] - s * normal[0]
    c, s = np.cos(np.radians(pitch)), np.sin(np.radians(pitch))
    return np.stack([x, c * y - s * z, c * z + s * y])


def _points(free: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n 68 2"]:
    """The landmarks of upright heads of these poses and shapes in a picture of SIZE."""
    named = dict(zip((*_POSE, *_SHAPE), free.T, strict=True))
    zero = np.zeros(len(free))
    values = {name: named.get(name, zero + _USUAL.get(name, 0.0)) for name in NAMES}
    p = parameters(values, np.stack([named.get(name, zero) for name in IDENTITY], axis=1))
    return landmarks(p, _relief().expand(len(free), -1), SIZE)


@functools.cache
def _relief() -> torch.Tensor:
    """Height of the average head's relief at the landmarks, [1, 68]."""
    values = {name: np.array([_USUAL.get(name, 0.0)]) for name in NAMES}
    p = parameters(values, np.zeros((1, len(IDENTITY))))
    x, y = face_points(p)
    return read_maps(head_maps(p, [0], canvas_of(_COARSE))[:, :1], x.unsqueeze(1), y.unsqueeze(1))[:, 0, 0]


def _placed(
    points: Float[np.ndarray, "68 2"], wanted: Float[np.ndarray, "68 2"]
) -> tuple[Float[np.ndarray, "68 2"], Float[np.ndarray, "2 3"]]:
    """Points moved, turned and scaled to lie nearest to those wanted, and the matrix that does it."""
    weights = _WEIGHTS / _WEIGHTS.sum()
    middle, target = weights @ points, weights @ wanted
    away, goal = points - middle, wanted - target
    power = (weights * (away**2).sum(axis=1)).sum()
    a = (weights * (away * goal).sum(axis=1)).sum() / power
    b = (weights * (away[:, 0] * goal[:, 1] - away[:, 1] * goal[:, 0])).sum() / power
    turn = np.array([[a, -b], [b, a]])
    return away @ turn.T + target, np.column_stack([turn, target - turn @ middle])


_CLOTH: Final = (0.30, 0.45, 0.53)
"""Reflectance of blue nonwoven cloth, linear RGB."""
_HALF: Final = 0.475
_TOP, _BOTTOM = 0.035, 0.955
_PLEATS: Final = (0.36, 0.50, 0.64)
_LOOPS: Final = (((0.455, 0.235), (0.63, -0.06)), ((0.455, 0.66), (0.63, 0.22)))
"""Where the loops leave the mask and where they go behind the ear, on the face."""
_THREAD: Final = 0.009


def face_mask(frame: Frame, p: Parameters, hair: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Radiance, coverage and optical depth of the shade of a mask. hair: coverage, under which the loops run."""
    y = frame.face.y
    # Below the jaw the head ends, and the mask goes on in the plane of the chin.
    low = smoothstep(y, 0.66, 0.86)
    across = frame.U - 0.62 * p["sin_yaw"]
    x = frame.face.x * (1 - low) + across * low
    aside = x.abs()
    below_chin = 0.33 * (1 - ((across / 0.37) ** 2 + ((y - 0.63) / 0.335) ** 2).sqrt())
    top = _TOP + 0.62 * x * x + 0.05 * smoothstep(aside, 0.05, 0.16)
    bottom = _BOTTOM - 1.15 * x * x
    inside = torch.minimum(y - top, bottom - y).minimum(1.1 * (_HALF - aside))
    inside = torch.minimum(inside, below_chin + frame.head)
    seen = smoothstep(frame.face.cosine + low, 0.05, 0.20)
    cover = coverage(inside, frame.pixel) * seen
    around = (y - 0.5) / 0.5
    normal = unit(1.15 * x / _HALF, 0.55 * around, 1 - 0.30 * (x / _HALF) ** 2)
    light = illuminate(p, normal).diffuse
    flat = smoothstep(_HALF - aside, 0.0, 0.10)
    shade = torch.ones_like(light)
    for place in _PLEATS:
        line = y - place - 0.10 * x * x
        shade = shade * (1 - flat * (0.30 * bump(line, 0.014) - 0.07 * bump(line + 0.035, 0.025)))
    binding = 1 + 0.08 * bump(inside - 0.012, 0.012) - 0.16 * bump(inside - 0.030, 0.006)
    wire = 1 + 0.07 * bump(y - top - 0.055, 0.010) - 0.07 * bump(y - top - 0.075, 0.010)
    cloth = tint(color(frame.planes, *_CLOTH), light * shade * binding * wire)
    loops = _loops(frame, hair)
    white = tint(color(frame.planes, 0.72, 0.72, 0.72), illuminate(p, normal).diffuse)
    radiance = torch.lerp(white, cloth, (cover / (cover + loops).clamp(min=1e-6)).unsqueeze(1)) * light_color(light)
    shadow = 0.55 * bump((-inside).clamp(min=0), 0.045) * seen
    return radiance, torch.maximum(cover, loops), shadow


def _loops(frame: Frame, hair: Tensor) -> Tensor:
    """Coverage of the two loops, over the head only."""
    x, y = frame.face.x.abs(), frame.face.y
    total = torch.zeros_like(x)
    for (x0, y0), (x1, y1) in _LOOPS:
        along = ((x - x0) / (x1 - x0)).clamp(0, 1)
        distance = ((x - x0 - along * (x1 - x0)) ** 2 + (y - y0 - along * (y1 - y0)) ** 2).sqrt()
        total = torch.maximum(total, coverage(_THREAD - distance, frame.pixel) * smoothstep(x, x0 - 0.02, x0))
    return total * frame.head * (1 - hair) * smoothstep(frame.face.cosine, -0.02, 0.05)


Span: TypeAlias = tuple[float, float]
_FINER: Final = 1.6
"""Pixels of FaceWorld's picture to a pixel of the photograph."""
_COARSER: Final = 0.4
WHOLE_HEAD: Final = ((-1.3, 1.3), (-1.5, 1.6))
"""The upright picture coordinates between which a head with a hat or hair lies."""
HATS_WORN: Final = tuple(HATS.index(name) for name in ("cap", "beanie", "headscarf"))
"""The hats that photographs are given, as FaceWorld's levels: those that hold the hair close to the head."""
_LARGEST: Final = 1024
_HAIRS: Final = 0.05
_DENSEST: Final = 0.7


@final
class Stage:
    """The canvas of a head, `finer` than the photograph, between upright coordinates, and the way back to it."""

    def __init__(self, head: Head, face: Face, across: Span, down: Span, finer: float = _FINER) -> None:
        self.head, self.face, self.finer = head, face, finer
        self.canvas = canvas_of(int(np.clip(round(SIZE * head.scale * finer), 32, _LARGEST)))
        with torch.inference_mode():
            p = head.rows()
            self.window = upright_box(self.canvas, p, across, down)
            self.frame = cut(head.frame(p, self.canvas), self.window)
        self.matrix = head.onto(self.canvas.size)
        self.matrix[:, 2] += self.matrix[:, :2] @ (self.window.columns.start, self.window.rows.start)

    def seen(self, mask: Float[np.ndarray, "h w"]) -> Tensor:
        """A mask of the photograph on the canvas' window, [1, h, w]."""
        height, width = self.frame.X.shape[1:]
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return torch.from_numpy(cv2.warpAffine(mask, self.matrix, (width, height), flags=flags))[None]

    def layer(self, camera: Camera, key: int, black: Tensor, white: Tensor) -> Layer:
        """What was drawn [3, h, w] over black and over white, as what lies before the photograph, with its noise."""
        dark, bright = (part.permute(1, 2, 0).numpy() for part in (black, white))
        passed = 1 - blurred(self.shown(1 - (bright - dark)), camera.blur)
        added = blurred(self.shown(dark * np.float32(camera.gain)), camera.blur)
        return layer_of(passed, added, camera.noise, key)

    def shown(self, part: Float[np.ndarray, "h w *c"]) -> Float[np.ndarray, "_ _ *c"]:
        """A part of the canvas on the photograph, averaged over its pixels."""
        height, width = self.face.masks["skin"].shape
        smooth = blurred(np.ascontiguousarray(part, dtype=np.float32), 0.35 * self.finer)
        return np.asarray(cv2.warpAffine(smooth, self.matrix, (width, height), flags=cv2.INTER_LINEAR))


def glasses_of(head: Head, face: Face, camera: Camera, key: int, kind: int) -> Layer:
    """The glasses of that kind (index of GLASSES) on a head."""
    stage = Stage(head, face, (-0.98, 0.98), (-0.62, 0.48))
    with torch.inference_mode():
        p = head.rows(glasses=np.array([float(kind)]))
        black = torch.zeros(1, 3, *stage.frame.X.shape[1:])
        hair = stage.seen(face.masks["hair"])
        return stage.layer(camera, key, *(glasses(stage.frame, p, black + light, hair)[0] for light in (0.0, 1.0)))


def beard_of(head: Head, face: Face, camera: Camera, key: int, amount: float, hair_color: float) -> Layer:
    """The shade of stubble, from none (0) to dense (1), on the skin of a face."""
    stage = Stage(head, face, (-0.8, 0.8), (0.0, 1.1))
    with torch.inference_mode():
        p = head.rows(facial_hair=np.array([_DENSEST * amount]), hair_color=np.array([hair_color]))
        white = torch.ones(1, 3, *stage.frame.X.shape[1:])
        lattices = draw_lattices([key], stage.canvas.device)
        light = Illumination(white[:, 0], 0 * white[:, 0])
        shaded = facial_hair(stage.frame, p, white, light, lattices)
        shaded = 1 - (1 - shaded) * (stage.seen(face.masks["skin"]) * stage.frame.head).unsqueeze(1)
        # Hairs return a little grey light, so that what shows between them is not the skin's color alone.
        grey = _HAIRS * (1 - shaded[0])
        return stage.layer(camera, key, grey, grey + shaded[0])


def hat_of(head: Head, face: Face, camera: Camera, key: int, kind: int) -> Layer:
    """The hat of that kind (index of FaceWorld's HATS) on a head, and its shade on skin and hair."""
    stage = Stage(head, face, *WHOLE_HEAD)
    with torch.inference_mode():
        p = head.rows(hat=np.array([float(kind)]))
        lattices = draw_lattices([key], stage.canvas.device)
        folds = stage.window.of(spread_over(stage.canvas, lattices["folds"])).contiguous()
        worn = hat(stage.frame, p, folds)
        person = (stage.seen(face.masks["skin"]) + stage.seen(face.masks["hair"])).clamp(max=1)
        passed = (1 - person * (1 - torch.exp(-worn.shadow))) * (1 - worn.cover)
        shown = worn.radiance[0] * worn.cover
        return stage.layer(camera, key, shown, shown + passed.expand(3, -1, -1))


def face_mask_of(head: Head, face: Face, camera: Camera, key: int) -> Layer:
    """A surgical mask on a head, and its shade on the skin."""
    stage = Stage(head, face, (-0.98, 0.98), (-0.4, 1.25))
    with torch.inference_mode():
        radiance, cover, shadow = face_mask(stage.frame, head.rows(), stage.seen(face.masks["hair"]))
        passed = (1 - stage.seen(face.masks["skin"]) * (1 - torch.exp(-shadow))) * (1 - cover)
        shown = radiance[0] * cover
        return stage.layer(camera, key, shown, shown + passed.expand(3, -1, -1))


def hair_beside(head: Head, face: Face) -> float:
    """The most hair that stands out from under a cap, a beanie or a headscarf, over what that covers."""
    stage = Stage(head, face, *WHOLE_HEAD, _COARSER)
    rows = np.arange(face.masks["hair"].shape[0])[:, None]
    above = rows < face.points[36:48, 1].mean()
    most = 0.0
    with torch.inference_mode():
        nothing = torch.zeros_like(stage.frame.X)
        for kind in HATS_WORN:
            cover = stage.shown(hat(stage.frame, head.rows(hat=np.array([float(kind)])), nothing).cover[0].numpy())
            beside = face.masks["hair"] * (1 - cover) * (above | (HATS[kind] == "headscarf"))
            most = max(most, float(beside.sum() / max(cover.sum(), 1.0)))
    return most


_STYLE: Final = {"hair_style": float(HAIR_STYLES.index("cropped")), "hair_length": 0.6, "hair_volume": 0.0}
_JOIN: Final = 0.06
"""How far a fringe is mixed into the hair from which it falls, in distances of the eyes' outer corners."""
_TEMPLES: Final = (-0.50, -0.35)
_OPAQUE: Final = 0.9
_FRINGE_COARSER: Final = 0.4
_LEAST: Final = 1e-4
_ASIDE: Final = 0.35


def fringe_of(
    head: Head, face: Face, camera: Camera, key: int, level: float, color: Float[np.ndarray, " 3"], dark: float
) -> Layer:
    """The fringe from none (0) to the brows (1). color: median light of the hair; dark: its level, 0 to 1."""
    stage = Stage(head, face, *WHOLE_HEAD)
    with torch.inference_mode():
        radiance, front, shadow = _drawn(stage, key, dark, level)
        _, bare, shadow_before = _drawn(stage, key, dark, 0.0)
        low = smoothstep(stage.frame.face.y, *_TEMPLES)
        own = stage.seen(face.masks["hair"])
        deep = stage.seen(blurred(face.masks["hair"], _JOIN * face.width))
        # Below the temples FaceWorld's own sideburns are no part of a fringe.
        cover = (front - low * bare).clamp(min=0) * _person(stage)
        cover = cover * (1 - smoothstep(deep, 0.5, 0.95)) * stage.frame.head
        middle = radiance[0][:, front[0] > _OPAQUE].median(dim=1).values.clamp(min=_LEAST)
        wanted = torch.from_numpy((color / camera.gain).astype(np.float32)).to(middle)
        shown = radiance[0] * (wanted / middle)[:, None, None] * cover
        skin = stage.seen(face.masks["skin"]) * (1 - own)
        passed = (1 - skin * (1 - torch.exp(-(shadow - shadow_before).clamp(min=0)))) * (1 - cover)
        return stage.layer(camera, key, shown, shown + passed.expand(3, -1, -1))


def hair_over_forehead(head: Head, face: Face) -> tuple[float, float]:
    """The share of the top of the head, and of the forehead, that hair covers."""
    stage = Stage(head, face, *WHOLE_HEAD, _FRINGE_COARSER)
    with torch.inference_mode():
        x, y = stage.frame.face.x.abs(), stage.frame.face.y
        middle = (stage.frame.head > 0.5) & (x < _ASIDE) & (stage.frame.face.cosine > 0)
        own = stage.seen(face.masks["hair"])
        top, forehead = middle & (y < HAIRLINE_Y - 0.02), middle & (y > HAIRLINE_Y + 0.08) & (y < -0.40)
        shares = [float(own[part].mean()) if part.any() else 0.0 for part in (top, forehead)]
    return shares[0], shares[1]


def _drawn(stage: Stage, key: int, dark: float, level: float) -> tuple[Tensor, Tensor, Tensor]:
    """Radiance [1, 3, h, w], coverage and shade [1, h, w] of the hair before the face, on the stage's window."""
    values = {**_STYLE, "hair_color": dark, "bangs": level}
    p = stage.head.rows(**{name: np.array([value]) for name, value in values.items()})
    frame = stage.head.frame(p, stage.canvas)
    locks = hair(frame, p, draw_lattices([key], stage.canvas.device))
    height, width = frame.X.shape[1:]
    parts = []
    for part in (locks.radiance, locks.front.unsqueeze(1), locks.shadow.unsqueeze(1)):
        whole = torch.zeros(1, part.shape[1], height, width)
        locks.window.of(whole).copy_(part)
        parts.append(stage.window.of(whole).contiguous())
    return parts[0], parts[1][:, 0], parts[2][:, 0]


def _person(stage: Stage) -> Tensor:
    """The skin, the hair and all between the features of a face, [1, h, w]: what a fringe may lie on."""
    masks = stage.face.masks
    inside = np.zeros(masks["skin"].shape, dtype=np.uint8)
    cv2.fillConvexPoly(inside, cv2.convexHull(np.rint(stage.face.points).astype(np.int32)), (1,))
    return stage.seen(np.clip(masks["skin"] + masks["hair"] + inside, 0, 1).astype(np.float32))
