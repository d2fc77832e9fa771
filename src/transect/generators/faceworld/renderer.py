"""Draws one person after another: linear light before the camera, masks of parts, boxes and landmarks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.faceworld.camera import Channels, defocus, expose, sensor_noise
from transect.generators.faceworld.mesh import shading
from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.mesh.drawing import Colors, Drawing, draw, samples_of
from transect.generators.faceworld.mesh.kernels import shrink
from transect.generators.faceworld.mesh.shape import face_vertices, head_of, pose_of, rest_shape
from transect.generators.faceworld.parameters import Row
from transect.generators.faceworld.scene import background

RENDERER_VERSION = "13"
"""Changes whenever the same latents give other pixels."""


class Person(NamedTuple):
    """A subject's parameters and seed."""

    row: Row
    seed: int

    def draw(self, behind: Float[np.ndarray, "s s 3"]) -> Drawing:
        """The person before that background."""
        values, colors = self.row
        of = (colors[name] for name in ("skin", "hair", "iris", "cloth", "hat_cloth"))
        return draw(values, Colors(*of), self.seed, behind)


def render_person(person: Person, size: int) -> UInt8[np.ndarray, "size size 3"]:
    """The picture before JPEG."""
    light = radiance(person, size)
    blur = person.row.values["blur"] / 100 * size
    if blur > 0:
        defocus(light, blur, size)
    return expose(light, person.row, sensor_noise(person.seed, size))


def radiance(person: Person, size: int) -> Channels:
    """Scene radiance in linear light, before the camera and its lens."""
    values, colors = person.row
    tint = colors["backdrop"].tobytes()
    behind = background(size, person.seed, int(values["background"]), values["sin_light_azimuth"], tint)
    found = np.empty((3, size, size), np.float32)
    shrink(person.draw(behind).radiance, found)
    return np.asarray(found.clip(0, None, found))


def locate_landmarks(person: Person, size: int) -> Float[np.ndarray, "68 2"]:
    """The 68 points, in dlib's order, in pixels."""
    held, rest, pose = asset(), rest_shape(person.row.values), pose_of(person.row.values)
    at = (rest[held.landmark_corners] * held.landmark_weights[..., None]).sum(1)
    return np.asarray(pose.project(pose.turn(at), size)[:, :2], dtype=np.float64)


def face_box(person: Person, size: int) -> Float[np.ndarray, " 4"]:
    """x0, y0, x1, y1 in pixels around the visible face: hairline to chin, cheek to cheek."""
    head = head_of(person.row.values)
    at = head.pose.project(head.posed[face_vertices()], size)[:, :2]
    return np.array([*at.min(0), *at.max(0)], dtype=np.float64).clip(0, size)


def locate_vertices(person: Person, size: int) -> Float[np.ndarray, "v 3"]:
    """The mesh's vertices: x and y in pixels, and distance from the camera."""
    head = head_of(person.row.values)
    return np.asarray(head.pose.project(head.posed, size) * np.array([1, 1, -1]))


def draw_depth(person: Person, size: int) -> Float[np.ndarray, "s s"]:
    """Distance from the camera of the nearest of a pixel's points; NaN where the person is not."""
    drawing = person.draw(np.zeros((size, size, 3), dtype=np.float32))
    away = np.where(drawing.label != shading.NOTHING, -drawing.depth, np.inf)
    nearest = away.reshape(size, samples_of(size), size, samples_of(size)).min((1, 3))
    return np.where(np.isfinite(nearest), nearest, np.nan)


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


def draw_masks(person: Person, size: int) -> dict[str, Bool[np.ndarray, "s s"]]:
    """Every mask of MASKS and FURTHER."""
    drawing = person.draw(np.zeros((size, size, 3), dtype=np.float32))
    points = samples_of(size)
    label = drawing.label.reshape(size, points, size, points)
    lens, front = (part.reshape(label.shape) for part in (drawing.lens, drawing.front))

    def half(part: Bool[np.ndarray, "s k s k"]) -> Bool[np.ndarray, "s s"]:
        return np.asarray(part.mean((1, 3)) >= 0.5)

    hair = half(label == shading.HAIR)
    shown = ((label != shading.NOTHING) | lens).any((1, 3))
    return {
        "skin": half(np.isin(label, (shading.BARE, shading.BEARD))) & ~hair,
        "hair": hair,
        "face": half(front),
        "eyes": (label == shading.EYE).any((1, 3)),
        "mouth": (label == shading.LIPS).any((1, 3)),
        "glasses": ((label == shading.SPECTACLES) | lens).any((1, 3)),
        "background": ~shown,
        "person": shown,
        "hat": half(label == shading.HEADWEAR),
        "face_mask": (label == shading.MASKED).any((1, 3)),
        "clothes": half(label == shading.CLOTH),
    }
