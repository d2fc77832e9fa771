"""Eyes and brows: lids, lashes, iris and the shade of the lids, drawn where each pixel looks at the face.

Both eyes at once: outward distance from an eye's own center replaces x. In photographs the whole eye is dark, about a
quarter of the cheek's luminance: lids and lashes keep light away and the sclera is darker than a lit cheek.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import (
    Parameters,
    beyond,
    bump,
    color,
    coverage,
    mix,
    over,
    power,
    smoothstep,
    tint,
)
from transect.generators.faceworld.head import EYE_Y, Frame
from transect.generators.faceworld.lighting import Illumination, light_color
from transect.generators.faceworld.relief import eye_x
from transect.generators.faceworld.textures import sample_mirrored

HALF_WIDTH = 0.140
"""Half the width of an average eye's opening, in face units."""

BROW_HALF_WIDTH = 0.195
"""Half the length of an average brow."""

IRIS_RADIUS, PUPIL_RADIUS = 0.054, 0.021


@dataclass(frozen=True, slots=True, eq=False)
class Lids:
    """An eye's own coordinates and the edges of its lids, [b, h, w]; `front` is 0 where the head turns away.

    outward: from the eye's center towards the temple; down: from the line between its corners; half: its half width;
    upper, lower: `down` of the lids' edges at that `outward`.
    """

    pixel: Tensor
    outward: Tensor
    down: Tensor
    half: Tensor
    upper: Tensor
    lower: Tensor
    front: Tensor


def eyes(frame: Frame, p: Parameters, radiance: Tensor, light: Illumination) -> Tensor:
    """The face with its eyes."""
    lids = locate_lids(frame, p)
    radiance = _lid_skin(p, lids, radiance)
    radiance = over(radiance, _eyeball(frame, p, lids, light), eye_opening(lids))
    return _lashes(p, lids, radiance)


def eye_opening(lids: Lids) -> Tensor:
    """Coverage of what is seen of the eyeballs between the lids."""
    inside = torch.minimum(lids.down - lids.upper, lids.lower - lids.down).minimum(lids.half - lids.outward.abs())
    return coverage(inside, lids.pixel) * lids.front


def locate_lids(frame: Frame, p: Parameters) -> Lids:
    """The lids at each pixel: an arch each, which age, smile and identity lower or raise."""
    outward = frame.face.x.abs() - eye_x(p)
    half, upper, lower = lid_edges(p, outward / eye_half_width(p))
    front = beyond(frame.face.cosine)
    return Lids(frame.pixel, outward, frame.face.y - eye_line(p, outward), half, upper, lower, front)


def eye_half_width(p: Parameters) -> Tensor:
    """Half the width of the eye's opening."""
    return HALF_WIDTH * (1 + 0.07 * p["eye_size"] - 0.06 * (p["face_shape"] - 0.5))


def eye_line(p: Parameters, outward: Tensor) -> Tensor:
    """Height of the line between the eye's corners; identity tilts it, and age lowers its outer end."""
    return EYE_Y - (0.06 + 0.07 * p["eye_tilt"]) * outward + 0.10 * p["old"] * outward.clamp(min=0)


def lid_edges(p: Parameters, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Half width, and the upper and lower lid's edge below the eye's line at t = -1 (inner corner) .. 1 (outer)."""
    t = t.clamp(-1, 1)
    arch = (1 - t * t).clamp(min=0)
    masculine = p["face_shape"] - 0.5
    openness = 1 + 0.17 * p["eye_openness"] - 0.10 * masculine - 0.14 * p["old"] - 0.12 * p["smile"]
    openness = openness + 0.10 * p["brow_raise"]
    size = 1 + 0.07 * p["eye_size"]
    upper = -0.061 * size * openness * arch.sqrt() * (0.84 + 0.16 * arch) * (1 - 0.10 * t)
    lower = 0.039 * size * (openness - 0.26 * p["smile"]) * power(arch, 0.8) * (1 + 0.18 * t)
    return eye_half_width(p), upper, lower


def _lid_skin(p: Parameters, lids: Lids, radiance: Tensor) -> Tensor:
    """The fold of the upper lid, the shade of the socket, and eye shadow."""
    t, v = lids.outward / lids.half, lids.down
    near = smoothstep(1.25 - t.abs(), 0.0, 0.35) * lids.front
    fold = lids.upper - 0.035 - 0.013 * p["eyelid_fold"].clamp(-2, 2)
    crease = bump(v - fold, 0.013) * near * (0.42 + 0.10 * p["eyelid_fold"]).clamp(min=0.1)
    socket = bump(v - lids.upper + 0.015, 0.075) * bump(t, 1.25) * lids.front
    # The little light from a socket has crossed skin and is redder.
    dark = torch.exp(-1.64 * socket.unsqueeze(1) * color(radiance, 0.92, 1.02, 1.04))
    radiance = radiance * (1 - crease).unsqueeze(1) * dark
    lid = smoothstep(v, -0.17, -0.09) * (1 - smoothstep(v, -0.01, 0.05)) * near
    shadow = color(radiance, 0.50, 0.36, 0.52)
    return radiance * (1 + (0.65 * p["makeup"] * lid).unsqueeze(1) * (shadow - 1))


def _eyeball(frame: Frame, p: Parameters, lids: Lids, light: Illumination) -> Tensor:
    """Radiance of sclera, iris and pupil under the lids' shade; the eyes look at the camera in every pose."""
    side = torch.sign(frame.face.x)
    dx = lids.outward + (0.045 * p["sin_yaw"] - 0.034 * p["gaze"]) * side
    dy = lids.down - 0.03 * p["sin_pitch"] + 0.014
    radius = (dx * dx + dy * dy).sqrt()
    lid_shade = 0.44 + 0.56 * smoothstep(lids.down - lids.upper, -0.005, 0.05)
    shade = lid_shade * (0.19 + 0.30 * light.diffuse.clamp(max=1.3) + 0.30 * p["fill"])
    sclera = color(p["iris"], 0.60, 0.51, 0.47) * p["sclera"].unsqueeze(1)
    ball = tint(sclera, shade * (1 - 0.45 * power((lids.outward / lids.half).abs().clamp(max=1), 2.5)))
    ring = (
        0.85 + 0.40 * (radius / IRIS_RADIUS).clamp(max=1) - 0.65 * smoothstep(radius, 0.75 * IRIS_RADIUS, IRIS_RADIUS)
    )
    ball = over(ball, tint(p["iris"], 1.35 * shade * ring), coverage(IRIS_RADIUS - radius, lids.pixel))
    ball = over(ball, color(ball, 0.006, 0.006, 0.006), coverage(PUPIL_RADIUS - radius, lids.pixel))
    glint_x, glint_y = dx - side * 0.020 * torch.sign(p["light_x"]), dy + 0.018
    glint = coverage(0.013 - (glint_x**2 + glint_y**2).sqrt(), lids.pixel)
    return (ball + 0.16 * (glint * lid_shade).unsqueeze(1)) * light_color(ball)


def _lashes(p: Parameters, lids: Lids, radiance: Tensor) -> Tensor:
    """Dark lines along the lids; make-up thickens them and draws the upper one out."""
    v, makeup = lids.down, p["makeup"]
    reach = lids.half * (1.06 + 0.16 * makeup)
    across = smoothstep(reach - lids.outward, -0.01, 0.05) * smoothstep(lids.outward + lids.half, -0.01, 0.07)
    thickness = 0.012 + 0.004 * smoothstep(lids.outward, -lids.half, lids.half) + 0.008 * makeup
    upper = coverage(thickness - (v - lids.upper + 0.5 * thickness).abs(), lids.pixel)
    lower = coverage(0.006 + 0.004 * makeup - (v - lids.lower).abs(), lids.pixel)
    density = (0.88 + 0.10 * makeup) * upper + (0.30 + 0.35 * makeup) * lower * (1 - upper)
    return radiance * (1 - (density * across * lids.front).clamp(max=0.93)).unsqueeze(1)


def brows(frame: Frame, p: Parameters, radiance: Tensor, hairs: Tensor) -> Tensor:
    """The face with its brows. Hair over skin takes light away, so that brows are darker than skin of any tone.

    hairs: lattice [b, rows, columns] of strands.
    """
    masculine = p["face_shape"] - 0.5
    t = (frame.face.x.abs() - eye_x(p)) / BROW_HALF_WIDTH
    taper = (1 - 0.66 * smoothstep(t, -0.1, 1.0)) * (0.70 + 0.30 * smoothstep(t, -1.0, -0.5))
    half = (0.041 + 0.009 * p["brow_thickness"].clamp(-2, 2) + 0.006 * masculine) * taper * (1 - 0.15 * p["old"])
    down = frame.face.y - brow_line(p, t)
    # Hairs stand up at the inner end and lie along the brow at the outer one.
    across = 4.6 * t * BROW_HALF_WIDTH + (1.2 + 5.0 * smoothstep(t, -0.9, 0.3)) * down
    strokes = sample_mirrored(hairs.unsqueeze(1), across, 3.0 * down).squeeze(1) * (0.006 / frame.pixel).clamp(max=1)
    inside = half - down.abs() + 0.005 * strokes
    ends = smoothstep(1.05 - t.abs(), 0.0, 0.30) * beyond(frame.face.cosine)
    edge = smoothstep(inside, -0.015 - 0.5 * frame.pixel, 0.025 + 0.5 * frame.pixel)
    density = (0.97 + 0.03 * masculine + 0.17 * strokes).clamp(0.3, 0.98) * edge * ends
    density = density * (0.78 + 0.22 * smoothstep(t, -1.0, -0.45))
    # The darker the skin, the less do hairs of the same color stand out from it.
    deep = (1 - p["beside_skin"]).clamp(min=0).unsqueeze(1)
    pigment = torch.minimum(p["hair"] / (0.30 - 0.18 * deep), 0.175 + 0.25 * deep)
    return radiance * mix(torch.ones_like(pigment), pigment, density.unsqueeze(1))


def brow_line(p: Parameters, t: Tensor) -> Tensor:
    """Height of the brow's middle line at t = -1 (inner end) .. 1 (outer end)."""
    masculine = p["face_shape"] - 0.5
    arch = (0.040 + 0.023 * p["brow_arch"] - 0.030 * masculine).clamp(min=0.002)
    lift = 0.016 * p["brow_height"] - 0.055 * masculine - 0.012 * p["old"] + 0.030 * p["brow_raise"]
    frown = 0.022 * (-p["brow_raise"]).clamp(min=0) * (0.6 - t).clamp(min=0)
    return EYE_Y - 0.185 - lift - arch * (1 - (t - 0.25) ** 2) + 0.012 * t + frown
