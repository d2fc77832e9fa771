"""Which strands a person wears, how long, and where they are left out."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int32

from transect.generators.faceworld.attributes import FACIAL_HAIR_STYLES, HAIR_STYLES, HATS
from transect.generators.faceworld.mesh.asset import Groom, asset
from transect.generators.faceworld.mesh.shading import BARE, BEARD, HAIR
from transect.generators.faceworld.mesh.shape import Values

RIM = 0.45
"""Height on the mean head above which a hat hides hair."""
_FINE = 512
"""Points across a drawing from which all strands are drawn."""
_GATHERED = 3600
"""Strands of a ponytail that are drawn back; the others hang."""


class Strands(NamedTuple):
    """A groom, how much longer each strand is than there, its first and end points that are drawn, its pigment.

    cover: of a line; shine; code: their label; roots: how much darker roots are.
    """

    name: str
    groom: Groom
    stretch: Float[np.ndarray, " n"]
    drawn: Int32[np.ndarray, "n 2"]
    shade: Float[np.ndarray, " n"]
    cover: float
    shine: float
    code: int
    roots: float


@functools.cache
def _varied(name: str) -> Float[np.ndarray, " n"]:
    """The pigment of each strand over that of all."""
    count = len(asset().grooms[name].strands)
    draws = np.random.Generator(np.random.Philox(key=len(name)))
    return np.exp(0.20 * draws.standard_normal(count)).astype(np.float32)


def thinned(strands: Strands, size: int) -> Int32[np.ndarray, "n 2"]:
    """What is drawn on so many points across: fewer strands of the head where each covers more of the picture."""
    if strands.code != HAIR or size >= _FINE:
        return strands.drawn
    kept = order(strands.name) < max(size / _FINE, 0.5)
    return np.where(kept[:, None], strands.drawn, 0).astype(np.int32)


@functools.cache
def order(name: str) -> Float[np.ndarray, " n"]:
    """A fixed random rank of each strand, 0..1: thinning leaves out the highest."""
    return np.random.Generator(np.random.Philox(key=7 + len(name))).random(len(asset().grooms[name].strands))


def balding(at: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
    """How early a place of the scalp loses its hair, from 1 (temples and crown) to 0 (sides and back)."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
    front = 1.15 - 0.50 * np.abs(z + 0.55) - 0.12 * np.abs(x - 0.55)
    crown = 1.05 - 0.75 * np.sqrt((z + 2.1) ** 2 + 0.7 * x**2)
    return np.asarray(np.clip(np.maximum(front, crown) * np.clip((y - 0.55) / 0.75, 0, 1), 0, 1))


@functools.cache
def _first_below(name: str) -> Int32[np.ndarray, " n"]:
    """The first point of each strand below a hat's rim."""
    below = asset().grooms[name].strands[..., 1] < RIM
    return np.asarray(np.where(below.any(1), below.argmax(1), below.shape[1]), dtype=np.int32)


def head_hair(p: Values) -> list[Strands]:
    """Hair of the head, and the fringe."""
    style, hat = HAIR_STYLES[int(p["hair_style"])], HATS[int(p["hat"])]
    if style == "bald" or hat == "headscarf":
        return []
    length, volume = p["hair_length"], p["hair_volume"]
    groom = asset().grooms[style]
    count, points = groom.strands.shape[:2]
    stretch, used = np.full(count, 1 + 0.22 * volume), np.full(count, points)
    if style in ("bun", "ponytail"):
        stretch[:] = 1.0
    if style == "cropped":
        stretch *= 0.30 + 0.90 * length
    elif style == "coily":
        stretch *= (0.28 + 0.92 * length) * (0.4 if hat != "none" else 1)
    elif style == "ponytail":
        used[_GATHERED:] = max(3, round(points * (0.4 + 0.6 * length)))
    elif style != "bun":
        used[:] = max(4, round(points * (0.30 + 0.70 * length)))
    first = np.zeros(count, dtype=np.int32) if hat == "none" else _first_below(style)
    kept = _kept(style, p)
    drawn = np.stack([first, np.where(kept, used, 0)], 1).astype(np.int32)
    strands = [Strands(style, groom, stretch, drawn, _varied(style), 0.85, _shine(style), HAIR, 0.65)]
    if p["bangs"] > 0.02 and p["baldness"] < 0.4 and hat == "none" and style != "coily":
        strands.append(_fringe(p))
    return strands


def _shine(style: str) -> float:
    return {"coily": 0.35, "curly": 0.6, "cropped": 0.6}.get(style, 1.0)


def _kept(name: str, p: Values) -> np.ndarray:
    """Strands that hair loss and the hairline leave; a bald crown keeps a few."""
    groom = asset().grooms[name]
    at = groom.strands[:, 0]
    lost = balding(at) * (0.85 + 0.3 * order(name)) > 1.02 - 0.95 * p["baldness"]
    high = (at[:, 1] < 1.10 + 0.06 * p["hairline"]) & (at[:, 2] > -0.75) & (p["hairline"] > 0)
    return np.asarray(~lost & ~high) if p["baldness"] > 0 else ~high


def _fringe(p: Values) -> Strands:
    groom = asset().grooms["fringe"]
    count, points = groom.strands.shape[:2]
    used = np.full(count, max(3, round(points * min(1, 0.35 + 0.65 * p["bangs"]))))
    kept = (order("fringe") < 0.35 + 0.9 * p["bangs"]) & _kept("fringe", p)
    drawn = np.stack([np.zeros(count), np.where(kept, used, 0)], 1).astype(np.int32)
    return Strands("fringe", groom, np.ones(count), drawn, _varied("fringe"), 0.85, 0.8, HAIR, 0.5)


def brow_hair(p: Values) -> Strands:
    """Brows, thicker on masculine faces and by the person's own thickness."""
    groom = asset().grooms["brows"]
    count, points = groom.strands.shape[:2]
    share = min(max(0.62 + 0.16 * p["brow_thickness"] + 0.20 * (p["face_shape"] - 0.5), 0.25), 1.0)
    drawn = np.stack([np.zeros(count), np.where(order("brows") < share, points, 0)], 1).astype(np.int32)
    return Strands("brows", groom, np.full(count, 0.95), drawn, _varied("brows"), 0.55, 0.1, BARE, 0.1)


def beard_regions(at: Float[np.ndarray, "n 3"]) -> dict[str, np.ndarray]:
    """Which places of the mean head each style leaves hair at."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
    mustache = (x < 0.52) & (y > -1.18) & (z > -0.25)
    goatee = mustache & (x < 0.47) | (x < 0.44) & (y < -1.0) & (z > -0.7)
    every = np.ones(len(at), dtype=bool)
    return {"stubble": every, "full": every, "mustache": mustache, "goatee": goatee}


def facial_hair(p: Values) -> Strands | None:
    """The beard, from a few short hairs to its style's fullest."""
    amount = p["facial_hair"]
    if amount <= 0:
        return None
    style = FACIAL_HAIR_STYLES[int(p["facial_hair_style"])]
    groom = asset().grooms["beard"]
    count, points = groom.strands.shape[:2]
    grown = 0.10 + 0.08 * amount if style == "stubble" else 0.15 + 0.95 * amount
    kept = beard_regions(groom.strands[:, 0])[style] & (order("beard") < 0.25 + 0.75 * amount**0.5)
    drawn = np.stack([np.zeros(count), np.where(kept, points, 0)], 1).astype(np.int32)
    stretch = np.full(count, grown)
    return Strands(
        "beard", groom, stretch, drawn, _varied("beard"), 0.45 if style == "stubble" else 0.7, 0.4, BEARD, 0.5
    )
