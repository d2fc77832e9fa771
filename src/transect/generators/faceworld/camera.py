"""The camera: blur, sensor noise, gain and white balance, the sRGB transfer, eight bits, JPEG.

Noise is the sensor's, before the gain: shot noise of variance proportional to the light, read noise of constant
variance; gain amplifies both. Source of the noise model: Foi et al. 2008, doi:10.1109/TIP.2008.2001399.
"""

from __future__ import annotations

import io

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from scipy.special import ive
from torch import Tensor

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.faceworld.rows import Parameters, picked, power, products, put, some

SHOT_NOISE = 0.8e-4
"""Variance of a unit signal at base gain."""

READ_NOISE = 2.5e-4
"""Standard deviation of a dark pixel at base gain."""

COLOR_KEPT = 0.7
"""Share of the tone curve that follows luminance."""

_NARROW, _REACH = 0.6, 4
"""Blurs up to that many pixels have a weight below 1e-5 beyond the fourth neighbor."""

_KNEE = 0.0031308

SHOULDER = 2.5
"""How late and how sharply the tone curve x / (1 + xˢ)^(1/s) bends towards white: nearly straight up to mid tones, as
cameras are, so that faces keep the contrast of their shading. Of the family of Reinhard et al. 2002, Photographic tone
reproduction for digital images, of which s = 1 is equation 3."""


def sensor_noise(seed: int, size: int) -> Float[np.ndarray, "3 size size"]:
    """Standard normal numbers: one draw per photosite, the subject's own."""
    return fine_noise(seed, Stream.SENSOR, 3 * size * size).reshape(3, size, size)


def expose(radiance: Tensor, p: Parameters, noise: Tensor) -> Tensor:
    """uint8 sRGB [b, h, w, 3] of scene radiance [b, 3, h, w] under the scene's light level and the camera's gain."""
    light = radiance.clamp(min=0) * p["light_factor"].unsqueeze(1)
    deviation = (SHOT_NOISE * light).add_(READ_NOISE**2).sqrt_().mul_(p["noise"].unsqueeze(1))
    exposed = light.addcmul_(deviation, noise).mul_(p["gain"])
    return encode_srgb(roll_off(exposed)).mul_(255).add_(0.5).to(torch.uint8).permute(0, 2, 3, 1)


def defocus(radiance: Tensor, deviations: Float[np.ndarray, " b"], size: int) -> Tensor:
    """The radiance [b, 3, h, w] under Gaussian blurs of those deviations in pixels; beyond `size` it is black."""
    blurred = torch.empty_like(radiance)
    for rows, way in ((deviations <= _NARROW, _mix_neighbors), (deviations > _NARROW, _mix_all)):
        pick = picked(rows)
        if pick is not None:
            put(blurred, pick, way(some(radiance, pick), deviations[rows], size))
    return blurred


def _mix_neighbors(radiance: Tensor, deviations: Float[np.ndarray, " b"], size: int) -> Tensor:
    """A blur so narrow that _REACH pixels to each side hold it: neighbor by neighbor."""
    weights = ive(np.arange(_REACH + 1), deviations[:, None] ** 2)
    inside = np.minimum(np.arange(size), _REACH)
    sides = np.cumsum(weights, axis=1)[:, inside]
    totals = np.zeros((len(deviations), max(radiance.shape[2:])))
    totals[:, :size] = 1 / (sides + sides[:, ::-1] - weights[:, :1])
    taps, scale = (torch.from_numpy(part.astype(np.float32)).to(radiance.device) for part in (weights, totals))
    mixed = torch.zeros_like(radiance)
    mixed[..., :size, :size] = radiance[..., :size, :size]
    for axis in (2, 3):
        length, source = mixed.shape[axis], mixed
        mixed = source * taps[:, 0].view(-1, 1, 1, 1)
        for step in range(1, _REACH + 1):
            part = source * taps[:, step].view(-1, 1, 1, 1)
            mixed.narrow(axis, step, length - step).add_(part.narrow(axis, 0, length - step))
            mixed.narrow(axis, 0, length - step).add_(part.narrow(axis, step, length - step))
        mixed.mul_(scale[:, :length].view(-1, 1, *((length, 1) if axis == 2 else (1, length))))
    return mixed


def _mix_all(radiance: Tensor, deviations: Float[np.ndarray, " b"], size: int) -> Tensor:
    """Any blur: rows and columns by one matrix each."""
    b, channels, height, width = radiance.shape
    kernels = torch.from_numpy(
        np.stack([blur_kernel(float(deviation), size, max(height, width)) for deviation in deviations])
    )
    kernels = kernels.to(radiance.device)
    across = kernels[:, :width, :width].transpose(1, 2).contiguous()
    down = kernels[:, :height, :height].unsqueeze(1).expand(-1, channels, -1, -1).reshape(-1, height, height)
    along = products(radiance.reshape(b, channels * height, width), across)
    return products(down, along.view(b * channels, height, width)).view(radiance.shape)


def blur_kernel(deviation: float, size: int, length: int) -> Float[np.ndarray, "length length"]:
    """Weights float32 [to, from] of a Gaussian over `size` pixels, whose sum is 1 at the borders too; 0 beyond them.

    The Gaussian of whole pixels, whose variance is deviation² however narrow: one that is read at the middles of pixels
    would do nothing below a fifth of a pixel. Source: Lindeberg 1990, Scale-space for discrete signals,
    doi:10.1109/34.49051.
    """
    weights = ive(np.arange(size), deviation**2)
    sums = np.cumsum(weights)
    totals = sums + sums[::-1] - weights[0]
    kernel = np.zeros((length, length), dtype=np.float32)
    mirrored = np.concatenate([weights[:0:-1], weights])
    every = np.lib.stride_tricks.sliding_window_view(mirrored, size)[::-1]
    kernel[:size, :size] = every / totals[:, None]
    return kernel


def compress(pixels: UInt8[np.ndarray, "h w 3"], quality: float) -> UInt8[np.ndarray, "h w 3"]:
    """The picture after JPEG of that quality, rounded, with color at half resolution; the picture itself at 100."""
    if round(quality) >= 100:
        return pixels
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="JPEG", quality=round(quality), subsampling="4:2:0")
    with Image.open(file) as decoded:
        return np.asarray(decoded.convert("RGB"))


def roll_off(linear: Tensor) -> Tensor:
    """Light under the camera's tone curve: nearly straight in the dark, flat towards white.

    Bent by luminance, colors keep their ratios; bent channel by channel, they pale towards the highlights. Cameras lie
    between the two: COLOR_KEPT of the first.
    """
    light = linear.clamp(min=0)
    red, green, blue = light.unbind(1)
    luminance = (red * LUMINANCE[0]).add_(green * LUMINANCE[1]).add_(blue * LUMINANCE[2]).unsqueeze(1)
    level = _curve(light).mul_(1 - COLOR_KEPT).add_(_curve(luminance).mul_(COLOR_KEPT))
    return level.mul_(light).clamp_(max=1)


def _curve(light: Tensor) -> Tensor:
    """Factor by which the tone curve weakens that light."""
    return power(power(light, SHOULDER).add_(1), -1 / SHOULDER)


def encode_srgb(linear: Tensor) -> Tensor:
    """SRGB values of linear light in 0..1 (IEC 61966-2-1): a curve that continues as a straight line below a knee."""
    curve = power(linear.clamp(min=_KNEE), 1 / 2.4).mul_(1.055).sub_(0.055)
    return curve.sub_((_KNEE - linear).clamp_(min=0).mul_(12.92))
