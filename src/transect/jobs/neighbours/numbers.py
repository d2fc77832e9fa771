"""The numbers of a comparison of distances: what `transect neighbours --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from transect.effects.neighbours import Preserved


@final
@dataclass(frozen=True, slots=True)
class DistanceErrors:
    """How far each attribute differs among nearest neighbours by one distance.

    without_features: images that this distance leaves out.
    """

    distance: str
    without_features: int
    attributes: tuple[Preserved, ...]


@final
@dataclass(frozen=True, slots=True)
class NeighboursNumbers:
    """Distances compared. images: rows of the table; queries: images whose neighbours were looked up; k: how many each.

    distances: in the order of the features, last `images at random`, the error of a distance that keeps nothing.
    notes: how ids of features and table were compared where they are not the same texts.
    """

    images: int
    queries: int
    k: int
    distances: tuple[DistanceErrors, ...]
    source: str
    seconds: float
    notes: tuple[str, ...] = ()
