"""The attributes of FaceWorld that the feature network answers, and their columns among its outputs.

It answers every attribute and nuisance and every trait of the identity code that its version of the world had, from
images of the balanced population, in which no attribute predicts another. The list is kept in the file of its weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY


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
    return _in_columns((name, levels) for name, levels in entries)


def listed(found: Iterable[Answer]) -> str:
    """The same answers as that text."""
    return json.dumps([[answer.name, answer.levels] for answer in found])


def asked() -> tuple[Answer, ...]:
    """All answers of a network that is trained on the present world."""
    return _in_columns(
        [
            *((attribute.name, len(attribute.levels)) for attribute in ATTRIBUTES),
            *((f"identity.{trait}", 0) for trait in IDENTITY),
        ]
    )


def columns_of(found: tuple[Answer, ...]) -> int:
    """How many columns those answers have."""
    return found[-1].stop


def _in_columns(sizes: Iterable[tuple[str, int]]) -> tuple[Answer, ...]:
    entries: list[Answer] = []
    start = 0
    for name, levels in sizes:
        entries.append(Answer(name, levels, start))
        start = entries[-1].stop
    return tuple(entries)
