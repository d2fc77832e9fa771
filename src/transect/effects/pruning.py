"""Which images are left out before the analysis, by which declared rule, and what does that do to the results?

Balakrishnan et al. 2020 remove images that look fake, that raters found ambiguous, and (for the comparison with adults)
that look like children: 8,000, then 5,713, then 5,335. Each rule of that kind is a step here, with its count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.effects.samples import Columns, read_columns
from transect.errors import BadInput, UnknownName

SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """Leave out images whose `attribute` lies in [low, high]; high_open: [low, high) instead.

    step: rules of one step are applied together, as one row of the table.

    >>> Rule("fakeness", 0.75).text
    'fakeness >= 0.75'
    """

    attribute: str
    low: float = -np.inf
    high: float = np.inf
    high_open: bool = False
    step: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.high or (np.isinf(self.low) and np.isinf(self.high)):
            raise BadInput(f"{self.attribute}: expected a range to leave out, got {self.low:g} to {self.high:g}")

    @property
    def text(self) -> str:
        """As the report says it."""
        if np.isinf(self.high):
            return f"{self.attribute} >= {_exact(self.low)}"
        sign = "<" if self.high_open else "<="
        return (
            f"{self.attribute} {sign} {_exact(self.high)}"
            if np.isinf(self.low)
            else f"{_exact(self.low)} <= {self.attribute} {sign} {_exact(self.high)}"
        )

    def applies(self, values: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Which images it leaves out; a missing value is not left out by it."""
        below = values < self.high if self.high_open else values <= self.high
        return np.asarray((values >= self.low) & below)


def _exact(value: float) -> str:
    """The shortest text that is read as the same number: texts of rules are kept and read again."""
    return repr(float(value)).removesuffix(".0")


AS_PUBLISHED: Final = (
    Rule("fakeness", low=0.75, step="fake or ambiguous"),
    Rule("skin_color", low=0.4, high=0.6, step="fake or ambiguous"),
    Rule("gender", low=0.4, high=0.6, step="fake or ambiguous"),
    Rule("hair_length", low=0.3, high=0.5, step="fake or ambiguous"),
    Rule("age", high=0.4, high_open=True, step="children and teenagers"),
)
"""Sections 5.2.1 and 5.4 of the paper, on mean ratings scaled to [0, 1]."""


@final
@dataclass(frozen=True, slots=True)
class PruningStep:
    """removed: images that this step left out first; left: images after it; matched: rule -> images that match it."""

    name: str
    removed: int
    left: int
    matched: Mapping[str, int]


@final
@dataclass(frozen=True, slots=True)
class Pruning:
    """remaining: bool [n], images that no rule leaves out; after [steps, n]: those that remain after each step."""

    remaining: Bool[np.ndarray, " n"]
    after: Bool[np.ndarray, "s n"]
    steps: tuple[PruningStep, ...]
    missing: Mapping[str, int]

    def counts(self) -> list[int]:
        """Images before the first step and after each."""
        return [len(self.remaining), *(step.left for step in self.steps)]


def prune(columns: Columns, rules: Sequence[Rule] = AS_PUBLISHED) -> Pruning:
    """Apply the rules in order; neighbours of one `step` together.

    columns: ratings by attribute, one row per image. missing: attribute -> images without a value, which its rules
    cannot judge and keep.

    Returns Pruning.

    Raises UnknownName for a rule about another column, BadInput without rules.

    >>> result = prune({"age": [0.2, 0.5, 0.9], "hair": [0.4, 0.4, 0.9]},
    ...                [Rule("hair", 0.3, 0.5), Rule("age", high=0.4)])
    >>> result.remaining, [(step.name, step.removed) for step in result.steps]
    (array([False, False,  True]), [('0.3 <= hair <= 0.5', 2), ('age <= 0.4', 0)])
    """
    if not rules:
        raise BadInput("expected at least one rule, got none; say what to leave out")
    names, values = read_columns(columns)
    table = dict(zip(names, values.T, strict=True))
    for rule in rules:
        if rule.attribute not in table:
            raise UnknownName("column", rule.attribute, names, hint="rules are about columns of the ratings")
    remaining, after, steps = np.ones(len(values), dtype=bool), [], []
    for name, together in _by_step(rules):
        matches = {rule.text: rule.applies(table[rule.attribute]) for rule in together}
        still_in = remaining & ~np.any(list(matches.values()), axis=0)
        matched = {text: int(rows.sum()) for text, rows in matches.items()}
        steps.append(PruningStep(name, int(remaining.sum() - still_in.sum()), int(still_in.sum()), matched))
        remaining = still_in
        after.append(still_in)
    judged = dict.fromkeys(rule.attribute for rule in rules)
    missing = {name: int(np.isnan(table[name]).sum()) for name in judged if np.isnan(table[name]).any()}
    return Pruning(remaining, np.stack(after), tuple(steps), missing)


def _by_step(rules: Sequence[Rule]) -> list[tuple[str, list[Rule]]]:
    groups: list[tuple[str, list[Rule]]] = []
    for rule in rules:
        if rule.step and groups and groups[-1][0] == rule.step:
            groups[-1][1].append(rule)
        else:
            groups.append((rule.step or rule.text, [rule]))
    return groups
