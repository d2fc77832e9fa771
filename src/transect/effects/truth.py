"""What is the right answer? A stated truth, read from the true values of the images, never evaluated as code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.designs.identities import unknown_attribute
from transect.errors import BadInput, UnknownName
from transect.records import Annotations, Attribute

FACE = "face"
"""The truth that every image shows a face."""

_COMPARISONS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_ASSIGNMENT = re.compile(r"(?<![=<>!])=(?!=)")
"""The "=" of TARGET=TRUTH, which is no part of a comparison."""
_ORDERED = {">": False, ">=": False, "<": True, "<=": True}
"""Comparisons that part a scale, and whether its low end is the yes."""
_GRAMMAR = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:(?P<comparison>>=|<=|==|!=|>|<)(?P<value>[^<>=!]*[^\s<>=!])\s*)?",
)


@final
@dataclass(frozen=True, slots=True)
class Truth:
    """A stated truth: an attribute compared with a number (label 0 or 1), a bare attribute (its value), or "face" (1).

    A bare attribute whose first level is "none" (glasses, hat) is a label: 1 at any other level.

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
        name, comparison, value = match["name"], match["comparison"] or "", (match["value"] or "").strip()
        if attributes is not None and name not in attributes and (name != FACE or comparison):
            raise unknown_attribute(name, attributes, "see: transect attributes")
        attribute = None if attributes is None else attributes.get(name)
        if attribute is not None and attribute.optional and not comparison:
            comparison, value = "!=", "none"
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

    def as_rated(
        self, means: Float[np.ndarray, " n"], attribute: Attribute | None = None
    ) -> tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]:
        """The truth as raters saw it: label 0 or 1 of each image, and how far its mean rating lies towards yes, 0 to 1.

        means: mean ratings of the truth's attribute, NaN for an image without one. Of an attribute of two levels the
        label is the majority's, NaN at a tie; of another with == or != that of the nearest value. Shares are of two
        levels alone (0 and 1 where the attribute is not known): on a scale, where a mean rating lies says not how many
        are yes (`share_of_answers` does). Either is empty where there is none: both for a number as the truth, shares
        of more than two levels and of ratings beyond the two, as labels of two levels then are.

        >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
        >>> Truth.parse("glasses").as_rated(np.array([0.25, 1.0, np.nan]), glasses)
        (array([ 0.,  1., nan]), array([0.25, 1.  ,  nan]))
        """
        of_two = self._of_two(attribute)
        yes = self._share_as_rated(means, attribute) if of_two else np.empty(0)
        if self.comparison in _ORDERED:
            return self.of({self.attribute: means}), yes
        if of_two:
            return np.where(np.isnan(yes) | (yes == 0.5), np.nan, yes > 0.5), yes
        return self.of({self.attribute: np.floor(means + 0.5)}) if self.comparison else yes, yes

    def share_of_answers(
        self, annotations: Annotations, n_images: int, attribute: Attribute | None = None
    ) -> Float[np.ndarray, " _"]:
        """The share of each image's single answers that say yes, NaN for an image that nobody answered.

        Each answer is labelled as `as_rated` labels a mean of one. Empty for a number as the truth.

        >>> from transect.records import Question
        >>> answers = Annotations(Question("age", "How old?"), np.array([0, 0]), ("a", "b"), np.array([28.0, 36.0]))
        >>> age = Attribute("age", "continuous", "apparent age", low=20, high=80)
        >>> Truth.parse("age<30").share_of_answers(answers, 2, age)  # their mean, 32, is on the side of no
        array([0.5, nan])
        """
        from transect.effects.perception import mean_ratings

        labels = self.as_rated(annotations.value, attribute)[0]
        return mean_ratings(replace(annotations, value=labels), n_images) if len(labels) else np.empty(0)

    def _of_two(self, attribute: Attribute | None) -> bool:
        """Whether a mean rating is a share of yes: of two levels, or not known and not cut on a scale."""
        if attribute is None:
            return self.comparison not in _ORDERED
        return attribute.discrete and not attribute.nominal

    def _share_as_rated(self, means: Float[np.ndarray, " n"], attribute: Attribute | None) -> Float[np.ndarray, " _"]:
        """How far mean ratings lie towards yes on the attribute's scale; empty beyond it and without order."""
        from transect.effects.perception import share_of_yes

        low, high = (0.0, 1.0) if attribute is None else attribute.bounds
        known = means[np.isfinite(means)]
        beyond = len(known) > 0 and not low <= known.min() <= known.max() <= high
        if beyond or (attribute is not None and attribute.nominal):
            return np.empty(0)
        down = _ORDERED.get(self.comparison, self.comparison != "" and self._names_first_level)
        return share_of_yes(means, low=low, high=high, reverse=down)

    @property
    def _names_first_level(self) -> bool:
        """Whether a comparison by == or != says yes to the first of two levels."""
        return (self.comparison == "==") == (self.value == 0)


def truths_of(
    texts: Sequence[str], targets: Sequence[str], attributes: Mapping[str, Attribute] | None = None
) -> dict[str, Truth]:
    """The truth of each target by name: "TRUTH" for all that have none of their own, "TARGET=TRUTH" for one."""
    stated: dict[str, str] = {}
    for text in texts:
        name, truth = _assigned(text.strip(), targets)
        if name in stated:
            whose = f"target {name}" if name else "all targets"
            raise BadInput(f"--truth: expected one truth for {whose}, got {stated[name]!r} and {truth!r}")
        stated[name] = truth
    parsed = {name: Truth.parse(text, attributes) for name, text in stated.items()}
    everyone = dict.fromkeys(targets, parsed[""]) if "" in parsed else {}
    return everyone | {name: truth for name, truth in parsed.items() if name}


def _assigned(text: str, targets: Sequence[str]) -> tuple[str, str]:
    """The target that a truth is of, "" for all, and the truth."""
    own = [name for name in targets if text.startswith(f"{name}=") and not text.startswith(f"{name}==")]
    if own:
        name = max(own, key=len)
        return name, text[len(name) + 1 :]
    if _ASSIGNMENT.search(text):
        name = _ASSIGNMENT.split(text)[0].strip()
        raise UnknownName("target", name, targets, hint=f"to compare, write ==, as '{name}==1'")
    return "", text


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
