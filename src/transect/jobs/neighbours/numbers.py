"""The numbers of a comparison of distances: what `transect neighbours --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from transect.effects.identity_pairs import Preserved


@final
@dataclass(frozen=True, slots=True)
class DistanceErrors:
    """How far each attribute differs among nearest neighbours; without_features: images left out."""

    distance: str
    without_features: int
    attributes: tuple[Preserved, ...]


@final
@dataclass(frozen=True, slots=True)
class NearImage:
    """One of an image's neighbours: its row, and its distance divided by that of the nearest."""

    row: int
    ratio: float


@final
@dataclass(frozen=True, slots=True)
class Nearest:
    """An image's neighbours by one distance, from the nearest; none for an image without features."""

    distance: str
    images: tuple[NearImage, ...]


@final
@dataclass(frozen=True, slots=True)
class Example:
    """An image, by its row, and its neighbours by each distance."""

    row: int
    nearest: tuple[Nearest, ...]


@final
@dataclass(frozen=True, slots=True)
class NeighboursNumbers:
    """Distances compared. images: rows of the table; queries: images whose neighbours were looked up; k: how many each.

    distances: in the order of the features, last `images at random`, the error of a distance that keeps nothing.
    notes: how ids of features and table were compared where they are not the same texts. examples: a few images and
    their neighbours, drawn by the seed.
    """

    images: int
    queries: int
    k: int
    distances: tuple[DistanceErrors, ...]
    source: str
    seconds: float
    notes: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
