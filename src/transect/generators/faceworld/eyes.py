"""Eyes: where their lids run, and the skin around them, drawn where each pixel looks at the face.

Both eyes at once: outward distance from an eye's own center replaces x. An eye keeps its size and its irises stay round
however a face is stretched: lengths at an eye are those of a rigid eye, MM a millimeter where pupils are 63 apart.
Sizes: Farkas 1994, Anthropometry of the head and face; Rüfer et al. 2005, doi:10.1097/01.ico.0000148312.01805.53.
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
    smoothstep,
)
from transect.generators.faceworld.head import EYE_Y, Frame
from transect.generators.faceworld.relief import eye_x

MM = 0.54 / 63
"""A millimeter at an eye, in face units: pupils lie .54 and on average 63 mm apart."""

HALF_WIDTH, ABOVE, BELOW = 14.8 * MM, 6.1 * MM, 4.1 * MM
"""Half the width of an average eye's opening, and how far its lids are from the line between its corners: openings are
28 to 31 mm wide and 9 to 11 mm high."""

SOCKET, INNER = 0.93, 0.45
"""Optical depth of the shade above an eye, and of that between its inner corner and the brow."""


@dataclass(frozen=True, slots=True, eq=False)
class Lids:
    """An eye's own coordinates and the edges of its lids, [b, h, w]; `front` is 0 where the head turns away.

    side: -1 for the eye at the viewer's left, 1 for the other. outward: from the eye's center towards the temple; down:
    from the line between its corners; half: its half width; t: outward in half widths, arch: 1 - t²; upper, lower:
    `down` of the lids' edges at that `outward`.
    """

    pixel: Tensor
    side: Tensor
    outward: Tensor
    down: Tensor
    half: Tensor
    t: Tensor
    arch: Tensor
    upper: Tensor
    lower: Tensor
    front: Tensor


def locate_lids(frame: Frame, p: Parameters) -> Lids:
    """The lids at each pixel: an arch each, which age, smile and identity lower or raise."""
    across = frame.face.x.abs() - eye_x(p)
    outward, half = across * p["eye_wide"], _half_width(p)
    down = (frame.face.y - eye_line(p, across)) * p["eye_tall"]
    t = outward / half
    arch, upper, lower = _edges(p, t)
    front, side = beyond(frame.face.cosine), torch.sign(frame.face.x)
    return Lids(frame.pixel, side, outward, down, half, t, arch, upper, lower, front)


def eye_opening(lids: Lids) -> Tensor:
    """Coverage of what is seen of the eyeballs between the lids."""
    inside = torch.minimum(lids.down - lids.upper, lids.lower - lids.down).minimum(lids.half - lids.outward.abs())
    return coverage(inside, lids.pixel) * lids.front


def eye_line(p: Parameters, outward: Tensor) -> Tensor:
    """Height of the line between the eye's corners; identity tilts it, and age lowers its outer end."""
    return EYE_Y - (0.06 + 0.07 * p["eye_tilt"]) * outward + 0.10 * p["old"] * outward.clamp(min=0)


def lid_edges(p: Parameters, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Half width, and the upper and lower lid's edge below the eye's line at t = -1 (inner corner) .. 1 (outer), as
    they lie on the face, which stretches an eye's own lengths.
    """
    _, upper, lower = _edges(p, t)
    return _half_width(p) / p["eye_wide"], upper / p["eye_tall"], lower / p["eye_tall"]


def _half_width(p: Parameters) -> Tensor:
    return HALF_WIDTH * (1 + 0.04 * p["eye_size"] - 0.02 * (p["face_shape"] - 0.5))


def _edges(p: Parameters, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """1 - t², and the lids' edges: an almond, highest next to the nose and lowest next to the temple."""
    t = t.clamp(-1, 1)
    arch = (1 - t * t).clamp(min=0)
    root = arch.sqrt()
    openness = 1 + 0.10 * p["eye_openness"] - 0.03 * (p["face_shape"] - 0.5) - 0.05 * p["old"] + 0.08 * p["brow_raise"]
    size = 1 + 0.04 * p["eye_size"]
    upper = (-ABOVE * size) * (openness - 0.03 * p["smile"]) * (0.50 * root + 0.50 * arch) * (1 - 0.12 * t)
    lower = (BELOW * size) * (openness - 0.09 * p["smile"]) * (0.25 * root + 0.75 * arch) * (1 + 0.16 * t)
    return arch, upper, lower


def socket(frame: Frame, p: Parameters, radiance: Tensor) -> Tensor:
    """The face with the shade of the sockets: deepest between the inner corner and the brow."""
    outward, y = frame.face.x.abs() - eye_x(p), frame.face.y - EYE_Y
    above = bump(y + 0.062, 0.098) * bump(outward + 0.01, 0.18)
    inner = bump(y + 0.045, 0.075) * bump(outward + 0.15, 0.075)
    # Cheeks that a smile raises catch light below the eye, and there masculine faces are lighter.
    raised = 0.17 * p["smile"] * bump(y - 0.078, 0.050) + 0.10 * (p["face_shape"] - 0.5) * bump(y - 0.105, 0.040)
    raised = (raised + 0.10 * p["old"] * bump(y - 0.055, 0.030)) * bump(outward, 0.17)
    deep = SOCKET - 0.40 * (p["face_shape"] - 0.5)
    # Nothing is left of it at the edge of its window.
    shade = (deep * above + INNER * inner - 0.002).clamp(min=0) * beyond(frame.face.cosine)
    shade = shade - raised * beyond(frame.face.cosine)
    # What light there is has crossed a little skin.
    return radiance * torch.exp(-shade.unsqueeze(1) * color(radiance, 0.97, 1.01, 1.02))


def lid_skin(p: Parameters, lids: Lids, radiance: Tensor) -> Tensor:
    """The fold of the upper lid, eye shadow below it, and the moist rim of the lower lid."""
    v, pixel = lids.down, lids.pixel
    high = (4.6 + 1.3 * p["eyelid_fold"] - 1.0 * p["old"]).clamp(min=1.2) * MM
    fold = lids.upper - high * (0.45 + 0.55 * lids.arch)
    near = smoothstep(1.22 - lids.t.abs(), 0.0, 0.30) * lids.front
    off, fine = v - fold, (0.0001 + pixel * pixel / 6).sqrt()
    line = bump(off, fine) * (0.010 / fine)
    over = bump((off + 0.012).clamp(max=0), 0.035) * (1 - smoothstep(off, -0.006, 0.010))
    depth = (0.55 + 0.16 * p["eyelid_fold"]).clamp(0.1, 0.9)
    shade = near * (0.75 * line + 0.30 * over) * depth
    rim = smoothstep(v - lids.lower, -0.004, 0.002) * (1 - smoothstep(v - lids.lower, 0.006, 0.016))
    lit = 1 - shade + 0.22 * rim * lids.arch * lids.front
    return radiance * lit.unsqueeze(1) * _eye_shadow(p, lids, fold, near, radiance)


def _eye_shadow(p: Parameters, lids: Lids, fold: Tensor, near: Tensor, like: Tensor) -> Tensor:
    """What powder on the lid, up to a little above its fold and out to the temple, lets through."""
    reach = fold - 0.018 - 0.030 * smoothstep(lids.t, -0.4, 1.0)
    lid = smoothstep(lids.down - reach, -0.020, 0.030) * (1 - smoothstep(lids.down - lids.upper, -0.004, 0.012))
    below = 0.35 * bump(lids.down - lids.lower - 0.010, 0.014) * smoothstep(lids.t, -0.5, 0.6)
    powder = (p["makeup"] * near * (0.62 * lid + below)).unsqueeze(1)
    return 1 - powder * color(like, 0.50, 0.62, 0.52)
