"""Draws rows of faces: linear light before the camera, masks of parts, boxes and landmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from transect.generators.faceworld.camera import defocus, expose, sensor_noise
from transect.generators.faceworld.canvas import Canvas, draw_lattices, read_mirrored, spread_over
from transect.generators.faceworld.ears import ear, earring
from transect.generators.faceworld.eyes import FINE, brows, eye_opening, eyeballs, lashes, lid_skin, locate_lids, socket
from transect.generators.faceworld.facial_hair import facial_hair, hanging_beard
from transect.generators.faceworld.glasses import glasses, glasses_parts
from transect.generators.faceworld.hair import Hair, hair, shade_skin
from transect.generators.faceworld.hats import NO_LIMIT, Hat, hat
from transect.generators.faceworld.head import HAIRLINE_Y, Frame, read_maps
from transect.generators.faceworld.heads import WHOLE, Heads, Window, below, cut, cut_light, head_maps, shape_heads
from transect.generators.faceworld.landmarks import face_points, landmarks
from transect.generators.faceworld.mouth import mouth, mouth_cover, nostrils
from transect.generators.faceworld.rows import Pick, Rows, over, picked, put, some
from transect.generators.faceworld.scene import background, clothes
from transect.generators.faceworld.skin import Illumination, face_skin, neck

RENDERER_VERSION = "8"
"""Changes whenever the same latents give other pixels."""

NECK_TOP, CLOTHES_TOP = 0.26, 0.78
"""Heights above which the neck and the clothes are not visible."""

EVERY = slice(None)


class Tile(NamedTuple):
    """Rows that are drawn together: their parameters, seeds and canvas."""

    p: Rows
    seeds: Sequence[int]
    canvas: Canvas


def render_tile(tile: Tile) -> UInt8[np.ndarray, "b size size 3"]:
    """The pictures of a tile, before JPEG."""
    size = tile.canvas.size
    light = radiance(tile).clamp_(min=0)
    blur = tile.p.host("blur")[0]
    blurred = picked(blur > 0)
    if blurred is not None:
        deviations = blur[blurred if isinstance(blurred, slice) else blurred.numpy()].astype(np.float64) / 100 * size
        put(light, blurred, defocus(some(light, blurred), deviations, size))
    pixels = expose(light, tile.p, draw_noise(tile))
    return np.ascontiguousarray(pixels[:, :size, :size].cpu().numpy())


def draw_noise(tile: Tile) -> Tensor:
    """The sensor noise of each row; nothing in the margin."""
    size, height, width, device = tile.canvas
    noise = np.zeros((len(tile.seeds), 3, height, width), dtype=np.float32)
    for row, seed in enumerate(tile.seeds):
        noise[row, :, :size, :size] = sensor_noise(seed, size)
    return torch.from_numpy(noise).to(device)


def radiance(tile: Tile) -> Tensor:
    """Scene radiance [b, 3, height, width] of the canvas in linear light, before the camera."""
    p, lattices = tile.p, draw_lattices(tile.seeds, tile.canvas.device)
    heads = shape_heads(p, tile.seeds, tile.canvas)
    picture, last = background(heads.frame, p, lattices), {}
    for layer in layers(heads, p, lattices):
        lay(picture, layer)
        last[layer.part] = layer
    worn = p.with_any("glasses")
    if worn is not None:
        bare = some(picture, worn)
        hidden = some(over_arms(picture[:, 0], last.get("hair")), worn)
        seen = glasses(heads.frame.take(worn), p.take(worn), bare, hidden)
        if "hat" in last and p.with_any("hooded", "scarfed") is not None:
            wrap, cloth = last["hat"], torch.zeros_like(picture[:, 0])  # hoods and headscarves lie over glasses
            put(cloth, wrap.rows, wrap.cover * some(p["hooded"] + p["scarfed"], wrap.rows))
            seen = over(seen, bare, some(cloth, worn))
        put(picture, worn, seen)
    return picture


def over_arms(like: Tensor, hair: Layer | None) -> Tensor:
    """Coverage [b, h, w] of the hair before the face (the last layer of it), under which the arms of glasses run."""
    cover = torch.zeros_like(like)
    if hair is not None:
        put(hair.window.of(cover), hair.rows, hair.cover)
    return cover


class Layer(NamedTuple):
    """A part of the person: radiance [k, 3, h, w] and coverage [k, h, w] within a window, in some rows."""

    part: str
    radiance: Tensor
    cover: Tensor
    window: Window = WHOLE
    rows: Pick = EVERY


def lay(picture: Tensor, layer: Layer) -> None:
    """Lays a layer over a picture [b, 3, h, w]."""
    part = some(layer.window.of(picture), layer.rows).contiguous()
    put(layer.window.of(picture), layer.rows, over(part, layer.radiance, layer.cover))


def layers(heads: Heads, p: Rows, lattices: dict[str, Tensor]) -> Iterator[Layer]:
    """The layers over the background, from back to front; glasses, which let light through, come last."""
    frame = heads.frame
    folds = spread_over(frame.canvas, lattices["folds"])
    shadow = torch.zeros_like(frame.planes[:, 0])
    worn, locks = _draw_hats(frame, p, folds, shadow), None
    if worn is not None and p.with_any("hooded") is not None:
        yield Layer("hat", worn.hat.radiance, worn.hat.lining, WHOLE, worn.rows)
    haired = picked((p.host("scalp")[0] < 1) & (p.host("scarfed")[0] == 0))
    if haired is not None:
        locks = _draw_hair(frame, p, lattices, haired, shadow, worn)
        yield Layer("hair", locks.radiance * locks.depth.unsqueeze(1), locks.back, locks.window, haired)
    throat, shoulders = below(frame, NECK_TOP), below(frame, CLOTHES_TOP)
    yield Layer("neck", *neck(cut(frame, throat), p), throat)
    yield Layer("clothes", *clothes(cut(frame, shoulders), p, _part(folds, shoulders)), shoulders)
    skull = cut(frame, heads.windows.head)
    yield Layer("head", _face(skull, heads, p, lattices, shadow), skull.head, heads.windows.head)
    yield from _draw_ears(heads, p)
    bearded = p.with_any("facial_hair")
    if bearded is not None:
        textures = {"strands": some(lattices["strands"], bearded)}
        yield Layer("beard", *hanging_beard(frame.take(bearded), p.take(bearded), textures), WHOLE, bearded)
    if locks is not None and haired is not None:
        yield Layer("hair", locks.radiance, locks.front, locks.window, haired)
    if worn is not None:
        yield Layer("hat", worn.hat.radiance, worn.hat.cover, WHOLE, worn.rows)


class Worn(NamedTuple):
    """Hats, and the rows that wear them."""

    hat: Hat
    rows: Pick


def _draw_hats(frame: Frame, p: Rows, folds: Tensor, shadow: Tensor) -> Worn | None:
    """The hats of the rows that wear one; their shadow is written into `shadow`."""
    rows = p.with_any("hat")
    if rows is None:
        return None
    worn = hat(frame.take(rows), p.take(rows), some(folds, rows))
    put(shadow, rows, worn.shadow)
    return Worn(worn, rows)


def _draw_hair(
    frame: Frame, p: Rows, lattices: dict[str, Tensor], rows: Pick, shadow: Tensor, worn: Worn | None
) -> Hair:
    """The hair of those rows, pressed down by their hats; its shadow is added to `shadow`."""
    under_hat = None
    if worn is not None:
        under_hat = torch.full_like(shadow, NO_LIMIT)
        put(under_hat, worn.rows, worn.hat.under)
        under_hat = some(under_hat, rows)
    textures = {name: some(lattices[name], rows) for name in ("strands", "locks", "curls", "stubble")}
    locks = hair(frame.take(rows), p.take(rows), textures, under_hat)
    part = locks.window.of(shadow)
    if worn is not None:
        locks.radiance.copy_(shade_skin(locks.radiance, some(part, rows)))
    put(part, rows, some(part, rows) + locks.shadow)
    return locks


def _draw_ears(heads: Heads, p: Rows) -> Iterator[Layer]:
    """Both ears and their earrings."""
    ringed = p.with_any("earrings")
    for side, window in zip((-1.0, 1.0), heads.windows.ears, strict=True):
        frame = cut(heads.frame, window)
        skin, cover = ear(frame, p, side)
        yield Layer("ears", skin, cover * (1 - p["scarfed"]), window)
        if ringed is not None:
            ring, cover = earring(frame.take(ringed), p.take(ringed), side)
            yield Layer("earrings", ring, cover * (1 - some(p["scarfed"], ringed)), window, ringed)


def locate_landmarks(tile: Tile) -> Float[np.ndarray, "b 68 2"]:
    """The 68 points, in dlib's order, of the pictures of a tile, in pixels."""
    maps = head_maps(tile.p, tile.seeds, tile.canvas)
    x, y = face_points(tile.p)
    relief = read_maps(maps[:, :1], x.unsqueeze(1), y.unsqueeze(1))[:, 0, 0]
    return landmarks(tile.p, relief, tile.canvas.size)


def _face(frame: Frame, heads: Heads, p: Rows, lattices: dict[str, Tensor], shadow: Tensor) -> Tensor:
    """The head's skin with its features; frame is that of the head's window."""
    windows = heads.windows
    skin, light = face_skin(frame, p, heads.details)
    skin = shade_skin(skin, windows.head.of(shadow).contiguous())
    grain = read_mirrored(lattices["stubble"], 1.5 * frame.face.x, 0.75 * frame.face.y)
    nose, lips = windows.nose, windows.mouth
    _draw_in(skin, nose, nostrils(cut(frame, nose), p, _part(skin, nose)))
    bearded = p.with_any("facial_hair")
    if bearded is not None:
        textures = {name: some(lattices[name], bearded) for name in ("strands", "curls", "stubble")}
        lit = Illumination(*(some(part, bearded) for part in light))
        put(skin, bearded, facial_hair(frame.take(bearded), p.take(bearded), some(skin, bearded), lit, textures))
    part, lit = cut(frame, lips), cut_light(light, lips)
    _draw_in(skin, lips, mouth(part, p, _part(skin, lips), lit, _part(grain, lips)))
    _draw_in(skin, windows.sockets, socket(cut(frame, windows.sockets), p, _part(skin, windows.sockets)))
    _draw_eyes(skin, frame, windows.eyes, p, light, lattices)
    _draw_in(skin, windows.brows, brows(cut(frame, windows.brows), p, _part(skin, windows.brows), lattices["strands"]))
    return skin


def _draw_eyes(
    skin: Tensor, frame: Frame, window: Window, p: Rows, light: Illumination, lattices: dict[str, Tensor]
) -> None:
    """Draws the eyes into the face."""
    lids, fine = locate_lids(cut(frame, window), p), frame.canvas.pixel < FINE
    fibers, hairs = (lattices[name] if fine else None for name in ("stubble", "strands"))
    part = lid_skin(p, lids, _part(skin, window))
    part = over(part, eyeballs(p, lids, cut_light(light, window), fibers), eye_opening(lids))
    _draw_in(skin, window, lashes(p, lids, part, hairs))


def _part(image: Tensor, window: Window) -> Tensor:
    return window.of(image).contiguous()


def _draw_in(image: Tensor, window: Window, part: Tensor) -> None:
    window.of(image).copy_(part)


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
    parts = glasses_parts(frame, p)
    seen = torch.maximum(parts.front, parts.lens).maximum(parts.arms * (1 - shown["over_arms"]))
    glasses = (seen > 0) & (p["glasses"] > 0)
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
