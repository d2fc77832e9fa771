"""A photograph taken again with other settings: scene, frame, lens, sensor, processing and file, in that order.

Each function works on one picture, so that no batch and no order of pictures changes a byte. A setting at "as it is"
does nothing at all; with none set the photograph comes back itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.photographs import covers, lens, light, white
from transect.generators.photographs.attributes import APPEARANCE, NEUTRAL, Edits

ELECTRONS: Final = 15_000.0
"""Electrons of white at ISO 100, on the photosite that one pixel stands for; at ISO S they are 100 / S of it."""
READ_ELECTRONS: Final = 4.0
"""Standard deviation of a dark photosite in electrons, at every ISO."""
MARGIN: Final = 128
"""The sRGB value of what lies beyond a cropped frame."""
VERSION: Final = 1
"""Another camera makes other pictures: raised whenever a pixel changes."""
_SCENE: Final = frozenset({"board", "hand"})
_SPREAD: Final = frozenset({"rotation", "scale", "defocus", "motion", "noise", "white_balance"})
"""Edits that mix pixels or colors, so that a table from value to value is not enough."""
_TONE: Final = frozenset({"exposure", "contrast"})
_EVERYWHERE: Final = frozenset(NEUTRAL) - _SCENE - {"crop", "metering", *APPEARANCE}
_Picture: TypeAlias = UInt8[np.ndarray, "h w 3"]
_Step: TypeAlias = Callable[[_Picture, int, _Picture | None], _Picture]
"""From a picture, the key of its noise and a place for the result, which a step may leave unused, to a picture."""


def retaken(picture: _Picture, edits: Edits, key: int, out: _Picture | None = None) -> _Picture:
    """The photograph under these edits; itself, not a copy, where there is none and no `out`.

    key: of the photograph's own noise, a whole number from 0 to 2^63 - 1. out: where the result is written, another
    array than the picture; new memory for each picture takes longer than a tone curve. The order is a camera's: board
    and hand stand before the scene; roll and distance; defocus and motion; light and noise on the sensor, cut at white;
    white balance, tone curve, fewer pixels, crop; the file's compression.
    """
    *first, last = _steps(edits) or (_nothing,)
    for step in first:
        picture = step(picture, key, None)
    picture = last(picture, key, out)
    if out is None or picture is out:
        return picture
    np.copyto(out, picture)
    return out


def _nothing(picture: _Picture, _: int, __: _Picture | None) -> _Picture:
    return picture


@functools.lru_cache(maxsize=4096)
def _steps(edits: Edits) -> tuple[_Step, ...]:
    """What these edits ask for, in the camera's order: a step for each stage that is set."""
    steps: list[_Step] = []
    if edits.any_of(_SCENE):
        board, hand = int(edits.board), int(edits.hand)
        steps.append(lambda picture, _, out: covers.covered(picture, board, hand, out))
    if edits.any_of(_SPREAD):
        steps.append(lambda picture, key, _: _exposed(picture, edits, key))
    elif edits.any_of(_TONE):
        steps.append(_by_table(light.toning(2.0**edits.exposure, edits.contrast)))
    late = {"resolution": _fewer, "crop": _cropping, "jpeg_quality": _compressing}
    chosen = {name: stage for name, stage in late.items() if getattr(edits, name) != NEUTRAL[name]}
    return (*steps, *(stage(getattr(edits, name)) for name, stage in chosen.items()))


def _by_table(table: UInt8[np.ndarray, " 256"]) -> _Step:
    import cv2

    def toned(picture: _Picture, _: int, out: _Picture | None) -> _Picture:
        made: _Picture = np.empty_like(picture) if out is None else out
        cv2.LUT(picture, table, dst=made)
        return made

    return toned


def _fewer(share: float) -> _Step:
    return lambda picture, _, __: fewer_pixels(picture, share)


def _cropping(share: float) -> _Step:
    return lambda picture, _, out: cropped(picture, share, out)


def _compressing(quality: float) -> _Step:
    return lambda picture, _, __: compressed(picture, quality)


def changed(edits: Edits, width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """The pixels that these edits may change; all others are bitwise those of the photograph."""
    if edits.any_of(_EVERYWHERE):
        return np.ones((height, width), dtype=np.bool_)
    mask = covers.mask_of(int(edits.board), int(edits.hand), width, height)
    if edits.crop != NEUTRAL["crop"]:
        left, top, right, bottom = window(edits.crop, width, height)
        kept = np.zeros_like(mask)
        kept[top:bottom, left:right] = True
        mask |= ~kept
    return mask


def _exposed(picture: UInt8[np.ndarray, "h w 3"], edits: Edits, key: int) -> UInt8[np.ndarray, "h w 3"]:
    """Frame, lens, sensor, white balance and tone curve, in linear light."""
    import cv2

    gained = light.decoding(2.0**edits.exposure)  # frame and lens are linear: the light may be scaled before them
    scene = cv2.LUT(picture, gained)
    if edits.rotation != NEUTRAL["rotation"] or edits.scale != NEUTRAL["scale"]:
        scene = lens.framed(scene, edits.rotation, edits.scale, float(gained[covers.CARD]))
    if edits.defocus:
        scene = lens.defocused(scene, edits.defocus)
    if edits.motion:
        scene = lens.moved(scene, edits.motion)
    if edits.noise:
        scene = noisy(scene, edits.noise, key)
    if edits.white_balance != NEUTRAL["white_balance"]:
        np.clip(scene, 0, 1, out=scene)
        scene = cv2.transform(scene, white.balance(edits.white_balance, NEUTRAL["white_balance"]))
    return light.encoded(scene, edits.contrast)


def noisy(scene: Float[np.ndarray, "h w 3"], iso: float, key: int) -> Float[np.ndarray, "h w 3"]:
    """Linear light with the noise of a sensor at that sensitivity, variance s / N + (r / N)² at the light s.

    N: electrons of white, 15,000 x 100 / ISO; r: 4 electrons. Shot noise is taken as normal. The normal numbers are
    those of `key`, the same at every sensitivity, one per pixel and color. Foi et al. 2008.
    """
    white_at = ELECTRONS * 100 / iso
    deviation: np.ndarray = np.maximum(scene, 0)
    deviation *= np.float32(1 / white_at)
    deviation += np.float32((READ_ELECTRONS / white_at) ** 2)
    np.sqrt(deviation, out=deviation)
    deviation *= fine_noise(key, Stream.SENSOR, scene.size).reshape(scene.shape)
    deviation += scene
    return deviation


def fewer_pixels(picture: UInt8[np.ndarray, "h w 3"], share: float) -> UInt8[np.ndarray, "h w 3"]:
    """The picture at that share of its width and height (area means), made as large as before (bilinear)."""
    import cv2

    height, width = picture.shape[:2]
    small = max(1, round(share * width)), max(1, round(share * height))
    if small == (width, height):
        return picture
    less = cv2.resize(picture, small, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(less, (width, height), interpolation=cv2.INTER_LINEAR))


def cropped(picture: _Picture, share: float, out: _Picture | None = None) -> _Picture:
    """The frame of that share of width and height about the middle, its pixels as they are, and grey beyond.

    out: where it is written, another array than the picture.
    """
    if share == NEUTRAL["crop"]:
        return picture
    height, width = picture.shape[:2]
    left, top, right, bottom = window(share, width, height)
    framed: _Picture = np.empty_like(picture) if out is None else out
    framed[top:bottom, left:right] = picture[top:bottom, left:right]
    framed[:top] = framed[bottom:] = MARGIN
    framed[top:bottom, :left] = framed[top:bottom, right:] = MARGIN
    return framed


def window(share: float, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a crop in pixels; right and bottom are the first beyond it.

    >>> window(0.5, 100, 60)
    (25, 15, 75, 45)
    """
    kept = max(1, round(share * width)), max(1, round(share * height))
    left, top = (width - kept[0]) // 2, (height - kept[1]) // 2
    return left, top, left + kept[0], top + kept[1]


def compressed(picture: UInt8[np.ndarray, "h w 3"], quality: float) -> UInt8[np.ndarray, "h w 3"]:
    """The picture after JPEG of that quality, rounded, with color at half resolution; itself at 100."""
    if round(quality) >= round(NEUTRAL["jpeg_quality"]):
        return picture
    import cv2

    options = [cv2.IMWRITE_JPEG_QUALITY, round(quality)]
    options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420]
    _, file = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), options)
    decoded = np.asarray(cv2.imdecode(file, cv2.IMREAD_COLOR))
    return np.asarray(cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB))
