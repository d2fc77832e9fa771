"""Is the world lit as photographs are? FaceWorld's faces and photographs, statistic by statistic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput
from transect.generators.faceworld.validity import photometry_passes
from transect.jobs.verify.cache import Figures
from transect.jobs.verify.photometry import FIFTH_EDGES, STATISTICS, face_photometry, photograph_quantiles
from transect.records import Latents
from transect.runs.plain_json import plain
from transect.runs.schema import Number

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld

FIRST_SEED = 1_000_000
"""Seeds of the check begin here, apart from those that a study or a fit uses."""

DARKEST_TONES = 9.0
"""Subjects from this point of the Monk scale on are the darkest tones."""

_BATCH = 250
_QUANTILES = ("p05", "p25", "p50", "p75", "p95")


@dataclass(frozen=True, slots=True)
class PhotometryRow:
    """One statistic of one fifth: quantiles of rendered faces and of photographs.

    inside: whether the rendered median lies between the photographs' p25 and p75; share_inside: the share of rendered
    faces between their p05 and p95. NaN and False where no face of the fifth has the statistic.
    """

    fifth: int
    statistic: str
    n: int
    rendered_p05: Number
    rendered_p25: Number
    rendered_p50: Number
    rendered_p75: Number
    rendered_p95: Number
    p05: Number
    p25: Number
    p50: Number
    p75: Number
    p95: Number
    inside: bool
    share_inside: Number


@dataclass(frozen=True, slots=True)
class Photometry:
    """The whole check: ninety rows and what follows from them."""

    rows: tuple[PhotometryRow, ...]
    faces_per_fifth: tuple[int, ...]
    unmeasured: int
    """Faces too dark or too small to measure, or beyond the photographs' cheek luminances."""
    darkest_cheek: float = float("nan")
    """Median cheek luminance of the darkest tones; NaN where there are none."""

    @property
    def medians_inside(self) -> int:
        """How many of the ninety medians lie between the photographs' p25 and p75."""
        return sum(row.inside for row in self.rows)

    @property
    def medians_outside(self) -> tuple[tuple[int, str], ...]:
        """Fifth and statistic of the medians beyond the photographs' p05 or p95, or without a face."""
        return tuple((r.fifth, r.statistic) for r in self.rows if not r.p05 <= r.rendered_p50 <= r.p95)

    @property
    def share_inside(self) -> float:
        """The smallest share, over statistics and fifths, of faces between the photographs' p05 and p95.

        NaN where a fifth has no face with the statistic.
        """
        return float(np.min([row.share_inside for row in self.rows]))

    def as_dict(self) -> Figures:
        """Plain numbers and text, NaN as None, for JSON."""
        names = ("faces_per_fifth", "unmeasured", "medians_inside", "medians_outside", "share_inside", "darkest_cheek")
        figures: Figures = {name: plain(getattr(self, name)) for name in names}
        figures |= {"photometry": plain(self.rows), "subjects": sum(self.faces_per_fifth) + self.unmeasured}
        return figures | {"photometry_passes": photometry_passes(figures)}


def verify_photometry(
    world: FaceWorld,
    subjects: int = 5000,
    first_seed: int = FIRST_SEED,
    landmarks: Callable[[Latents], Float[np.ndarray, "n 68 2"]] | None = None,
) -> Photometry:
    """Measure the first `subjects` subjects of the world and compare them with the photographs.

    landmarks: from latents to dlib's 68 points in pixels (default: the world's own). Raises BadInput when subjects is
    less than one.
    """
    if subjects < 1:
        raise BadInput(f"subjects: expected at least 1, got {subjects}; give more")
    measured = measure(world, np.arange(first_seed, first_seed + subjects), landmarks or world.landmarks)
    return compare(measured, subjects)


def measure(
    world: FaceWorld, seeds: Int[np.ndarray, " n"], landmarks: Callable[[Latents], Float[np.ndarray, "n 68 2"]]
) -> dict[str, Float[np.ndarray, " k"]]:
    """The eighteen statistics, and skin_tone, of the subjects that can be measured, one float64 column each."""
    rows: list[dict[str, float]] = []
    for start in range(0, len(seeds), _BATCH):
        latents = world.sample(seeds[start : start + _BATCH])
        pixels, points = world.render(latents).pixels, landmarks(latents)
        tones = world.read(latents)["skin_tone"].to_pylist()
        for image, marks, tone in zip(pixels, points, tones, strict=True):
            row = face_photometry(image, marks)
            rows += [] if row is None else [{**row, "skin_tone": tone}]
    return columns(rows)


def columns(rows: Sequence[Mapping[str, float]]) -> dict[str, Float[np.ndarray, " k"]]:
    """Rows of statistics as one float64 column each; a column that a row lacks is NaN there."""
    names = (*STATISTICS, "skin_tone")
    return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}


def compare(measured: Mapping[str, Float[np.ndarray, " k"]], subjects: int) -> Photometry:
    """Compare measured columns with the photographs; subjects: how many were measured."""
    fifth = np.digitize(measured["cheek"], FIFTH_EDGES) - 1
    counts = tuple(int((fifth == k).sum()) for k in range(5))
    rows = tuple(_row(k, name, measured[name][fifth == k]) for k in range(5) for name in STATISTICS)
    darkest = measured["cheek"][measured["skin_tone"] >= DARKEST_TONES]
    return Photometry(rows, counts, subjects - sum(counts), float(np.median(darkest)) if len(darkest) else float("nan"))


def _row(fifth: int, statistic: str, values: Float[np.ndarray, " k"]) -> PhotometryRow:
    photographs = photograph_quantiles()[fifth, statistic]
    values = values[np.isfinite(values)]
    quantiles = np.percentile(values, (5, 25, 50, 75, 95)) if len(values) else np.full(5, np.nan)
    within = (values >= photographs.p05) & (values <= photographs.p95)
    rendered = {f"rendered_{name}": float(value) for name, value in zip(_QUANTILES, quantiles, strict=True)}
    figures = rendered | {name: getattr(photographs, name) for name in _QUANTILES}
    inside = bool(photographs.p25 <= quantiles[2] <= photographs.p75)
    share = float(within.mean()) if len(values) else float("nan")
    return PhotometryRow(fifth, statistic, len(values), inside=inside, share_inside=share, **figures)
