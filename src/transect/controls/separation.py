"""The separation of two attributes in a latent space: the angle between the ways in which controls move latents.

Near 90 degrees two attributes are set apart from each other; near 0 or 180 setting one sets the other. Source of
the directions that leave others alone: Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from transect.errors import BadInput
from transect.protocols import Controls
from transect.records import Attribute, Latents


@final
@dataclass(frozen=True, slots=True)
class DirectionAngle:
    """Two attributes, and the angle between the directions in which they are set.

    cosine: mean over subjects, -1 to 1; degrees: the angle of that cosine, 0 to 180; spread: standard deviation of the
    subjects' cosines, 0 where an attribute's direction is the same for everybody. subjects: latents that both settings
    move. NaN with a reason where there are none; spread is NaN of one subject.
    """

    first: str
    second: str
    cosine: float
    degrees: float
    spread: float
    subjects: int
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class _Moves:
    """Unit directions [n, d], which rows have one, and why there is none."""

    units: Float[np.ndarray, "n d"]
    moved: Bool[np.ndarray, " n"]
    reason: str = ""


def direction_angles(controls: Controls, latents: Latents) -> tuple[DirectionAngle, ...]:
    """The angle between every two of the controls' attributes: how latents move as each is set from low to high.

    controls: any, fitted directions or not; latents: the subjects to look at, one row each, in the space that the
    controls move. The angle is between the *moves*: learned controls that leave other attributes alone move along dual
    directions, whose angle is not that of the normals which read the attributes (`hyperplanes.angles`); for two
    attributes the one is 180 degrees minus the other.

    Returns an angle per pair, in the order of the attributes; NaN with the reason where an attribute moves no latent
    (FaceWorld's attributes are coordinates of its causal model, not of the latents), or has levels in no order.

    Raises BadInput without latents, or with fewer than two attributes.

    >>> from transect.controls.directions import Direction
    >>> from transect.controls.learned import LearnedControls
    >>> known = {"kind": "binary", "offset": 0.0, "slope": 1.0, "mean": 0.0, "low": -1.0, "high": 1.0, "quality": 1.0}
    >>> more = {"quality_measure": "balanced accuracy", "labels": 100, "held_out": 20}
    >>> across = Direction("age", normal=np.array([1.0, 0.0]), **known, **more)
    >>> slanted = Direction("smile", normal=np.array([0.5, 0.75**0.5]), **known, **more)  # 60 degrees from it
    >>> controls = LearnedControls([across, slanted], "w")
    >>> (made,) = direction_angles(controls, Latents(np.arange(1), np.zeros((1, 2)), "w"))
    >>> round(made.degrees), round(made.cosine, 3)
    (120, -0.5)
    """
    attributes = tuple(controls.attributes)
    if len(latents) == 0 or len(attributes) < 2:
        raise BadInput(
            f"expected latents and two attributes or more, got {len(latents)} latents and {len(attributes)} attributes;"
            " give subjects to look at"
        )
    moves = {attribute.name: _moves(controls, attribute, latents) for attribute in attributes}
    return tuple(_angle(first, second, moves) for first, second in itertools.combinations(moves, 2))


def _moves(controls: Controls, attribute: Attribute, latents: Latents) -> _Moves:
    n = len(latents)
    if attribute.nominal:
        return _Moves(np.zeros((n, 0)), np.zeros(n, dtype=bool), f"{attribute.name} has levels in no order")
    low, high = (controls.set(latents, {attribute.name: end}) for end in attribute.bounds)
    change = (np.asarray(high.values, dtype=np.float64) - np.asarray(low.values, dtype=np.float64)).reshape(n, -1)
    length = np.linalg.norm(change, axis=1)
    moved = length > 0
    units = np.divide(change, length[:, None], out=np.zeros_like(change), where=moved[:, None])
    reason = "" if moved.any() else f"{attribute.name} moves no latent: it has no direction in space {latents.space}"
    return _Moves(units, moved, reason)


def _angle(first: str, second: str, moves: dict[str, _Moves]) -> DirectionAngle:
    move, other = moves[first], moves[second]
    both = move.moved & other.moved
    if not both.any():
        reason = move.reason or other.reason or "no subject is moved by both"
        return DirectionAngle(first, second, np.nan, np.nan, np.nan, 0, reason)
    cosines = np.clip((move.units[both] * other.units[both]).sum(axis=1), -1.0, 1.0)
    mean = float(cosines.mean())
    spread = float(cosines.std(ddof=1)) if len(cosines) > 1 else np.nan
    return DirectionAngle(first, second, mean, float(np.degrees(np.arccos(mean))), spread, len(cosines))
