"""The camera: blur, sensor noise, gain and white balance, the sRGB transfer, eight bits, JPEG.

Noise is the sensor's, before the gain: shot noise of variance proportional to the light, read noise of constant
variance; gain amplifies both. Source of the noise model: Foi et al. 2008, doi:10.1109/TIP.2008.2001399.
"""

from __future__ import annotations

import functools
import io

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from scipy.special import ive
from torch import Tensor

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.faceworld.mesh.kernels import mix
from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.faceworld.rows import Parameters, power

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
def sensor_noise(seed: int, size: int) -> Float[np.ndarray, "3 size size"]:
    """Standard normal numbers: one draw per photosite, the subject's own."""
    return fine_noise(seed, Stream.SENSOR, 3 * size * size).reshape(3, size, size)


def expose(radiance: Tensor, p: Parameters, noise: Tensor) -> Tensor:
    """uint8 sRGB [b, h, w, 3] of scene radiance [b, 3, h, w] under the scene's light level and the camera's gain."""
    light = radiance.clamp(min=0) * p["light_factor"].unsqueeze(1)
    deviation = (SHOT_NOISE * light).add_(READ_NOISE**2).sqrt_().mul_(p["noise"].unsqueeze(1))
    exposed = light.addcmul_(deviation, noise).mul_(p["gain"])
    return encode_srgb(roll_off(exposed)).mul_(255).add_(0.5).to(torch.uint8).permute(0, 2, 3, 1)


def defocus(radiance: Float[np.ndarray, "3 h w"], deviation: float, size: int) -> None:
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


def roll_off(linear: Tensor) -> Tensor:
    """Light under the camera's tone curve: steeper in the dark, flat towards white.

    Bent by luminance, colors keep their ratios; bent channel by channel, they pale towards the highlights. Cameras lie
    between the two: COLOR_KEPT of the first.
    """
    light = linear.clamp(min=0).mul_(SPEED)
    red, green, blue = light.unbind(1)
    luminance = (red * LUMINANCE[0]).add_(green * LUMINANCE[1]).add_(blue * LUMINANCE[2]).unsqueeze(1)
    level = _curve(light).mul_(1 - COLOR_KEPT).add_(_curve(luminance).mul_(COLOR_KEPT))
    return level.mul_(light).clamp_(max=1)


def _curve(light: Tensor) -> Tensor:
    """Factor by which the tone curve weakens that light."""
    low, high = FOOT
    foot = (light + low).div_(light + high)
    return power(power(light, SHOULDER).add_(1), -1 / SHOULDER).mul_(foot)


def encode_srgb(linear: Tensor) -> Tensor:
    """SRGB values of linear light in 0..1 (IEC 61966-2-1): a curve that continues as a straight line below a knee."""
    curve = power(linear.clamp(min=_KNEE), 1 / 2.4).mul_(1.055).sub_(0.055)
    return curve.sub_((_KNEE - linear).clamp_(min=0).mul_(12.92))
