"""The attributes of FaceWorld that the feature network answers, and their columns among its outputs.

It answers every attribute and nuisance and every trait of the identity code that its version of the world had, from
images of the balanced population, in which no attribute predicts another. The list is kept with its weights.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY

CARD: Final = Path(__file__).parent / "weights" / "features.json"


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
        return slice(self.start, self.start + (self.levels if self.levels > 2 else 1))


@functools.cache
def answers() -> tuple[Answer, ...]:
    """All answers of the network that ships, attributes and nuisances first, then the identity code.

    >>> answers()[0].name, answers()[-1].name.split(".")[0]
    ('skin_tone', 'identity')
    """
    return _in_columns(json.loads(CARD.read_text(encoding="utf-8"))["answers"])


def asked() -> tuple[Answer, ...]:
    """All answers of a network that is trained on the present world."""
    return _in_columns([
        *((attribute.name, len(attribute.levels)) for attribute in ATTRIBUTES),
        *((f"identity.{trait}", 0) for trait in IDENTITY),
    ])


def columns_of(found: tuple[Answer, ...]) -> int:
    """How many columns those answers have."""
    return found[-1].columns.stop


def _in_columns(sizes: Iterable[tuple[str, int]]) -> tuple[Answer, ...]:
    entries: list[Answer] = []
    start = 0
    for name, levels in sizes:
        entries.append(Answer(name, levels, start))
        start = entries[-1].columns.stop
    return tuple(entries)
