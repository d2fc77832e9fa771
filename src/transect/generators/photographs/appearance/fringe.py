"""A fringe on a photograph: FaceWorld's, on the fitted head, from the photograph's own hair and in its color.

It falls over the forehead from where the photograph's hair ends, within the head alone, and casts FaceWorld's shade on
the skin. All are of the same straight hair, as one photograph does not tell how hair would fall.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.generators.faceworld.compositing import smoothstep
from transect.generators.faceworld.hair import hair
from transect.generators.faceworld.head import HAIRLINE_Y
from transect.generators.faceworld.textures import draw_lattices
from transect.generators.photographs.appearance.cameras import Camera
from transect.generators.photographs.appearance.faces import Face, blurred
from transect.generators.photographs.appearance.heads import Head
from transect.generators.photographs.appearance.layers import Layer
from transect.generators.photographs.appearance.worn import WHOLE_HEAD, Stage

_STYLE: Final = {"hair_style": float(HAIR_STYLES.index("cropped")), "hair_length": 0.6, "hair_volume": 0.0}
_JOIN: Final = 0.06
"""How far a fringe is mixed into the hair from which it falls, in distances of the eyes' outer corners."""
_TEMPLES: Final = (-0.50, -0.35)
_OPAQUE: Final = 0.9
_COARSER: Final = 0.4
_LEAST: Final = 1e-4
_ASIDE: Final = 0.35


def fringe_of(
    head: Head, face: Face, camera: Camera, key: int, level: float, color: Float[np.ndarray, " 3"], dark: float
) -> Layer:
    """The fringe from none (0) to the brows (1).

    color: median scene light of the hair; dark: its level from black (0) to blond (1), by which it shines.
    """
    stage = Stage(head, face, *WHOLE_HEAD)
    with torch.inference_mode():
        radiance, front, shadow = _drawn(stage, key, dark, level)
        _, bare, shadow_before = _drawn(stage, key, dark, 0.0)
        low = smoothstep(stage.frame.face.y, *_TEMPLES)
        own = stage.seen(face.masks["hair"])
        deep = stage.seen(blurred(face.masks["hair"], _JOIN * face.width))
        # Below the temples FaceWorld's own sideburns are no part of a fringe.
        cover = (front - low * bare).clamp(min=0) * _person(stage)
        cover = cover * (1 - smoothstep(deep, 0.5, 0.95)) * stage.frame.head
        middle = radiance[0][:, front[0] > _OPAQUE].median(dim=1).values.clamp(min=_LEAST)
        wanted = torch.from_numpy((color / camera.gain).astype(np.float32)).to(middle)
        shown = radiance[0] * (wanted / middle)[:, None, None] * cover
        skin = stage.seen(face.masks["skin"]) * (1 - own)
        passed = (1 - skin * (1 - torch.exp(-(shadow - shadow_before).clamp(min=0)))) * (1 - cover)
        return stage.layer(camera, key, shown, shown + passed.expand(3, -1, -1))


def hair_over_forehead(head: Head, face: Face) -> tuple[float, float]:
    """The share of the top of the head, and of the forehead, that hair covers."""
    stage = Stage(head, face, *WHOLE_HEAD, _COARSER)
    with torch.inference_mode():
        x, y = stage.frame.face.x.abs(), stage.frame.face.y
        middle = (stage.frame.head > 0.5) & (x < _ASIDE) & (stage.frame.face.cosine > 0)
        own = stage.seen(face.masks["hair"])
        top, forehead = middle & (y < HAIRLINE_Y - 0.02), middle & (y > HAIRLINE_Y + 0.08) & (y < -0.40)
        shares = [float(own[part].mean()) if part.any() else 0.0 for part in (top, forehead)]
    return shares[0], shares[1]


def _drawn(stage: Stage, key: int, dark: float, level: float) -> tuple[Tensor, Tensor, Tensor]:
    """Radiance [1, 3, h, w], coverage and shade [1, h, w] of the hair before the face, on the stage's window."""
    values = {**_STYLE, "hair_color": dark, "bangs": level}
    p = stage.head.rows(**{name: np.array([value]) for name, value in values.items()})
    frame = stage.head.frame(p, stage.canvas)
    locks = hair(frame, p, draw_lattices([key], stage.canvas.device))
    height, width = frame.X.shape[1:]
    parts = []
    for part in (locks.radiance, locks.front.unsqueeze(1), locks.shadow.unsqueeze(1)):
        whole = torch.zeros(1, part.shape[1], height, width)
        locks.window.of(whole).copy_(part)
        parts.append(stage.window.of(whole).contiguous())
    return parts[0], parts[1][:, 0], parts[2][:, 0]


def _person(stage: Stage) -> Tensor:
    """The skin, the hair and all between the features of a face, [1, h, w]: what a fringe may lie on."""
    import cv2

    masks = stage.face.masks
    inside = np.zeros(masks["skin"].shape, dtype=np.uint8)
    cv2.fillConvexPoly(inside, cv2.convexHull(np.rint(stage.face.points).astype(np.int32)), (1,))
    return stage.seen(np.clip(masks["skin"] + masks["hair"] + inside, 0, 1).astype(np.float32))
