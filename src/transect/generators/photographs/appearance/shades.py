"""The color of hair, and lipstick: the light on hair and lips and their texture stay.

Hair takes the color that FaceWorld's melanins give it under the light that the face's skin shows; lipstick is mixed
over bare lips as FaceWorld's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.generators.faceworld.exposure import MIRRORED
from transect.generators.faceworld.hair_pigment import hair_reflectance
from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs.appearance import skin_colors
from transect.generators.photographs.appearance.faces import Face, blurred, box_of, matted
from transect.generators.photographs.appearance.scene_light import pixels_of, scene_of

_EDGE: Final = 0.012
_HIDDEN: Final = 1 / 128
_SURE: Final = 0.5
_LEAST: Final = 2e-3
_LIT: Final = 0.6
"""Light that a mass of hair returns over that of an even surface of its reflectance."""
_FLATTER: Final = 0.12
"""How contrast falls as hair becomes lighter: what shines on dark hair is its surface, which stays as it is."""
_OPAQUE: Final = 0.88


@final
@dataclass(frozen=True, slots=True)
class Hair:
    """The hair of one photograph: what no level changes.

    rows, columns: where it lies. weight: share of each pixel that is hair; whole: scene light of the hair in it.
    contrast: logarithm of the hair's light over its median. middle: median scene light of the hair; light: that of a
    white surface beside it.
    """

    rows: slice
    columns: slice
    weight: Float[np.ndarray, "h w"]
    whole: Float[np.ndarray, "h w 3"]
    contrast: Float[np.ndarray, "h w"]
    middle: Float[np.ndarray, " 3"]
    light: Float[np.ndarray, " 3"]


def hair_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, tone: float) -> Hair:
    """The hair of a photograph. tone: of the skin, 1 to 10, by which the light is told."""
    mask = blurred(face.masks["hair"], max(_EDGE * face.width, 0.6))
    mask = np.where(mask < _HIDDEN, 0, mask)
    rows, columns = box_of(mask > 0)
    scene = scene_of(picture[rows, columns])
    weight, whole = matted(scene, mask[rows, columns], face.width)
    sure = face.masks["hair"][rows, columns] > _SURE
    middle = np.median(scene[sure], axis=0) if sure.any() else np.ones(3)
    bare = face.masks["skin"] > _SURE
    skin = np.median(scene_of(picture[bare]), axis=0) if bare.any() else np.ones(3)
    light = skin / skin_colors.living_skin(np.array([tone]))[0]
    contrast = np.log((whole @ LUMINANCE + _LEAST) / (middle @ LUMINANCE + _LEAST))
    return Hair(rows, columns, weight, whole, contrast.astype(np.float32), middle, light)


def colored_hair(
    hair: Hair, pixels: UInt8[np.ndarray, "h w 3"], level: float, stops: float = 0.0
) -> UInt8[np.ndarray, "_ _ 3"]:
    """The pixels of `hair.rows`, `hair.columns` with hair from black (0) over brown to blond (1).

    pixels: the picture there, which may be edited and so many stops brighter than the photograph.
    """
    color = color_of(hair, level)
    lighter = np.log((color @ LUMINANCE + _LEAST) / (hair.middle @ LUMINANCE + _LEAST))
    flatter = float(np.exp(-_FLATTER * max(lighter, 0)))
    wanted = np.exp(flatter * hair.contrast)[:, :, None] * color.astype(np.float32)
    added = (wanted - hair.whole) * hair.weight[:, :, None] * np.float32(2.0**stops)
    shown = pixels_of(scene_of(pixels) + added)
    shown[hair.weight == 0] = pixels[hair.weight == 0]
    return shown


def color_of(hair: Hair, level: float) -> Float[np.ndarray, " 3"]:
    """The median scene light of hair from black (0) over brown to blond (1) in the light of the photograph."""
    zero = np.zeros(1)
    return np.asarray(hair_reflectance(np.array([level]), zero, zero)[0] * hair.light * _LIT)


def read_hair(hair: Hair) -> float:
    """The level, 0 to 1, whose luminance the hair has."""
    levels = np.linspace(0, 1, 101)
    zero = np.zeros(len(levels))
    shown = hair_reflectance(levels, zero, zero) @ LUMINANCE
    return float(np.interp((hair.middle / hair.light / _LIT) @ LUMINANCE, shown, levels))


@final
@dataclass(frozen=True, slots=True)
class Lips:
    """The lips of one photograph: rows and columns that hold them, and the share of each pixel there that is lips."""

    rows: slice
    columns: slice
    weight: Float[np.ndarray, "h w"]


def lips_of(face: Face) -> Lips:
    """The lips of a face, with soft edges."""
    weight = blurred(face.lips(), max(_EDGE * face.width, 0.6)) * (1 - face.inner_mouth())
    weight[weight < _HIDDEN] = 0
    rows, columns = box_of(weight > 0)
    return Lips(rows, columns, weight[rows, columns])


def painted_lips(
    pixels: UInt8[np.ndarray, "h w 3"], lips: Lips, level: float, tone: float
) -> UInt8[np.ndarray, "_ _ 3"]:
    """The pixels of `lips.rows`, `lips.columns` under lipstick from bare (0) to opaque (1). tone: of the skin."""
    bare, stick = skin_colors.lip_colors(tone)
    covered = _OPAQUE * level
    ratio = (1 - covered + covered * (stick + MIRRORED) / (bare + MIRRORED)).astype(np.float32)
    scene = scene_of(pixels)
    painted = pixels_of(scene * (1 + (ratio - 1) * lips.weight[:, :, None]))
    painted[lips.weight == 0] = pixels[lips.weight == 0]
    return painted
