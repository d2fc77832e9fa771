"""Does an attribute change a face's light as its label does in photographs? Regressions of both, side by side.

Photographs: 3,547 portraits of CelebA-HQ at 256 pixels, of which 2,367 near frontal enter, each measure regressed on 22
labels and on proxies of pose. Rendered faces are measured at the same size and in the same way, on the attributes that
have a label, coded from 0 to 1 (see `attribute_labels`). The photographs' labels are single annotators' and
observational; a coefficient is a difference between photographs with the other labels held equal, not a movement.
Errors: HC3, MacKinnon and White 1985, doi:10.1016/0304-4076(85)90158-7.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.jobs.verify.attribute_labels import codings
from transect.jobs.verify.facial_measures import MEASURES, face_measures, pose_proxies

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld

IMAGE_SIZE: Final = 256
"""Pixels at which the photographs were measured."""

POPULATION: Final = Path(str(resources.files("transect.jobs.verify").joinpath("populations/portraits.toml")))

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
    file = resources.files("transect.jobs.verify").joinpath("facts/face_photometry_by_attribute.csv")
    return {
        (row["statistic"], row["label"]): Coefficient(
            float(row["coefficient"]), float(row["standard_error"]), int(row["n"])
        )
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())
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
