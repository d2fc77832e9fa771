"""Conditions of a conditional GAN: attributes cut into levels, their classes, and rows balanced over these."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput, UnknownName
from transect.records import Attribute

if TYPE_CHECKING:
    from transect.training.pictures import Pictures


Condition = tuple[str, tuple[str, ...]]


def parse(text: str, attributes: Sequence[Attribute]) -> tuple[Attribute, tuple[float, ...]]:
    """Reads `NAME`, `NAME=CUT,CUT` or `NAME!=none`: the attribute and the cuts between its levels.

    There are none for a discrete one, but of `NAME!=none`: that is between its first level, none, and all others.
    """
    name, _, cuts = (part.strip() for part in text.partition("="))
    without = name.endswith("!")
    name = name.rstrip("! ")
    by_name = {attribute.name: attribute for attribute in attributes}
    if name not in by_name:
        raise UnknownName("attribute", name, by_name, hint="see: transect attributes")
    attribute = by_name[name]
    if without:
        if not attribute.optional or cuts != "none":
            raise BadInput(f"condition {text!r}: expected NAME!=none of an attribute whose first level is none; fix it")
        return attribute, (0.5,)
    if attribute.discrete:
        if cuts:
            raise BadInput(f"condition {text!r}: expected no cuts, since {name} already has levels; drop {cuts!r}")
        return attribute, ()
    try:
        places = tuple(float(cut) for cut in cuts.split(","))
    except ValueError:
        places = ()
    if not places or any(b <= a for a, b in itertools.pairwise((attribute.low, *places, attribute.high))):
        middle = f"{name}={(attribute.low + attribute.high) / 2:g}"
        raise BadInput(
            f"condition {text!r}: expected rising cuts between {attribute.low:g} and {attribute.high:g}; try {middle}"
        )
    return attribute, places


def levels_of(attribute: Attribute, cuts: Sequence[float]) -> tuple[str, ...]:
    """The names of the levels."""
    if attribute.discrete:
        return ("none", "any") if cuts else attribute.levels
    between = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(cuts)]
    return (f"below {cuts[0]:g}", *between, f"from {cuts[-1]:g}")


@final
class Balanced:
    """The rows of some pictures, such that every class comes equally often; rows of small classes are repeated.

    `conditions` are names and levels, `classes` one-hot [n, k]. Rows with a missing value are left out, `left_out` says
    how many. Raises BadInput for a class without a picture.
    """

    def __init__(self, data: Pictures, texts: Sequence[str], attributes: Sequence[Attribute]) -> None:
        parsed = [parse(text, attributes) for text in texts]
        self._data = data
        self.conditions: list[Condition] = [(attribute.name, levels_of(attribute, cuts)) for attribute, cuts in parsed]
        columns = [_levels(data.column(attribute.name), cuts) for attribute, cuts in parsed]
        complete = np.all([column >= 0 for column in columns], axis=0)
        self.left_out = int((~complete).sum())
        counts = [len(levels) for _, levels in self.conditions]
        places = np.full(len(complete), -1)
        places[complete] = np.ravel_multi_index(tuple(column[complete] for column in columns), counts)
        self._rows = _balanced(places, self.conditions)
        self.classes = np.eye(int(np.prod(counts)))[places[self._rows]]

    def __len__(self) -> int:
        return len(self._rows)

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows."""
        return self._data.pixels(self._rows[rows])


def _levels(column: Float[np.ndarray, " n"], cuts: Sequence[float]) -> Int[np.ndarray, " n"]:
    """The level of each value; -1 where it is missing."""
    levels = np.searchsorted(np.asarray(cuts), column, side="right") if cuts else np.nan_to_num(column, nan=-1)
    return np.where(np.isnan(column), -1, levels).astype(np.int64)


def _balanced(places: Int[np.ndarray, " n"], conditions: Sequence[Condition]) -> Int[np.ndarray, " m"]:
    names = list(itertools.product(*(levels for _, levels in conditions)))
    members = [np.flatnonzero(places == number) for number in range(len(names))]
    if empty := [", ".join(name) for name, rows in zip(names, members, strict=True) if not len(rows)]:
        absent = "; ".join(empty[:3]) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
        raise BadInput(f"conditions: expected pictures of every combination, got none of: {absent}; cut more coarsely")
    most = max(len(rows) for rows in members)
    return np.concatenate([np.resize(rows, most) for rows in members])
