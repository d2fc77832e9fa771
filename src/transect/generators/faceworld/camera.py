"""The camera: blur, sensor noise, gain and white balance, the sRGB transfer, eight bits, JPEG.

Noise is the sensor's, before the gain: shot noise of variance proportional to the light, read noise of constant
variance; gain amplifies both. Source of the noise model: Foi et al. 2008, doi:10.1109/TIP.2008.2001399.
"""

from __future__ import annotations

import io

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image
from torch import Tensor

from transect.generators.faceworld.chance import Stream, generator
from transect.generators.faceworld.compositing import Parameters
from transect.generators.faceworld.reflectance import LUMINANCE

SHOT_NOISE = 1.5e-4
"""Variance of a unit signal at base gain."""

READ_NOISE = 3.5e-4
"""Standard deviation of a dark pixel at base gain."""

COLOR_KEPT = 0.8
"""Share of the tone curve that follows luminance."""

WHITE = 6.0
"""The least exposed light that becomes white. The tone curve is that of Reinhard et al. 2002, Photographic tone
reproduction for digital images, equation 4."""


def sensor_noise(seed: int, size: int) -> Tensor:
    """Standard normal [1, 3, size, size]: one draw per photosite, the subject's own."""
    draws = generator(seed, Stream.SENSOR).standard_normal((1, 3, size, size), dtype="float32")
    return torch.from_numpy(draws)


def expose(radiance: Tensor, p: Parameters, noise: Tensor) -> Tensor:
    """uint8 sRGB [b, h, w, 3] of scene radiance [b, 3, h, w] under the scene's light level and the camera's gain."""
    gain = torch.exp2(p["exposure"]).unsqueeze(1) * _channel_gains(p)
    light = defocus(radiance.clamp(min=0), p) * torch.exp2(p["light_level"]).unsqueeze(1)
    deviation = (SHOT_NOISE * light + READ_NOISE**2).sqrt() * p["noise"].unsqueeze(1)
    encoded = encode_srgb(roll_off((light + deviation * noise) * gain))
    return (encoded * 255 + 0.5).to(torch.uint8).permute(0, 2, 3, 1)


def _channel_gains(p: Parameters) -> Tensor:
    """White balance [b, 3, 1, 1]: red up and blue down by half of it each, in stops; exactly 1 where it is 0."""
    half = 0.5 * p["white_balance"].unsqueeze(1)
    return torch.exp2(torch.cat([half, torch.zeros_like(half), -half], dim=1))


def defocus(radiance: Tensor, p: Parameters) -> Tensor:
    """The radiance under a Gaussian blur, rows and columns by one matrix each; untouched where there is none."""
    size = radiance.shape[-1]
    deviation = float(p["blur"]) / 100 * size
    if deviation == 0:
        return radiance
    distance = torch.arange(size).view(-1, 1) - torch.arange(size).view(1, -1)
    weights = torch.exp(-0.5 * (distance.double() / deviation) ** 2)
    kernel = (weights / weights.sum(dim=1, keepdim=True)).to(radiance.dtype)
    return kernel @ radiance @ kernel.T


def compress(pixels: UInt8[np.ndarray, "h w 3"], quality: float) -> UInt8[np.ndarray, "h w 3"]:
    """The picture after JPEG of that quality, rounded, with color at half resolution; the picture itself at 100."""
    if round(quality) >= 100:
        return pixels
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="JPEG", quality=round(quality), subsampling="4:2:0")
    with Image.open(file) as decoded:
        return np.asarray(decoded.convert("RGB"))


def roll_off(linear: Tensor) -> Tensor:
    """Light under the camera's tone curve: nearly straight in the dark, flat towards WHITE, which becomes 1.

    Bent by luminance, colors keep their ratios; bent channel by channel, they pale towards the highlights. Cameras lie
    between the two: COLOR_KEPT of the first.
    """
    light = linear.clamp(min=0)
    luminance = (light * light.new_tensor(LUMINANCE).view(1, 3, 1, 1)).sum(dim=1, keepdim=True)
    level = COLOR_KEPT * _curve(luminance) + (1 - COLOR_KEPT) * _curve(light)
    return (light * level).clamp(max=1)


def _curve(light: Tensor) -> Tensor:
    """Factor by which the tone curve weakens that light."""
    return (1 + light / WHITE**2) / (1 + light)


def encode_srgb(linear: Tensor) -> Tensor:
    """SRGB values of linear light in 0..1 (IEC 61966-2-1)."""
    return torch.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear.clamp(min=0.0031308) ** (1 / 2.4) - 0.055)
