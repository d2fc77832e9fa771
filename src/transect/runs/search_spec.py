"""The spec of a search: what recreates the run, as run.json holds it. A search has no design: each call shows a
different subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import final

from transect.records import Attribute
from transect.runs.json_records import json_of, record_of
from transect.runs.spec import GeneratorDescription, LimitsEntry, StatedTruth, TargetDescription, WorldEntry


@final
@dataclass(frozen=True, slots=True)
class SearchedAttribute:
    """An attribute that a search varies, the range that it takes, and its levels where it takes nothing between."""

    attribute: Attribute
    low: float
    median: float
    high: float
    levels: tuple[float, ...] | None


@final
@dataclass(frozen=True, slots=True)
class SearchMethod:
    """How points are chosen; alpha belongs to the method of McDuff et al. 2019 alone."""

    name: str
    alpha: float | None


@final
@dataclass(frozen=True, slots=True)
class SearchSpec:
    """What recreates a search. truth: None where what is counted in words has no right answer."""

    versions: Mapping[str, str]
    name: str
    generator: GeneratorDescription
    world: WorldEntry
    goal: str
    budget: int
    seed: int
    batch: int
    method: SearchMethod
    space: tuple[SearchedAttribute, ...]
    truth: StatedTruth | None
    outcome: str
    target: TargetDescription
    limits: LimitsEntry

    def to_json(self) -> dict[str, object]:
        """As run.json holds it."""
        facts = {"generator": self.generator.facts, "target": self.target.facts}
        whole: dict[str, object] = json_of({**asdict(self), **facts})
        return whole

    @classmethod
    def from_json(cls, body: Mapping[str, object]) -> SearchSpec:
        """The spec that a run.json holds. Raises BadInput for an unknown or missing key, or another type."""
        facts = {key: {"facts": body[key]} for key in ("generator", "target") if key in body}
        return record_of(cls, {**body, **facts})
