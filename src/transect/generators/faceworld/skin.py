"""Skin: pigment under a thin layer of blood, lit; the face, the neck and the ears.

Reflectance is the tone's swatch times what blood and irregularities do to it; skin's scattering reddens the terminator.
Oil and water on top reflect a little of the light whatever the tone, which is why dark skin shows highlights most.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump, color, coverage, mix, smoothstep
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import Illumination, illuminate, light_color, relieved
from transect.generators.faceworld.relief import nose_base, read_maps

SHEEN = 0.055
"""Reflectance of the skin's surface at the peak of the highlight."""

SURROUNDINGS = 0.012
"""Radiance of the surroundings that oil and water on the skin mirror, where all light reaches it."""

_BLOOD = (0.16, -0.16, -0.13)


def face_skin(frame: Frame, p: Parameters, maps: Tensor) -> tuple[Tensor, Illumination]:
    """Radiance [b, 3, h, w] of the head's bare skin, and the light on it."""
    face = frame.face
    _, slope_x, slope_y, occlusion, blush, mottle, pores, freckles = read_maps(maps, face.x, face.y).unbind(1)
    front = smoothstep(face.cosine, 0.0, 0.35)
    occlusion = occlusion.clamp(min=0) * front + 0.20 * smoothstep(face.y, 0.78, 0.95)
    normal = relieved(frame.normal, slope_x * front, slope_y * front)
    light = illuminate(p, normal, occlusion, _cast_shadow(frame, p) * front)
    rough = 0.215 * mottle + (0.125 + 0.025 * p["old"]) * (1 - 0.6 * p["makeup"]) * pores
    spots = smoothstep(freckles, 1.1, 2.0) * (0.10 * smoothstep(p["complexion"], 0.4, 1.6) + 0.12 * p["old"])
    albedo = p["skin"] * (1 + rough - spots * front).unsqueeze(1)
    albedo = albedo * blood(albedo, (0.45 + blush * front + 0.35 * mottle + 0.25 * p["complexion"]) * _translucency(p))
    light = light._replace(highlight=light.highlight * (1 - 0.4 * p["makeup"]))
    return lit_skin(p, albedo, light), light


def lit_skin(p: Parameters, albedo: Tensor, light: Illumination) -> Tensor:
    """Radiance of skin of that reflectance: diffuse light that reddens as it fails, and the sheen."""
    failing = (1 - light.diffuse).clamp(0, 1).unsqueeze(1)
    scattered = albedo * light.diffuse.unsqueeze(1) * (1 + failing * color(albedo, 0.07, -0.025, -0.05))
    # Oil and water are the same on every tone, but swatches are darker than living skin: see parameters.beside_skin.
    sheen = SHEEN * p["beside_skin"] ** 0.6
    mirrored = light.highlight * sheen + SURROUNDINGS * light.diffuse.clamp(max=1)
    return (scattered + mirrored.unsqueeze(1)) * light_color(albedo)


def _translucency(p: Parameters) -> Tensor:
    """How much of the blood shows through the pigment above it."""
    return 0.25 + 0.65 * p["beside_skin"].clamp(max=1.1)


def blood(like: Tensor, amount: Tensor) -> Tensor:
    """What more (or less) blood under the skin does to its reflectance."""
    return 1 + amount.unsqueeze(1) * color(like, *_BLOOD)


def _cast_shadow(frame: Frame, p: Parameters) -> Tensor:
    """Optical depth of the shadows that nose, brows and lips cast away from the key light."""
    x, y = frame.face.x, frame.face.y
    side, up = p["key_x"], -p["key_y"]
    beside_nose = bump(x + 0.15 * torch.tanh(4 * side), 0.075) * bump(y - nose_base(p) + 0.10, 0.13)
    below_nose = bump(x + 0.10 * side, 0.085) * bump(y - nose_base(p) - 0.06, 0.042)
    below_brow = bump(x.abs() - 0.24, 0.17) * bump(y + 0.17, 0.06)
    below_lip = bump(x + 0.05 * side, 0.12) * bump(y - 0.64, 0.04)
    risen = smoothstep(up, 0.1, 0.9)
    return 1.0 * side.abs() * beside_nose + risen * (0.7 * below_nose + 0.5 * below_brow + 0.5 * below_lip)


def neck(frame: Frame, p: Parameters) -> tuple[Tensor, Tensor]:
    """Radiance of the neck, darkened by the head above it, and its coverage."""
    half = 0.355 + 0.085 * (p["face_shape"] - 0.5) + 0.012 * p["neck_width"] + 0.015 * p["face_width"]
    center = 0.10 * torch.sin(p["yaw"]) - 0.35 * torch.sin(p["roll"])
    x = (frame.X - center) / half
    flare = 1 + 0.5 * smoothstep(frame.Y, 0.95, 1.5)
    edge = (flare - x.abs()) * half
    sine = (x / flare).clamp(-1, 1)
    normal = (sine, torch.full_like(sine, 0.15), (1 - sine * sine).clamp(min=0.02).sqrt())
    chin_shadow = 1.1 * (1 - smoothstep(frame.Y - 0.12 * x * x, 0.80, 1.45))
    sides = 0.5 * smoothstep(sine.abs(), 0.6, 1.0)
    light = illuminate(p, normal, 0.20 + 0.55 * chin_shadow + sides, 1.2 * chin_shadow)
    cords = 0.05 * torch.cos(9 * x) * p["old"]
    radiance = lit_skin(p, p["skin"] * blood(p["skin"], 0.4 + 0 * x) * (0.96 + cords).unsqueeze(1), light)
    return radiance, coverage(edge, frame.pixel) * smoothstep(frame.Y, 0.3, 0.32)


def ears(frame: Frame, p: Parameters) -> list[tuple[Tensor, Tensor]]:
    """Radiance and coverage of each ear; the far one disappears behind the head as the head turns."""
    layers = []
    for side in (-1.0, 1.0):
        x, y = ear_coordinates(frame, p, side)
        radius = ((x - 0.012) / 0.068) ** 2 + (y / (0.155 - 0.03 * (y > 0))) ** 2
        edge = (1 - radius) * 0.05
        shell = bump(radius - 0.72, 0.28)
        hollow = bump((x + 0.018) / 0.03, 1.0) * bump((y + 0.01) / 0.07, 1.0)
        facing = (side * (0.45 + 0.4 * shell), torch.full_like(x, -0.05), torch.full_like(x, 0.8))
        light = illuminate(p, facing, 0.35 + 0.75 * hollow - 0.15 * shell)
        albedo = p["skin"] * blood(p["skin"], 0.9 + 0 * x)
        visible = coverage(edge, frame.pixel)
        behind = smoothstep(side * torch.sin(p["yaw"]), -0.10, 0.02)
        layers.append((lit_skin(p, albedo, light), visible * (1 - frame.head * behind)))
    return layers


def ear_coordinates(frame: Frame, p: Parameters, side: float) -> tuple[Tensor, Tensor]:
    """X outward and y down from the middle of an ear, in units of an average ear."""
    width = 0.613 * (1 + 0.055 * p["face_width"])
    x = width * side * torch.cos(p["yaw"]) - 0.06 * torch.sin(p["yaw"])
    y = 0.03 * torch.cos(p["pitch"]) + 0.1 * torch.sin(p["pitch"])
    size = 1 + 0.07 * p["ear_size"] + 0.12 * p["old"]
    outward = side * (frame.U - x)
    return outward / size, (frame.V - y + 0.12 * outward) / size


def lip_reflectance(p: Parameters) -> Tensor:
    """Lips are skin with less pigment and more blood; lipstick lies on top, lightest where skin is light."""
    bare = p["skin"] * color(p["skin"], 0.31, 0.115, 0.135)
    stick = color(p["skin"], 0.44, 0.030, 0.065) * (0.35 + 0.65 * p["beside_skin"].unsqueeze(1)).clamp(max=1.2)
    return mix(bare, stick, 0.88 * p["lipstick"].unsqueeze(1))
