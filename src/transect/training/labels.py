"""The labels of a classifier: an attribute's levels, or the side of a cut on which its value lies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput, UnknownName
from transect.records import Attribute

FEWEST: Final = 10
"""The fewest pictures of a class."""

_TEXT: Final = re.compile(r"\s*([^<>=!]+?)\s*(?:(<|>|!=)\s*([^<>=!]+?)\s*)?")


@final
@dataclass(frozen=True, slots=True)
class Label:
    """attribute: its name. classes: names in order. cut, above: yes is above (or below) the cut; None for levels.

    >>> smile = Attribute("smile", "continuous", "smile", low=0, high=1)
    >>> Label.parse("smile>0.5", [smile]).of(np.array([0.2, 0.9, np.nan])).tolist()
    [0, 1, -1]
    """

    text: str
    attribute: str
    classes: tuple[str, ...]
    cut: float | None = None
    above: bool = True

    @classmethod
    def parse(cls, text: str, attributes: Sequence[Attribute], option: str = "--label") -> Label:
        """From NAME (an attribute with levels), NAME!=none, NAME>X or NAME<X. option: whose text it is, for messages.

        NAME!=none is yes at any level of an attribute but the first, none. Raises UnknownName and BadInput.

        >>> glasses = Attribute("glasses", "categorical", "glasses", levels=("none", "clear", "dark"))
        >>> Label.parse("glasses!=none", [glasses]).of(np.array([0.0, 1.0, 2.0])).tolist()
        [0, 1, 1]
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise BadInput(f"{option} {text!r}: expected NAME, NAME!=none, NAME>X or NAME<X; for example smile>0.5")
        by_name = {entry.name: entry for entry in attributes}
        name, sign, value = match.groups()
        if name not in by_name:
            raise UnknownName("attribute", name, by_name, f"in {option}")
        attribute = by_name[name]
        if sign is None:
            if not attribute.discrete:
                raise BadInput(
                    f"{option} {name}: expected a cut of its range {attribute.low:g} to {attribute.high:g}: {name}>X"
                )
            return cls(text, name, attribute.levels)
        if sign == "!=":
            if not attribute.optional or value != "none":
                raise BadInput(f"{option} {text}: expected NAME!=none of an attribute whose first level is none")
            return cls(text, name, ("no", "yes"), 0.5)
        if attribute.nominal:
            raise BadInput(
                f"{option} {text}: expected {name} alone, its levels {', '.join(attribute.levels)} have no order"
            )
        return cls(text, name, ("no", "yes"), attribute.parse(value), sign == ">")

    def of(self, values: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The number of each row's class, int64; -1 where there is no label."""
        present = np.isfinite(values)
        if self.cut is None:
            numbers = np.where(present, values, 0)
        else:
            numbers = values > self.cut if self.above else values < self.cut
        return np.where(present, numbers, -1).astype(np.int64)

    def check(self, classes: Int[np.ndarray, " n"]) -> None:
        """Raises BadInput where a class has too few pictures, naming the class and its number of pictures."""
        for number, name in enumerate(self.classes):
            if (count := int((classes == number).sum())) < FEWEST:
                raise BadInput(
                    f"--label {self.text}: expected at least {FEWEST} pictures of class {name!r}, got {count}; "
                    "take more pictures, another cut or another label"
                )
