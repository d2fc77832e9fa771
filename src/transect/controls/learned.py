"""Controls over a learned generator: attributes are read and set along fitted directions of its latent space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.controls.directions import Direction, hyperplanes
from transect.controls.hyperplanes import steps_along
from transect.controls.layers import layered
from transect.errors import BadInput, UnknownName
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import FITTED, Attribute, Latents

USUAL: Final = 5
"""Number of levels where the user names none."""


@final
class LearnedControls:
    """Reads and sets attributes of latents of one space; a setting leaves the other fitted attributes alone.

    A continuous attribute has the label's unit; a binary one is the signed distance from its hyperplane, yes above 0.
    Ways are those of the directions (`Direction.way`), corrected so that no other attribute's reading changes.
    Ranges are those of the fits' middle 99 %; what lies beyond is read as the end. What the directions do not hold
    (attributes that were not fitted) may change too: raters judge that. Directions of w also take codes of w+,
    as inversion finds them: they read the mean of the layers' w, and move all layers by the same step. Raises BadInput
    for no directions, two of one name, or collinear ones.
    """

    def __init__(self, directions: Sequence[Direction], space: str) -> None:
        names = [direction.name for direction in directions]
        if not names or len(set(names)) < len(names):
            raise BadInput(f"directions: expected one or more with a name each, got {', '.join(names) or 'none'}")
        self.space = space
        self.directions = {direction.name: direction for direction in directions}
        self._planes = hyperplanes(directions)
        self._steps = steps_along(self._planes, np.array([direction.way for direction in directions]))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read and set."""
        return tuple(_attribute(direction) for direction in self.directions.values())

    @property
    def usual_levels(self) -> dict[str, tuple[float, ...]]:
        """Five values of each attribute, evenly from where its labels see little of it to where they see much.

        Over the whole range where labels do not follow the direction.
        """
        known = self.directions.items()
        return {
            name: evenly((direction.shown_low, direction.shown_high), (direction.low, direction.high))
            for name, direction in known
        }

    def read(self, latents: Latents) -> pa.Table:
        """The value of every attribute, float64 columns, within the attributes' ranges."""
        return pa.table(
            {
                name: pa.array(np.clip(column, self.directions[name].low, self.directions[name].high), pa.float64())
                for name, column in self._values(latents).items()
            }
        )

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """Latents moved to those values, along directions that leave all other fitted attributes where they are.

        hold: named attributes stay; they do anyway. Raises UnknownName (attribute) and BadInput (range, held and set
        at once, latents of another space).
        """
        requested = requested_columns(self.attributes, values, hold, len(latents))
        now = self._values(latents)
        layers = self._layers(latents)
        for number, name in enumerate(self.directions):
            if name in requested:
                change = requested[name] - now[name]
                layers = layers + ((change / self._slope(name))[:, None] * self._steps[number])[:, None]
        return replace(latents, values=layers.reshape(np.shape(latents.values)))

    def move(self, latents: Latents, name: str, lengths: Float[np.ndarray, " n"]) -> Latents:
        """Z + length d, d the attribute's own unit direction: other attributes may move too, and no range stops it.

        Codes of w+ move by that in every layer. Raises UnknownName.
        """
        if name not in self.directions:
            raise UnknownName("attribute", name, self.directions)
        change = np.asarray(lengths, dtype=np.float64)[:, None] * self.directions[name].normal
        return replace(latents, values=(self._layers(latents) + change[:, None]).reshape(np.shape(latents.values)))

    def _values(self, latents: Latents) -> dict[str, Float[np.ndarray, " n"]]:
        # Row by row: the last bit of one product of all rows would depend on their number.
        rows = [self._planes.normals @ row + self._planes.offsets for row in self._rows(latents)]
        decisions = np.array(rows).reshape(len(latents), len(self.directions))
        return {
            name: direction.mean + self._slope(name) * decisions[:, number]
            for number, (name, direction) in enumerate(self.directions.items())
        }

    def _slope(self, name: str) -> float:
        direction = self.directions[name]
        return 1.0 if direction.kind == "binary" else direction.slope

    def _rows(self, latents: Latents) -> Float[np.ndarray, "n d"]:
        return np.asarray(self._layers(latents).mean(axis=1))

    def _layers(self, latents: Latents) -> Float[np.ndarray, "n layers d"]:
        return layered(latents, self.space, self._planes.normals.shape[1])


def evenly(shown: tuple[float, float], whole: tuple[float, float]) -> tuple[float, ...]:
    """Five values, evenly from where labels see little of an attribute to where they see much, or over its whole range.

    >>> evenly((float("nan"), float("nan")), (0.0, 4.0))
    (0.0, 1.0, 2.0, 3.0, 4.0)
    """
    in_order = np.isfinite(shown).all() and shown[0] < shown[1]
    return tuple(np.linspace(*(shown if in_order else whole), USUAL).tolist())


def _attribute(direction: Direction) -> Attribute:
    quality = f"held-out {direction.quality_measure} {direction.quality:.2f}"
    source = f"{FITTED} {direction.origin.get('labels', 'labels')}, {quality}"
    meaning = f"{direction.name}, along a fitted direction"
    unit = "distance from the hyperplane" if direction.kind == "binary" else ""
    return Attribute(direction.name, "continuous", meaning, unit, direction.low, direction.high, source=source)
