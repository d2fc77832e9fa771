"""The attributes of FaceWorld that the feature network answers, and their columns among its outputs.

It answers every attribute and nuisance and every trait of the identity code that its version of the world had, from
images of the balanced population, in which no attribute predicts another. The list is kept in the file of its weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and its columns: one, or one per level of a choice."""

    name: str
    levels: int
    """0 for a number, 2 for a switch, more for a choice."""
    start: int

    @property
    def columns(self) -> slice:
        """Its columns among the outputs."""
        return slice(self.start, self.stop)

    @property
    def stop(self) -> int:
        """The first column behind them."""
        return self.start + (self.levels if self.levels > 2 else 1)


def answers_of(text: str) -> tuple[Answer, ...]:
    """The answers of a network, as its file lists them: JSON, names and numbers of levels.

    Raises ValueError for another text.

    >>> [answer.columns for answer in answers_of('[["age", 0], ["hat", 3]]')]
    [slice(0, 1, None), slice(1, 4, None)]
    """
    entries = json.loads(text)
    if not entries or any(not isinstance(name, str) or type(levels) is not int for name, levels in entries):
        raise ValueError("its answers are no list of names and numbers of levels")
    return in_columns((name, levels) for name, levels in entries)


def columns_of(found: tuple[Answer, ...]) -> int:
    """How many columns those answers have."""
    return found[-1].stop


def in_columns(sizes: Iterable[tuple[str, int]]) -> tuple[Answer, ...]:
    """Answers of those names and numbers of levels, one behind the other."""
    entries: list[Answer] = []
    start = 0
    for name, levels in sizes:
        entries.append(Answer(name, levels, start))
        start = entries[-1].stop
    return tuple(entries)
