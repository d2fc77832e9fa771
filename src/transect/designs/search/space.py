"""The latent part of a search space: directions that no attribute names, one coordinate of the cube each.

What the unit cube stands for: one coordinate per attribute, its share of a population with a lower value.

A space of conditions has levels alone, as McDuff et al. 2019 search (race and gender, eight conditions in all): the
picture of a condition is a new subject with a random latent. A latent space also has latent coordinates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.designs.levels import ends, unknown_attribute
from transect.designs.search.interrogation import cells
from transect.designs.search.rules import EVEN, Rule
from transect.errors import BadInput, UnknownName
from transect.protocols import World
from transect.records import Attribute, Latents
from transect.runs.capabilities import sample_unedited
from transect.runs.wording import spaced

DIRECTIONS: Final = 4
"""Latent coordinates that are searched by default."""
_SUBJECTS: Final = 1024
"""Subjects that principal directions are taken of: a space w+ has thousands of coordinates."""
_CHANCE: Final = 1.2
"""How far beyond the edge of chance a variance must lie to count as more than the others."""


@final
@dataclass(frozen=True, slots=True)
class LatentPart:
    """Orthonormal directions [m, k] of a latent space; ranked [m, q]: a sample's coordinates along each, ascending."""

    directions: Float[np.ndarray, "m k"]
    ranked: Float[np.ndarray, "m q"]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """A name for each coordinate: latent_1 and so on; they mean nothing by themselves."""
        return tuple(
            Attribute(
                f"latent_{number}",
                "continuous",
                "a latent coordinate",
                "",
                float(row[0]),
                float(row[-1]),
                role="nuisance",
            )
            for number, row in enumerate(self.ranked, start=1)
        )

    def placed(self, latents: Latents, wanted: Float[np.ndarray, "n m"]) -> Latents:
        """The latents with those coordinates along the directions; what is orthogonal to them stays the subject's."""
        values = np.asarray(latents.values, dtype=np.float64)
        rows = values.reshape(len(values), -1)
        # Row by row: the last bit of one product of all rows would depend on their number.
        moved = [row + (goal - self.directions @ row) @ self.directions for row, goal in zip(rows, wanted, strict=True)]
        return replace(latents, values=np.array(moved).reshape(values.shape))


def latent_part(latents: Latents, count: int) -> LatentPart:
    """The part that `count` directions of a sample span. Where some vary more than chance lets equal ones (a space w,
    say) they are the first principal ones; else (z, u) the first coordinates, of FaceWorld its identity code.
    Coordinates with few values, a network's conditions, are left out.
    """
    rows = np.asarray(latents.values, dtype=np.float64).reshape(len(latents), -1)
    free = np.flatnonzero([len(np.unique(column)) > len(rows) // 2 for column in rows.T])
    if not 1 <= count <= len(free):
        raise BadInput(
            f"expected --latent-dims from 1 to {len(free)}, the number of free latent coordinates, got {count}"
        )
    directions = np.zeros((count, rows.shape[1]))
    directions[:, free] = _directions(rows[:_SUBJECTS, free], count)
    return LatentPart(
        directions, np.sort([[float(direction @ row) for row in rows] for direction in directions], axis=1)
    )


def _directions(rows: Float[np.ndarray, "n k"], count: int) -> Float[np.ndarray, "m k"]:
    n, k = rows.shape
    _, singular, principal = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    # Marchenko and Pastur 1967: the largest variance that k equal ones show in n rows, as a multiple of their mean.
    edge = (1 + np.sqrt(k / n)) ** 2
    if singular[0] ** 2 <= _CHANCE * edge * (singular**2).sum() / k:
        return np.eye(k)[:count]
    signs = np.sign(principal[:, np.abs(principal).argmax(axis=1)].diagonal())
    return np.asarray(principal[:count] * signs[:count, None])


KINDS: Final = ("attributes", "conditions", "latent")

SUBJECTS: Final = 4096
"""Subjects whose values stand for the population's."""
_SEEDS: Final = 1 << 62  # seeds that no run's subjects have
MOST_CONDITIONS: Final = 64
_SYNTAX: Final = "expected NAME, NAME=LOW:HIGH for values evenly between, or NAME=A,B for levels"


@final
@dataclass(frozen=True, slots=True)
class Space:
    """Attributes that a search varies: each one's values, ascending, at even ranks [d, q]; all are independent.
    stepped: attributes that take only the levels that you name. latent: whose coordinates the last attributes are.
    """

    attributes: tuple[Attribute, ...]
    ranked: Float[np.ndarray, "d q"]
    stepped: frozenset[str] = frozenset()
    latent: LatentPart | None = None

    def values(self, points: Float[np.ndarray, "n d"]) -> dict[str, Float[np.ndarray, " n"]]:
        """The attributes' values at points of the cube, float64, in their units."""
        ranks = np.linspace(0, 1, self.ranked.shape[1])
        values = {}
        for j, attribute in enumerate(self.attributes):
            if self.by_level(attribute):  # levels have nothing between them
                values[attribute.name] = self.ranked[j][np.searchsorted(ranks, points[:, j], side="left")]
            else:
                values[attribute.name] = np.interp(points[:, j], ranks, self.ranked[j])
        return values

    def subjects(self, world: World, seeds: Int[np.ndarray, " n"], points: Float[np.ndarray, "n d"]) -> Latents:
        """The world's subjects of these seeds at points of the cube: latent coordinates first, then attributes."""
        values, latents = self.values(points), world.sample(seeds)
        if self.latent is not None:
            wanted = np.column_stack([values.pop(attribute.name) for attribute in self.latent.attributes])
            latents = self.latent.placed(latents, wanted)
        return world.set(latents, values)

    def by_level(self, attribute: Attribute) -> bool:
        """Whether the attribute takes levels and nothing between them."""
        return attribute.discrete or attribute.name in self.stepped

    @property
    def steps(self) -> tuple[tuple[float, ...], ...]:
        """The ranks between an attribute's levels; none for one that is not searched by level."""
        return tuple(
            tuple(float(i) / (len(row) - 1) for i in np.flatnonzero(row[1:] > row[:-1]))
            if self.by_level(attribute)
            else ()
            for attribute, row in zip(self.attributes, self.ranked, strict=True)
        )

    @property
    def conditions_alone(self) -> bool:
        """Whether there are levels and nothing else."""
        return all(self.steps)

    def snapped(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """In a space of conditions each point as the middle of its condition; else the points as they are."""
        return cells(points, self.steps) if self.conditions_alone else points

    @property
    def thresholds(self) -> tuple[tuple[float, ...], ...]:
        """Where rules may cut each attribute: between values that differ, so that a box is a statement about values."""
        return tuple(steps or self._cuts(row) for steps, row in zip(self.steps, self.ranked, strict=True))

    def words(self, rule: Rule) -> str:
        """The rule as a statement about values; of whatever has no condition it says nothing."""
        conditions = []
        for j, attribute in enumerate(self.attributes):
            if attribute.name in self.stepped:
                conditions += self._levels_inside(j, attribute, rule)
                continue
            if rule.low[j] > 0:
                conditions.append(f"{attribute.name} > {attribute.label(self._value(j, rule.low[j]))}")
            if rule.high[j] < 1:
                conditions.append(f"{attribute.name} <= {attribute.label(self._value(j, rule.high[j]))}")
        return " and ".join(conditions)

    def said(self, rule: Rule) -> str:
        """The rule for a reader: values to two digits, with their units.

        >>> light = Attribute("light_level", "continuous", "light", "stops", -6, 0)
        >>> even = Space((light,), np.linspace(-6.0, 0.0, 4097)[None])
        >>> even.said(Rule(np.array([0.0]), np.array([0.2502])))
        'light level at most −4.5 stops'
        """
        parts = []
        for j, attribute in enumerate(self.attributes):
            name = spaced(attribute.name)
            if attribute.name in self.stepped:
                parts += [spaced(text).replace(" = ", " ") for text in self._levels_inside(j, attribute, rule)]
                continue
            low, high = (self.rounded(j, self._value(j, end)) for end in (rule.low[j], rule.high[j]))
            if rule.low[j] > 0 and rule.high[j] < 1:
                parts.append(f"{name} above {low} to {high}{_unit(attribute)}")
            elif rule.low[j] > 0:
                parts.append(f"{name} above {low}{_unit(attribute)}")
            elif rule.high[j] < 1:
                parts.append(f"{name} at most {high}{_unit(attribute)}")
        return " and ".join(parts)

    def rounded(self, j: int, value: float) -> str:
        """A value of an attribute, to a fiftieth of the searched range or finer; of levels their names.

        >>> light = Attribute("light_level", "continuous", "light", "stops", -6, 0)
        >>> even = Space((light,), np.linspace(-6.0, 0.0, 4097)[None])
        >>> even.rounded(0, -4.501), even.rounded(0, -0.0002)
        ('−4.5', '0')
        """
        width = float(self.ranked[j][-1] - self.ranked[j][0])
        if self.by_level(self.attributes[j]) or not width > 0:
            return self.attributes[j].label(value)
        shown = round(value, max(0, math.ceil(1.7 - math.log10(width)))) + 0.0
        return f"{shown:.10g}".replace("-", "−")

    def _levels_inside(self, j: int, attribute: Attribute, rule: Rule) -> list[str]:
        """The levels that a rule has of an attribute chosen for by level, in one phrase; none where it has all."""
        edges = (0.0, *self.steps[j], 1.0)
        levels = np.unique(self.ranked[j])
        inside = [rule.low[j] < high and low < rule.high[j] for low, high in itertools.pairwise(edges)]
        if all(inside):
            return []
        names = [attribute.label(float(level)) for level, is_inside in zip(levels, inside, strict=True) if is_inside]
        return [f"{attribute.name} = {' or '.join(names)}"]

    def _value(self, j: int, rank: float) -> float:
        return float(self.ranked[j][round(rank * (self.ranked.shape[1] - 1))])

    def _cuts(self, row: Float[np.ndarray, " q"]) -> tuple[float, ...]:
        last = len(row) - 1
        at = np.searchsorted(row, np.interp(EVEN, np.linspace(0, 1, len(row)), row), side="right") - 1
        return tuple(float(i) / last for i in np.unique(at) if 0 < i < last)


def _unit(attribute: Attribute) -> str:
    """As a scale in brackets, and other units after the number."""
    if not attribute.unit or attribute.discrete:
        return ""
    return f" ({attribute.unit})" if "scale" in attribute.unit else f" {attribute.unit}"


def space_of(
    world: World, vary: Iterable[str] = (), *, kind: str = "attributes", latent_dims: int = DIRECTIONS
) -> Space:
    """The space of the attributes named, by default all continuous ones of the world that differ between its subjects.

    vary: NAME for the world's own population, NAME=LOW:HIGH for values evenly between, NAME=A,B for levels, each as
    often as the others. kind: `conditions` has levels alone (NAME is all levels of a discrete attribute; default all
    discrete ones), `latent` has latent_dims coordinates of the world's latents in addition. Raises UnknownName, and
    BadInput for a range out of bounds, levels in no order, a repeated name, too many conditions or nothing that
    varies.
    """
    if kind not in KINDS:
        raise UnknownName("space", kind, KINDS)
    known = {attribute.name: attribute for attribute in world.attributes}
    texts = [vary] if isinstance(vary, str) else list(vary)
    seeds = np.arange(SUBJECTS) + _SEEDS
    if kind == "conditions":
        return _conditions([_levels_of(text, known) for text in texts or _discrete(known)])
    space = _attributes(texts, known, world.read(sample_unedited(world, seeds)))
    if kind == "attributes":
        return space
    latent = latent_part(world.sample(seeds), latent_dims)
    return Space(
        (*space.attributes, *latent.attributes), np.vstack([space.ranked, latent.ranked]), space.stepped, latent
    )


def _discrete(known: Mapping[str, Attribute]) -> list[str]:
    names = [entry.name for entry in known.values() if entry.discrete and entry.role == "attribute"]
    if not names:
        raise BadInput("the world has no attribute with levels: give some with --vary NAME=A,B")
    return names


def _levels_of(text: str, known: Mapping[str, Attribute]) -> tuple[Attribute, list[float]]:
    attribute, span = _parsed(text, known, nominal=True)
    if isinstance(span, list):
        return attribute, span
    if span is not None or not attribute.discrete:
        raise BadInput(f"--vary {text}: conditions are levels; give the levels of {attribute.name}, NAME=A,B")
    return attribute, [float(level) for level in range(len(attribute.levels))]


def _conditions(chosen: Sequence[tuple[Attribute, list[float]]]) -> Space:
    _check_once([attribute.name for attribute, _ in chosen])
    count = math.prod(len(levels) for _, levels in chosen)
    if count > MOST_CONDITIONS:
        raise BadInput(f"expected at most {MOST_CONDITIONS} conditions, got {count}; use fewer attributes with --vary")
    ranked = np.array([_repeated(levels) for _, levels in chosen])
    return Space(
        tuple(attribute for attribute, _ in chosen), ranked, frozenset(attribute.name for attribute, _ in chosen)
    )


def _attributes(texts: Sequence[str], known: Mapping[str, Attribute], population: pa.Table) -> Space:
    if texts:
        parsed = [_parsed(text, known) for text in texts]
    else:
        parsed = [(entry, None) for entry in known.values() if entry.kind == "continuous" and entry.role == "attribute"]
    _check_once([attribute.name for attribute, _ in parsed])
    rows = [_ranked(attribute, span, population) for attribute, span in parsed]
    varying = [i for i, row in enumerate(rows) if row[0] < row[-1]]
    for i, text in enumerate(texts):
        if i not in varying:
            raise BadInput(f"--vary {text}: it is the same for all subjects; give it a range, NAME=LOW:HIGH")
    if not varying:
        raise BadInput("no continuous attribute of the world differs between its subjects: give --vary NAME=LOW:HIGH")
    stepped = frozenset(parsed[i][0].name for i in varying if isinstance(parsed[i][1], list))
    return Space(tuple(parsed[i][0] for i in varying), np.array([rows[i] for i in varying]), stepped)


def _check_once(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"--vary {name} is repeated: give it once")


def _parsed(
    text: str, known: Mapping[str, Attribute], *, nominal: bool = False
) -> tuple[Attribute, tuple[float, float] | list[float] | None]:
    """The attribute, and its range (two numbers), its levels (a list), or None for the population's values."""
    name, equals, span = (piece.strip() for piece in text.partition("="))
    if name not in known:
        raise unknown_attribute(name, known, "see: transect list attributes")
    attribute = known[name]
    if "," in span:
        return attribute, _given_levels(text, attribute, span)
    if attribute.nominal and not nominal:
        raise BadInput(
            f"--vary {name}: its levels ({', '.join(attribute.levels)}) have no order to search along; give "
            f"those to compare, --vary {name}={','.join(attribute.levels[:2])}"
        )
    if not equals:
        return attribute, None
    if (stated := ends(span)) and ":" not in span:
        raise BadInput(f"--vary {text!r}: did you mean {name}={':'.join(stated)}?")
    try:
        low, high = (float(end) for end in span.split(":"))
    except ValueError:
        raise BadInput(f"--vary {text!r}: {_SYNTAX}") from None
    for end in (low, high):
        attribute.check(end)
    if attribute.discrete or not low < high:
        raise BadInput(f"--vary {text!r}: {_SYNTAX}, LOW below HIGH; levels have no range")
    return attribute, (low, high)


def _given_levels(text: str, attribute: Attribute, span: str) -> list[float]:
    levels = sorted(attribute.parse(part.strip()) for part in span.split(","))
    if len(set(levels)) < len(levels):
        raise BadInput(f"--vary {text}: a level is repeated; give it once")
    return levels


def _repeated(levels: Sequence[float]) -> Float[np.ndarray, " q"]:
    """The levels, each of an equal share of the ranks."""
    return np.asarray(levels)[np.arange(SUBJECTS) * len(levels) // SUBJECTS]


def _ranked(
    attribute: Attribute, span: tuple[float, float] | list[float] | None, population: pa.Table
) -> Float[np.ndarray, " q"]:
    if isinstance(span, list):
        return _repeated(span)
    if span is not None:
        return np.linspace(span[0], span[1], SUBJECTS)
    column = np.asarray(population[attribute.name].to_numpy(), dtype=np.float64)
    return np.sort(np.clip(column, *attribute.bounds))
