"""What is the right answer? A stated truth, read from the true values of the images, never evaluated as code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.errors import BadInput, UnknownName
from transect.records import Attribute

FACE = "face"
"""The truth that every image shows a face."""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_GRAMMAR = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:(?P<comparison>>=|<=|==|!=|>|<)\s*(?P<value>[^\s<>=!]+)\s*)?")


@final
@dataclass(frozen=True, slots=True)
class Truth:
    """A stated truth: an attribute compared with a number (label 0 or 1), a bare attribute (its value), or "face" (1).

    >>> Truth.parse("smile>0.5").of({"smile": [0.2, 0.9]})
    array([0., 1.])
    """

    text: str
    attribute: str
    comparison: str = ""
    value: float = 0.0

    @classmethod
    def parse(cls, text: str, attributes: Mapping[str, Attribute] | None = None) -> Truth:
        """Reads `name`, `name > number` (also >= < <= == !=) or `face`.

        With `attributes`, the name must be one of them and the value may be a level's name or a value in range.

        Raises BadInput for another syntax, UnknownName for another attribute.

        >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
        >>> Truth.parse("glasses == on", {"glasses": glasses}).value
        1.0
        """
        match = _GRAMMAR.fullmatch(text)
        if match is None:
            raise BadInput(
                f"truth {text!r}: expected an attribute, or an attribute compared with a value; write for example "
                "'smile>0.5', 'glasses' or 'face'"
            )
        name, comparison, value = match["name"], match["comparison"] or "", match["value"]
        if attributes is not None and name not in attributes and (name != FACE or comparison):
            raise UnknownName("attribute", name, attributes, hint="see: transect attributes")
        attribute = None if attributes is None else attributes.get(name)
        return cls(text.strip(), name, comparison, _number(text, value, attribute) if comparison else 0.0)

    def of(self, columns: Mapping[str, ArrayLike]) -> Float[np.ndarray, " n"]:
        """The truth of each image: 0 or 1 for a comparison, the attribute's value otherwise; NaN stays NaN.

        Raises UnknownName when the columns lack the attribute, BadInput when there is no column at all to count the
        images of "face" by.
        """
        if self.attribute == FACE and FACE not in columns:
            if not columns:
                raise BadInput(
                    "truth 'face': expected at least one column of values, got none; pass the images' values"
                )
            return np.ones(len(np.asarray(next(iter(columns.values())))), dtype=np.float64)
        if self.attribute not in columns:
            raise UnknownName("attribute", self.attribute, columns, hint="see: transect attributes")
        values = np.array(columns[self.attribute], dtype=np.float64)
        if not self.comparison:
            return values
        label = _COMPARISONS[self.comparison](values, self.value).astype(np.float64)
        return np.where(np.isnan(values), np.nan, label)

    def as_rated(self, ratings: Mapping[str, ArrayLike]) -> Float[np.ndarray, " n"] | None:
        """The label as raters saw it, 0 or 1, of mean ratings in the attribute's units; NaN where nobody rated.

        A bare attribute is yes from 0.5 on, and a level is the one that the mean rating is nearest to: what more than
        half of the raters say, or as many. None without ratings of the attribute.

        >>> Truth.parse("glasses").as_rated({"glasses": [0.2, 0.8, np.nan]})
        array([ 0.,  1., nan])
        """
        if self.attribute not in ratings:
            return None
        values = np.array(ratings[self.attribute], dtype=np.float64)
        if not self.comparison:
            return np.where(np.isnan(values), np.nan, (values >= 0.5).astype(np.float64))
        levels = np.floor(values + 0.5) if self.comparison in ("==", "!=") else values
        return self.of({self.attribute: levels})


def _number(text: str, value: str, attribute: Attribute | None) -> float:
    """The value after the comparison: a level's name, or any finite number."""
    if attribute is not None and value in attribute.levels:
        return float(attribute.levels.index(value))
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    low, high = (-np.inf, np.inf) if attribute is None else attribute.bounds
    if np.isfinite(number) and not low <= number <= high:
        raise BadInput(f"truth {text!r}: {attribute.name if attribute else ''} lies between {low:g} and {high:g}")
    if not np.isfinite(number):
        levels = f" or one of {', '.join(attribute.levels)}" if attribute is not None and attribute.levels else ""
        raise BadInput(
            f"truth {text!r}: expected a finite number{levels}, got {value!r}; write for example 'smile>0.5'"
        )
    return number
