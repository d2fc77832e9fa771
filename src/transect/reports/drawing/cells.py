"""Which rate stands where? An index of the rates of a study by target, outcome and cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

from transect.reports.results import RateEntry, Results

_Key = tuple[str, str, frozenset[tuple[str, float]]]


@final
@dataclass(frozen=True)
class RateIndex:
    """Finds the position in `rates` of a cell of one study."""

    rates: tuple[RateEntry, ...]
    positions: Mapping[_Key, int]

    @classmethod
    def of(cls, results: Results, study: str) -> RateIndex:
        """The index of a study's rates."""
        positions = {
            (rate.target, rate.outcome, frozenset(rate.cell.items())): position
            for position, rate in enumerate(results.rates)
            if rate.study == study
        }
        return cls(tuple(results.rates), positions)

    def find(self, target: str, outcome: str, cell: Mapping[str, float]) -> int | None:
        """Position of the cell in `rates`, or None where the results have no such cell."""
        return self.positions.get((target, outcome, frozenset(cell.items())))

    def of_outcome(self, outcome: str) -> list[RateEntry]:
        """All rates of an outcome, over targets and cells."""
        return self._by_outcome.get(outcome, [])

    @cached_property
    def _by_outcome(self) -> Mapping[str, list[RateEntry]]:
        """Found once: a population has thousands of tables and hundreds of thousands of rates."""
        entries: dict[str, list[RateEntry]] = {}
        for (_, outcome, _), position in self.positions.items():
            entries.setdefault(outcome, []).append(self.rates[position])
        return entries
