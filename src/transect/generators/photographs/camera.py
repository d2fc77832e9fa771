"""Photographs taken again by a camera; edits come in a camera's order, and what they do not touch stays bitwise."""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, UInt8, UInt16
from PIL import Image

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.faceworld.reflectance import decode_srgb
from transect.generators.photographs.attributes import APPEARANCE, BOARDS, NEUTRAL, Edits
from transect.runs.pictures import open_rgb

STEPS: Final = 65_535
"""Steps of linear light in which values are turned into sRGB: at most a twentieth of one of its 255 levels."""
GREY: Final = 0.18
"""The linear light of middle grey, on which the tone curve turns."""
_CACHED: Final = 64
_KNEE, _SLOPE = 0.0031308, 12.92


def to_srgb(light: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The sRGB values of linear light, both from 0 to 1: the inverse of `decode_srgb`."""
    return np.where(light <= _KNEE, light * _SLOPE, 1.055 * np.maximum(light, _KNEE) ** (1 / 2.4) - 0.055)


@functools.lru_cache(maxsize=_CACHED)
def decoding(gain: float = 1.0) -> Float[np.ndarray, " 256"]:
    """Float32, read-only: the linear light of each of the 256 values of sRGB, times a gain."""
    table = (decode_srgb(np.arange(256) / 255.0) * gain).astype(np.float32)
    table.setflags(write=False)
    return table


@functools.lru_cache(maxsize=_CACHED)
def encoding(slope: float = 1.0) -> UInt8[np.ndarray, " 65536"]:
    """The sRGB value of each step of linear light under a tone curve of that slope.

    The curve is y = .18 (x / .18)^slope: a straight line in stops through middle grey.

    >>> values = np.arange(256, dtype=np.uint8)
    >>> bool((encoding()[steps_of(decoding().copy())] == values).all())  # there and back
    True
    """
    light = np.arange(STEPS + 1) / STEPS
    toned = light if slope == 1.0 else np.minimum(GREY * (light / GREY) ** slope, 1.0)
    table = np.asarray(np.rint(to_srgb(toned) * 255), dtype=np.uint8)
    table.setflags(write=False)
    return table


def steps_of(light: Float[np.ndarray, "*shape"]) -> UInt16[np.ndarray, "*shape"]:
    """The step of each float32 of linear light, black and white beyond them; `light` is overwritten."""
    light *= np.float32(STEPS)
    light += np.float32(0.5)
    np.clip(light, 0, np.float32(STEPS), out=light)
    return light.astype(np.uint16)


def encoded(light: Float[np.ndarray, "*shape"], slope: float = 1.0) -> UInt8[np.ndarray, "*shape"]:
    """The sRGB values of linear light under a tone curve of that slope; `light` is overwritten."""
    return np.asarray(encoding(slope).take(steps_of(light)))


@functools.lru_cache(maxsize=_CACHED)
def toning(gain: float, slope: float) -> UInt8[np.ndarray, " 256"]:
    """Gain and tone curve as one table from sRGB to sRGB: bitwise what `decoding` and `encoded` give one by one."""
    table = encoded(decoding(gain).copy(), slope)
    table.setflags(write=False)
    return table


BRADFORD: Final = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
"""From XYZ to sharpened cone responses. Lam 1985, Metamerism and colour constancy."""
TO_XYZ: Final = np.array(
    [[0.4123908, 0.3575843, 0.1804808], [0.2126390, 0.7151687, 0.0721923], [0.0193308, 0.1191948, 0.9505322]]
)
"""From linear sRGB to XYZ (IEC 61966-2-1)."""
_COOL: Final = ((-3.0258469e9, 2.1070379e6, 0.2226347e3, 0.240390), (3.0817580, -5.87338670, 3.75112997, -0.37001483))
_WARM: Final = ((-0.2661239e9, -0.2343589e6, 0.8776956e3, 0.179910), (-0.9549476, -1.37418593, 2.09137015, -0.16748867))
_BORDER: Final = 4000.0


def planckian(kelvin: float) -> tuple[float, float]:
    """Chromaticity x, y (CIE 1931) of a black body from 2222 to 25,000 K. Kim et al. 2002."""
    of_x, of_y = _WARM if kelvin < _BORDER else _COOL
    x = sum(weight / kelvin**power for weight, power in zip(of_x, (3, 2, 1, 0), strict=True))
    return float(x), float(np.polyval(of_y, x))


def white_point(x: float, y: float) -> Float[np.ndarray, " 3"]:
    """XYZ of that chromaticity with a luminance of 1."""
    return np.array([x / y, 1.0, (1 - x - y) / y])


def adaptation(source: Float[np.ndarray, " 3"], target: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "3 3"]:
    """From XYZ under one white to XYZ under another, by von Kries's scaling of Bradford's responses."""
    scales = (BRADFORD @ target) / (BRADFORD @ source)
    return np.asarray(np.linalg.inv(BRADFORD) @ np.diag(scales) @ BRADFORD)


@functools.lru_cache(maxsize=64)
def balance(kelvin: float, neutral: float) -> Float[np.ndarray, "3 3"]:
    """Float32: from linear sRGB to linear sRGB, the white of `neutral` kelvin becoming that of `kelvin`."""
    change = adaptation(white_point(*planckian(neutral)), white_point(*planckian(kelvin)))
    matrix = np.asarray(np.linalg.inv(TO_XYZ) @ change @ TO_XYZ, dtype=np.float32)
    matrix.setflags(write=False)
    return matrix


_FINE: Final = 16
"""Points to a side by which a pixel's share of a disc is counted."""


def framed(
    light: Float[np.ndarray, "h w 3"], rotation: float, scale: float, beyond: float
) -> Float[np.ndarray, "h w 3"]:
    """The scene turned clockwise and made larger about the middle, or smaller by area means before light `beyond`."""
    import cv2

    height, width = light.shape[:2]
    if scale < 1:
        box = line(1 / scale)
        light = cv2.sepFilter2D(light, -1, box, box, borderType=cv2.BORDER_REFLECT_101)
    turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), -rotation, scale)
    card = (beyond, beyond, beyond)
    return np.asarray(cv2.warpAffine(light, turn, (width, height), flags=cv2.INTER_LINEAR, borderValue=card))


def defocused(light: Float[np.ndarray, "h w 3"], share: float) -> Float[np.ndarray, "h w 3"]:
    """The light of each point spread over a disc whose diameter is that share of the width."""
    import cv2

    kernel = disc(share * light.shape[1])
    return np.asarray(cv2.filter2D(light, -1, kernel, borderType=cv2.BORDER_REFLECT_101))


def moved(light: Float[np.ndarray, "h w 3"], share: float) -> Float[np.ndarray, "h w 3"]:
    """The light of each point spread over a level line whose length is that share of the width."""
    import cv2

    kernel = line(share * light.shape[1])[None, :]
    return np.asarray(cv2.filter2D(light, -1, kernel, borderType=cv2.BORDER_REFLECT_101))


@functools.lru_cache(maxsize=_CACHED)
def disc(diameter: float) -> Float[np.ndarray, "k k"]:
    """Float32 weights of a disc of that diameter in pixels, by the area of it that each pixel holds; they sum to 1.

    >>> disc(0.5)
    array([[1.]], dtype=float32)
    """
    reach = max(0, math.ceil(diameter / 2 - 0.5))
    offsets = (np.arange((2 * reach + 1) * _FINE) + 0.5) / _FINE - (reach + 0.5)
    inside = (offsets[:, None] ** 2 + offsets[None, :] ** 2) <= (diameter / 2) ** 2
    if not inside.any():
        return _kept(np.ones((1, 1), dtype=np.float32))
    side = 2 * reach + 1
    area = inside.reshape(side, _FINE, side, _FINE).sum(axis=(1, 3)).astype(np.float64)
    return _kept(np.asarray(area / area.sum(), dtype=np.float32))


@functools.lru_cache(maxsize=_CACHED)
def line(length: float) -> Float[np.ndarray, " k"]:
    """Float32 weights of a line of that length in pixels about the middle one; they sum to 1. Up to 1 pixel: itself.

    >>> line(3.0), line(2.0)
    (array([0.33333334, 0.33333334, 0.33333334], dtype=float32), array([0.25, 0.5 , 0.25], dtype=float32))
    """
    reach = max(0, math.ceil(length / 2 - 0.5))
    edges = np.arange(-reach, reach + 2) - 0.5
    half = max(length, 1.0) / 2
    covered = np.clip(edges[1:], -half, half) - np.clip(edges[:-1], -half, half)
    return _kept(np.asarray(covered / covered.sum(), dtype=np.float32))


def _kept(weights: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The array, which nobody may write into any more."""
    weights.setflags(write=False)
    return weights


CARD: Final = 118
"""The sRGB value of a card that reflects 18 % of the light."""
RECTANGLES: Final = {
    "left": (0.0, 0.0, 0.5, 1.0),
    "right": (0.5, 0.0, 1.0, 1.0),
    "top": (0.0, 0.0, 1.0, 0.45),
    "bottom": (0.0, 0.55, 1.0, 1.0),
    "middle": (0.0, 0.38, 1.0, 0.54),
}
"""Left, top, right and bottom of each board, as shares of width and height, rounded to whole pixels."""


def covered(
    picture: UInt8[np.ndarray, "h w 3"], board: int, out: UInt8[np.ndarray, "h w 3"] | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """A copy of the picture, in `out` if given, with that board (of BOARDS) before it."""
    shown: UInt8[np.ndarray, "h w 3"] = np.empty_like(picture) if out is None else out
    np.copyto(shown, picture)
    shown[mask_of(board, picture.shape[1], picture.shape[0])] = CARD
    return shown


def mask_of(board: int, width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """The pixels that a board covers."""
    mask = np.zeros((height, width), dtype=np.bool_)
    if board:
        left, top, right, bottom = rectangle(board, width, height)
        mask[top:bottom, left:right] = True
    return mask


def rectangle(board: int, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a board in pixels; right and bottom are the first beyond it."""
    left, top, right, bottom = RECTANGLES[BOARDS[board]]
    return round(left * width), round(top * height), round(right * width), round(bottom * height)


ELECTRONS: Final = 15_000.0
"""Electrons of white at ISO 100, on the photosite that one pixel stands for; at ISO S they are 100 / S of it."""
READ_ELECTRONS: Final = 4.0
"""Standard deviation of a dark photosite in electrons, at every ISO."""
MARGIN: Final = 128
"""The sRGB value of what lies beyond a cropped frame."""
VERSION: Final = 1
"""Another camera makes other pictures: raised whenever a pixel changes."""
_SPREAD: Final = frozenset({"rotation", "scale", "defocus", "motion", "noise", "white_balance"})
"""Edits that mix pixels or colors, so that a table from value to value is not enough."""
_TONE: Final = frozenset({"exposure", "contrast"})
_EVERYWHERE: Final = frozenset(NEUTRAL) - {"board", "crop", "metering", *APPEARANCE}
_Picture: TypeAlias = UInt8[np.ndarray, "h w 3"]
_Step: TypeAlias = Callable[[_Picture, int, _Picture | None], _Picture]
"""From a picture, the key of its noise and a place for the result, which a step may leave unused, to a picture."""


def retaken(picture: _Picture, edits: Edits, key: int, out: _Picture | None = None) -> _Picture:
    """The photograph under these edits; itself, not a copy, where there is none and no `out`.

    key: of the photograph's own noise, a whole number from 0 to 2^63 - 1. out: where the result is written, another
    array than the picture; new memory for each picture takes longer than a tone curve. The order is a camera's: a board
    stands before the scene; roll and distance; defocus and motion; light and noise on the sensor, cut at white;
    white balance, tone curve, fewer pixels, crop; the file's compression.
    """
    *first, last = _steps(edits) or (lambda picture, _, __: picture,)
    for step in first:
        picture = step(picture, key, None)
    picture = last(picture, key, out)
    if out is None or picture is out:
        return picture
    np.copyto(out, picture)
    return out


@functools.lru_cache(maxsize=4096)
def _steps(edits: Edits) -> tuple[_Step, ...]:
    """What these edits ask for, in the camera's order: a step for each stage that is set."""
    steps: list[_Step] = []
    if edits.board != NEUTRAL["board"]:
        steps.append(lambda picture, _, out: covered(picture, int(edits.board), out))
    if edits.any_of(_SPREAD):
        steps.append(lambda picture, key, _: _exposed(picture, edits, key))
    elif edits.any_of(_TONE):
        steps.append(_by_table(toning(2.0**edits.exposure, edits.contrast)))
    late: dict[str, _Step] = {
        "resolution": lambda picture, _, __: fewer_pixels(picture, edits.resolution),
        "crop": lambda picture, _, out: cropped(picture, edits.crop, out),
        "jpeg_quality": lambda picture, _, __: compressed(picture, edits.jpeg_quality),
    }
    return (*steps, *(step for name, step in late.items() if getattr(edits, name) != NEUTRAL[name]))


def _by_table(table: UInt8[np.ndarray, " 256"]) -> _Step:
    import cv2

    def toned(picture: _Picture, _: int, out: _Picture | None) -> _Picture:
        made: _Picture = np.empty_like(picture) if out is None else out
        cv2.LUT(picture, table, dst=made)
        return made

    return toned


def changed(edits: Edits, width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """The pixels that these edits may change; all others are bitwise those of the photograph."""
    if edits.any_of(_EVERYWHERE):
        return np.ones((height, width), dtype=np.bool_)
    mask = mask_of(int(edits.board), width, height)
    if edits.crop != NEUTRAL["crop"]:
        left, top, right, bottom = window(edits.crop, width, height)
        kept = np.zeros_like(mask)
        kept[top:bottom, left:right] = True
        mask |= ~kept
    return mask


def _exposed(picture: UInt8[np.ndarray, "h w 3"], edits: Edits, key: int) -> UInt8[np.ndarray, "h w 3"]:
    """Frame, lens, sensor, white balance and tone curve, in linear light."""
    import cv2

    gained = decoding(2.0**edits.exposure)  # frame and lens are linear: the light may be scaled before them
    scene = cv2.LUT(picture, gained)
    if edits.rotation != NEUTRAL["rotation"] or edits.scale != NEUTRAL["scale"]:
        scene = framed(scene, edits.rotation, edits.scale, float(gained[CARD]))
    if edits.defocus:
        scene = defocused(scene, edits.defocus)
    if edits.motion:
        scene = moved(scene, edits.motion)
    if edits.noise:
        scene = noisy(scene, edits.noise, key)
    if edits.white_balance != NEUTRAL["white_balance"]:
        np.clip(scene, 0, 1, out=scene)
        scene = cv2.transform(scene, balance(edits.white_balance, NEUTRAL["white_balance"]))
    return encoded(scene, edits.contrast)


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
    """The frame of that share about the middle, its pixels as they are, and grey beyond; in `out`, if given."""
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
    """Left, top, right and bottom of a crop in pixels; right and bottom are the first beyond it."""
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


def recompressed(
    picture: UInt8[np.ndarray, "h w 3"], drawn: Bool[np.ndarray, "h w"], tables: Mapping[int, Sequence[int]]
) -> UInt8[np.ndarray, "h w 3"]:
    """The picture, its drawn pixels as a file with these tables of quantisation keeps them; the others stay bitwise."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", qtables={key: list(table) for key, table in tables.items()})
    kept = np.asarray(open_rgb(file.getvalue(), "a picture", ("JPEG",)))
    return np.where(drawn[..., None], kept, picture)
