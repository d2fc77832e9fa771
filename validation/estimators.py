"""Which estimator says the truth, and when? Every claim of the documents as a row: a method in a world of known answer.

`prove` runs each method on the tables of many seeds, with the planted effect on and off, and counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from transect.errors import BadInput
from transect.runs.parts import Progress, announced
from validation import contenders, difficult_contenders, further_contenders
from validation.contenders import Contender, SimulatedEstimates
from validation.planted import FACES, FURTHER, SIMPLE, SPOKEN, PlantedWorld
from validation.planted_audits import AUDITED
from validation.planted_scores import DIFFICULT
from validation.text import DOCS, facts, markdown, replaced

WORLDS: Final = SIMPLE + FURTHER + DIFFICULT + FACES + SPOKEN + AUDITED
"""All worlds, in the order in which the proving ground shows them."""

PAGE: Final = DOCS / "research" / "proving-ground.md"
_START, _END = "<!-- table -->", "<!-- end of table -->"
_COLUMNS = ("method", "expected", "bias", "RMSE", "covers %", "type I %", "power %", "withheld %", "why")


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What theory expects of a method in a world. estimand: a key of the world's truths. why: in a few words.

    wide: valid with intervals that cover more than they claim, as where few subjects tell. withheld: there is rightly
    no interval.
    """

    method: str
    world: str
    contender: Contender
    expected_valid: bool
    why: str
    estimand: str = "effect"
    wide: bool = False
    withheld: bool = False


def contender(name: str) -> Contender:
    """The function that facts/claims.csv names."""
    places = (contenders, further_contenders, difficult_contenders)
    found: Contender = next(getattr(place, name) for place in places if hasattr(place, name))
    return found


def _claims() -> Iterator[Claim]:
    for r in facts("claims"):
        said = r["valid"]
        yield Claim(
            r["method"],
            r["world"],
            contender(r["contender"]),
            said != "no",
            r["why"],
            r["estimand"],
            said == "wide",
            said == "withheld",
        )


CLAIMS: Final = tuple(_claims())
"""When to use which estimator: row by row, as in the documents; facts/claims.csv lists them."""


ALPHA: Final = 0.05
HEADINGS: Final = (
    "method", "world", "bias", "RMSE", "covers %", "type I %", "power %", "withheld %", "expected", "shown",
)  # fmt: skip
FEWEST_SEEDS: Final = 10
SEEDS: Final = 500
LEAST_COVERAGE, MOST_COVERAGE = 0.92, 0.985
FAILS_BELOW: Final = 0.93
"""What is said to fail covers less than this, surely."""
MOST_TYPE_ONE: Final = 0.07


@final
@dataclass(frozen=True, slots=True)
class ProvenRow:
    """One method in one world over `seeds` tables.

    bias, rmse: of the estimate. coverage: share of the intervals there are that hold the truth. type_one: share of
    tables that are found to have an effect with the effect off; power: with it on. None where there is no such thing: a
    correction for many tests estimates nothing, a world of no effect has no power, the rate of one group has no test.
    withheld: share of tables with an estimate and no interval, or with neither.
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
    withheld: float = 0.0
    to_withhold: bool = False

    @property
    def expected(self) -> str:
        """What theory expects of the row, as the page says it."""
        if self.to_withhold:
            return "withheld"
        return "valid, wide" if self.wide else "valid" if self.expected_valid else "fails"

    def holds(self, errors: float = 2.0) -> bool:
        """Whether the row shows what was expected, within `errors` Monte Carlo standard errors.

        Valid: coverage from .92 to .985, of a wide one from .92 on, and type I error at most .07, where the row has
        them. Withheld: no table has an interval. Not valid: coverage below .93 or type I error above .07.
        """
        if self.to_withhold:
            return self.withheld == 1
        most, made = 1.0 if self.wide else MOST_COVERAGE, max(round(self.seeds * (1 - self.withheld)), 1)
        covers = self.coverage is None or within(self.coverage, LEAST_COVERAGE, most, made, errors)
        keeps = self.type_one is None or self.type_one <= MOST_TYPE_ONE
        if self.expected_valid:
            return covers and keeps and self.withheld < 1
        surely_low = self.coverage is not None and self.coverage < FAILS_BELOW - errors * _error(FAILS_BELOW, made)
        surely_wrong = self.type_one is not None and self.type_one > MOST_TYPE_ONE + errors * _error(0.07, self.seeds)
        return surely_low or surely_wrong


def within(share: float, low: float, high: float, seeds: int, errors: float = 2.0) -> bool:
    """Whether a share over n tables is consistent with a probability between low and high.

    >>> within(0.91, 0.92, 0.985, 500), within(0.89, 0.92, 0.985, 500)
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
    low, high = (shown.low, shown.high) if shown is not None and claim.estimand else (np.zeros(seeds),) * 2
    made = ~(np.isnan(low) | np.isnan(high))
    return ProvenRow(
        claim.method,
        claim.world,
        float(np.nanmean(error)) if estimated else None,
        float(np.sqrt(np.nanmean(error**2))) if estimated else None,
        float(((low <= truth) & (truth <= high))[made].mean()) if estimated and made.any() else None,
        float(off.rejects(ALPHA).mean()) if off is not None and off_truth == 0 else None,
        float(on.rejects(ALPHA).mean()) if on is not None and off_truth == 0 else None,
        seeds,
        claim.expected_valid,
        claim.wide,
        float(1 - made.mean()),
        claim.withheld,
    )


def as_rows(rows: Sequence[ProvenRow]) -> list[list[str]]:
    """The rows as texts, by `HEADINGS`."""

    def number(value: float | None, hundredfold: bool) -> str:
        return "" if value is None else f"{100 * value:.1f}" if hundredfold else f"{value:+z.3f}"

    return [
        [
            row.method,
            row.world,
            number(row.bias, False),
            number(row.rmse, False).lstrip("+"),
            *(number(share, True) for share in (row.coverage, row.type_one, row.power)),
            number(row.withheld or None, True),
            "withheld"
            if row.to_withhold
            else "valid, wide"
            if row.wide
            else "valid"
            if row.expected_valid
            else "fails",
            "yes" if row.holds() else "no",
        ]
        for row in rows
    ]


def sections(rows: Sequence[ProvenRow]) -> dict[str, str]:
    """A section of the page for each world: what is planted, and what each method made of it."""
    why = {(claim.method, claim.world): claim.why for claim in CLAIMS}
    made: dict[str, str] = {}
    for world in [world for world in WORLDS if any(row.world == world.name for row in rows)]:
        cells = [
            (method, expected, bias, rmse, covers, one, power, withheld, why[method, name])
            for method, name, bias, rmse, covers, one, power, withheld, expected, _ in as_rows(rows)
            if name == world.name
        ]
        meaning = f"{world.meaning[0].upper()}{world.meaning[1:]}"
        made[world.name] = f"### {world.name}\n\n{meaning}.\n\n{markdown(_COLUMNS, cells)}"
    return made


def with_world(text: str, name: str, made: str) -> str:
    """The page with one world's section replaced, or added at the end of the table."""
    head, _, rest = text.partition(_START)
    tables, _, tail = rest.partition(_END)
    own = re.compile(rf"### {re.escape(name)}\n.*?(?=\n\n### |\s*\Z)", flags=re.S)
    if own.search(tables):
        tables = own.sub(lambda _: made.rstrip(), tables)
    else:
        tables = f"{tables.rstrip()}\n\n{made.rstrip()}\n\n"
    return f"{head}{_START}{tables}{_END}{tail}"


def write_page(rows: Sequence[ProvenRow], seeds: int, only: str | None) -> None:
    """Write the proving ground's table of all worlds, or of `only` one."""
    text, made = PAGE.read_text(encoding="utf-8"), sections(rows)
    if only is not None:
        text = with_world(text, only, made[only])
    else:
        head = f"{seeds} tables per world and row, fewer where a world says so.\n\n"
        text = replaced(text, _START, _END, head + "\n".join(made.values()))
    PAGE.write_text(text, encoding="utf-8")
