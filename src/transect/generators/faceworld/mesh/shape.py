"""A person's head: from identity code and attributes to vertices at rest, in pose, and on the picture."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from jaxtyping import Float, Int32, UInt8

from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.kernels import blend, find_normals, turn_points
from transect.generators.faceworld.mesh.shading import LASH, LEFT_EYE, RIGHT_EYE, SKIN, find_hollows

Values: TypeAlias = Mapping[str, float]
"""A row's parameters: attributes with angles in radians, the bounded identity code and what follows from them."""

KEPT = 4
"""How many answers of each step are kept: a subject's pictures mostly share all but one of two or three."""

Keys = ParamSpec("Keys")
Answer = TypeVar("Answer")
Step: TypeAlias = Callable[Concatenate[Values, Keys], Answer]


def remembered(most: int, *names: str) -> Callable[[Step[Keys, Answer]], Step[Keys, Answer]]:
    """Keeps the last answers of a function of a row's values of these names, 0 where it has none, and of further keys.

    The function sees no other values, and values are equal only to the last bit: an answer is that of the function
    whatever was asked before. Arrays in answers are shared: nobody may write into them.
    """

    def decorate(function: Step[Keys, Answer]) -> Step[Keys, Answer]:
        def answer(values: bytes, /, *keys: Keys.args, **named: Keys.kwargs) -> Answer:
            return function(dict(zip(names, np.frombuffer(values).tolist(), strict=True)), *keys, **named)

        kept = cast("Callable[Concatenate[bytes, Keys], Answer]", functools.lru_cache(maxsize=most)(answer))

        def ask(p: Values, /, *keys: Keys.args, **named: Keys.kwargs) -> Answer:
            return kept(np.array([p.get(name, 0.0) for name in names]).tobytes(), *keys, **named)

        functools.update_wrapper(ask, function)
        return ask

    return decorate


VIEW = 4.8
"""Width of the picture at the eyes, in distances between the eyes, from distance 1."""
FAR = 24.0
"""How far the camera is then: about 1.5 m."""
CENTER = -0.20
"""Height of the picture's middle."""
PIVOT = np.array([0.0, -0.35, -1.2], np.float32)
NECK = np.array([-2.30, 0.20], np.float32)
"""Around which the head turns; the neck follows less, the shoulders not: height and softness of the bend."""

_TRAITS: Mapping[str, tuple[tuple[str, float], ...]] = {
    "nose_width": (("nose-scale-horiz", 0.28), ("nose-nostrils-width", 0.18)),
    "nose_length": (("nose-scale-vert", 0.36),),
    "nose_bridge": (("nose-greek", 0.25), ("nose-scale-depth", 0.15), ("nose-width2", -0.20)),
    "nose_tip": (("nose-point", 0.15), ("nose-point-width", 0.20)),
    "nose_hump": (("nose-hump", 0.35), ("nose-curve", 0.20)),
    "nose_flare": (("nose-flaring", 0.18), ("nose-base", 0.12)),
    "eye_spacing": (("eye-trans-across", 0.16),),
    "eye_size": (("eye-scale", 0.35),),
    "eye_tilt": (("eye-corner1", 0.25), ("eye-corner2", -0.15)),
    "eye_openness": (("eye-height2", 0.30),),
    "eye_fold": (("eye-eyefold", -0.32), ("eye-epicanthus", 0.20)),
    "eye_bags": (("eye-bag", 0.25),),
    "brow_height": (("eyebrows-trans-high", 0.31), ("head-oval", 0.19)),
    "brow_arch": (("eyebrows-angle", 0.28), ("head-triangular", 0.07)),
    "brow_ridge": (("eyebrows-trans-ahead", 0.18), ("eyebrows-trans-high", -0.05)),
    "mouth_width": (("mouth-scale-horiz", 0.26),),
    "mouth_height": (("mouth-trans-high", 0.40),),
    "lip_fullness": (("mouth-upperlip-volume", 0.35), ("mouth-lowerlip-volume", 0.35), ("mouth-lowerlip-height", 0.12)),
    "lip_protrusion": (("mouth-scale-depth", 0.30),),
    "jaw_width": (("chin-bones", 0.43), ("head-square", 0.10)),
    "chin_width": (("chin-width", 0.36),),
    "chin": (("chin-height", 0.14), ("chin-jaw-drop", 0.34)),
    "cheekbones": (("cheek-bones", 0.30),),
    "cheek_fullness": (("cheek-volume", 0.18), ("head-fat", 0.15), ("mouth-scale-vert", 0.30)),
    "forehead_height": (("forehead-scale-vert", 0.07),),
    "forehead_width": (("forehead-temple", 0.30),),
    "face_width": (("head-round", 0.17), ("head-fat", 0.36), ("chin-height", -0.12)),
    "face_length": (("head-scale-vert", 0.30), ("mouth-scale-vert", 0.11), ("chin-height", -0.05)),
    "ear_size": (("ear-scale", 0.26),),
    "neck_width": (("measure-neck-circ", 0.30),),
}
"""Which displacements follow a trait of a person, by one standard deviation; none of these moves the eyes' middles."""

_ALL = {
    "eyebrows-trans-high": -0.43, "nose-scale-vert": -0.115, "nose-scale-horiz": -0.255, "nose-base": 0.24,
    "nose-width1": -0.20, "nose-width2": -0.25, "nose-width3": -0.40, "nose-scale-depth": 0.25, "nose-greek": 0.20,
    "head-scale-vert": -0.635, "head-scale-horiz": -0.355, "head-round": -0.435, "head-fat": -0.39, "head-oval": -0.045,
    "head-triangular": -0.035, "chin-height": -0.275, "chin-width": -0.03, "chin-bones": -0.345, "cheek-volume": 0.075,
    "mouth-trans-high": 0.25, "mouth-scale-horiz": -0.065, "mouth-scale-vert": -0.055, "mouth-lowerlip-height": -0.105,
    "mouth-upperlip-height": -0.20, "mouth-cupidsbow": 0.50, "mouth-angles": 0.36, "eye-scale": 0.45, "eye-push2": 0.60,
    "eye-trans-across": 0.04, "eyebrows-angle": -0.025, "ear-trans-high": 0.22, "ear-scale": 0.25,
    "measure-neck-height": -0.35, "measure-neck-circ": 0.15, "larynx": 0.45,
}  # fmt: skip
"""What moves the mean head to that of photographs."""
_SEX = {
    "sex": 0.90, "head-round": 0.20, "head-square": 0.55, "head-triangular": 0.16, "head-fat": 0.15,
    "head-scale-horiz": 0.10, "chin-height": 0.24, "chin-width": 0.22, "chin-bones": -0.30, "chin-prominent": 0.15,
    "eyebrows-trans-high": 0.12, "eyebrows-trans-ahead": 0.08, "eye-scale": -0.20, "measure-neck-circ": 0.47,
    "mouth-trans-high": 0.15, "mouth-scale-horiz": 0.15, "mouth-scale-vert": -0.14, "mouth-upperlip-volume": -0.36,
    "mouth-lowerlip-volume": -0.27, "nose-scale-vert": -0.40, "nose-scale-horiz": 0.13, "cheek-volume": -0.24,
    "cheek-bones": -0.05, "larynx": 0.9,
}  # fmt: skip
"""What sex dimorphism does to bone, from feminine to masculine."""
_AGE = {
    "age": 1.0, "head-fat": 0.15, "head-scale-vert": 0.05, "chin-height": 0.20, "neck-double": 0.30, "ear-scale": 0.30,
    "mouth-angles": -0.10, "nose-scale-vert": -0.25,
}  # fmt: skip
"""What decades do to bone and skin, from 25 to 80 years."""
_ANCESTRY = ("shape_1", "shape_2")
_FREE = ("shape_3", "shape_4", "shape_5", "shape_6", "shape_7", "relief_1", "relief_2")
_SPREAD = {"nose": 0.10, "mouth": 0.08, "eye": 0.08, "cheek": 0.10, "chin": 0.07, "ear": 0.10}
_LEFT_OUT = (
    *("ear-trans-across", "ear-trans-ahead", "ear-trans-high", "nose-trans-across", "mouth-trans-across"),
    *("mouth-angles", "nose-trans-ahead"),
)
"""What would move ears too far, or nose and mouth to a side."""
_SMILE = {"mouthSmile": 0.39, "mouthStretch": 0.08, "mouthDimple": 0.19, "cheekSquint": 0.50, "eyeSquint": 0.44}
_OPEN = {"mouthUpperUp": 0.14, "mouthSmile": 0.16, "mouthStretch": 0.12}
"""What each side's muscles do in a smile, and as the jaw drops."""
_SIDES = ("Left", "Right")
_APART = (
    *(([43, 44], [46, 47], 1), ([37, 38], [40, 41], 1)),
    *(([39], [33], 1), ([39], [48, 54], 1), ([48, 54], [8], 1), ([14], [2], 0)),
)
"""Landmarks of the upper and lower lid by side, and the ends of what is bounded; 0: apart in x, 1: in y."""
_BOUNDS = {"nose-scale-vert": (0.54, 0.75), "mouth-trans-high": (0.78, 1.07), "chin-height": (0.44, 0.80),
           "head-round": (1.62, 2.18)}  # fmt: skip
"""What is drawn on where traits add up to less or more than this from the eyes to nose or mouth, from there to the
chin, or across the cheeks: about nine in ten lie between."""


@functools.cache
def _numbers() -> dict[str, int]:
    return {name: number for number, name in enumerate(asset().names)}


@functools.cache
def _free_shapes() -> Float[np.ndarray, "d k"]:
    """Fixed mixtures of small local shapes that no trait names, one for each free coordinate of the identity code."""
    named = {field for fields in _TRAITS.values() for field, _ in fields}
    spread = np.zeros(len(asset().names))
    for name, number in _numbers().items():
        part = name.split("-")[0]
        if name not in named and part in _SPREAD and "-" in name and "shape" not in name and name not in _LEFT_OUT:
            spread[number] = _SPREAD[part]
    mixed = np.random.Generator(np.random.Philox(key=22)).standard_normal((len(_FREE), len(spread)))
    return np.asarray(mixed * spread / np.sqrt(len(_FREE)) * 1.45)


@remembered(
    64, *_TRAITS, *_ANCESTRY, *_FREE, "face_shape", "age", "eyes_closed", "mouth_slant", "brow_raise", "brows_raised",
    "smile", "asymmetry", "mouth_open",
)  # fmt: skip
def weights(p: Values) -> Float[np.ndarray, " k"]:
    """The weight of every displacement for a person with an expression."""
    found = _free_shapes().T @ np.array([p[name] for name in _FREE])
    number = _numbers()
    for field, weight in _ALL.items():
        found[number[field]] += weight
    for trait, fields in _TRAITS.items():
        for field, weight in fields:
            found[number[field]] += weight * p[trait]
    share = np.exp([1.1 * p[_ANCESTRY[0]], 1.1 * p[_ANCESTRY[1]], 0.0])
    for name, part in zip(("african", "asian", "caucasian"), share / share.sum(), strict=True):
        found[number[name]] += 0.9 * part
    for field, weight in _SEX.items():
        found[number[field]] += weight * (p["face_shape"] - 0.5)
    for field, weight in _AGE.items():
        found[number[field]] += weight * min(max((p["age"] - 25) / 55, 0), 1.1)
    _bound(found)
    found += _expression(p)
    if p["eyes_closed"] > 0:
        _close(found, p["eyes_closed"])
    return np.asarray(found, dtype=np.float32)


def _expression(p: Values) -> Float[np.ndarray, " k"]:
    """Weights of the face's muscles."""
    found, number = np.zeros(len(asset().names)), _numbers()
    slant, raised = p["mouth_slant"], p["brow_raise"] + (1.8 - 0.5 * p["brow_raise"]) * p["brows_raised"]
    smile, broad, uneven = p["smile"], min(max((p["smile"] - 0.4) / 0.4, 0), 1), p["asymmetry"]
    broad *= broad * (3 - 2 * broad)  # lips part late in a smile, and then soon show whole teeth
    for side, sign in zip(_SIDES, (1, -1), strict=True):  # the person's left is on the viewer's right
        other = {
            "mouthSmile": 0.10 + 0.08 * max(sign * slant, 0), "mouthFrown": 0.05 * max(-sign * slant, 0),
            "browOuterUp": 0.65 * max(raised, 0), "browDown": 0.20 * max(-raised, 0),
            "eyeWide": 0.25 + 0.25 * max(raised, 0),
        }  # fmt: skip
        shares = smile * (1 + 0.04 * sign * uneven), p["mouth_open"] * (1 - 0.5 * smile), 1
        for units, share in zip((_SMILE, _OPEN, other), shares, strict=True):
            for unit, weight in units.items():
                found[number[unit + side]] += weight * share
    for unit, weight in {
        "mouth-laugh-lines": 0.60 * smile, "cheekFill": smile, "lipsPart": broad,
        "browInnerUp": 0.60 * max(raised, 0),
        "jawOpen": -0.03 * smile + 0.025 * broad + 0.25 * p["mouth_open"], "mouthClose": 0.05,
        "jawLeft": uneven * (0.09 + 0.03 * p["mouth_open"]), "mouth-trans-across": 0.04 * uneven,
        "nose-trans-across": 0.05 * uneven,
    }.items():  # fmt: skip
        found[number[unit]] += weight
    return found


@functools.cache
def _distances() -> Float[np.ndarray, "6 k1"]:
    """How far the mean head and each displacement move landmarks apart, in the order of _APART."""
    held = asset()
    points = np.concatenate([held.mean[None], held.fields])[:, held.landmark_corners]
    marks = (points * held.landmark_weights[..., None]).sum(2)
    return np.stack([marks[:, one, axis].mean(1) - marks[:, other, axis].mean(1) for one, other, axis in _APART])


def _bound(found: Float[np.ndarray, " k"]) -> None:
    """Keeps a face within human proportions, gradually."""
    for (field, (least, most)), apart in zip(_BOUNDS.items(), _distances()[len(_SIDES) :], strict=True):
        number, now = _numbers()[field], apart[0] + apart[1:] @ found
        lacking, over = np.logaddexp(0, np.array([least - now, now - most]) / 0.03) * 0.03
        found[number] += (lacking - over) / apart[1 + number]


def _close(found: Float[np.ndarray, " k"], share: float) -> None:
    """Takes a share of the opening that the lids have, whatever else moved them."""
    for side, opening in zip(_SIDES, _distances()[: len(_SIDES)], strict=True):
        blink = _numbers()["eyeBlink" + side]
        found[blink] -= share * (opening[0] + opening[1:] @ found) / opening[1 + blink]


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """How the head is turned, and how the camera sees it."""

    rotation: Float[np.ndarray, "3 3"]
    distance: float

    def turn(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        """Points of the head at rest, turned; the neck follows by its height."""
        found = np.empty(points.shape, np.float32)
        turn_points(np.ascontiguousarray(points, np.float32), self.rotation.astype(np.float32), PIVOT, NECK, found)
        return found

    def numbers(
        self, size: int
    ) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, " 3"], Float[np.ndarray, " 2"], Float[np.ndarray, " 4"]]:
        """Rotation, pivot, neck and camera, as place_strands wants them."""
        camera = np.array([size / 2, CENTER, FAR * self.distance, size * FAR / VIEW], np.float32)
        return self.rotation.astype(np.float32), PIVOT, NECK, camera

    def project(self, points: Float[np.ndarray, "*n 3"], size: int) -> Float[np.ndarray, "*n 3"]:
        """Pixels x and y of a picture of that size, y downwards, and depth."""
        away = FAR * self.distance - points[..., 2]
        scale = size * FAR / VIEW / away
        x, y = size / 2 + points[..., 0] * scale, size / 2 - (points[..., 1] - CENTER) * scale
        return np.stack([x, y, -away], -1, dtype=np.float32, casting="same_kind")


@remembered(64, "yaw", "pitch", "roll", "distance")
def pose_of(p: Values) -> Pose:
    """Yaw, then pitch, then roll."""
    (cy, sy), (cp, sp), (cr, sr) = ((np.cos(p[a]), np.sin(p[a])) for a in ("yaw", "pitch", "roll"))
    yaw = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    pitch = np.array([[1, 0, 0], [0, cp, sp], [0, -sp, cp]])
    roll = np.array([[cr, sr, 0], [-sr, cr, 0], [0, 0, 1]])
    return Pose(roll @ pitch @ yaw, p["distance"])


def rest_shape(p: Values) -> Float[np.ndarray, "v 3"]:
    """The person's vertices before the head turns, eyes 1 apart around the origin."""
    return _blended(weights(p).tobytes())


@functools.lru_cache(maxsize=64)
def _blended(weighing: bytes) -> Float[np.ndarray, "v 3"]:
    """Computed once for pictures that differ in other things."""
    held, found = asset(), np.frombuffer(weighing, np.float32).copy()
    still = np.empty_like(held.mean)
    moving = _numbers()["browDownLeft"]  # displacements from here on are movements
    blend(held.mean, held.fields[:moving], found[:moving], still)
    left, right = (still[vertices_of(part)].mean(0) for part in (LEFT_EYE, RIGHT_EYE))
    blend(still.copy(), held.fields[moving:], found[moving:], still)
    scale = 1 / np.linalg.norm(left - right)
    return np.asarray((still - (left + right) / 2) * scale, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A person's vertices at rest and in pose, their normals, and how far each lies below its surroundings."""

    rest: Float[np.ndarray, "v 3"]
    pose: Pose
    posed: Float[np.ndarray, "v 3"]
    normals: Float[np.ndarray, "v 3"]
    hollow: Float[np.ndarray, " v"]


def head_of(p: Values) -> Head:
    """The head of a row, the same object for rows that share shape, expression and pose."""
    return _head(weights(p).tobytes(), pose_of(p))


@functools.lru_cache(maxsize=2 * KEPT)
def _head(weighing: bytes, pose: Pose) -> Head:
    held, rest = asset(), _blended(weighing)
    posed, hollow = pose.turn(rest), np.empty(len(rest), np.float32)
    normals, room = np.empty_like(posed), np.empty((2, len(rest), 3), np.float32)
    find_normals(posed, solid_faces()[0], normals)
    find_hollows(posed, normals, held.starts, held.near, 7, room, hollow)
    return Head(rest, pose, posed, normals, hollow)


@functools.cache
def solid_faces() -> tuple[Int32[np.ndarray, "f 3"], UInt8[np.ndarray, " f"]]:
    """Faces without lashes, which are drawn as strands, and their parts."""
    held = asset()
    kept = held.parts != LASH
    return np.ascontiguousarray(held.faces[kept], dtype=np.int32), held.parts[kept]


@functools.cache
def face_vertices() -> Int32[np.ndarray, " n"]:
    """Vertices of the front of the head, from the hair's line to the chin."""
    skin = vertices_of(SKIN)
    x, y, z = asset().mean[skin].T
    ears = asset().regions["ears"][skin] > 0.3
    inside = (z > -1.15) & (y < 1.12) & (y > -1.95) & (np.abs(x) < 1.3) & ~ears & ((y > -1.3) | (z > -0.9))
    return np.asarray(skin[inside])
