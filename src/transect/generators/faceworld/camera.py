"""The camera: blur, sensor noise, gain and white balance, the sRGB transfer, eight bits, JPEG.

Noise is the sensor's, before the gain: shot noise of variance proportional to the light, read noise of constant
variance; gain amplifies both. Source of the noise model: Foi et al. 2008, doi:10.1109/TIP.2008.2001399.
"""

from __future__ import annotations

import functools
import io
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image
from scipy.special import ive

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.faceworld.mesh.kernels import mix
from transect.generators.faceworld.parameters import Row
from transect.generators.faceworld.reflectance import LUMINANCE

Channels: TypeAlias = Float[np.ndarray, "3 h w"]

SHOT_NOISE = 0.8e-4
"""Variance of a unit signal at base gain."""

READ_NOISE = 2.5e-4
"""Standard deviation of a dark pixel at base gain."""

COLOR_KEPT = 0.6
"""Share of the tone curve that follows luminance."""

FOOT = 0.05, 0.09
"""Light where the tone curve's foot begins and ends: below, contrast is stronger, as in the shadows of photographs."""

SPEED = 1.075
"""What the foot takes from mid tones is given back to all."""

_NOTHING = 1e-6
"""Weights of a blur that are left out."""

_KNEE = 0.0031308

SHOULDER = 2.5
"""How late and how sharply the tone curve x / (1 + xˢ)^(1/s) bends towards white: nearly straight up to mid tones, as
cameras are, so that faces keep the contrast of their shading. Of the family of Reinhard et al. 2002, Photographic tone
reproduction for digital images (its equation 3 with s = 1)."""


@functools.lru_cache(maxsize=4)
def sensor_noise(seed: int, size: int) -> Channels:
    """Standard normal numbers: one draw per photosite, the subject's own."""
    return fine_noise(seed, Stream.SENSOR, 3 * size * size).reshape(3, size, size)


def expose(radiance: Channels, row: Row, noise: Channels) -> UInt8[np.ndarray, "h w 3"]:
    """SRGB of scene radiance in linear light under the scene's light level and the camera's gain."""
    light = np.maximum(radiance, 0) * np.float32(row.values["light_factor"])
    deviation = np.sqrt(SHOT_NOISE * light + READ_NOISE**2) * np.float32(row.values["noise"])
    exposed = (light + deviation * noise) * row.colors["gain"][:, None, None]
    levels = encode_srgb(roll_off(exposed)) * 255 + 0.5
    return np.ascontiguousarray(levels.astype(np.uint8).transpose(1, 2, 0))


def defocus(radiance: Channels, deviation: float, size: int) -> None:
    """Blurs the first `size` rows and columns in place by a Gaussian of that deviation in pixels; see blur_taps."""
    taps = blur_taps(deviation, size)
    sums = np.cumsum(np.pad(taps, (0, size - len(taps))))
    scale = 1 / (sums + sums[::-1] - taps[0])
    room = np.empty(radiance.shape[1:], np.float32)
    mix(radiance, taps.astype(np.float32), scale.astype(np.float32), size, room)


def blur_taps(deviation: float, size: int) -> Float[np.ndarray, " r"]:
    """Weights of a Gaussian by distance in pixels, as far as they are above 1e-6.

    The Gaussian of whole pixels, whose variance is deviation² however narrow: one that is read at the middles of pixels
    would do nothing below a fifth of a pixel. Source: Lindeberg 1990, Scale-space for discrete signals,
    doi:10.1109/34.49051.
    """
    weights = ive(np.arange(size), deviation**2)
    return np.asarray(weights[: max(1, int((weights > _NOTHING).sum()))])


def compress(pixels: UInt8[np.ndarray, "h w 3"], quality: float) -> UInt8[np.ndarray, "h w 3"]:
    """The picture after JPEG of that quality, rounded, with color at half resolution; the picture itself at 100."""
    if round(quality) >= 100:
        return pixels
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="JPEG", quality=round(quality), subsampling="4:2:0")
    with Image.open(file) as decoded:
        return np.asarray(decoded.convert("RGB"))


def roll_off(linear: Channels) -> Channels:
    """Light under the camera's tone curve: steeper in the dark, flat towards white.

    Bent by luminance, colors keep their ratios; bent channel by channel, they pale towards the highlights. Cameras lie
    between the two: COLOR_KEPT of the first.
    """
    light = SPEED * np.maximum(linear, 0)
    luminance = LUMINANCE[0] * light[0] + LUMINANCE[1] * light[1] + LUMINANCE[2] * light[2]
    level = (1 - COLOR_KEPT) * curve(light) + COLOR_KEPT * curve(luminance)
    return np.asarray(np.minimum(level * light, 1))


def curve(light: np.ndarray) -> np.ndarray:
    """Factor by which the tone curve weakens that light."""
    low, high = FOOT
    foot = (light + low) / (light + high)
    return np.asarray(_power(_power(light, SHOULDER) + 1, -1 / SHOULDER) * foot)


def encode_srgb(linear: np.ndarray) -> np.ndarray:
    """SRGB values of linear light in 0..1 (IEC 61966-2-1): a curve that continues as a straight line below a knee."""
    curve = 1.055 * _power(np.maximum(linear, _KNEE), 1 / 2.4) - 0.055
    return np.asarray(curve - 12.92 * np.maximum(_KNEE - linear, 0))


def _power(value: np.ndarray, exponent: float) -> np.ndarray:
    """A non-negative number to the power of another, by logarithms, which take a fifth of the time of a power."""
    return np.asarray(np.exp(np.log(np.maximum(value, 1e-20)) * exponent))
