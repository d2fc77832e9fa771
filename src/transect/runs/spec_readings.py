"""How well the attributes of a world are read back from its pictures, as a run's spec holds it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class OutsideFigure:
    """A figure with its 95 % interval, None where it is not estimable. n: subjects."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@final
@dataclass(frozen=True, slots=True)
class OutsideReading:
    """How a model from outside reads one attribute of the world's pictures, and of photographs where it saw some.

    unit: of the attribute, "" for a share. photographs, label: the data set and its label, "" without one.
    """

    reader: str
    unit: str
    image_size: int
    auc: OutsideFigure
    correlation: OutsideFigure
    slope: OutsideFigure
    photographs: str = ""
    label: str = ""
    photographs_auc: OutsideFigure | None = None
    photographs_correlation: OutsideFigure | None = None
    photographs_slope: OutsideFigure | None = None


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """How well one attribute is read back from the world's pictures; the reason where that is not known.

    outside: what models from outside read.
    """

    attribute: str
    figure: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    gate: float | None = None
    met: bool | None = None
    visibility: str = ""
    reason: str = ""
    outside: tuple[OutsideReading, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As run.json holds it: `outside` only where there is some."""
        return {key: value for key, value in asdict(self).items() if key != "outside" or value}
