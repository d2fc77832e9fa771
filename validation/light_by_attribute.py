"""Does an attribute change a face's light as its label does in photographs? And how sharp are pictures?

Photographs: 3,547 portraits of CelebA-HQ at 256 pixels, of which 2,367 near frontal enter, each measure regressed on 22
labels and on proxies of pose. Rendered faces are measured at the same size and in the same way, on the attributes that
have a label, coded from 0 to 1. The photographs' labels are single annotators' and observational (Liu et al. 2015,
arXiv:1411.7766); a coefficient is a difference between photographs with the other labels held equal, not a movement.
Errors: HC3, MacKinnon and White 1985, doi:10.1016/0304-4076(85)90158-7.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, UInt8

from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.faceworld.world import FaceWorld
from validation.photometry import STATISTICS, face_photometry
from validation.text import facts


class Coding(NamedTuple):
    """One label and its attribute: the values that stand for no and for yes, in the attribute's unit."""

    label: str
    attribute: str
    at_0: float
    at_1: float

    @property
    def inverted(self) -> bool:
        """Whether the label says that there is little of the attribute."""
        return self.at_1 < self.at_0

    def coded(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values as a share of the way from no (0) to yes (1), in [0, 1]; any level above the first is yes.

        >>> Coding("Young", "age", 60, 30).coded(np.array([80.0, 45.0, 20.0])).tolist()
        [0.0, 0.5, 1.0]
        """
        return np.clip((values - self.at_0) / (self.at_1 - self.at_0), 0.0, 1.0)


@functools.cache
def codings() -> tuple[Coding, ...]:
    """Every pair of label and attribute.

    >>> codings()[0]
    Coding(label='Smiling', attribute='smile', at_0=0.0, at_1=1.0)
    """
    return tuple(
        Coding(row["label"], row["attribute"], float(row["at_0"]), float(row["at_1"]))
        for row in facts("attribute_labels")
    )


FURTHER = ("fold_left", "fold_right", "under_eye", "lens", "brow_top", "face_area")
"""What `face_measures` adds to the eighteen statistics of the photometry."""

MEASURES = (*STATISTICS, *FURTHER)

_LINEAR = decode_srgb(np.arange(256) / 255)
_GREY = np.array([0.299, 0.587, 0.114])
_FOLD_FROM, _FOLD_TO, _FOLD_POINTS = -0.02, 0.28, 40


def face_measures(pixels: UInt8[np.ndarray, "h w 3"], landmarks: Float[np.ndarray, "68 2"]) -> dict[str, float] | None:
    """All twenty-four measures of one face; None where its cheeks or eyes are too dark or too small to measure.

    fold_left, fold_right: the darkest point over the median of a level line across the fold beside the mouth, on the
    viewer's left and right. under_eye, lens, brow_top: luminances relative to the cheeks, .17 and .10 io below the
    eyes' centers and .12 io above the middle of the brows. face_area: the outline of points 0 to 26 as a share of the
    picture.
    """
    found = face_photometry(pixels, landmarks)
    if found is None:
        return None
    points = np.asarray(landmarks, dtype=np.float64)
    luminance, cheek = _LINEAR[pixels] @ LUMINANCE, found["cheek"]
    eyes = points[36:42].mean(0), points[42:48].mean(0)
    io = float(np.linalg.norm(eyes[0] - eyes[1]))
    down = np.array([0.0, io])

    def below_eyes(distance: float, radius: float) -> float:
        return float(np.mean([_square_median(luminance, eye + distance * down, radius * io) for eye in eyes])) / cheek

    return found | {
        "fold_left": _fold(luminance, (points[31] + points[48]) / 2, -io),
        "fold_right": _fold(luminance, (points[35] + points[54]) / 2, io),
        "under_eye": below_eyes(0.17, 0.04),
        "lens": below_eyes(0.10, 0.05),
        "brow_top": _square_median(luminance, (points[19] + points[24]) / 2 - 0.12 * down, 0.05 * io) / cheek,
        "face_area": _outline_area(points[:27]) / luminance.size,
    }


def _square_median(luminance: Float[np.ndarray, "h w"], center: Float[np.ndarray, " 2"], radius: float) -> float:
    """Median of the square of pixels within the radius of a point; NaN outside the picture."""
    (left, top), (right, bottom) = np.maximum((center - radius).astype(int), 0), (center + radius).astype(int) + 1
    part = luminance[top : max(bottom, 0), left : max(right, 0)]
    return float(np.median(part)) if part.size else float("nan")


def _fold(luminance: Float[np.ndarray, "h w"], start: Float[np.ndarray, " 2"], outwards: float) -> float:
    """Minimum over median of a level line from the point between a wing of the nose and the mouth's corner.

    outwards: io with the sign of the direction, in pixels. The line is smoothed over three of its forty points.
    """
    height, width = luminance.shape
    x = start[0] + np.linspace(_FOLD_FROM, _FOLD_TO, _FOLD_POINTS) * outwards
    columns = np.clip(x, 0, width - 1).astype(int)
    smooth = np.convolve(luminance[int(np.clip(start[1], 0, height - 1)), columns], np.full(3, 1 / 3), "valid")
    return float(smooth.min() / np.median(smooth))


def _outline_area(outline: Float[np.ndarray, "n 2"]) -> float:
    """Area that a closed line of points encloses, in the order of the points: parts that run backwards subtract.

    >>> _outline_area(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0], [0.0, 3.0]]))
    6.0
    """
    x, y = outline.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def pose_proxies(points: Float[np.ndarray, "n 68 2"]) -> Float[np.ndarray, "n 2"]:
    """Yaw and pitch as landmarks show them, in interocular distances, with the eyes turned level.

    The nose's tip to the right of the middle of the jaw (points 2 and 14), and below the nose's root.
    """
    left, right = points[:, 36:42].mean(1), points[:, 42:48].mean(1)
    across = right - left
    square = (across**2).sum(1)
    down = np.stack([-across[:, 1], across[:, 0]], 1)
    yaw = ((points[:, 30] - points[:, [2, 14]].mean(1)) * across).sum(1) / square
    pitch = ((points[:, 30] - points[:, 27]) * down).sum(1) / square
    return np.stack([yaw, pitch], 1)


def sharpness(pixels: UInt8[np.ndarray, "h w 3"]) -> float:
    """Variance of the Laplacian over the variance of the luma, in the middle of a square picture.

    The middle is from 1/4 to 7/8 of the height and from 3/16 to 13/16 of the width. Noise and detail raise it, blur
    lowers it; it depends on the size of the picture in pixels.
    """
    size = len(pixels)
    luma = np.round(pixels @ _GREY) / 255
    return _sharpness(luma[size // 4 : size * 7 // 8, size * 3 // 16 : size * 13 // 16])


def sharpness_averaged(pixels: UInt8[np.ndarray, "h w 3"]) -> float:
    """The same of the picture at half its size: the luma averaged over squares of four pixels."""
    half = len(pixels) // 2
    luma = (np.round(pixels @ _GREY) / 255)[: 2 * half, : 2 * half].reshape(half, 2, half, 2).mean((1, 3))
    return _sharpness(luma[half // 4 : half * 7 // 8, half * 3 // 16 : half * 13 // 16])


def _sharpness(luma: Float[np.ndarray, "h w"]) -> float:
    around = np.pad(luma, 1, mode="reflect")
    neighbours = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    return float((neighbours - 4 * luma).var() / max(luma.var(), 1e-6))


IMAGE_SIZE: Final = 256
"""Pixels at which the photographs were measured."""

POPULATION: Final = Path(__file__).parent / "populations" / "portraits.toml"

NEAR_FRONTAL: Final = 0.25
"""Largest yaw proxy that enters, from the median, in interocular distances."""

WITHIN: Final = 2.0
WANTED: Final = 0.8
"""Combined standard errors within which coefficients agree, and the share of coefficients that should."""

_BATCH: Final = 50
_ROWS_PER_COLUMN: Final = 3


class Coefficient(NamedTuple):
    """A coefficient of the photographs, its HC3 standard error, and on how many photographs it rests."""

    value: float
    error: float
    n: int


@functools.cache
def photograph_coefficients() -> Mapping[tuple[str, str], Coefficient]:
    """The photographs' coefficients by (measure, label): 24 measures of 22 labels.

    >>> photograph_coefficients()["under_eye", "Smiling"].value
    0.07215
    """
    return {
        (row["statistic"], row["label"]): Coefficient(
            float(row["coefficient"]), float(row["standard_error"]), int(row["n"])
        )
        for row in facts("face_photometry_by_attribute")
    }


@final
@dataclass(frozen=True, slots=True)
class EffectRow:
    """One measure and one label: coefficient and standard error of rendered faces and of photographs.

    attributes: what is coded, joined by +. n: rendered faces. within: whether both differ by at most two combined
    standard errors; None with a reason where there is no coefficient of rendered faces.
    """

    statistic: str
    label: str
    attributes: str
    n: int
    rendered: float | None
    rendered_error: float | None
    photographs: float
    photographs_error: float
    within: bool | None
    reason: str


def measured(world: FaceWorld, seeds: Int[np.ndarray, " n"]) -> pa.Table:
    """Measures, attributes and proxies of pose of the subjects that can be measured, one row each."""
    rows: list[dict[str, float]] = []
    for start in range(0, len(seeds), _BATCH):
        latents = world.sample(seeds[start : start + _BATCH])
        pixels, points = world.render(latents).pixels, world.landmarks(latents)
        values = world.read(latents).select(list(_ATTRIBUTES)).to_pylist()
        for image, marks, value, (yaw, pitch) in zip(pixels, points, values, pose_proxies(points), strict=True):
            found = face_measures(image, marks)
            rows += [] if found is None else [{**found, **value, "pose.yaw": yaw, "pose.pitch": pitch}]
    names = (*MEASURES, *_ATTRIBUTES, "pose.yaw", "pose.pitch")
    return pa.table({name: pa.array([row[name] for row in rows], pa.float64()) for name in names})


_ATTRIBUTES: Final = (*dict.fromkeys(coding.attribute for coding in codings()), "hair_style")


def compared(faces: Mapping[str, Float[np.ndarray, " n"]]) -> Iterator[EffectRow]:
    """Every measure of every label that has an attribute, in the order of the measures.

    faces: the columns of `measured`.
    """
    frontal = np.abs(faces["pose.yaw"] - np.median(faces["pose.yaw"])) < NEAR_FRONTAL if len(faces["pose.yaw"]) else []
    columns = _design({name: column[frontal] for name, column in faces.items()})
    for statistic in MEASURES:
        values = faces[statistic][frontal]
        yield from _of_statistic(statistic, values, columns)


def share_within(rows: tuple[EffectRow, ...]) -> float | None:
    """The share of the coefficients that agree; None where there are none."""
    known = [row.within for row in rows if row.within is not None]
    return float(np.mean(known)) if known else None


def _design(faces: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """The regressors by name. A shaven head is held equal: no label is compared with it."""
    columns = {f"{c.label} {c.attribute}": c.coded(faces[c.attribute]) for c in codings()}
    columns["shaven"] = (faces["hair_style"] == HAIR_STYLES.index("bald")).astype(np.float64)
    for name in ("yaw", "pitch"):
        centered = faces[f"pose.{name}"] - (faces[f"pose.{name}"].mean() if len(faces[f"pose.{name}"]) else 0)
        columns |= {name: centered, f"{name}2": centered**2}
    return columns


def _of_statistic(
    statistic: str, values: Float[np.ndarray, " n"], columns: Mapping[str, Float[np.ndarray, " n"]]
) -> Iterator[EffectRow]:
    seen = np.isfinite(values)
    kept = [name for name, column in columns.items() if np.ptp(column[seen]) > 0] if seen.any() else []
    enough = seen.sum() >= _ROWS_PER_COLUMN * (len(kept) + 1)
    fit = _fit(values, seen, [columns[name] for name in kept]) if enough else None
    for label in dict.fromkeys(coding.label for coding in codings()):
        of = [coding.attribute for coding in codings() if coding.label == label]
        names = [f"{label} {attribute}" for attribute in of]
        chosen = np.array([float(name in names) for name in ("", *kept)])
        shown = statistic, label, "+".join(of), int(seen.sum())
        if fit is None or chosen.sum() < len(names):
            yield _row(*shown, None, "too few faces" if fit is None else "it does not vary")
        else:
            yield _row(*shown, (float(chosen @ fit[0]), float(np.sqrt(chosen @ fit[1] @ chosen))), "")


def _row(
    statistic: str, label: str, attributes: str, n: int, estimate: tuple[float, float] | None, reason: str
) -> EffectRow:
    photographs = photograph_coefficients()[statistic, label]
    known = (photographs.value, photographs.error)
    if estimate is None:
        return EffectRow(statistic, label, attributes, n, None, None, *known, None, reason)
    apart = abs(estimate[0] - photographs.value)
    within = bool(apart <= WITHIN * np.hypot(estimate[1], photographs.error))
    return EffectRow(statistic, label, attributes, n, *estimate, *known, within, "")


def _fit(
    values: Float[np.ndarray, " n"], seen: Bool[np.ndarray, " n"], columns: list[Float[np.ndarray, " n"]]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k k"]]:
    """Least-squares coefficients, the constant first, and their HC3 covariance."""
    x, y = np.column_stack([np.ones(seen.sum()), *(column[seen] for column in columns)]), values[seen]
    inverse = np.linalg.pinv(x.T @ x)
    coefficients = inverse @ (x.T @ y)
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
    scaled = x * ((y - x @ coefficients) / np.maximum(1 - leverage, 1e-9))[:, None]
    return coefficients, inverse @ (scaled.T @ scaled) @ inverse


QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
SIZES: Final = ("256", "256 averaged to 128", "128")
"""Pixels of what is measured: as drawn, the same averaged over squares of four, and drawn at 128."""

_PHOTOGRAPHS: Final = {"256": "at_256px", "256 averaged to 128": "at_128px", "128": "at_128px"}


@functools.cache
def photograph_sharpness() -> Mapping[str, Float[np.ndarray, " 5"]]:
    """The photographs' quantiles QUANTILES by column: at_256px, at_128px, at_256px_without_hat_or_glasses.

    >>> photograph_sharpness()["at_256px"][2]
    np.float64(0.10006)
    """
    rows = {float(row["quantile"]): row for row in facts("face_sharpness")}
    names = [name for name in next(iter(rows.values())) if name != "quantile"]
    return {name: np.array([float(rows[q][name]) for q in QUANTILES]) for name in names}


@final
@dataclass(frozen=True, slots=True)
class SharpnessRow:
    """One population at one size: quantiles of rendered pictures and of photographs.

    inside: whether the rendered median lies between the photographs' quartiles. share_inside: the share of rendered
    pictures between their 5 and 95 %.
    """

    population: str
    pixels: str
    n: int
    rendered: tuple[float, ...]
    photographs: tuple[float, ...]
    inside: bool
    share_inside: float


def measured_sharpness(population: str, seeds: Int[np.ndarray, " n"]) -> dict[str, Float[np.ndarray, " n"]]:
    """The sharpness of each subject's picture, a column for each of SIZES."""
    large, small = FaceWorld(256, population), FaceWorld(128, population)
    columns: dict[str, list[float]] = {size: [] for size in SIZES}
    for start in range(0, len(seeds), _BATCH):
        some = seeds[start : start + _BATCH]
        pictures = large.render(large.sample(some)).pixels
        columns["256"] += [sharpness(picture) for picture in pictures]
        columns["256 averaged to 128"] += [sharpness_averaged(picture) for picture in pictures]
        columns["128"] += [sharpness(picture) for picture in small.render(small.sample(some)).pixels]
    return {name: np.array(column) for name, column in columns.items()}


def compared_sharpness(population: str, columns: Mapping[str, Float[np.ndarray, " n"]]) -> Iterator[SharpnessRow]:
    """A row per size. columns: those of `measured_sharpness`."""
    for size in SIZES:
        photographs, values = photograph_sharpness()[_PHOTOGRAPHS[size]], columns[size]
        rendered = np.quantile(values, QUANTILES)
        within = (values >= photographs[0]) & (values <= photographs[-1])
        inside = bool(photographs[1] <= rendered[2] <= photographs[3])
        quantiles = tuple(rendered.tolist()), tuple(photographs.tolist())
        yield SharpnessRow(population, size, len(values), *quantiles, inside, float(within.mean()))
