"""Composes one picture from back to front, in linear light, and hands it to the camera.

A tile holds one subject: every operation then has the same shapes, and so the same bits, for every batch, place in
the batch and number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.accessories import earrings, glasses
from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.camera import expose, sensor_noise
from transect.generators.faceworld.compositing import Parameters, over
from transect.generators.faceworld.eyes import brows, eyes
from transect.generators.faceworld.facial_hair import facial_hair, hanging_beard
from transect.generators.faceworld.hair import hair, shade_skin
from transect.generators.faceworld.hats import hat
from transect.generators.faceworld.head import Frame, locate
from transect.generators.faceworld.landmarks import face_points, landmarks
from transect.generators.faceworld.mouth import mouth, nostrils
from transect.generators.faceworld.relief import face_maps, read_maps
from transect.generators.faceworld.scene import background, clothes
from transect.generators.faceworld.skin import ears, face_skin, neck
from transect.generators.faceworld.textures import draw_lattices, sample_mirrored, spread
from transect.generators.faceworld.windows import Window, Windows, below, cut, cut_light, windows_of

RENDERER_VERSION = "2"
"""Changes whenever the same latents give other pixels."""

SHAPE = (*IDENTITY, "face_shape", "face_width", "age", "old", "smile", "makeup", "yaw", "pitch", "roll")
"""What the head's shape, pose and slow shades depend on."""


def render_tile(p: Parameters, seed: int, size: int) -> Tensor:
    """uint8 [1, size, size, 3]: the picture of one row of parameters."""
    return expose(radiance(p, seed, size), p, sensor_noise(seed, size))


def radiance(p: Parameters, seed: int, size: int) -> Tensor:
    """Scene radiance [1, 3, size, size] in linear light, before the camera."""
    lattices = draw_lattices(seed)
    frame, maps = shape_head(Shape({name: p[name] for name in SHAPE}), seed, size)
    picture = background(frame, p, lattices)
    for layer in layers(frame, p, maps, lattices):
        part = layer.window.of(picture)
        part.copy_(over(part, layer.radiance, layer.cover))
    return glasses(frame, p, picture)


NECK_TOP, CLOTHES_TOP = 0.26, 0.78
"""Heights above which neither is seen."""

WHOLE = Window(slice(None), slice(None))


class Layer(NamedTuple):
    """A part of the person: radiance [b, 3, h, w] and coverage [b, h, w] within a window of the picture."""

    part: str
    radiance: Tensor
    cover: Tensor
    window: Window = WHOLE


def layers(frame: Frame, p: Parameters, maps: Tensor, lattices: dict[str, Tensor]) -> Iterator[Layer]:
    """What is laid over the background, from back to front; glasses, which let light through, come after all."""
    folds = spread(lattices["folds"], frame.size, frame.size)
    worn = hat(frame, p, folds)
    locks = hair(frame, p, lattices, None if worn is None else worn.under)
    yield Layer("hair", locks.radiance * locks.depth.unsqueeze(1), locks.back, locks.window)
    throat, shoulders = below(frame.size, NECK_TOP), below(frame.size, CLOTHES_TOP)
    yield Layer("neck", *neck(cut(frame, throat), p), throat)
    yield Layer("clothes", *clothes(cut(frame, shoulders), p, shoulders.of(folds)), shoulders)
    shadow = locks.shadow if worn is None else locks.shadow + worn.shadow
    windows = windows_of(frame)
    skull, beside = cut(frame, windows.head), cut(frame, windows.ears)
    yield Layer("head", _face(skull, p, maps, lattices, windows.head.of(shadow), windows), skull.head, windows.head)
    yield from (Layer("ears", *ear, windows.ears) for ear in ears(beside, p))
    yield from (Layer("earrings", *ring, windows.ears) for ring in earrings(beside, p))
    if float(p["facial_hair"].max()) > 0:
        yield Layer("beard", *hanging_beard(frame, p, lattices))
    yield Layer("hair", locks.radiance, locks.front, locks.window)
    if worn is not None:
        yield Layer("hat", worn.radiance, worn.cover)


class Shape(Mapping[str, Tensor]):
    """The parameters that shape and place the head, and no others; equal where their numbers are.

    What is made from a Shape cannot depend on anything else, so that it may be kept for the next picture.
    """

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        self._values = values
        self._key = torch.cat([value.flatten() for value in values.values()]).numpy().tobytes()

    def __getitem__(self, name: str) -> Tensor:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._key == other._key


@functools.lru_cache(maxsize=8)
def shape_head(shape: Shape, seed: int, size: int) -> tuple[Frame, Tensor]:
    """The frame and the face's maps, kept for pictures of the same head under other light, tone, hair or glasses."""
    maps = face_maps(shape, draw_lattices(seed))
    return locate(shape, size, lambda x, y: read_maps(maps[:, :1], x, y).squeeze(1)), maps


def locate_landmarks(p: Parameters, seed: int, size: int) -> Float[np.ndarray, "1 68 2"]:
    """The 68 points, in dlib's order, of the picture of one row of parameters, in pixels."""
    maps = face_maps(Shape({name: p[name] for name in SHAPE}), draw_lattices(seed))
    x, y = face_points(p)
    return landmarks(p, read_maps(maps[:, :1], x.unsqueeze(1), y.unsqueeze(1))[:, 0, 0], size)


def _face(
    frame: Frame, p: Parameters, maps: Tensor, lattices: dict[str, Tensor], shadow: Tensor, windows: Windows
) -> Tensor:
    """The head's skin with all that is on it; frame and shadow are those of the head's window."""
    skin, light = face_skin(frame, p, maps)
    skin = shade_skin(skin, shadow)
    stubble = sample_mirrored(lattices["stubble"].unsqueeze(1), 1.5 * frame.face.x, 0.75 * frame.face.y).squeeze(1)
    nose, mouth_window, eyes_window = windows.nose, windows.mouth, windows.eyes
    nose.of(skin).copy_(nostrils(cut(frame, nose), p, nose.of(skin)))
    skin = facial_hair(frame, p, skin, light, lattices)
    part, lit, grain = cut(frame, mouth_window), cut_light(light, mouth_window), mouth_window.of(stubble)
    mouth_window.of(skin).copy_(mouth(part, p, mouth_window.of(skin), lit, grain))
    part, lit, grain = cut(frame, eyes_window), cut_light(light, eyes_window), eyes_window.of(stubble)
    seeing = eyes(part, p, eyes_window.of(skin), lit)
    eyes_window.of(skin).copy_(brows(part, p, seeing, grain))
    return skin
