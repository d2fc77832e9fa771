"""A photograph's rendered twin: the settings of FaceWorld whose picture has the photograph's landmarks and skin colors.

First the landmarks, by bounded least squares over pose, expression, shape and the identity code, with scale and shift
in closed form; the code is held near the average face. Then tone and light, on the colors of six places of skin. What
neither tells (hair, clothes, glasses, background) is that of an average subject. A twin resembles its photograph in
pose, proportions and light. It is not the person. Both are compared in the twin's frame, grey beyond the photograph.

Source: Blanz and Vetter 1999, doi:10.1145/311535.311556 (a face model fitted to a picture, held near its mean).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, UInt8
from PIL import Image

from transect.datasets.files import size_of
from transect.datasets.labelled import BROKEN
from transect.errors import BadInput
from transect.generators.faceworld.attributes import attribute
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS, LATENT_DIM, SPACE
from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.faceworld.world import FaceWorld
from transect.generators.fitted_heads import head_of
from transect.generators.photographs.appearance.colors import ita
from transect.generators.photographs.subjects import COLORLESS, MARGIN, is_grey, size_fault
from transect.inversion.pictures import Pictures
from transect.marks.records import EYES, GROUPS
from transect.records import Latents
from transect.runs.folder import FinishedRun
from transect.runs.pictures import open_rgb

SHAPE: Final = (
    "yaw", "pitch", "roll", "face_shape", "face_width", "smile", "mouth_open", "brow_raise", "mouth_slant",
    "nose_width", "nose_length", "lip_fullness", "eye_size", "jaw_width", "chin", "cheekbones", "brow_ridge",
    "ear_size",
)  # fmt: skip
LIGHT: Final = (
    "skin_tone", "light_azimuth", "light_elevation", "fill_light", "white_balance", "exposure",
)  # fmt: skip
PLAIN: Final = {
    "glasses": 0.0, "hat": 0.0, "earrings": 0.0, "noise": 0.0, "blur": 0.0, "jpeg_quality": 100.0, "distance": 1.0,
    "light_level": 0.0, "gaze": 0.0, "makeup": 0.0, "lipstick": 0.0, "facial_hair": 0.0, "bangs": 0.0,
}  # fmt: skip
"""What every twin has, since landmarks and skin do not tell it."""
_NEAR: Final = 0.01
"""Interocular distances by which a landmark may be off at the price of one spread of the identity code."""
_STEPS, _LIGHT_STEPS = 30, 12
_FARTHEST: Final = 3.5
_SLOPE_STEP: Final = 1e-3
_LIGHT_STEP: Final = 0.02
_LIGHT_PRIOR: Final = 0.02
_TONES: Final = (2.5, 5.5, 8.5)
_OUTLIER: Final = 0.03
"""Difference of a color beyond which a place may be covered by hair, glasses or a hand."""
_AS_WELL: Final = 2e-3
"""Difference of costs up to which two fits are as good: 0.015 in each color."""
_PITCH_SPREAD: Final = 8.0

Residuals = Callable[[Float[np.ndarray, "rows k"]], Float[np.ndarray, "rows m"]]


@final
@dataclass(frozen=True, slots=True)
class Twin:
    """One photograph's twin: settings by name, and one row of latents, which FaceWorld renders.

    tones: lowest and highest of the skin tones whose colors fit as well, of those that were tried: where they lie
    apart, the photograph does not tell its tone from its light.
    """

    settings: Mapping[str, float]
    latents: Latents
    tones: tuple[float, float]


def twin(pixels: UInt8[np.ndarray, "h w 3"], points: Float[np.ndarray, "68 2"], world: FaceWorld) -> Twin:
    """The twin of a photograph in which `face_fault` finds no fault; the same numbers for the same photograph."""
    shape, identity = _fit_shape(points, world)
    light, tones = _fit_light(pixels, points, world, shape, identity)
    settings = {**PLAIN, **shape, **light}
    return Twin(settings, latents_of(settings, identity), tones)


def latents_of(settings: Mapping[str, float], identity: Float[np.ndarray, " k"]) -> Latents:
    """One row: an average subject with this identity code and these settings."""
    values = np.zeros((1, LATENT_DIM))
    values[0, IDENTITY_COLUMNS] = identity
    columns = {name: np.array([value]) for name, value in settings.items()}
    return Latents(np.zeros(1, dtype=np.int64), values, SPACE, columns)


def interocular(points: Float[np.ndarray, "68 2"]) -> float:
    """Distance between the middles of the eyes."""
    left, right = (points[eye].mean(axis=0) for eye in EYES)
    return float(np.hypot(*(right - left)))


def placed(
    found: Float[np.ndarray, "n 68 2"], points: Float[np.ndarray, "68 2"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"]]:
    """Scale and shift that bring each row of points nearest to the photograph's, without turning them."""
    middle, wanted = found.mean(axis=1, keepdims=True), points.mean(axis=0)
    centered = found - middle
    scale = (centered * (points - wanted)).sum(axis=(1, 2)) / (centered**2).sum(axis=(1, 2))
    return scale, wanted - scale[:, None] * middle[:, 0]


def skin_colors(pixels: UInt8[np.ndarray, "h w 3"], points: Float[np.ndarray, "68 2"]) -> Float[np.ndarray, "6 3"]:
    """Mean colors, 0 to 1, of both cheeks, the forehead's sides, the nose and the chin."""
    left, right = (points[eye].mean(axis=0) for eye in EYES)
    up = (left + right) / 2 - points[33]
    places = [
        left + 0.6 * (points[48] - left), right + 0.6 * (points[54] - right), left + 0.75 * up, right + 0.75 * up,
        points[29], (points[57] + points[8]) / 2,
    ]  # fmt: skip
    radius = max(1.0, 0.12 * interocular(points))
    rows, columns = np.mgrid[: len(pixels), : pixels.shape[1]] + 0.5
    colors = []
    for x, y in places:
        inside = (columns - x) ** 2 + (rows - y) ** 2 <= radius**2
        colors.append(pixels[inside].mean(axis=0) / 255 if inside.any() else np.full(3, np.nan))
    return np.array(colors)


def _fit_shape(points: Float[np.ndarray, "68 2"], world: FaceWorld) -> tuple[dict[str, float], Float[np.ndarray, " k"]]:
    """Pose, expression and shape by name, and the identity code."""
    low, high = _bounds(SHAPE)
    count, traits = len(SHAPE), len(IDENTITY_COLUMNS)
    low, high = np.append(low, np.full(traits, -_FARTHEST)), np.append(high, np.full(traits, _FARTHEST))
    start = np.zeros(count + traits)
    start[SHAPE.index("face_shape")] = 0.5
    start[SHAPE.index("smile")] = start[SHAPE.index("mouth_open")] = 0.1
    spread = (high - low) / 4
    spread[SHAPE.index("pitch")] = _PITCH_SPREAD
    spread[count:] = 1.0
    head = head_of(points)  # where edits of photographs draw what is worn; smile and slant of the mouth remain
    begin = np.append([head.values[name] for name in SHAPE], head.identity)
    begin[SHAPE.index("roll")] = np.degrees(np.arctan2(head.to_photograph[1, 0], head.to_photograph[0, 0]))
    eyes, free = interocular(points), np.array([name not in ("yaw", "roll") for name in SHAPE] + [True] * traits)

    def residuals(rows: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, "rows m"]:
        found = world.landmarks(_rows(rows, SHAPE, PLAIN))
        scale, shift = placed(found, points)
        away = (scale[:, None, None] * found + shift[:, None] - points) / (eyes * _NEAR)
        return np.concatenate([away.reshape(len(rows), -1), ((rows - start) / spread)[:, free]], axis=1)

    best, _ = _least_squares(residuals, begin, low, high, _SLOPE_STEP * spread, _STEPS)
    return dict(zip(SHAPE, best[:count].tolist(), strict=True)), best[count:]


def _fit_light(
    pixels: UInt8[np.ndarray, "h w 3"],
    points: Float[np.ndarray, "68 2"],
    world: FaceWorld,
    shape: Mapping[str, float],
    identity: Float[np.ndarray, " k"],
) -> tuple[dict[str, float], tuple[float, float]]:
    """Tone and light by name, and the lowest and highest tone of those that fit as well."""
    wanted = skin_colors(pixels, points)
    known = np.isfinite(wanted).all(axis=1)
    low, high = _bounds(LIGHT)
    given = {**PLAIN, **shape}
    metered = float(world.read(latents_of(given, identity))["exposure"][0].as_py())
    start = np.array([_TONES[1], 0.0, 30.0, 0.3, 0.0, metered])
    places = world.landmarks(latents_of(given, identity))[0]

    def residuals(rows: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, "rows m"]:
        whole = np.concatenate([rows, np.tile(identity, (len(rows), 1))], axis=1)
        shown = world.render(_rows(whole, LIGHT, given)).pixels
        away = np.array([(skin_colors(picture, places) - wanted)[known].ravel() for picture in shown])
        return np.concatenate([away, _LIGHT_PRIOR * (rows - start) / (high - low)], axis=1)

    step, tries = _LIGHT_STEP * (high - low), []
    for tone in _TONES:  # dark skin in much light and light skin in little look alike: each start has its own end
        begin = np.append(tone, start[1:])
        tries.append(_least_squares(residuals, begin, low, high, step, _LIGHT_STEPS, _OUTLIER))
    best, least = min(tries, key=lambda found: found[1])
    tones = [float(found[LIGHT.index("skin_tone")]) for found, cost in tries if cost <= least + _AS_WELL]
    return dict(zip(LIGHT, best.tolist(), strict=True)), (min(tones), max(tones))


def _bounds(names: tuple[str, ...]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    ends = np.array([attribute(name).bounds for name in names], dtype=np.float64)
    return ends[:, 0], ends[:, 1]


def _rows(rows: Float[np.ndarray, "rows k"], names: tuple[str, ...], given: Mapping[str, float]) -> Latents:
    """Settings of these names, then the identity code, in each row."""
    values = np.zeros((len(rows), LATENT_DIM))
    values[:, IDENTITY_COLUMNS] = rows[:, len(names) :]
    settings = {name: np.full(len(rows), value) for name, value in given.items()}
    settings |= {name: rows[:, place].copy() for place, name in enumerate(names)}
    return Latents(np.zeros(len(rows), dtype=np.int64), values, SPACE, settings)


def _least_squares(
    residuals: Residuals,
    start: Float[np.ndarray, " k"],
    low: Float[np.ndarray, " k"],
    high: Float[np.ndarray, " k"],
    step: Float[np.ndarray, " k"],
    steps: int,
    outlier: float | None = None,
) -> tuple[Float[np.ndarray, " k"], float]:
    """Bounded least squares, and its cost; slopes are differences made in one call; beyond `outlier` it is linear."""
    from scipy.optimize import least_squares

    def slopes(where: Float[np.ndarray, " k"]) -> Float[np.ndarray, "m k"]:
        signed = np.where(where + step > high, -step, step)  # never beyond a bound
        made = residuals(np.concatenate([where[None], where + np.diag(signed)]))
        return np.asarray(((made[1:] - made[0]) / signed[:, None]).T)

    inside = np.clip(start, low + 1e-6 * (high - low), high - 1e-6 * (high - low))
    found = least_squares(
        lambda where: residuals(where[None])[0],
        inside,
        slopes,
        bounds=(low, high),
        x_scale=high - low,
        max_nfev=steps,
        loss="linear" if outlier is None else "soft_l1",
        f_scale=1.0 if outlier is None else outlier,
    )
    return np.clip(np.asarray(found.x, dtype=np.float64), low, high), float(found.cost)


UNSURE: Final = "the finder is not sure of the face"
FEW_POINTS: Final = "fewer than 68 points are known"
CUT_OFF: Final = "most of the face lies beyond the edge"
_PLACES: Final = 4
"""Places of skin, of six, that a photograph must show."""
_EYES_APART: Final = 4.0
"""Pixels between the eyes that a face must have."""
_LONGEST: Final = 1024
_LEFT_CHEEK, _RIGHT_CHEEK = 0, 1


@final
@dataclass(frozen=True, slots=True)
class TwinResiduals:
    """What is left between a photograph and its twin; differences are twin minus photograph.

    points: root mean square distance of the 68 points, in distances of the photograph's eyes; jaw, brows, nose, eyes,
    mouth: mean distances of these. tilt: of the line between the eyes [degrees, clockwise]. ita: individual typology
    angle of the skin [degrees]; lightness: its L*; side_light: L* of the cheek at the viewer's right less that at the
    left. color: root mean square difference of six places of skin, 0 to 1.
    """

    points: float
    jaw: float
    brows: float
    nose: float
    eyes: float
    mouth: float
    tilt: float
    ita: float
    lightness: float
    side_light: float
    color: float


NAMES: Final = tuple(field.name for field in fields(TwinResiduals))
SIGNED: Final = ("tilt", "ita", "lightness", "side_light")
"""Residuals that are differences."""


def opened(pictures: Pictures, row: int) -> tuple[UInt8[np.ndarray, "h w 3"] | None, str]:
    """A photograph upright in sRGB, with a longer side of at most 1,024 pixels; or why it can have no twin."""
    try:
        source, name = pictures.stored(row), pictures.ids[row]
        if not isinstance(source, np.ndarray):
            if reason := size_fault(*size_of(source, name)):
                return None, reason
            source = np.asarray(open_rgb(source, name))
    except (BadInput, OSError):
        return None, BROKEN
    reason = size_fault(source.shape[1], source.shape[0])
    reason = reason or (COLORLESS if is_grey(source) else "")
    return (None, reason) if reason else (_bounded(source), "")


def _bounded(pixels: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "_ _ 3"]:
    """The photograph, by area means no larger than a face is fitted on."""
    height, width = pixels.shape[:2]
    if max(height, width) <= _LONGEST:
        return pixels
    size = tuple(max(1, round(side * _LONGEST / max(height, width))) for side in (width, height))
    return np.asarray(Image.fromarray(pixels).resize((size[0], size[1]), Image.Resampling.BOX))


def face_fault(pixels: UInt8[np.ndarray, "h w 3"], points: Float[np.ndarray, "68 2"]) -> str:
    """Why a face with these points can have no twin; "" where it can."""
    if not np.isfinite(points).all() or not interocular(points) >= _EYES_APART:
        return FEW_POINTS
    seen = int(np.isfinite(skin_colors(pixels, points)).all(axis=1).sum())
    return CUT_OFF if seen < _PLACES else ""


def in_frame(
    pixels: UInt8[np.ndarray, "h w 3"], scale: float, shift: tuple[float, float], size: int
) -> tuple[UInt8[np.ndarray, "s s 3"], Bool[np.ndarray, "s s"]]:
    """A photograph in its twin's frame of that size, and the pixels that it shows; grey beyond its edge.

    scale, shift: photograph's pixels = scale x twin's pixels + shift. It is cut at whole pixels and resized once, by
    area means where it becomes smaller, bilinearly where it becomes larger; a cut of that size is not touched.
    """
    side = max(1, round(scale * size))
    left, top = round(shift[0]), round(shift[1])
    canvas = np.full((side, side, 3), MARGIN, dtype=np.uint8)
    shown = np.zeros((side, side), dtype=np.uint8)
    height, width = pixels.shape[:2]
    rows = slice(max(0, top), max(0, min(height, top + side)))
    columns = slice(max(0, left), max(0, min(width, left + side)))
    there = (slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left))
    if rows.start < rows.stop and columns.start < columns.stop:
        canvas[there], shown[there] = pixels[rows, columns], 255
    if side != size:
        way = Image.Resampling.BOX if side > size else Image.Resampling.BILINEAR
        canvas, shown = (np.asarray(Image.fromarray(each).resize((size, size), way)) for each in (canvas, shown))
    seen = shown == 255
    return np.where(seen[..., None], canvas, np.uint8(MARGIN)), seen


def difference(photograph: UInt8[np.ndarray, "h w 3"], twin: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "h w 3"]:
    """Half of twin minus photograph about middle grey: grey where both are equal, light where the twin is lighter."""
    half = MARGIN + (twin.astype(np.int64) - photograph) // 2
    return np.asarray(half.clip(0, 255), dtype=np.uint8)


def residuals(
    photograph: UInt8[np.ndarray, "h w 3"],
    points: Float[np.ndarray, "68 2"],
    twin: UInt8[np.ndarray, "s s 3"],
    found: Float[np.ndarray, "68 2"],
    placed: Float[np.ndarray, "68 2"],
) -> TwinResiduals:
    """What is left. points: in the photograph's pixels; found: of the twin in its own, placed: in the photograph's."""
    away = np.linalg.norm(placed - points, axis=1) / interocular(points)
    parts = {name: float(away[part].mean()) for name, part in GROUPS.items() if name != "all points"}
    colors, others = skin_colors(photograph, points), skin_colors(twin, found)
    both = np.isfinite(colors).all(axis=1) & np.isfinite(others).all(axis=1)
    of_photograph, of_twin = _skin(colors, both), _skin(others, both)
    rms = float(np.sqrt(((others - colors)[both] ** 2).mean())) if both.any() else float("nan")
    tone = {name: of_twin[name] - of_photograph[name] for name in of_twin}
    tone["ita"], tilt = ((angle + 180) % 360 - 180 for angle in (tone["ita"], _tilt(found) - _tilt(points)))
    return TwinResiduals(points=float(np.sqrt((away**2).mean())), tilt=tilt, color=rms, **parts, **tone)


def _skin(colors: Float[np.ndarray, "6 3"], known: Bool[np.ndarray, " 6"]) -> dict[str, float]:
    """ITA and L* of the mean of the places that both show, and L* of the right cheek less that of the left."""
    light = decode_srgb(colors)
    if not known.any():
        return dict.fromkeys(("ita", "lightness", "side_light"), float("nan"))
    mean = light[known].mean(axis=0)
    cheeks = lightness(light[_RIGHT_CHEEK]) - lightness(light[_LEFT_CHEEK])
    return {"ita": float(ita(mean)), "lightness": lightness(mean), "side_light": cheeks}


def lightness(light: Float[np.ndarray, " 3"]) -> float:
    """CIE 1976 L*, 0 to 100, of linear RGB."""
    y = float(light @ LUMINANCE)
    return float(116 * np.cbrt(y) - 16) if y > (6 / 29) ** 3 else y * (29 / 3) ** 3


def _tilt(points: Float[np.ndarray, "68 2"]) -> float:
    across, down = points[42:48].mean(axis=0) - points[36:42].mean(axis=0)
    return float(np.degrees(np.arctan2(down, across)))


TABLE: Final = "twins"
KIND: Final = "twins"
PART: Final = 4
"""Photographs of a part; no figure depends on it."""
SETTINGS: Final = (*SHAPE, *LIGHT, *PLAIN)
"""What is set of each twin; its column is `set.NAME`."""
CODE: Final = "identity"


def rows_of_twins(folder: Path) -> pa.Table:
    """All rows of a finished run of twins, a row per photograph. Raises BadInput for another folder."""
    run = FinishedRun(folder)
    return run.read_table(TABLE, math.ceil(int(run.record["images"]["count"]) / PART))
