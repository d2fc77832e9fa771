"""The attributes of FaceWorld that the feature network answers, and their columns among its outputs.

It answers every attribute and nuisance and every trait of the identity code, from images of the balanced population, in
which no attribute predicts another.
"""

from __future__ import annotations

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
        return slice(self.start, self.start + (self.levels if self.levels > 2 else 1))


def answers() -> tuple[Answer, ...]:
    """All answers, attributes and nuisances first, then the identity code.

    >>> answers()[0].name, answers()[-1].name.split(".")[0]
    ('skin_tone', 'identity')
    """
    sizes = [(attribute.name, len(attribute.levels)) for attribute in ATTRIBUTES] + [
        (f"identity.{trait}", 0) for trait in IDENTITY
    ]
    entries, start = [], 0
    for name, levels in sizes:
        entries.append(Answer(name, levels, start))
        start = entries[-1].columns.stop
    return tuple(entries)


OUTPUTS = answers()[-1].columns.stop
"""Columns of all answers."""
