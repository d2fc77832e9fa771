"""The color of skin along the melanin axis: what the light does to a face, its blood and its highlights stay.

Scene light of skin is split into shading, melanin and blood along axes in logarithms of RGB (Tsumura et al. 2003,
doi:10.1145/882262.882344) after what the surface mirrors is taken off by its color (Shafer 1985, dichromatic model).
A level adds the melanin between two tones of FaceWorld's skin optics; mirrored light is put back as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs import light
from transect.generators.photographs.appearance import skin_colors
from transect.generators.photographs.appearance.faces import Face, blurred, box_of, matted
from transect.generators.photographs.appearance.hairs import hairy_region
from transect.generators.photographs.appearance.scene_light import pixels_of, scene_of

_EDGE: Final = 0.012
_SMOOTH: Final = 0.02
"""Blurs of mask and of separated light, in distances between the outer corners of the eyes."""
_LEAST: Final = 4e-3
_FEW: Final = 1e-3
_SMOOTH_COLOR: Final = 0.03
_HIDDEN: Final = 1 / 128
"""A weight below which a pixel stays as it is."""
_MIRRORED_MOST: Final = 0.35
_HAIR: Final = 0.15
"""Light of hair that lies on skin, over that of the skin around it."""
_SURE: Final = 0.5


@final
@dataclass(frozen=True, slots=True)
class Skin:
    """The skin of one photograph, taken apart; what no level changes.

    rows, columns: where it lies; pixels: the photograph there. weight: share of each pixel that is changed as skin,
    lips: how much of that is lips. scene: scene light of the pixels; whole: of the skin in them; mirrored: what of that
    the surface mirrors beyond what is usual. blood: how much more of it than in the middle of the skin, along its axis.
    around: the skin's light nearby. hairy: where hairs can lie on it. smooth: pixels over which color is averaged where
    dark skin becomes lighter. tone: 1 to 10, read from `ita`.
    """

    rows: slice
    columns: slice
    pixels: UInt8[np.ndarray, "h w 3"]
    weight: Float[np.ndarray, "h w"]
    lips: Float[np.ndarray, "h w"]
    scene: Float[np.ndarray, "h w 3"]
    whole: Float[np.ndarray, "h w 3"]
    mirrored: Float[np.ndarray, "h w"]
    blood: Float[np.ndarray, "h w"]
    around: Float[np.ndarray, "h w"]
    hairy: Float[np.ndarray, "h w"]
    sure: Bool[np.ndarray, "h w"]
    tone: float
    ita: float
    smooth: float


def skin_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, tone: float | None = None) -> Skin:
    """The skin of a photograph. tone: where it is known; else it is read from the picture."""
    weight, lips = _weights(face)
    rows, columns = box_of((weight > 0) | (lips > 0))
    pixels, weight, lips = picture[rows, columns], weight[rows, columns], lips[rows, columns]
    sure = (face.masks["skin"][rows, columns] > _SURE) & (weight > _SURE)
    angle = median_ita(pixels, sure)
    source = skin_colors.tone_of(angle) if tone is None else tone
    scene = scene_of(pixels)
    weight, whole = matted(scene, weight, face.width)
    mirrored = _mirrored(whole, weight, sure, face.width)
    body = whole - mirrored[:, :, None]
    around = _around(body.mean(axis=2), weight, face.width)
    blood = _blood(body, sure, source, face.width)
    hairy, smooth = hairy_region(face)[rows, columns], _SMOOTH_COLOR * face.width
    parts = (whole, mirrored, blood, around, hairy)
    return Skin(rows, columns, pixels, weight, lips, scene, *parts, sure, source, angle, smooth)


def median_ita(pixels: UInt8[np.ndarray, "h w 3"], sure: Bool[np.ndarray, "h w"]) -> float:
    """ITA in degrees of the median color of those pixels; NaN without one."""
    if not sure.any():
        return float("nan")
    return float(skin_colors.ita(np.median(light.decoding()[pixels[sure]], axis=0).astype(np.float64)))


def toned_skin(skin: Skin, level: float, stops: float = 0.0) -> UInt8[np.ndarray, "h w 3"]:
    """The pixels of `skin.rows`, `skin.columns` with skin of Monk tone `level`, exposed by so many stops more.

    Without stops, pixels without weight are as they were.
    """
    before, after = skin_colors.living_skin(np.array([skin.tone, level]))
    ratio = (after / before).astype(np.float32)
    shown = skin_colors.translucency(np.array([skin.tone, level]))
    more = float(shown[1] / shown[0] - 1)
    blood = skin.blood if more <= 0 else blurred(skin.blood, more * skin.smooth) / np.float32(1 + more)
    redder = np.exp(blood[:, :, None] * (_BLOOD_AXIS * np.float32(more)))
    duller = np.divide(*skin_colors.sheen(np.array([level, skin.tone]))) - 1
    added = _through_hair(skin, ratio, redder) + skin.mirrored[:, :, None] * np.float32(duller)
    lips = (skin_colors.lip_ratio(skin.tone, level) - 1).astype(np.float32)
    added += (skin.whole * lips - added) * skin.lips[:, :, None]
    scene = skin.scene + added * skin.weight[:, :, None]
    # A border's light can be further from that of the skin nearby than what lies behind it explains.
    own = skin.scene * ratio
    scene = np.maximum(scene, own) if ratio.mean() <= 1 else np.minimum(scene, np.maximum(own, skin.scene))
    pixels = pixels_of(scene * np.float32(2.0**stops))
    if not stops:
        pixels[skin.weight == 0] = skin.pixels[skin.weight == 0]
    return pixels


def _through_hair(
    skin: Skin, ratio: Float[np.ndarray, " 3"], redder: Float[np.ndarray, "h w 3"]
) -> Float[np.ndarray, "h w 3"]:
    """What that ratio adds to skin. Where it becomes lighter, dark hairs on it (brows, stubble) stay."""
    body = skin.whole - skin.mirrored[:, :, None]
    if ratio.mean() <= 1:
        return np.asarray(body * (ratio * redder - 1))
    body = _smooth_in_color(body, skin.weight, skin.smooth)
    own = body.mean(axis=2) / np.maximum(skin.around, _LEAST)
    share = np.clip((own - _HAIR) / (1 - _HAIR), 0, 1)
    covered = (1 - np.clip(share / np.maximum(own, _LEAST), 0, 1)) * skin.hairy
    bare = (1 - covered)[:, :, None]
    return np.asarray(body * (bare * (ratio * redder - 1)))


def _smooth_in_color(
    body: Float[np.ndarray, "h w 3"], weight: Float[np.ndarray, "h w"], deviation: float
) -> Float[np.ndarray, "h w 3"]:
    """The same luminance in the color of the skin nearby.

    Light of dark skin is few steps of 8 bits in green and fewer in blue; each step of it would become ten.
    """
    bright = body @ LUMINANCE.astype(np.float32)
    near = blurred(body * weight[:, :, None], deviation)
    own = near @ LUMINANCE.astype(np.float32)
    return np.asarray(near * (bright / np.maximum(own, _FEW * _LEAST))[:, :, None])


def _weights(face: Face) -> tuple[Float[np.ndarray, "h w"], Float[np.ndarray, "h w"]]:
    """The share of each pixel that is changed, with soft edges, and how much of it is lips."""
    mouth, inner = face.masks["mouth"], face.inner_mouth()
    mask = np.maximum(face.masks["skin"], mouth * (1 - inner))
    weight = blurred(mask, max(_EDGE * face.width, 0.6)) * (1 - face.eyes()) * (1 - inner)
    weight[weight < _HIDDEN] = 0
    return np.clip(weight, 0, 1), np.clip(blurred(face.lips(), _EDGE * face.width), 0, 1)


def _mirrored(
    scene: Float[np.ndarray, "h w 3"],
    weight: Float[np.ndarray, "h w"],
    sure: Bool[np.ndarray, "h w"],
    width: float,
) -> Float[np.ndarray, "h w"]:
    """White light that the skin's surface mirrors beyond what is usual on it: in highlights alone, by their color."""
    if not sure.any():
        return np.zeros(scene.shape[:2], dtype=np.float32)
    own = np.median(scene[sure], axis=0)
    axes = np.stack([own, np.full(3, own.mean())], axis=1)
    row = (np.linalg.pinv(axes)[1] * own.mean()).astype(np.float32)
    bright = scene.mean(axis=2)
    nearby = blurred(weight * bright, 0.25 * width) / (blurred(weight, 0.25 * width) + _LEAST)
    most = np.minimum(np.maximum(bright - nearby, 0), _MIRRORED_MOST * scene.min(axis=2))
    return np.asarray(np.clip(blurred(scene @ row, _SMOOTH * width), 0, most))


def _around(own: Float[np.ndarray, "h w"], weight: Float[np.ndarray, "h w"], width: float) -> Float[np.ndarray, "h w"]:
    """The light of the skin nearby: the upper part of what is around a pixel, weighted by skin."""
    deviation = 0.12 * width
    total = blurred(weight, deviation) + _LEAST
    mean = blurred(weight * own, deviation) / total
    upper = np.maximum(own, mean)
    return blurred(weight * upper, deviation) / total


_BLOOD_AXIS: Final = np.log1p(0.5 * skin_colors.BLOOD).astype(np.float32)


def _blood(
    body: Float[np.ndarray, "h w 3"], sure: Bool[np.ndarray, "h w"], tone: float, width: float
) -> Float[np.ndarray, "h w"]:
    """How much more blood than in the middle of the skin, in units of _BLOOD_AXIS, smoothed."""
    if not sure.any():
        return np.zeros(body.shape[:2], dtype=np.float32)
    near = np.clip([tone - 0.5, tone + 0.5], skin_colors.LIGHTEST, skin_colors.DARKEST)
    melanin = np.diff(np.log(skin_colors.living_skin(near)), axis=0)[0]
    axes = np.stack([np.ones(3), melanin / np.linalg.norm(melanin), _BLOOD_AXIS], axis=1)
    amount = np.log(np.maximum(body, _LEAST)) @ np.linalg.inv(axes)[2].astype(np.float32)
    return np.asarray(np.clip(blurred(amount - np.median(amount[sure]), _SMOOTH * width), -2, 2))
