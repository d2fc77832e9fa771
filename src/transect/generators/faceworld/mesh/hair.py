"""Which strands a person wears, how long, and where they are left out."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.attributes import FACIAL_HAIR_STYLES, HAIR_STYLES, HATS
from transect.generators.faceworld.mesh.asset import Groom, asset
from transect.generators.faceworld.mesh.shading import BARE, BEARD, HAIR
from transect.generators.faceworld.mesh.shape import Values

RIM = 0.70
"""Height on the mean head above which a hat hides hair."""
KEPT = 255
"""The label of lashes: what they lie on stays what it is."""
BEYOND = ("knot", "tail", "plait")
"""Grooms that do not lie on the head."""
_WIDE = 0.013
"""Width of a strand, which stands for a few hairs, in distances between the eyes."""


class Strands(NamedTuple):
    """A groom, how much longer each strand is than there, between which of its points it is drawn.

    cover: of a line; shine; code: their label; width; tip: share of the width at the tip; under: coverage and width of
    the undercoat, 0 for none, every which strand makes it, and how light it is; fine: share of the coverage of each;
    middle: of its mass, from which it is lit around.
    """

    name: str
    groom: Groom
    stretch: Float[np.ndarray, " n"]
    spans: Float[np.ndarray, "n 2"]
    cover: float
    shine: float
    code: int
    width: float = _WIDE
    tip: float = 0.25
    under: tuple[float, float, int, float] = (1.0, 0.075, 4, 0.50)
    fine: Float[np.ndarray, " n"] = np.ones(1, np.float32)
    middle: tuple[float, float, float] = (0.0, 0.35, -1.45)


def hairline(at: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
    """How far inside the hair's border a place of the mean head's skin lies; below 0 outside."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
    border = np.interp(
        z, [-1.02, -0.97, -0.80, -0.62, -0.46, -0.34, -0.22, 0.0], [-0.52, -0.47, -0.28, 0.05, 0.38, 0.69, 0.90, 1.01]
    )
    temples = 0.15 * np.exp(-(((x - 0.72) / 0.19) ** 2)) * (z > -0.6)
    front = y - border - temples + 0.04 * np.exp(-((x / 0.15) ** 2))
    # No hairline is straight: it wavers, and differently on the left and the right.
    front = front + 0.030 * np.sin(9.0 * at[:, 0] + 1.0) + 0.022 * np.sin(17 * at[:, 0] + 9 * y) * (z > -0.9)
    ear = np.sqrt(((y + 0.36) / 0.60) ** 2 + ((z + 1.42) / 0.42) ** 2) - 1
    nape = y + 1.15 + 0.3 * np.clip(z + 2.4, 0, 1)
    inside = np.minimum(np.where(z < -1.75, np.maximum(front, 0.3), front), nape)
    return np.asarray(np.where(x > 0.95, np.minimum(inside, ear), inside))


def beard_density(at: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
    """How dense a beard grows, with soft borders: mustache, chin, jaw and before the ears."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]

    def soft(inside: Float[np.ndarray, " n"], width: float) -> Float[np.ndarray, " n"]:
        return np.asarray(np.clip(0.5 + inside / width, 0, 1))

    mouth = soft(np.sqrt((x / 0.41) ** 2 + ((y + 1.18) / 0.188) ** 2) - 1.04, 0.10)
    lip = soft(-0.80 - y, 0.05) * soft(y + 1.25, 0.1) * soft(0.50 - x, 0.12) * (z > -0.25)
    lip = lip * (0.45 + 0.55 * np.clip(x / 0.10, 0, 1))
    soul = soft(0.10 - x, 0.12) * soft(-1.2 - y, 0.08)
    below = soft(-1.40 - y + 0.25 * np.clip(x, 0, 0.5), 0.16)
    chin = np.maximum(below, soul) * soft(0.62 - x, 0.2) * (z > -0.7)
    corner = soft(x - 0.42, 0.10) * soft(0.62 - x, 0.15) * soft(-0.95 - y, 0.2) * (z > -0.4)
    cheek = soft(-1.02 - 0.10 * np.sin(x * 7) + 0.75 * np.clip(x - 0.72, 0, 0.35) / 0.35 * (z < 0.2) - y, 0.22)
    ear = soft(x - 0.98, 0.06) * soft(-0.72 - y, 0.2) * soft(-0.45 - z, 0.2)
    every = np.max([lip, chin, 0.9 * corner, cheek * soft(x - 0.45, 0.3), ear], axis=0) * mouth
    neck = soft(y + 2.00 - 0.50 * np.clip(x - 0.3, 0, 0.6), 0.30)  # it ends above the larynx
    return np.asarray(every * neck * soft(z + 1.16, 0.12) * (y < -0.62))


@functools.cache
def order(name: str) -> Float[np.ndarray, " n"]:
    """A fixed random rank of each strand, 0..1: thinning leaves out the highest."""
    return np.random.Generator(np.random.Philox(key=7 + len(name))).random(len(asset().grooms[name].strands))


def balding(at: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
    """How early a place of the scalp loses its hair, from 1 (temples and crown) to 0 (sides and back)."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
    front = 1.1 - 0.52 * np.clip(-0.35 - z, 0, 3) - 0.02 * np.exp(-((x / 0.5) ** 2)) + 0.08 * np.clip(2 * x - 0.5, 0, 1)
    crown = 1.05 - 0.75 * np.sqrt((z + 2.1) ** 2 + 0.7 * x**2)
    between = 0.76 - 0.14 * x**2 - 10 * np.clip(-2.1 - z, 0, 1)  # or an island would be left in the middle
    high = (y - 0.55 - 0.05 * np.sin(9 * z)) / 0.65 + 3 * np.clip(0.8 - x, 0, 0.5) * (z > -1)
    return np.asarray(np.clip(np.max([front, crown, between], axis=0) * np.clip(high, 0, 1), 0, 1))


def remaining(early: Float[np.ndarray, " n"], baldness: float) -> Float[np.ndarray, " n"]:
    """The share of hair left where it is lost so early, as balding() counts: it thins over two fingers' breadth."""
    return np.asarray(np.clip((1.42 - 0.90 * max(baldness, 0.0) ** 1.4 - early) / 0.42, 0, 1))


@functools.cache
def mirrored(name: str) -> Groom:
    """A groom with left and right exchanged: every second head is parted on its other side."""
    groom, mean = asset().grooms[name], asset().mean
    used = np.unique(groom.roots)
    flipped = mean[used] * np.array([-1.0, 1.0, 1.0], np.float32)
    nearest = np.array([np.argmin(((mean - point) ** 2).sum(1)) for point in flipped])
    roots = nearest[np.searchsorted(used, groom.roots)].astype(np.int32)
    return Groom(groom.strands * np.array([-1.0, 1.0, 1.0], np.float32), roots, groom.weights, groom.shade)


@functools.cache
def pressed(name: str) -> Groom:
    """A groom under a hat: near its rim hair lies at the head."""
    groom = asset().grooms[name]
    x, y, z = (groom.strands[..., k] for k in range(3))
    far = np.sqrt(x**2 + (0.85 * (z + 1.35)) ** 2) + 1e-6
    room = 1.24 + 0.5 * np.clip((0.35 - y) / 1.1, 0, 1) ** 1.5
    share = np.minimum(1, room / far)
    strands = np.stack([x * share, y, (z + 1.35) * share - 1.35], -1).astype(np.float32)
    return Groom(strands, groom.roots, groom.weights, groom.shade)


@functools.lru_cache(maxsize=64)
def _crossing(name: str, height: float) -> Float[np.ndarray, " n"]:
    """Where each strand first falls below a height, in points along it."""
    y = asset().grooms[name].strands[..., 1]
    below = y < height
    after = np.where(below.any(1), below.argmax(1), y.shape[1] - 1)
    before = np.maximum(after - 1, 0)
    rows = np.arange(len(y))
    fall = y[rows, before] - y[rows, after]
    share = np.clip((y[rows, before] - height) / np.where(fall > 1e-6, fall, 1), 0, 1)
    return np.asarray(np.where(below.any(1) & (after > 0), before + share, after), dtype=np.float32)


def _grooms(p: Values) -> list[str]:
    """What is drawn: some styles have several grooms, by the person's own habits; thin hair is not tied."""
    style, habit = HAIR_STYLES[int(p["hair_style"])], p["hair_parting"]
    if style == "cropped":
        return ["slicked" if habit < -0.75 else ("parted" if habit > 0.25 else "textured")]
    if style == "coily":
        return ["locs" if p["hair_curl"] > 1.2 else "coily"]
    if style in ("ponytail", "bun"):
        beyond = "knot" if style == "bun" else ("plait" if habit > 0.5 else "tail")
        return [beyond, "drawn"] if p["baldness"] <= 0.35 else ["drawn"]  # what lies behind first: edges show it
    return [style]


def head_hair(p: Values) -> list[Strands]:
    """Hair of the head, and the fringe."""
    style, hat = HAIR_STYLES[int(p["hair_style"])], HATS[int(p["hat"])]
    if style == "bald" or hat in ("headscarf", "hood"):
        return []
    strands = [_worn(name, p) for name in _grooms(p)]
    if p["bangs"] > 0.02 and p["baldness"] < 0.2 and hat == "none" and style != "coily":
        strands.append(_fringe(p))
    return strands


_LOOKS: dict[str, dict[str, Any]] = {
    "locs": {"shine": 0.15, "cover": 0.75, "width": 0.016, "tip": 0.4, "under": (1.0, 0.06, 4, 0.30)},
    "coily": {"shine": 0.3, "width": 0.010, "tip": 0.3, "under": (1.0, 0.045, 4, 0.50)},
    "curly": {"shine": 0.9, "width": 0.011, "under": (1.0, 0.045, 4, 0.62)},
    **{name: {"shine": 1.2 if name == "drawn" else 0.6, "under": (1.0, 0.045, 4, 0.70)} for name in ("drawn", *BEYOND)},
}


def _worn(name: str, p: Values) -> Strands:
    """A groom of the head as long as it is worn, and under a hat what shows below its rim."""
    hat = p["hat"] > 0
    groom = pressed(name) if hat else (mirrored(name) if p["hair_fall"] < 0 else asset().grooms[name])
    if name == "knot" and not hat:  # the longer hair is, the larger; at the back of the head, or high on it
        middle, high = groom.strands.mean((0, 1)), p["hair_parting"] > 0.7
        own = middle + (0.78 + 0.26 * p["hair_length"]) * (groom.strands - middle) + high * np.array([0, 0.22, 0.25])
        groom = replace(groom, strands=own.astype(np.float32))
    stretch, last = _grown(name, p, hat)
    first = _crossing(name, RIM) if hat else np.zeros(len(groom.strands), np.float32)
    spans = np.stack([first, np.where(_kept(name, p), last, 0)], 1).astype(np.float32)
    made = Strands(name, groom, stretch, spans, 0.65, 1.5, HAIR, fine=_fineness(name, p))
    if name in ("textured", "parted", "slicked"):
        full = min(max((p["hair_length"] * (p["baldness"] == 0) - 0.1) / 0.3, 0), 1)
        return made._replace(under=(full, 0.045, 4, 0.65), cover=0.7, shine=0.9 if name == "textured" else 1.5)
    made = made._replace(middle=groom.strands.mean((0, 1))) if name in BEYOND else made
    return made._replace(**_LOOKS.get(name, {}))


def _grown(name: str, p: Values, under: bool) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """How much longer each strand is than in its groom, and the point at which it is cut."""
    count, points = asset().grooms[name].strands.shape[:2]
    length, stretch = p["hair_length"], np.full(count, 1 + 0.12 * p["hair_volume"])
    cut = min(max((p["baldness"] - 0.15) / 0.3, 0), 1)  # who loses hair wears the rest of it short
    soon = 0.20 + 0.80 * remaining(_rooted(name)[0], p["baldness"])
    last = np.full(count, points - 1.0)
    if name in ("textured", "parted", "slicked"):
        stretch *= (0.16 + 0.94 * length) * soon * (1 - 0.4 * cut)
    elif name == "coily":
        stretch *= (0.20 + 0.95 * length * (1 - 0.85 * cut)) * (0.4 if under else 1) * soon
    elif name in ("drawn", *BEYOND):
        stretch[:] = 1.0
        last *= 1.0 if name in ("drawn", "knot") else (0.40 + 0.60 * length) * (1 - 0.25 * order(name) ** 2)
    else:
        at = asset().grooms[name].strands[:, 0]
        rank = 0.5 + 0.4 * np.sin(57 * at[:, 0] + 83 * at[:, 2]) + 0.12 * order(name) if name == "locs" else order(name)
        ragged = 0.16 * np.sin(at @ [11, 0, 7]) + 0.12 * np.sin(at @ [23, 0, -17]) - 0.6 * rank**2
        last = np.minimum(last, _crossing(name, round(-0.75 - 2.1 * length, 3)) + ragged * points / 4)
        last = np.maximum(last, 2.0) * (1 - 0.85 * cut)
    return stretch, last


@functools.cache
def _rooted(name: str) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """How early each strand is lost, and how far inside the hair's border it grows."""
    at = asset().grooms[name].strands[:, 0]
    return balding(at), hairline(at)


def _kept(name: str, p: Values) -> np.ndarray:
    """Strands that hair loss and the hairline leave; a bald crown keeps a few."""
    early, inside = _rooted(name)
    lost = 0.25 + 0.5 * order(name) > remaining(early, p["baldness"])  # few hairs would be scratches: first all thin
    high = inside - 0.10 * order(name) ** 2 < 0.055 * p["hairline"]
    return np.asarray(~lost & ~(high & (asset().grooms[name].strands[:, 0, 2] > -0.75)))


def _fineness(name: str, p: Values) -> Float[np.ndarray, " n"]:
    """Hair is finer towards its border and where it is soon lost: there single hairs must not stand as dots."""
    early, inside = _rooted(name)
    least = {"locs": 1.0, "textured": 0.22, "parted": 0.22, "slicked": 0.22, "coily": 0.2}.get(name, 0.5)
    border = np.clip((inside - 0.055 * p["hairline"] + 0.07) / (0.25 if least < 0.3 else 0.14), least, 1)
    return np.asarray(border * (0.05 + 0.95 * remaining(early, p["baldness"]) ** 3), dtype=np.float32)


def _fringe(p: Values) -> Strands:
    groom = mirrored("fringe") if p["hair_fall"] < 0 else asset().grooms["fringe"]
    last = (groom.strands.shape[1] - 1) * min(1, 0.60 + 0.42 * p["bangs"])
    across, rank = groom.strands[:, 0, 0], order("fringe")
    kept = (rank < 0.06 + 2 * p["bangs"] ** 1.5) & _kept("fringe", p)
    kept &= (np.abs(across) < 0.70 + 0.3 * rank) | (HAIR_STYLES[int(p["hair_style"])] != "cropped")
    spans = np.stack([0 * rank, np.where(kept, last, 0)], 1).astype(np.float32)
    longer, under = np.full(len(rank), 1 + 0.16 * p["bangs"]), (min(1, max(0, 2.4 * p["bangs"] - 0.4)), 0.028, 4, 0.80)
    fine = np.clip(1.5 - _rooted("fringe")[1], 0.5, 1) * np.clip(2.6 - 2.2 * np.abs(across), 0.4, 1)
    return Strands("fringe", groom, longer, spans, 0.65, 0.45, HAIR, tip=0.1, under=under, fine=fine)


def brow_hair(p: Values) -> Strands:
    """Brows, thicker on masculine faces and by the person's own thickness."""
    groom = asset().grooms["brows"]
    count, points = groom.strands.shape[:2]
    share = min(max(0.80 + 0.17 * p["brow_thickness"] + 0.30 * (p["face_shape"] - 0.5), 0.22), 1.0)
    spans = np.stack([np.zeros(count), np.where(order("brows") < share, points - 1, 0)], 1).astype(np.float32)
    # Hairs at the inner end stand up: shorter there, they do not look like a frown.
    lying = 0.75 + 0.25 * np.clip((np.abs(groom.strands[:, 0, 0]) - 0.28) / 0.2, 0, 1)
    fine, under = 1.3 * order("brows")[::-1], (0.05, 0.05, 1, 0.75)
    return Strands("brows", groom, lying, spans, 0.40, 0.1, BARE, 0.0060, 0.1, under, fine)


def lashes(p: Values) -> Strands:
    """Lashes, longer and thicker with make-up and on feminine faces."""
    groom = asset().grooms["lashes"]
    (count, points), fine = groom.strands.shape[:2], 1 - p["face_shape"]
    spans = np.tile(np.array([0, points - 1], np.float32), (count, 1))
    faint = np.where(groom.strands[:, -1, 1] < groom.strands[:, 0, 1], 0.35, 1)  # those of the lower lid
    stretch = np.full(count, 0.75 + 0.25 * fine + 0.25 * p["makeup"])
    width, cover = 0.0040 + 0.0014 * fine + 0.0016 * p["makeup"], 0.32 + 0.16 * fine + 0.22 * p["makeup"]
    return Strands("lashes", groom, stretch, spans, cover, 0.0, KEPT, width, 0.1, (0.0, 0.0, 1, 1.0), faint)


def beard_regions(at: Float[np.ndarray, "n 3"]) -> dict[str, Float[np.ndarray, " n"]]:
    """How much hair each style leaves at places of the mean head, with soft borders."""
    x, y, z = np.abs(at[:, 0]), at[:, 1], at[:, 2]
    mustache = np.clip((0.56 - x) / 0.14, 0, 1) * (y > -1.18) * (z > -0.25)
    chin = np.clip((0.50 - x) / 0.20, 0, 1) * np.clip((-0.95 - y) / 0.1, 0, 1) * (z > -0.7)
    goatee, every = np.maximum(mustache, chin), np.ones(len(at))
    return {"stubble": every, "full": every, "mustache": mustache, "goatee": goatee}


def facial_hair(p: Values) -> Strands | None:
    """The beard, from a few short hairs to its style's fullest."""
    amount = p["facial_hair"]
    if amount <= 0:
        return None
    style, groom = FACIAL_HAIR_STYLES[int(p["facial_hair_style"])], asset().grooms["beard"]
    (count, points), at = groom.strands.shape[:2], groom.strands[:, 0]
    short = style == "stubble"
    grown = 0.10 + 0.08 * amount if short else 0.15 + 0.95 * amount
    dense, grows = beard_regions(at)[style], beard_density(at)
    below = np.clip(4 * (np.interp(at[:, 2], [-1.1, -0.6, 0.0, 0.3], [-1.45, -1.58, -1.80, -1.86]) - at[:, 1]), 0, 1)
    kept = order("beard") < (0.25 + 0.75 * amount**0.5) * dense * (1 - below * (1 - 0.6 * grows))
    edge = dense * np.clip(0.25 + 0.85 * grows, 0, 1) * (1 - 0.75 * below)  # of the neck it is short and sparse
    spans = np.stack([np.zeros(count), np.where(kept, points - 1, 0)], 1).astype(np.float32)
    under = (0.0, 0.0, 1, 1.0) if short else (min(1.2 * amount, 0.8), 0.018, 2, 0.80)
    width, cover = 0.0055 + 0.003 * amount, 0.40 if short else 0.5 + 0.2 * amount
    return Strands("beard", groom, grown * (0.3 + 0.7 * edge), spans, cover, 0.35, BEARD, width, 0.15, under)
