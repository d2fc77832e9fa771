"""Draws rows of faces: linear light before the camera, masks of parts, boxes and landmarks.

A person is drawn row by row on the CPU; background and camera are computed for all rows of a tile, on its device.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from transect.generators.faceworld.attributes import BACKGROUNDS
from transect.generators.faceworld.camera import defocus, expose, sensor_noise
from transect.generators.faceworld.canvas import Canvas, draw_lattices
from transect.generators.faceworld.mesh import shading
from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.mesh.drawing import Colors, Drawing, draw, samples_of
from transect.generators.faceworld.mesh.kernels import shrink
from transect.generators.faceworld.mesh.shape import Values, face_vertices, head_of, pose_of, rest_shape
from transect.generators.faceworld.rows import Rows
from transect.generators.faceworld.scene import background

RENDERER_VERSION = "9"
"""Changes whenever the same latents give other pixels."""

_PIXELS = 1 << 17
"""Pixels of a tile: its images fit a core's cache."""


class Tile(NamedTuple):
    """Rows that are drawn together: their parameters, seeds and canvas."""

    p: Rows
    seeds: Sequence[int]
    canvas: Canvas


class Person(NamedTuple):
    """One row of a tile."""

    values: Values
    colors: Colors
    seed: int


def people(tile: Tile) -> Iterator[Person]:
    """The rows of a tile, one after the other."""
    for row, seed in enumerate(tile.seeds):
        values, colors = tile.p.of_row(row)
        of = (colors[name] for name in ("skin", "hair", "iris", "cloth", "hat_cloth"))
        yield Person(values, Colors(*of), seed)


def cut_tiles(rows: int, canvas: Canvas, threads: int) -> list[Int[np.ndarray, " b"]]:
    """The rows of each tile."""
    each = max(1, min(1024, _PIXELS // (canvas.height * canvas.width)))
    return np.array_split(np.arange(rows), max(-(-rows // each), min(threads, rows)))


def render_tile(tile: Tile) -> UInt8[np.ndarray, "b size size 3"]:
    """The pictures of a tile, before JPEG."""
    size = tile.canvas.size
    pixels = expose(radiance(tile, blurred=True).clamp_(min=0), tile.p, draw_noise(tile))
    return np.ascontiguousarray(pixels[:, :size, :size].cpu().numpy())


def draw_noise(tile: Tile) -> Tensor:
    """The sensor noise of each row; nothing in the margin."""
    size, height, width, device = tile.canvas
    noise = np.zeros((len(tile.seeds), 3, height, width), dtype=np.float32)
    for row, seed in enumerate(tile.seeds):
        noise[row, :, :size, :size] = sensor_noise(seed, size)
    return torch.from_numpy(noise).to(device)


def radiance(tile: Tile, blurred: bool = False) -> Tensor:
    """Scene radiance [b, 3, height, width] of the canvas in linear light, before the camera or its lens."""
    size, blur = tile.canvas.size, tile.p.host("blur")[0].astype(np.float64) / 100 * tile.canvas.size
    picture = _behind(tile)
    for row, drawing in enumerate(_drawings(tile, picture[:, :, :size, :size].cpu().numpy())):
        mean = np.empty((3, size, size), np.float32)
        shrink(drawing.radiance, mean)
        if blurred and blur[row] > 0:
            defocus(mean.clip(0, None, mean), float(blur[row]), size)
        picture[row, :, :size, :size] = torch.from_numpy(mean).to(picture.device)
    return picture


def _behind(tile: Tile) -> Tensor:
    """What lies behind the people."""
    sun, tints = tile.p.host("sin_light_azimuth", *BACKGROUNDS).T, tile.p["backdrop"].cpu().numpy()
    keys = zip(tile.seeds, sun, tints, strict=True)
    return torch.cat([_far(tile.canvas, seed, values.tobytes(), tint.tobytes()) for seed, values, tint in keys])


@functools.lru_cache(maxsize=4)
def _far(canvas: Canvas, seed: int, values: bytes, tint: bytes) -> Tensor:
    """Computed once for pictures of a subject that differ before it."""
    columns = np.frombuffer(values, np.float32)[:, None]
    scalars = dict(zip(("sin_light_azimuth", *BACKGROUNDS), columns, strict=True))
    rows = Rows(scalars, {"backdrop": np.frombuffer(tint, np.float32)[None]}, canvas.device)
    return background(canvas, rows, draw_lattices([seed], canvas.device)).contiguous()


def _drawings(tile: Tile, behind: Float[np.ndarray, "b 3 s s"]) -> Iterator[Drawing]:
    for person, back in zip(people(tile), behind, strict=True):
        yield draw(person.values, person.colors, person.seed, back.transpose(1, 2, 0))


def locate_landmarks(tile: Tile) -> Float[np.ndarray, "b 68 2"]:
    """The 68 points, in dlib's order, of the pictures of a tile, in pixels."""
    held = asset()
    found = []
    for person in people(tile):
        rest = rest_shape(person.values)
        at = (rest[held.landmark_corners] * held.landmark_weights[..., None]).sum(1)
        pose = pose_of(person.values)
        found.append(pose.project(pose.turn(at), tile.canvas.size)[:, :2])
    return np.array(found, dtype=np.float64)


def face_boxes(tile: Tile) -> Float[np.ndarray, "b 4"]:
    """x0, y0, x1, y1 in pixels around the visible face: hairline to chin, cheek to cheek."""
    size, found = tile.canvas.size, []
    for person in people(tile):
        head = head_of(person.values)
        at = head.pose.project(head.posed[face_vertices()], size)[:, :2]
        found.append([*at.min(0), *at.max(0)])
    return np.array(found, dtype=np.float64).clip(0, size)


MASKS: dict[str, str] = {
    "skin": "at least half of the pixel is bare or bearded skin of head, ears or neck",
    "hair": "at least half is hair of the head",
    "face": "at least half is the front of the head from hairline to chin, uncovered by hair or hat",
    "eyes": "touched by the opening of the lids",
    "mouth": "touched by the lips or what is between them",
    "glasses": "touched by frame or lenses; nothing where none are worn",
    "background": "untouched by the person",
    "person": "touched by head, hair, neck, clothes or what is worn",
}
"""The masks and what their pixels are."""
FURTHER: dict[str, str] = {
    "hat": "at least half is what is worn on the head",
    "face_mask": "touched by a mask over nose and mouth or its loops",
    "clothes": "at least half is clothes below the neck",
}
"""Masks that are drawn where they are asked for."""


def draw_masks(tile: Tile, further: Sequence[str] = ()) -> dict[str, Bool[np.ndarray, "b size size"]]:
    """Boolean [b, size, size] by the names of MASKS and of some of FURTHER, of the pictures of a tile."""
    size = tile.canvas.size
    blank = np.zeros((len(tile.seeds), 3, size, size), dtype=np.float32)
    rows = [_masks(drawing, size) for drawing in _drawings(tile, blank)]
    return {name: np.array([row[name] for row in rows]).reshape(-1, size, size) for name in (*MASKS, *further)}


def _masks(drawing: Drawing, size: int) -> dict[str, Bool[np.ndarray, "s s"]]:
    points = samples_of(size)
    label = drawing.label.reshape(size, points, size, points)
    lens, front = (part.reshape(label.shape) for part in (drawing.lens, drawing.front))

    def half(shown: Bool[np.ndarray, "s k s k"]) -> Bool[np.ndarray, "s s"]:
        return np.asarray(shown.mean((1, 3)) >= 0.5)

    hair = half(label == shading.HAIR)
    person = ((label != shading.NOTHING) | lens).any((1, 3))
    return {
        "skin": half(np.isin(label, (shading.BARE, shading.BEARD))) & ~hair,
        "hair": hair,
        "face": half(front),
        "eyes": (label == shading.EYE).any((1, 3)),
        "mouth": (label == shading.LIPS).any((1, 3)),
        "glasses": ((label == shading.SPECTACLES) | lens).any((1, 3)),
        "background": ~person,
        "person": person,
        "hat": half(label == shading.HEADWEAR),
        "face_mask": (label == shading.MASKED).any((1, 3)),
        "clothes": half(label == shading.CLOTH),
    }
