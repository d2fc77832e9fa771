"""A photograph beside its rendered twin: which photographs can have one, both in one frame, and what is left between.

Both pictures have the twin's frame, so that faces have one size and place; where the photograph ends both are grey.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.datasets.labelled import BROKEN
from transect.datasets.pictures import size_of
from transect.errors import BadInput
from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.photographs.appearance.skin_colors import ita
from transect.generators.photographs.grey import COLORLESS, is_grey
from transect.generators.photographs.subjects import HUGE, LARGEST, MARGIN, SMALLEST, TINY
from transect.inversion.pictures import Pictures
from transect.inversion.twins import interocular, skin_colors
from transect.marks.measuring import GROUPS
from transect.runs import picture_files

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
            if reason := _size_fault(*size_of(source, name)):
                return None, reason
            source = np.asarray(picture_files.open_rgb(source, name))
    except (BadInput, OSError):
        return None, BROKEN
    reason = _size_fault(source.shape[1], source.shape[0])
    reason = reason or (COLORLESS if is_grey(source) else "")
    return (None, reason) if reason else (_bounded(source), "")


def _bounded(pixels: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "_ _ 3"]:
    """The photograph, by area means no larger than a face is fitted on."""
    from PIL import Image

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
    from PIL import Image

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
    tone["ita"], tilt = (_turned(angle) for angle in (tone["ita"], _tilt(found) - _tilt(points)))
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


def _turned(degrees: float) -> float:
    """The same angle from -180 to below 180."""
    return (degrees + 180) % 360 - 180


def _tilt(points: Float[np.ndarray, "68 2"]) -> float:
    across, down = points[42:48].mean(axis=0) - points[36:42].mean(axis=0)
    return float(np.degrees(np.arctan2(down, across)))


def _size_fault(width: int, height: int) -> str:
    return TINY if min(width, height) < SMALLEST else HUGE if width * height > LARGEST else ""
