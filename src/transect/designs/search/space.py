"""What the unit cube stands for: one coordinate per attribute, its share of a population with a lower value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.designs.search.rules import EVEN, Rule
from transect.errors import BadInput, UnknownName
from transect.records import Attribute

SUBJECTS: Final = 4096
"""Subjects whose values stand for the population's."""
_SEEDS: Final = 1 << 62  # seeds that no run's subjects have
_SYNTAX: Final = "expected NAME, or NAME=LOW:HIGH for values evenly between"


@final
@dataclass(frozen=True, slots=True)
class Space:
    """Attributes that a search varies. ranked float64 [d, q]: each one's values, ascending, at evenly spaced ranks.

    Whatever is uniform in the cube has each attribute as the population has it, and all independent.
    """

    attributes: tuple[Attribute, ...]
    ranked: Float[np.ndarray, "d q"]

    def values(self, points: Float[np.ndarray, "n d"]) -> dict[str, Float[np.ndarray, " n"]]:
        """The attributes' values at points of the cube, float64, in their units."""
        ranks = np.linspace(0, 1, self.ranked.shape[1])
        made = {}
        for j, attribute in enumerate(self.attributes):
            if attribute.discrete:  # levels have nothing between them
                made[attribute.name] = self.ranked[j][np.searchsorted(ranks, points[:, j], side="left")]
            else:
                made[attribute.name] = np.interp(points[:, j], ranks, self.ranked[j])
        return made

    @property
    def thresholds(self) -> tuple[tuple[float, ...], ...]:
        """Where rules may cut each attribute: between values that differ, so that a box is a statement about values."""
        return tuple(self._cuts(row) for row in self.ranked)

    def words(self, rule: Rule) -> str:
        """The rule as a statement about values; of whatever has no condition it says nothing.

        >>> age = Attribute("age", "continuous", "apparent age", "years", 18, 80)
        >>> even = Space((age,), np.linspace(18.0, 80.0, 4097)[None])
        >>> even.words(Rule(np.array([0.5]), np.array([1.0])))
        'age > 49'
        """
        said = []
        for j, attribute in enumerate(self.attributes):
            if rule.low[j] > 0:
                said.append(f"{attribute.name} > {attribute.label(self._value(j, rule.low[j]))}")
            if rule.high[j] < 1:
                said.append(f"{attribute.name} <= {attribute.label(self._value(j, rule.high[j]))}")
        return " and ".join(said)

    def _value(self, j: int, rank: float) -> float:
        return float(self.ranked[j][round(rank * (self.ranked.shape[1] - 1))])

    def _cuts(self, row: Float[np.ndarray, " q"]) -> tuple[float, ...]:
        last = len(row) - 1
        at = np.searchsorted(row, np.interp(EVEN, np.linspace(0, 1, len(row)), row), side="right") - 1
        return tuple(float(i) / last for i in np.unique(at) if 0 < i < last)


def space_of(world: Any, vary: Iterable[str] = ()) -> Space:
    """The space of the attributes named, by default all continuous ones of the world that differ between its subjects.

    vary: NAME for the world's own population, NAME=LOW:HIGH for values evenly between. Raises UnknownName, and BadInput
    for a range out of bounds, levels in no order, a name given twice or nothing that varies.
    """
    texts = list(vary)
    population = world.read(world.sample(np.arange(SUBJECTS) + _SEEDS))
    known = {attribute.name: attribute for attribute in world.attributes}
    if texts:
        parsed = [_parsed(text, known) for text in texts]
    else:
        parsed = [(one, None) for one in known.values() if one.kind == "continuous" and one.role == "attribute"]
    names = [attribute.name for attribute, _ in parsed]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"--vary {name} is given twice: name it once")
    rows = [_ranked(attribute, span, population) for attribute, span in parsed]
    kept = [i for i, row in enumerate(rows) if row[0] < row[-1]]
    for i, text in enumerate(texts):
        if i not in kept:
            raise BadInput(f"--vary {text}: it is the same for all subjects; give it a range, NAME=LOW:HIGH")
    if not kept:
        raise BadInput("no continuous attribute of the world differs between its subjects: give --vary NAME=LOW:HIGH")
    return Space(tuple(parsed[i][0] for i in kept), np.array([rows[i] for i in kept]))


def _parsed(text: str, known: dict[str, Attribute]) -> tuple[Attribute, tuple[float, float] | None]:
    name, equals, span = (piece.strip() for piece in text.partition("="))
    if name not in known:
        raise UnknownName("attribute", name, known, hint="see: transect attributes")
    attribute = known[name]
    if attribute.nominal:
        raise BadInput(f"--vary {name}: its levels ({', '.join(attribute.levels)}) have no order to search along")
    if not equals:
        return attribute, None
    try:
        low, high = (float(end) for end in span.split(":"))
    except ValueError:
        raise BadInput(f"--vary {text!r}: {_SYNTAX}") from None
    for end in (low, high):
        attribute.check(end)
    if attribute.discrete or not low < high:
        raise BadInput(f"--vary {text!r}: {_SYNTAX}, LOW below HIGH; levels have no range")
    return attribute, (low, high)


def _ranked(attribute: Attribute, span: Sequence[float] | None, population: Any) -> Float[np.ndarray, " q"]:
    if span is not None:
        return np.linspace(span[0], span[1], SUBJECTS)
    column = np.asarray(population[attribute.name].to_numpy(), dtype=np.float64)
    return np.sort(np.clip(column, *attribute.bounds))
