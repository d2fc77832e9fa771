"""Light on the head, and skin under it."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.reflectance import MIRRORED
from transect.generators.faceworld.rows import Parameters, Vector, bump, color, coverage, mix, smoothstep, unit
from transect.generators.photographs.drawn.head import Frame, nose_base

KEY, AMBIENT, WRAP = 1.32, 0.157, 0.10
LIGHT_COLOR = (1.120, 0.973, 0.914)
"""What a camera's white balance leaves of a warm light, as in most portrait photographs: it discounts most of it."""


class Illumination(NamedTuple):
    """diffuse: irradiance [b, h, w]; highlight: 0..1 lobe [b, h, w]."""

    diffuse: Tensor
    highlight: Tensor


def illuminate(
    p: Parameters, normal: Vector, occlusion: Tensor | float = 0.0, shadow: Tensor | float = 0.0
) -> Illumination:
    """Light on a surface. normal: in the head's frame; optical depths: occlusion of all light, shadow of the key."""
    _, ny, nz = normal
    key = (toward(normal, p, "key") + WRAP).clamp_(min=0).mul_(KEY / (1 + WRAP))
    ambient = p["ambient"] * (0.86 - 0.24 * ny + 0.10 * nz)
    diffuse, highlight = ambient + key * _passed(shadow), _highlight(p, normal)
    open_sky = _passed(occlusion)
    return Illumination(diffuse * open_sky, highlight * open_sky)


def toward(vector: Vector, p: Parameters, name: str) -> Tensor:
    """Product of a vector with that of the parameters: for unit vectors, the cosine between them."""
    x, y, z = vector
    return (x * p[f"{name}_x"]).addcmul_(y, p[f"{name}_y"]).addcmul_(z, p[f"{name}_z"])


def _passed(depth: Tensor | float) -> Tensor | float:
    """The share of light that passes an optical depth."""
    return torch.exp(-depth) if isinstance(depth, Tensor) else math.exp(-depth)


def _highlight(p: Parameters, normal: Vector) -> Tensor:
    """Blinn's lobe with an exponent of 14."""
    lobe = toward(normal, p, "half").clamp_(min=0)
    second = lobe * lobe
    fourth = second * second
    return (fourth * fourth).mul_(fourth).mul_(second).mul_(toward(normal, p, "eye_from").clamp_(0, 1))


def relieved(normal: Vector, slope_x: Tensor, slope_y: Tensor) -> Vector:
    """The smooth head's normal tilted by the relief's slopes; the relief has no effect at silhouettes (nz = 0)."""
    nx, ny, nz = normal
    forward = nz.clamp(min=0)
    return unit(nx - forward * slope_x, ny - forward * slope_y, nz)


def light_color(like: Tensor) -> Tensor:
    """The light's color, [1, 3, 1, 1]."""
    return color(like, *LIGHT_COLOR)


SHEEN = 0.055
"""Reflectance of the skin's surface at the peak of the highlight."""

SURROUNDINGS = MIRRORED
"""Radiance of the surroundings that oil and water on the skin mirror, where all light reaches it."""

_BLOOD = (0.16, -0.16, -0.13)


def face_skin(frame: Frame, p: Parameters, details: Tensor) -> tuple[Tensor, Illumination]:
    """Radiance [b, 3, h, w] of the head's bare skin, and the light on it. details: see heads.Heads."""
    face = frame.face
    nx, ny, nz, slope_x, slope_y, occlusion, blush, mottle, pores, freckles = details.unbind(1)
    front = smoothstep(face.cosine, 0.0, 0.35)
    occlusion = occlusion.clamp(min=0) * front + 0.06 * smoothstep(face.y, 0.82, 0.98)
    normal = relieved((nx, ny, nz), slope_x * front, slope_y * front)
    light = illuminate(p, normal, occlusion, _cast_shadow(frame, p) * front)
    # Neck and chest throw light back at what faces them.
    light = light._replace(diffuse=light.diffuse + 0.09 * smoothstep(normal[1], 0.25, 0.95))
    rough = (0.173 - 0.045 * p["young"]) * mottle + (0.13 + 0.025 * p["old"]) * (1 - 0.6 * p["makeup"]) * (
        1 - 0.4 * p["young"]
    ) * pores
    spots = smoothstep(freckles, 1.1, 2.0) * (0.10 * smoothstep(p["complexion"], 0.4, 1.6) + 0.12 * p["old"])
    # Highlighter lies on the cheeks, which a smile or a dropped jaw turns to the light. The skin of masculine faces is
    # darker at nose and chin.
    cheeks = bump(face.x.abs() - 0.27, 0.17) * bump(face.y - 0.18, 0.15)
    lighter = (0.22 * p["makeup"] + 0.095 * p["smile"] + 0.05 * p["mouth_open"]) * cheeks
    nose = 0.4 * bump(face.x, 0.13) * bump(face.y - 0.16, 0.26)
    darker = 0.16 * (p["face_shape"] - 0.5) * (smoothstep(face.y, 0.42, 0.62) + nose)
    albedo = p["skin"] * (1 + rough - spots * front + 0.02 * p["makeup"] + lighter - darker).unsqueeze(1)
    albedo = albedo * blood(
        albedo, (_flush(p) * (1 - 0.3 * p["makeup"]) + blush * front - 0.16 * mottle).clamp(min=0.1) * _translucency(p)
    )
    light = light._replace(highlight=light.highlight * (1 - 0.6 * p["makeup"]))
    return lit_skin(p, albedo, light._replace(highlight=_gloss(frame, light.highlight))), light


def _gloss(frame: Frame, highlight: Tensor) -> Tensor:
    """The highlight of a face: wide everywhere, and a narrow one where skin is oily: forehead, nose and chin."""
    second = highlight * highlight
    return 0.77 * highlight + (0.12 + 0.52 * bump(frame.face.x, 0.17)) * second * second


def lit_skin(p: Parameters, albedo: Tensor, light: Illumination) -> Tensor:
    """Radiance of skin of that reflectance: diffuse light that reddens as it fails, and the sheen."""
    failing = (1 - light.diffuse).clamp(0, 1).unsqueeze(1)
    scattered = albedo * light.diffuse.unsqueeze(1) * (1 + failing * color(albedo, 0.07, -0.025, -0.05))
    # Where much melanin is, returned light has crossed much skin, and only red light passes far. Fair skin holds
    # carotene and bilirubin, which the swatches do not show.
    deep = (1 - p["beside_skin"]).clamp(min=0).unsqueeze(1)
    fair = (p["beside_skin"] - 0.75).clamp(min=0).unsqueeze(1)
    living = 1 + deep * deep * deep * color(albedo, 0.46, -0.03, -0.11) + fair * color(albedo, 0.02, 0.0, -0.12)
    scattered = scattered * living
    # Oil and water are the same on every tone, but swatches are darker than living skin: see parameters.beside_skin.
    sheen = SHEEN * p["sheen"]
    mirrored = light.highlight * sheen + SURROUNDINGS * light.diffuse.clamp(max=1)
    return (scattered + mirrored.unsqueeze(1)) * light_color(albedo)


def _flush(p: Parameters) -> Tensor:
    """How much blood the skin of a person carries."""
    return 0.60 + 0.18 * p["complexion"].clamp(-2, 2) + 0.20 * (p["face_shape"] - 0.5)


def _translucency(p: Parameters) -> Tensor:
    """How much of the blood shows through the pigment above it."""
    return 0.15 + 0.75 * p["beside_skin"].clamp(max=1.1)


def shown_blood(p: Parameters, more: float | Tensor) -> Tensor:
    """How much blood shows where the skin carries so much more than elsewhere."""
    return (_flush(p) + more) * _translucency(p)


def blood(like: Tensor, amount: Tensor) -> Tensor:
    """What more (or less) blood under the skin does to its reflectance."""
    return 1 + amount.unsqueeze(1) * color(like, *_BLOOD)


def _cast_shadow(frame: Frame, p: Parameters) -> Tensor:
    """Optical depth of the shadows that nose, brows and lips cast away from the key light."""
    x, y = frame.face.x, frame.face.y
    side, up = p["key_x"], -p["key_y"]
    nose_shade = bump(x + 0.15 * p["nose_side"], 0.105) * bump(y - nose_base(p) + 0.10, 0.16)
    below_nose = bump(x + 0.10 * side, 0.085) * bump(y - nose_base(p) - 0.06, 0.055)
    below_brow = bump(x.abs() - 0.24, 0.17) * bump(y + 0.17, 0.06)
    below_lip = bump(x + 0.05 * side, 0.12) * bump(y - 0.66 - 0.12 * p["mouth_open"], 0.04)
    risen = smoothstep(up, 0.1, 0.9)
    return 0.95 * side.abs() * nose_shade + risen * (0.55 * below_nose + 0.5 * below_brow + 0.28 * below_lip)


def neck(frame: Frame, p: Parameters) -> tuple[Tensor, Tensor]:
    """Radiance of the neck, darkened by the head above it, and its coverage."""
    half = neck_half_width(p)
    center = 0.10 * p["sin_yaw"] - 0.35 * p["sin_roll"]
    x = (frame.X - center) / half
    flare = neck_flare(p, frame.Y)
    edge = (flare - x.abs()) * half
    sine = (x / flare).clamp(-1, 1)
    # The muscles that run from behind the ears to the collarbones, and the hollow between them.
    cord = x.abs() - 0.74 + 0.80 * (frame.Y - 0.75)
    tilt = -0.34 * bump(cord + 0.09, 0.11) + 0.34 * bump(cord - 0.10, 0.13)
    normal = unit(sine + torch.sign(x) * tilt, 0.15 + 0 * sine, (1 - sine * sine).clamp(min=0.04).sqrt())
    below = _below_jaw(frame, p)
    near, cast = bump(below, 0.11), bump(below, 0.30)
    sides = 0.40 * smoothstep(sine.abs(), 0.55, 1.0)
    hollow = 0.22 * bump(x, 0.20) * smoothstep(frame.Y, 0.92, 1.15)
    light = illuminate(p, normal, 0.12 + 0.50 * near + 0.05 * cast + sides + hollow, 0.70 * cast)
    folds = 0.05 * torch.cos(34 * frame.Y + 1.5 * x * x) * p["old"]
    radiance = lit_skin(
        p,
        p["skin"] * blood(p["skin"], (_flush(p) - 0.05) * _translucency(p) + 0 * x) * (0.96 + folds).unsqueeze(1),
        light,
    )
    return radiance, coverage(edge, frame.pixel) * smoothstep(frame.Y, 0.3, 0.32)


def _below_jaw(frame: Frame, p: Parameters) -> Tensor:
    """How far a place of the picture lies below the line of the jaw, which keeps light from the neck; 0 above it."""
    across = frame.U - 0.45 * p["sin_yaw"]
    edge = 0.87 + p["chin_drop"] - 1.45 * across * across - 0.50 * p["sin_pitch"]
    return (frame.V - edge).clamp(min=0)


def neck_half_width(p: Parameters) -> Tensor:
    """Half the breadth of the neck below the jaw: 105 to 125 mm across in adults (Gordon et al. 2014, ANSUR II)."""
    bones = 0.041 * p["face_width"] + 0.016 * p["jaw_width"]
    return 0.450 + 0.10 * (p["face_shape"] - 0.5) + 0.020 * p["neck_width"] + bones


def neck_flare(p: Parameters, Y: Tensor) -> Tensor:
    """How wide the neck is at each height, over that below the jaw: narrower behind the jaw, wider at the shoulders."""
    low = Y - 0.83 - 0.5 * p["chin_drop"]
    below = low.clamp(min=0)
    flare = 0.35 * below + 6.0 * below * below
    # The shoulders themselves are the clothes'.
    return 1 + flare / (1 + 1.6 * flare) - 0.30 * (-low).clamp(0, 0.6)


def lip_reflectance(p: Parameters) -> Tensor:
    """Lips are skin with less pigment and more blood; lipstick lies on top, lightest where skin is light."""
    deep = (1 - p["beside_skin"]).clamp(0, 1).unsqueeze(1)
    bare = p["skin"] * mix(color(p["skin"], 0.30, 0.105, 0.120), color(p["skin"], 0.42, 0.190, 0.180), deep)
    stick = color(p["skin"], 0.17, 0.022, 0.035) * (0.24 + 0.76 * p["beside_skin"].unsqueeze(1)).clamp(max=1.2)
    bare = bare * (1 - 0.12 * (p["face_shape"] - 0.5)).unsqueeze(1)
    return mix(bare, stick, 0.88 * p["lipstick"].unsqueeze(1))
