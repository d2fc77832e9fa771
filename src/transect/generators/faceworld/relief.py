"""The face's relief and its slow shades: sums of axis-parallel Gaussian bumps on a canonical lattice.

A Gaussian with parallel axes is a product of a row and a column, so that all bumps of all maps are one matrix
product per map: height above the smooth head, its slopes, occlusion, blush, and the skin's irregularities. The lattice
does not depend on the picture; the renderer reads it where each pixel looks at the face.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from transect.generators.faceworld.head import EYE_Y
from transect.generators.faceworld.textures import sample, spread

X_EXTENT = 0.72
Y_CENTER, Y_EXTENT = -0.08, 1.02
_COLUMNS, _ROWS = 132, 188
_FIELDS = ("x", "y", "width_x", "width_y", "height", "occlusion", "blush")


Scalar = TypeVar("Scalar", Tensor, float)
"""What a shape is computed from: a number, or a tensor of one per picture."""


@dataclass(frozen=True, slots=True)
class Bump:
    """One bump, mirrored to the other side unless x is 0: center, widths, and its weight in the maps."""

    x: float
    y: float
    width_x: float
    width_y: float
    height: float = 0.0
    occlusion: float = 0.0
    blush: float = 0.0


def eye_x(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of an eye's center from the midline."""
    return 0.27 * (1 + 0.04 * p["eye_spacing"] + 0.03 * p["face_width"])


def nose_half_width(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of a nostril's wing from the midline."""
    return 0.122 * (1 + 0.13 * p["nose_width"] + 0.10 * (p["face_shape"] - 0.5))


def nose_base(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the base of the nose."""
    return 0.285 + 0.030 * p["nose_length"]


def mouth_y(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the line between the lips."""
    return 0.508 + 0.014 * p["mouth_height"] + 0.012 * p["nose_length"]


def _skull(p: Mapping[str, float]) -> list[Bump]:
    masculine, old = p["face_shape"] - 0.5, p["old"]
    ex = eye_x(p)
    return [
        Bump(ex, EYE_Y - 0.01, 0.17, 0.10, -0.090 - 0.016 * masculine - 0.012 * old, 0.85 + 0.2 * masculine),
        Bump(0.13, EYE_Y - 0.02, 0.055, 0.07, -0.03, 0.22),
        Bump(ex + 0.02, -0.285, 0.19, 0.05, 0.026 + 0.05 * max(masculine, -0.4)),
        Bump(0.0, -0.29, 0.11, 0.06, 0.012 + 0.035 * masculine),
        Bump(0.0, -0.50, 0.36, 0.2, 0.022 - 0.02 * masculine, 0.05),
        Bump(0.54, -0.36, 0.09, 0.16, -0.02 - 0.012 * old, 0.05),
        Bump(0.41, 0.07, 0.15, 0.10, 0.048 + 0.016 * p["cheekbones"] - 0.015 * masculine),
        Bump(0.44, 0.34, 0.12, 0.14, -0.022 + 0.022 * p["cheek_fullness"] - 0.022 * old, 0.10 + 0.06 * old),
        Bump(0.0, 0.77, 0.14, 0.10, 0.060 + 0.03 * masculine + 0.016 * p["chin_length"], -0.02),
        Bump(0.0, 0.655, 0.16, 0.035, -0.024, 0.12),
    ]


def _nose(p: Mapping[str, float]) -> list[Bump]:
    base, half = nose_base(p), nose_half_width(p)
    bridge = 1 + 0.26 * p["nose_bridge"] + 0.25 * (p["face_shape"] - 0.5)
    tip = 1 + 0.15 * p["nose_tip"]
    return [
        Bump(0.0, -0.12, 0.05, 0.09, 0.036 * bridge, 0.26),
        Bump(0.0, base - 0.28, 0.052, 0.08, 0.050 * bridge, 0.10),
        Bump(0.0, base - 0.18, 0.058, 0.075, 0.090 * bridge),
        Bump(0.0, base - 0.065, 0.082 * tip, 0.060, 0.135, 0.0, 0.12),
        Bump(0.0, base - 0.01, 0.045, 0.03, 0.05),
        Bump(half * 0.86, base - 0.035, 0.044, 0.042, 0.075, 0.0, 0.2),
        Bump(half * 1.34, base - 0.03, 0.024, 0.045, -0.020, 0.42),
        Bump(0.0, base + 0.03, half * 0.95, 0.024, -0.01, 0.74),
        Bump(0.095, 0.06, 0.045, 0.10, -0.012, 0.10),
        Bump(0.0, base + 0.09, 0.022, 0.05, -0.008, 0.06),
    ]


def _mouth(p: Mapping[str, float]) -> list[Bump]:
    my, full, smile = mouth_y(p), 1 + 0.2 * p["lip_fullness"], p["smile"]
    corner = 0.225 + 0.012 * p["mouth_width"] + 0.065 * smile
    return [
        Bump(0.0, my - 0.01, 0.24 + 0.04 * smile, 0.13, 0.055),
        Bump(0.055, my - 0.035, 0.075, 0.026, 0.022 * full),
        Bump(0.0, my + 0.05, 0.12, 0.032, 0.032 * full),
        Bump(0.0, my + 0.115, 0.13, 0.024, -0.016, 0.20),
        Bump(corner, my - 0.03 * smile, 0.03, 0.03, -0.016, 0.22),
        Bump(0.36 + 0.02 * smile, 0.17 - 0.03 * smile, 0.13, 0.10, 0.035 * smile, 0.0, 0.2 + 0.2 * smile),
    ]


def _folds(p: Mapping[str, float]) -> list[Bump]:
    """Folds from nose to mouth, bags and wrinkles: valleys in the relief, shaded by the light like everything else."""
    old, smile = p["old"], p["smile"]
    depth = 0.006 + 0.016 * old + 0.017 * smile
    bumps = [
        Bump(0.165 + 0.135 * t + 0.02 * smile, 0.265 + 0.20 * t, 0.036, 0.05, -depth * (1 - 0.4 * t), 3.2 * depth)
        for t in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    bumps += [Bump(0.055, y, 0.10, 0.016, -0.0032 * old, 0.09 * old) for y in (-0.43, -0.51, -0.595)]
    bumps += [Bump(0.25, y, 0.13, 0.017, -0.003 * old, 0.085 * old) for y in (-0.445, -0.53, -0.61)]
    bumps += [
        Bump(0.030, -0.265, 0.012, 0.05, -0.004 * old, 0.16 * old),
        Bump(0.47, EYE_Y - 0.045, 0.06, 0.012, -0.003 * old, 0.14 * old + 0.05 * smile),
        Bump(0.475, EYE_Y + 0.01, 0.06, 0.012, -0.003 * old, 0.14 * old + 0.05 * smile),
        Bump(0.465, EYE_Y + 0.06, 0.06, 0.012, -0.003 * old, 0.12 * old + 0.05 * smile),
        Bump(eye_x(p) - 0.02, EYE_Y + 0.105, 0.12, 0.022, -0.006 * (0.4 + old), 0.10 + 0.16 * old + 0.06 * smile),
        Bump(eye_x(p), EYE_Y + 0.075, 0.12, 0.03, 0.012 * (0.5 + old + smile)),
        Bump(0.27, 0.66, 0.04, 0.09, -0.012 * old, 0.16 * old),
        Bump(0.40, 0.60, 0.10, 0.08, 0.022 * old),
    ]
    return bumps


def _blush(p: Mapping[str, float]) -> list[Bump]:
    makeup = p["makeup"]
    return [
        Bump(0.42, 0.12, 0.19, 0.12, blush=0.12 + 0.5 * makeup),
        Bump(0.0, 0.78, 0.16, 0.08, blush=0.25),
        Bump(0.0, -0.45, 0.3, 0.16, blush=0.10),
        Bump(eye_x(p), EYE_Y + 0.1, 0.13, 0.05, blush=0.25),
    ]


def _mirrored(bumps: list[Bump]) -> list[Bump]:
    """The bumps with their mirror images; those on the midline once."""
    return bumps + [replace(b, x=-b.x) for b in bumps if b.x != 0]


def face_maps(p: Mapping[str, Tensor], lattices: Mapping[str, Tensor]) -> Tensor:
    """[1, 8, rows, columns] of one subject: height, slopes in x and y, occlusion, blush, mottle, pores, freckles."""
    q = {name: float(value) for name, value in p.items() if value.numel() == 1}
    bumps = _mirrored(_skull(q) + _nose(q) + _mouth(q) + _folds(q) + _blush(q))
    x = torch.linspace(-X_EXTENT, X_EXTENT, _COLUMNS).view(1, 1, -1)
    y = torch.linspace(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT, _ROWS).view(1, 1, -1)
    fields = torch.tensor([[getattr(one, name) for one in bumps] for name in _FIELDS], dtype=torch.float32)
    b = {name: field.view(1, -1, 1) for name, field in zip(_FIELDS, fields, strict=True)}
    dx, dy = (x - b["x"]) / b["width_x"], (y - b["y"]) / b["width_y"]
    across, down = torch.exp(-dx * dx), torch.exp(-dy * dy)
    raised = across * b["height"]
    rows = torch.stack([down, down, down * (-2 * dy / b["width_y"]), down, down], dim=1)
    columns = [raised, raised * (-2 * dx / b["width_x"]), raised, across * b["occlusion"], across * b["blush"]]
    shaped = rows.transpose(2, 3) @ torch.stack(columns, dim=1)
    irregular = [spread(lattices[name], _ROWS, _COLUMNS) for name in ("mottle", "pores", "freckles")]
    return torch.cat([shaped, torch.stack(irregular, dim=1)], dim=1)


def read_maps(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The maps at face coordinates x, y [b, h, w]: [b, c, h, w]."""
    return sample(maps, x / X_EXTENT, (y - Y_CENTER) / Y_EXTENT)
