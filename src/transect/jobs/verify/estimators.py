"""Which estimator says the truth, and when? Every claim of the documents as a row: a method in a world of known answer.

`prove` runs each method on the tables of many seeds, with the planted effect on and off, and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from transect.errors import BadInput
from transect.jobs.verify.claims import CLAIMS, WORLDS, Claim
from transect.jobs.verify.contenders import SimulatedEstimates
from transect.jobs.verify.planted import PlantedWorld
from transect.runs.progress import Progress, announced

ALPHA: Final = 0.05
HEADINGS: Final = ["method", "world", "bias", "RMSE", "covers %", "type I %", "power %", "expected", "shown"]
FEWEST_SEEDS: Final = 10
SEEDS: Final = 500
LEAST_COVERAGE, MOST_COVERAGE = 0.93, 0.97
MOST_TYPE_ONE: Final = 0.07


@final
@dataclass(frozen=True, slots=True)
class ProvenRow:
    """One method in one world over `seeds` tables.

    bias, rmse: of the estimate. coverage: share of intervals that hold the truth. type_one: share of tables that are
    found to have an effect with the effect off; power: with it on. None where there is no such thing: a correction for
    many tests estimates nothing, a world of no effect has no power, the rate of one group has no test.
    """

    method: str
    world: str
    bias: float | None
    rmse: float | None
    coverage: float | None
    type_one: float | None
    power: float | None
    seeds: int
    expected_valid: bool
    wide: bool = False

    def holds(self, errors: float = 2.0) -> bool:
        """Whether the row shows what was expected, within `errors` Monte Carlo standard errors.

        Valid: coverage from .93 to .97, of a wide one from .93 on, and type I error at most .07, where the row has
        them. Not valid: coverage or type I error beyond these.
        """
        most = 1.0 if self.wide else MOST_COVERAGE
        covers = self.coverage is None or within(self.coverage, LEAST_COVERAGE, most, self.seeds, errors)
        keeps = self.type_one is None or self.type_one <= MOST_TYPE_ONE
        if self.expected_valid:
            return covers and keeps
        surely_low = self.coverage is not None and self.coverage < LEAST_COVERAGE - errors * _error(0.93, self.seeds)
        surely_wrong = self.type_one is not None and self.type_one > MOST_TYPE_ONE + errors * _error(0.07, self.seeds)
        return surely_low or surely_wrong


def within(share: float, low: float, high: float, seeds: int, errors: float = 2.0) -> bool:
    """Whether a share over n tables is consistent with a probability between low and high.

    >>> within(0.925, 0.93, 0.97, 500), within(0.90, 0.93, 0.97, 500)
    (True, False)
    """
    return bool(low - errors * _error(low, seeds) <= share <= high + errors * _error(high, seeds))


def _error(probability: float, seeds: int) -> float:
    return float(np.sqrt(probability * (1 - probability) / seeds))


def prove(
    seeds: int = SEEDS, *, claims: Sequence[Claim] | None = None, progress: Callable[[str], None] | None = None
) -> list[ProvenRow]:
    """Every claim as a row; the tables of a world are drawn once for all its methods.

    Row by row a function of the number of seeds alone: seed s always has the same table. progress: called with the name
    of each world.

    Raises BadInput for fewer than ten seeds.
    """
    if seeds < FEWEST_SEEDS:
        raise BadInput(f"seeds: expected at least {FEWEST_SEEDS}, got {seeds}; 500 distinguish 93 from 95 %")
    chosen, rows = CLAIMS if claims is None else claims, list[ProvenRow]()
    with Progress("claims", len(chosen), quiet=not announced()) as counting:
        for world in WORLDS:
            of_world = [claim for claim in chosen if claim.world == world.name]
            if not of_world:
                continue
            if progress is not None:
                progress(world.name)
            drawn = seeds if world.most is None else min(seeds, world.most)
            on, off = (world.tables(drawn, effect) if world.tested or not effect else None for effect in (1.0, 0.0))
            for claim in of_world:
                without = claim.contender(off) if off is not None else None
                rows.append(_row(claim, world, None if on is None else claim.contender(on), without, drawn))
                counting.advance(1)
    return rows


def _row(
    claim: Claim, world: PlantedWorld, on: SimulatedEstimates | None, off: SimulatedEstimates | None, seeds: int
) -> ProvenRow:
    shown = off if on is None else on
    truth = world.truths.get(claim.estimand, np.nan)
    off_truth = world.truths_off.get(claim.estimand, 0.0)
    estimated = shown is not None and bool(np.isfinite(shown.estimate).any())
    error = shown.estimate - truth if shown is not None else np.full(seeds, np.nan)
    return ProvenRow(
        claim.method,
        claim.world,
        float(np.nanmean(error)) if estimated else None,
        float(np.sqrt(np.nanmean(error**2))) if estimated else None,
        float(((shown.low <= truth) & (truth <= shown.high)).mean()) if estimated and shown is not None else None,
        float(off.rejects(ALPHA).mean()) if off is not None and off_truth == 0 else None,
        float(on.rejects(ALPHA).mean()) if on is not None and off_truth == 0 else None,
        seeds,
        claim.expected_valid,
        claim.wide,
    )


def as_rows(rows: Sequence[ProvenRow]) -> list[list[str]]:
    """The rows as texts: method, world, bias, RMSE, coverage, type I, power, what was expected, whether it holds."""

    def number(value: float | None, hundredfold: bool) -> str:
        return "" if value is None else f"{100 * value:.1f}" if hundredfold else f"{value:+.3f}"

    return [
        [
            row.method,
            row.world,
            number(row.bias, False),
            number(row.rmse, False).lstrip("+"),
            *(number(share, True) for share in (row.coverage, row.type_one, row.power)),
            "valid, wide" if row.wide else "valid" if row.expected_valid else "fails",
            "yes" if row.holds() else "no",
        ]
        for row in rows
    ]
