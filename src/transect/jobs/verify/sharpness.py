"""How sharp are the pictures of each shipped population, beside portraits of CelebA-HQ?"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.jobs.verify.facial_measures import sharpness, sharpness_averaged

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
SIZES: Final = ("256", "256 averaged to 128", "128")
"""Pixels of what is measured: as drawn, the same averaged over squares of four, and drawn at 128."""

_PHOTOGRAPHS: Final = {"256": "at_256px", "256 averaged to 128": "at_128px", "128": "at_128px"}
_BATCH: Final = 50


@functools.cache
def photograph_sharpness() -> Mapping[str, Float[np.ndarray, " 5"]]:
    """The photographs' quantiles QUANTILES by column: at_256px, at_128px, at_256px_without_hat_or_glasses.

    >>> photograph_sharpness()["at_256px"][2]
    np.float64(0.10006)
    """
    file = resources.files("transect.jobs.verify").joinpath("facts/face_sharpness.csv")
    rows = {float(row["quantile"]): row for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())}
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


def worlds(population: str) -> tuple[FaceWorld, FaceWorld]:
    """A population at the sizes that are drawn: 256 and 128 pixels."""
    from transect.generators.faceworld.world import FaceWorld

    return FaceWorld(256, population), FaceWorld(128, population)


def measured(drawn: tuple[FaceWorld, FaceWorld], seeds: Int[np.ndarray, " n"]) -> pa.Table:
    """The sharpness of each subject's picture, a column for each of SIZES. drawn: see `worlds`."""
    large, small = drawn
    columns: dict[str, list[float]] = {size: [] for size in SIZES}
    for start in range(0, len(seeds), _BATCH):
        some = seeds[start : start + _BATCH]
        pictures = large.render(large.sample(some)).pixels
        columns["256"] += [sharpness(picture) for picture in pictures]
        columns["256 averaged to 128"] += [sharpness_averaged(picture) for picture in pictures]
        columns["128"] += [sharpness(picture) for picture in small.render(small.sample(some)).pixels]
    return pa.table({name: pa.array(column, pa.float64()) for name, column in columns.items()})


def compared(population: str, columns: Mapping[str, Float[np.ndarray, " n"]]) -> Iterator[SharpnessRow]:
    """A row per size. columns: those of `measured`."""
    for size in SIZES:
        photographs, values = photograph_sharpness()[_PHOTOGRAPHS[size]], columns[size]
        rendered = np.quantile(values, QUANTILES)
        within = (values >= photographs[0]) & (values <= photographs[-1])
        inside = bool(photographs[1] <= rendered[2] <= photographs[3])
        quantiles = tuple(rendered.tolist()), tuple(photographs.tolist())
        yield SharpnessRow(population, size, len(values), *quantiles, inside, float(within.mean()))
