"""The numbers of a search as records: `search.json` and the JSON Schema are made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from transect.effects.interrogation import ErrorRate
from transect.reports.records import Section


@final
@dataclass(frozen=True, slots=True)
class Region:
    """A rule that was confirmed: its rate on the n fresh images inside it, and its share of the searched space.

    rate, low and high are NaN with a `reason` where no fresh image was answered. words: the rule for a reader, with
    rounded values.
    """

    rule: str
    rate: float
    low: float
    high: float
    reason: str
    n: int
    share: float
    words: str = ""


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """The failure rate over the whole searched space, from the n calls drawn for it; NaN with a `reason` for none."""

    rate: float
    low: float
    high: float
    reason: str
    n: int
    method: str


@final
@dataclass(frozen=True, slots=True)
class SearchedAttribute:
    """An attribute of the searched space and its range."""

    name: str
    unit: str
    low: float
    high: float


@final
@dataclass(frozen=True, slots=True)
class RuleBox:
    """Where a region lies on a map, as shares of width and height; rule: its place in `regions`."""

    rule: int
    x: tuple[float, float]
    y: tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class AttributeMap:
    """Calls and failures by cell of two attributes; rows go along y from low to high.

    low, high: Wilson intervals of the cells, row by row; NaN for cells without a call.
    """

    x: str
    y: str
    x_edges: tuple[float, ...]
    y_edges: tuple[float, ...]
    calls: tuple[tuple[int, ...], ...]
    failures: tuple[tuple[int, ...], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rules: tuple[RuleBox, ...]


@final
@dataclass(frozen=True, slots=True)
class SamplerErrors:
    """The error rates of the calls of one sampler."""

    sampler: str
    calls: int
    rows: tuple[ErrorRate, ...]


@final
@dataclass(frozen=True, slots=True)
class ErrorTables:
    """Error rates by condition, one table per sampler; shown: the conditions with mean faces; source: of the table."""

    samples: tuple[SamplerErrors, ...]
    shown: tuple[str, ...]
    source: str


@final
@dataclass(frozen=True, slots=True)
class SearchNumbers:
    """Every number of a search.

    calls: images that the target was called on; paid_calls, cost: calls and money of all programs that took part;
    distinct_failures: failures at least a tenth of the diagonal apart; failures: all; failed: calls
    without a valid answer. regions: with rates of fresh images alone; regions_reason: why there are none. curve:
    failures apart after each call. sections: of calls, canaries and required gates.
    """

    target: str
    goal: str
    outcome: str
    strategy: str
    calls: int
    paid_calls: int
    cost: float
    distinct_failures: int
    failures: int
    failed: int
    regions: tuple[Region, ...]
    regions_reason: str
    estimate: Estimate
    space: tuple[SearchedAttribute, ...]
    curve: tuple[int, ...]
    maps: tuple[AttributeMap, ...]
    sections: tuple[Section, ...]
    errors: ErrorTables | None = None


@final
@dataclass(frozen=True, slots=True)
class FailurePicture:
    """A picture (PNG) that the target failed on, the number of its call from 1, and its searched attributes as text.

    place: in an order in which each picture is as far as possible from those before it in the searched space.
    """

    call: int
    values: tuple[tuple[str, str], ...]
    png: bytes
    place: int = 0


@final
@dataclass(frozen=True, slots=True)
class AnswerFaces:
    """Mean pictures (PNG) of right and of wrong answers in a group of the condition `by`; None where there is none."""

    by: str
    group: str
    right: int
    wrong: int
    right_picture: bytes | None
    wrong_picture: bytes | None
