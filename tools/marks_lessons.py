"""Pictures as the network of marks sees them while it learns: moved, lit, covered and spoiled, with their truths.

Everything is drawn from a key, so that a lesson is the same whenever it is made. Geometry moves points and masks with
the picture; covers hide parts from the masks and leave the points where they are; turned pictures and pictures without
a face teach it what is no face that it can place. Faces on which a finder errs are made in `marks_hard_cases`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Final, final

import cv2
import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from tools.marks_hard_cases import hard, with_neck
from tools.marks_pictures import PARTS, Lessons
from transect.marks.records import EYES, MIRRORED
from transect.marks.shipped import SIZE

NONE, ONE, SEVERAL = 0, 1, 2
_EMPTY, _TURNED, _TWO = 0.06, 0.03, 0.06
"""Shares of pictures without a face, turned by a quarter or more, and with two faces."""
_FAR: Final = 0.08
"""Share of the new backgrounds that show somebody small: the picture is still of one face."""
_AS_DRAWN: Final = 0.15
"""Share of the pictures of one face that keep FaceWorld's framing, with the face below the middle."""
_PERSON: Final = 1 << PARTS.index("person")
_BENT: Final = 0.5
"""Share of the pictures of one face whose shape is changed."""
_ROUNDS: Final = 8
"""Of the fixed point that tells where a bent picture has a point."""
_FIELDS: Final = ((4, 0.12), (9, 0.05))
"""Cells along a side of a field of displacements, and their spread in distances between the eyes."""
_ZOOMS: Final = (
    (slice(36, 42), (0.32, 0.25), (0.12, 0.25)),
    (slice(42, 48), (0.32, 0.25), (0.12, 0.25)),
    (slice(27, 36), (0.3, 0.45), (0.15, 0.12)),
    (slice(48, 68), (0.55, 0.3), (0.15, 0.3)),
    (slice(2, 15), (1.0, 0.6), (0.18, 0.12)),
)
"""Parts that become larger or smaller: points; reach across and down in distances between the eyes; spread of the
logarithm of the size across and down."""


@final
@dataclass(frozen=True, slots=True)
class Lesson:
    """A batch: pictures uint8 [b, s, s, 3], points float32 [b, 68, 2] in widths, bits uint8 [b, s, s], faces [b].

    Points are NaN where there is nothing to place.
    """

    pixels: UInt8[np.ndarray, "b s s 3"]
    points: Float[np.ndarray, "b 68 2"]
    bits: UInt8[np.ndarray, "b s s"]
    faces: Int[np.ndarray, " b"]


def lesson(taught: Lessons, rows: Int[np.ndarray, " b"], key: tuple[int, int]) -> Lesson:
    """Those rows, each drawn from the key and its row."""
    made = []
    for row in rows:
        draws = np.random.Generator(np.random.Philox(key=np.array([key[0], key[1] * (1 << 32) + row], dtype=np.uint64)))
        made.append(_one(taught, int(row), draws))
    pixels, points, bits, faces = (np.array(part) for part in zip(*made, strict=True))
    return Lesson(pixels, points.astype(np.float32), bits, faces.astype(np.int64))


def _one(taught: Lessons, row: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    kind = draws.random()
    pixels, points, bits = taught.pixels[row], taught.points[row], taught.bits[row]
    if draws.random() < 0.5:
        pixels, bits = pixels[:, ::-1], bits[:, ::-1]
        points = (np.array([len(bits), 0]) + points * [-1, 1])[MIRRORED]
    if kind < _EMPTY:
        pixels, points, bits, faces = (
            _scene(taught, draws),
            np.full((68, 2), np.nan),
            np.zeros((SIZE, SIZE), np.uint8),
            NONE,
        )
    elif kind < _EMPTY + _TURNED:
        pixels, points, bits = _moved(pixels, points, bits, draws)
        turns = int(draws.integers(1, 4))
        pixels, bits, points, faces = np.rot90(pixels, turns), np.rot90(bits, turns), points * np.nan, NONE
    elif kind < _EMPTY + _TURNED + _TWO:
        pixels, points, bits, faces = *_beside(taught, row, draws), SEVERAL
    else:
        faces = ONE
        if draws.random() < _BENT:
            pixels, points, bits = _bent(pixels, points, bits, draws)
        if draws.random() > _AS_DRAWN:
            pixels, points, bits = _moved(pixels, points, bits, draws)
        else:
            pixels, points, bits = _resized(pixels, points, bits)
        pixels, bits = _behind(taught, pixels, bits, draws)
        pixels, bits = with_neck(pixels, points, bits, draws)
        pixels, bits = hard(pixels, points, bits, draws)
    pixels, bits = _covered(pixels, bits, draws)
    return _spoiled(pixels, draws), points / SIZE, bits, faces


def _resized(pixels: np.ndarray, points: np.ndarray, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As drawn, at the size at which the network looks."""
    to = {"dsize": (SIZE, SIZE)}
    small = cv2.resize(np.ascontiguousarray(pixels), interpolation=cv2.INTER_AREA, **to)
    mask = cv2.resize(np.ascontiguousarray(bits), interpolation=cv2.INTER_NEAREST, **to)
    return small, points * (SIZE / len(bits)), mask


def _wanted(draws: np.random.Generator) -> float:
    """The longer side of the points' box in sides of the picture, as the finder's looks have it, or any other."""
    kind = draws.random()
    if kind < 0.4:
        return float(draws.uniform(0.48, 0.68))
    return float(draws.uniform(0.68, 0.92) if kind < 0.68 else np.exp(draws.uniform(np.log(0.28), np.log(0.9))))


def _moved(
    pixels: np.ndarray, points: np.ndarray, bits: np.ndarray, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Turned, scaled and moved so that the face keeps mostly inside; the picture's edges are repeated beyond it."""
    extent = float(np.ptp(points, axis=0).max()) / len(bits)
    wanted = _wanted(draws)
    scale, angle = wanted / extent * SIZE / len(bits), draws.normal(0, 10)
    free = max(0.06, 0.5 - wanted / 2)
    central = wanted > 0.48 and draws.random() < 0.6
    middle = SIZE * (0.5 + free * draws.uniform(-1, 1, 2) * (0.3 if central else 0.9))
    turn = cv2.getRotationMatrix2D((0, 0), angle, scale)
    stretch = np.diag([np.exp(draws.normal(0, 0.06)), 1.0])
    turn[:, :2] = stretch @ turn[:, :2]
    turn[:, 2] = middle - turn[:, :2] @ ((points.min(axis=0) + points.max(axis=0)) / 2)
    to_pixels = turn.copy()
    to_pixels[:, 2] += turn[:, :2] @ [0.5, 0.5] - 0.5  # OpenCV's pixel i is at i
    soft = cv2.GaussianBlur(pixels, (0, 0), 0.5 / scale) if scale < 0.8 else np.ascontiguousarray(pixels)
    warped = cv2.warpAffine(soft, to_pixels, (SIZE, SIZE), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    mask = cv2.warpAffine(
        np.ascontiguousarray(bits), to_pixels, (SIZE, SIZE), flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE
    )
    return warped, points @ turn[:, :2].T + turn[:, 2], mask


def _bent(
    pixels: np.ndarray, points: np.ndarray, bits: np.ndarray, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Another face: its parts larger or smaller, all of it displaced smoothly.

    Faces differ by more than those of FaceWorld do; without this a network that is unsure answers with their mean.
    """
    size = len(bits)
    unit = float(np.linalg.norm(np.subtract(*(points[eye].mean(axis=0) for eye in EYES))))
    down, across = np.mgrid[:size, :size].astype(np.float32) + 0.5
    here = np.stack([across, down], axis=2)
    back = np.zeros_like(here)  # where each place comes from, less the place
    for cells, spread in _FIELDS:
        field = draws.normal(0, spread * unit * draws.random(), (cells, cells, 2)).astype(np.float32)
        back += cv2.resize(field, (size, size), interpolation=cv2.INTER_CUBIC)
    for part, reach, spread in _ZOOMS:
        from_middle = here - points[part].mean(axis=0).astype(np.float32)
        near = np.exp(-np.square(from_middle / (np.array(reach, np.float32) * unit)).sum(axis=2, keepdims=True) / 2)
        back += near * from_middle * np.expm1(-draws.normal(0, spread)).astype(np.float32)
    source = (here + back - 0.5).astype(np.float32)
    to = {"map1": source, "map2": None, "borderMode": cv2.BORDER_REPLICATE}
    bent = cv2.remap(np.ascontiguousarray(pixels), interpolation=cv2.INTER_LINEAR, **to)
    mask = cv2.remap(np.ascontiguousarray(bits), interpolation=cv2.INTER_NEAREST, **to)
    moved = points.astype(np.float32)
    for _ in range(_ROUNDS):
        at = (moved - 0.5).astype(np.float32)[:, None]
        moved = points - cv2.remap(back, at, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[:, 0]
    return bent, moved, mask


def _scene(taught: Lessons, draws: np.random.Generator) -> np.ndarray:
    """A picture without a face: a studio's ground, a texture, blots, or another picture's shuffled blocks."""
    kind = draws.random()
    if kind < 0.4:
        return _studio(draws) if kind < 0.2 else _texture(draws)
    if kind < 0.6:
        row = int(draws.integers(len(taught)))
        picture, *_ = _moved(taught.pixels[row], taught.points[row], taught.bits[row], draws)
        cells = int(draws.choice([4, 8]))  # larger ones would leave half a face
        side = SIZE // cells
        blocks = picture.reshape(cells, side, cells, side, 3).swapaxes(1, 2).reshape(-1, side, side, 3)
        blocks = blocks[draws.permutation(len(blocks))]
        return blocks.reshape(cells, cells, side, side, 3).swapaxes(1, 2).reshape(SIZE, SIZE, 3)
    coarse = int(draws.choice([2, 3, 5, 9, 17, 33]))
    field = draws.integers(0, 256, (coarse, coarse, 3)).astype(np.uint8)
    way = cv2.INTER_CUBIC if draws.random() < 0.7 else cv2.INTER_NEAREST
    picture = cv2.resize(field, (SIZE, SIZE), interpolation=way)
    calm = draws.uniform(0, 1)
    picture = (calm * picture + (1 - calm) * draws.integers(0, 256, 3)).astype(np.uint8)
    for _ in range(int(draws.integers(0, 7))):
        _draw(picture, None, draws.integers(0, 256, 3), draws, SIZE * draws.uniform(0.03, 0.4))
    return picture


def _studio(draws: np.random.Generator) -> np.ndarray:
    """Light that falls off on a calm ground."""
    down, across = np.mgrid[:SIZE, :SIZE] / SIZE - draws.uniform(0, 1, 2)[:, None, None]
    way = draws.uniform(0, 2 * np.pi)
    share = np.hypot(across, down) if draws.random() < 0.5 else 0.5 + np.sin(way) * across + np.cos(way) * down
    near, far = draws.integers(0, 256, (2, 3)) * draws.uniform(0.1, 1, (2, 1))
    return np.clip(near + share[..., None] * (far - near), 0, 255).astype(np.uint8)


def _texture(draws: np.random.Generator) -> np.ndarray:
    """Noise at every scale, as leaves, walls and crowds have it, in few colors."""
    rough, total = draws.uniform(0.4, 1.1), np.zeros((SIZE, SIZE), np.float32)
    wide = draws.choice([1, 1, 4])
    for cells in (3, 6, 12, 24, 48, 96):
        field = draws.normal(0, 1, (cells, max(2, cells // wide))).astype(np.float32)
        total += cv2.resize(field, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR) / cells**rough
    share = np.clip(0.5 + 0.25 * total / total.std(), 0, 1)[..., None]
    first, second = draws.integers(0, 256, (2, 3))
    return (first + share * (second - first.astype(np.float32))).astype(np.uint8)


def _behind(
    taught: Lessons, pixels: np.ndarray, bits: np.ndarray, draws: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Another background half of the time."""
    if draws.random() < 0.5:
        return pixels, bits
    share = cv2.GaussianBlur(((bits & _PERSON) > 0).astype(np.float32), (0, 0), 0.6)[..., None]
    scene = _scene(taught, draws)
    if draws.random() < _FAR:
        row = int(draws.integers(len(taught)))
        side = int(SIZE * draws.uniform(0.2, 0.4))
        left, top = draws.integers(0, SIZE - side, 2)
        person = cv2.resize(np.ascontiguousarray(taught.pixels[row]), (side, side), interpolation=cv2.INTER_AREA)
        scene[top : top + side, left : left + side] = person
    return np.rint(share * pixels + (1 - share) * scene).astype(np.uint8), bits


def _beside(taught: Lessons, row: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two faces of about one size; the points are of none of them."""
    other = int(draws.integers(len(taught)))
    cut = int(SIZE * draws.uniform(0.45, 0.55))
    pair, bits = np.zeros((SIZE, SIZE, 3), np.uint8), np.zeros((SIZE, SIZE), np.uint8)
    for which, left, right in ((row, 0, cut), (other, cut, SIZE)):
        width = right - left
        shape = (SIZE, SIZE)
        points = taught.points[which]
        extent = np.ptp(points, axis=0).max() / width * draws.uniform(1.05, 1.5)
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        place = np.array([(left + right) / 2, SIZE * draws.uniform(0.4, 0.6)])
        turn = np.hstack([np.eye(2) / extent, (place - middle / extent)[:, None]])
        to = {"dsize": shape, "borderMode": cv2.BORDER_REPLICATE}
        pair[:, left:right] = cv2.warpAffine(taught.pixels[which], turn, flags=cv2.INTER_LINEAR, **to)[:, left:right]
        bits[:, left:right] = cv2.warpAffine(taught.bits[which], turn, flags=cv2.INTER_NEAREST, **to)[:, left:right]
    return pair, np.full((68, 2), np.nan), bits


def _draw(
    picture: np.ndarray, bits: np.ndarray | None, color: np.ndarray, draws: np.random.Generator, size: float
) -> None:
    """A filled ellipse, triangle or bar somewhere, without parts of a person."""
    shape = np.zeros((SIZE, SIZE), np.uint8)
    middle, angle = draws.uniform(0, SIZE, 2), draws.uniform(0, 2 * np.pi)
    if draws.random() < 0.4:
        axes = tuple(map(int, np.maximum(1, size * draws.uniform(0.3, 1, 2))))
        cv2.ellipse(shape, tuple(map(int, middle)), axes, float(np.degrees(angle)), 0, 360, (1,), -1)
    else:
        count = int(draws.integers(3, 6))
        around = angle + np.sort(draws.uniform(0, 2 * np.pi, count))
        corners = middle + size * np.stack([np.cos(around), np.sin(around)], axis=1) * draws.uniform(
            0.4, 1.2, (count, 1)
        )
        cv2.fillPoly(shape, [corners.astype(np.int32)], (1,))
    covered = shape > 0
    picture[covered] = np.clip(color + draws.normal(0, 6, (int(covered.sum()), 3)), 0, 255).astype(np.uint8)
    if bits is not None:
        bits[covered] = 0


def _covered(pixels: np.ndarray, bits: np.ndarray, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Things before the picture in three of ten."""
    pixels, bits = pixels.copy(), bits.copy()
    if draws.random() < 0.3:
        for _ in range(int(draws.integers(1, 4))):
            _draw(pixels, bits, draws.integers(0, 256, 3), draws, SIZE * draws.uniform(0.03, 0.22))
    return pixels, bits


def _spoiled(pixels: np.ndarray, draws: np.random.Generator) -> UInt8[np.ndarray, "s s 3"]:
    """Other light, colors, sharpness, noise and compression."""
    light = pixels.astype(np.float32) / 255
    light = light ** np.exp(draws.normal(0, 0.3))
    light = light * np.exp(draws.normal(0, 0.12, 3)).astype(np.float32) * np.exp(draws.normal(0, 0.15))
    if draws.random() < 0.3:  # light that changes across the picture
        slope = np.linspace(-1, 1, SIZE, dtype=np.float32) * draws.normal(0, 0.3)
        light *= np.exp(slope[:, None, None] if draws.random() < 0.5 else slope[None, :, None])
    if draws.random() < 0.5:  # light in patches
        cells = int(draws.integers(3, 9))
        patches = draws.normal(0, draws.uniform(0.05, 0.25), (cells, cells)).astype(np.float32)
        light *= np.exp(cv2.resize(patches, (SIZE, SIZE), interpolation=cv2.INTER_CUBIC))[..., None]
    grey = light.mean(axis=2, keepdims=True)
    pale = 0.0 if draws.random() < 0.15 else np.exp(draws.normal(0, 0.3))
    light = grey + pale * (light - grey)
    middle = light.mean()
    light = middle + (light - middle) * np.exp(draws.normal(0, 0.2))
    if draws.random() < 0.35:
        light = cv2.GaussianBlur(light, (0, 0), draws.uniform(0.3, 2.1))
    elif draws.random() < 0.3:
        light = light + draws.uniform(0.3, 1.5) * (light - cv2.GaussianBlur(light, (0, 0), 1.0))
    light = (light + draws.normal(0, abs(draws.normal(0, 0.025)) + 1e-4, light.shape)).astype(np.float32)
    if draws.random() < 0.15:  # few pixels, made larger
        few, way = int(draws.integers(24, 80)), cv2.INTER_CUBIC if draws.random() < 0.5 else cv2.INTER_LINEAR
        small = cv2.resize(light, (few, few), interpolation=cv2.INTER_AREA)
        light = cv2.resize(small, (SIZE, SIZE), interpolation=way)
    made = np.rint(np.clip(light, 0, 1) * 255).astype(np.uint8)
    if draws.random() < 0.4:
        sink = io.BytesIO()
        Image.fromarray(made).save(sink, "JPEG", quality=int(draws.integers(20, 95)))
        made = np.asarray(Image.open(sink))
    return made
