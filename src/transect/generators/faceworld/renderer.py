"""Composes one picture from back to front, in linear light, and hands it to the camera.

A tile holds one subject: every operation then has the same shapes, and so the same bits, for every batch, place in
the batch and number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.accessories import earrings, glasses
from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.camera import expose, sensor_noise
from transect.generators.faceworld.compositing import Parameters, over
from transect.generators.faceworld.eyes import brows, eyes
from transect.generators.faceworld.hair import Hair, beard, hair, shade_skin
from transect.generators.faceworld.head import Frame, locate
from transect.generators.faceworld.landmarks import face_points, landmarks
from transect.generators.faceworld.mouth import mouth, nostrils
from transect.generators.faceworld.relief import face_maps, read_maps
from transect.generators.faceworld.scene import background, clothes
from transect.generators.faceworld.skin import ears, face_skin, neck
from transect.generators.faceworld.textures import draw_lattices, sample_mirrored

RENDERER_VERSION = "1"
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
    locks = hair(frame, p, lattices)
    picture = _behind(frame, p, lattices, locks)
    picture = over(picture, _face(frame, p, maps, lattices, locks), frame.head)
    for ear, cover in ears(frame, p):
        picture = over(picture, ear, cover)
    picture = earrings(frame, p, picture)
    picture = over(picture, locks.radiance, locks.front)
    return glasses(frame, p, picture)


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
    """dlib's 68 points of the picture of one row of parameters, in pixels."""
    maps = face_maps(Shape({name: p[name] for name in SHAPE}), draw_lattices(seed))
    x, y = face_points(p)
    return landmarks(p, read_maps(maps[:, :1], x.unsqueeze(1), y.unsqueeze(1))[:, 0, 0], size)


def _behind(frame: Frame, p: Parameters, lattices: dict[str, Tensor], locks: Hair) -> Tensor:
    """Background, hair behind the neck, neck and clothes."""
    picture = background(frame, p, lattices)
    picture = over(picture, 0.7 * locks.radiance, locks.back)
    picture = over(picture, *neck(frame, p))
    return over(picture, *clothes(frame, p, lattices))


def _face(frame: Frame, p: Parameters, maps: Tensor, lattices: dict[str, Tensor], locks: Hair) -> Tensor:
    """The head's skin with all that is on it."""
    skin, light = face_skin(frame, p, maps)
    skin = shade_skin(skin, locks.shadow)
    stubble = sample_mirrored(lattices["stubble"].unsqueeze(1), 1.5 * frame.face.x, 0.75 * frame.face.y).squeeze(1)
    skin = nostrils(frame, p, skin)
    skin = beard(frame, p, skin, light, stubble)
    skin = mouth(frame, p, skin, light, stubble)
    skin = eyes(frame, p, skin, light)
    return brows(frame, p, skin, stubble)
