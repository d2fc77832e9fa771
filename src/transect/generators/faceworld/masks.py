"""Which pixels show which part: masks from the same coverages that compose the picture.

A mask of `touched` pixels holds every pixel that the part reaches at all, so that what happens to the part alone leaves
all others as they are, bit by bit; the other masks hold the pixels of which the part is at least half.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters
from transect.generators.faceworld.eyes import eye_opening, locate_lids
from transect.generators.faceworld.glasses import glasses_parts
from transect.generators.faceworld.head import HAIRLINE_Y, Frame
from transect.generators.faceworld.heads import Heads, shape_heads
from transect.generators.faceworld.mouth import mouth_cover
from transect.generators.faceworld.renderer import Layer, Tile, layers, over_arms
from transect.generators.faceworld.rows import Rows, put, some
from transect.generators.faceworld.textures import draw_lattices

MASKS: dict[str, str] = {
    "skin": "at least half of the pixel is bare or bearded skin of head, ears or neck",
    "hair": "at least half is hair of the head",
    "face": "at least half is the front of the head from hairline to chin, uncovered by hair or hat",
    "eyes": "touched by the opening of the lids",
    "mouth": "touched by the lips or what is between them",
    "glasses": "touched by frame or lenses; nothing where none are worn",
    "background": "untouched by the person",
    "person": "touched by head, hair, neck, clothes or what is worn",
}
"""The masks and what their pixels are."""
FURTHER: dict[str, str] = {"hat": "at least half is what is worn on the head"}
"""Masks that are drawn where they are asked for."""


def draw_masks(tile: Tile, further: Sequence[str] = ()) -> dict[str, Bool[np.ndarray, "b size size"]]:
    """Boolean [b, size, size] by the names of MASKS and of some of FURTHER, of the pictures of a tile."""
    p, size, lattices = tile.p, tile.canvas.size, draw_lattices(tile.seeds, tile.canvas.device)
    heads = shape_heads(p, tile.seeds, tile.canvas)
    frame, shown = heads.frame, _shown(heads, p, lattices)
    glasses = _glasses(frame, p, shown["over_arms"])
    lids, lips = eye_opening(locate_lids(frame, p)), mouth_cover(frame, p)
    person = (shown["background"] < 1) | glasses
    head = shown["head"]
    masks = {
        "skin": head * (1 - lids).clamp(min=0) * (1 - lips) + shown["ears"] + shown["neck"] >= 0.5,
        "hair": shown["hair"] >= 0.5,
        "face": (head >= 0.5) & (frame.face.cosine > 0) & (frame.face.y > HAIRLINE_Y),
        "eyes": (lids > 0) & (head > 0),
        "mouth": (lips > 0) & (head > 0),
        "glasses": glasses,
        "background": ~person,
        "person": person,
    } | {name: shown[name] >= 0.5 for name in further}
    return {name: mask[:, :size, :size].cpu().numpy() for name, mask in masks.items()}


def _shown(heads: Heads, p: Rows, lattices: dict[str, Tensor]) -> dict[str, Tensor]:
    """The share of each pixel that shows each part, behind everything in front of it; over_arms: see renderer."""
    nothing = torch.zeros_like(heads.frame.planes[:, 0])
    parts = ("background", "hair", "neck", "clothes", "head", "ears", "earrings", "beard", "hat")
    shown = {part: nothing.clone() for part in parts} | {"background": nothing + 1}
    hair: Layer | None = None
    for layer in layers(heads, p, lattices):
        hair = layer if layer.part == "hair" else hair
        for part, share in shown.items():
            within = layer.window.of(share)
            left = some(within, layer.rows) * (1 - layer.cover)
            put(within, layer.rows, left + layer.cover if part == layer.part else left)
    return shown | {"over_arms": over_arms(nothing, hair)}


def _glasses(frame: Frame, p: Parameters, hair: Tensor) -> Tensor:
    parts = glasses_parts(frame, p)
    seen = torch.maximum(parts.front, parts.lens).maximum(parts.arms * (1 - hair))
    return (seen > 0) & (p["glasses"] > 0)
