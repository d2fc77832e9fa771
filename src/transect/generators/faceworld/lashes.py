"""Lashes, single where pixels are fine enough and else their mean, and what make-up adds: liner and mascara."""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, coverage, smoothstep
from transect.generators.faceworld.eyes import MM, Lids
from transect.generators.faceworld.textures import sample_mirrored

_SPACING = 3.6
"""Columns of the lattice, in its own units of half its width, per face unit: lashes are about .6 mm apart."""


def lashes(p: Parameters, lids: Lids, radiance: Tensor, hairs: Tensor | None) -> Tensor:
    """The face with its lashes. hairs: lattice [b, rows, columns] of single hairs, or None where pixels are coarse."""
    upper, lower = _upper(p, lids, hairs), _lower(p, lids, hairs)
    dark = 1 - (1 - upper) * (1 - lower) * (1 - _liner(p, lids))
    return radiance * (1 - (dark * lids.front).clamp(max=0.95)).unsqueeze(1)


def _along(lids: Lids, outer: Tensor | float) -> Tensor:
    """1 along the lids, fading at the inner corner and beyond the outer one."""
    return smoothstep(lids.t, -1.0, -0.55) * smoothstep(outer - lids.t, 0.0, 0.16)


def _upper(p: Parameters, lids: Lids, hairs: Tensor | None) -> Tensor:
    """A dark root at the lid's edge, and hairs that fan out over the lid, longest at the outer end."""
    makeup, outer = p["makeup"], smoothstep(lids.t, -0.7, 0.9)
    height = lids.upper - lids.down
    root = coverage((0.75 + 0.2 * makeup + 0.45 * outer) * MM - (height + 0.001).abs(), lids.pixel + 0.003)
    length = (1.9 + 2.3 * outer) * (1.1 - 0.3 * p["face_shape"] + 0.5 * makeup) * MM
    hair = _hairs(lids, height, length, 0.55 * (lids.t + 0.15), hairs)
    density = (1.14 - 0.58 * p["face_shape"] - 0.25 * p["old"] + 0.02 * makeup).clamp(max=0.97) * root
    return 1 - (1 - density * _along(lids, 1.05)) * (1 - (0.70 + 0.25 * makeup) * hair * _along(lids, 1.12))


def _lower(p: Parameters, lids: Lids, hairs: Tensor | None) -> Tensor:
    """Fainter hairs below the rim of the lower lid."""
    depth = lids.down - lids.lower - 1.0 * MM
    length = (1.1 + 0.9 * smoothstep(lids.t, -0.6, 0.8) + 0.6 * p["makeup"]) * MM
    hair = _hairs(lids, depth, length, 0.75 * (lids.t + 0.10), hairs)
    return (0.26 + 0.20 * p["makeup"]) * hair * smoothstep(lids.t, -0.85, 0.0) * smoothstep(1.04 - lids.t, 0.0, 0.1)


def _hairs(lids: Lids, height: Tensor, length: Tensor, lean: Tensor, hairs: Tensor | None) -> Tensor:
    """Coverage of hairs that rise from an edge: dense there, and thinner up to their length."""
    up = height / length
    mean = smoothstep(height, -0.004, 0.002) * (1 - up).clamp(0, 1)
    if hairs is None:
        return 0.60 * mean
    x = _SPACING * (lids.outward - lean * height) + 0.40 * lids.side
    drawn = sample_mirrored(hairs.unsqueeze(1), x, torch.full_like(x, -0.6)).squeeze(1)
    seen = (0.005 / lids.pixel).clamp(max=1)
    single = (
        smoothstep(drawn + 0.9 - 1.6 * up, 0.0, 0.9) * smoothstep(height, -0.004, 0.002) * (1 - 0.5 * up).clamp(0, 1)
    )
    return seen * single + (1 - seen) * 0.60 * mean


def _liner(p: Parameters, lids: Lids) -> Tensor:
    """A pencil's line on the upper lid, drawn out beyond the corner, and a softer one below."""
    wing = lids.upper - 0.16 * (lids.t - 0.90).clamp(min=0) * lids.half
    thick = (0.35 + 0.65 * smoothstep(lids.t, -0.9, 0.9)) * smoothstep(1.20 - lids.t, 0.0, 0.35) * p["makeup"] * MM
    upper = coverage(thick - (lids.down - wing + thick).abs(), lids.pixel + 0.002)
    lower = 0.35 * coverage(0.004 - (lids.down - lids.lower - 0.004).abs(), lids.pixel + 0.004)
    along = smoothstep(lids.t, -1.0, -0.7) * smoothstep(1.16 - lids.t, 0.0, 0.08)
    return p["makeup"] * along * (0.80 * upper + lower * smoothstep(lids.t, -0.4, 0.5)).clamp(max=0.95)
