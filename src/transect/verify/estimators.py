"""Which estimator says the truth, and when? Every claim of the documents as a row: a method in a world of known answer.

`prove` runs each method on the tables of many seeds, with the planted effect on and off, and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.verify import adjusting, contenders
from transect.verify.contenders import Answers, Contender
from transect.verify.planted import WORLDS, PlantedWorld

ALPHA: Final = 0.05
FEWEST_SEEDS: Final = 10
SEEDS: Final = 500
LEAST_COVERAGE, MOST_COVERAGE = 0.93, 0.97
MOST_TYPE_ONE: Final = 0.07


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What theory expects of a method in a world. estimand: a key of the world's truths. why: in a few words."""

    method: str
    world: str
    contender: Contender
    expected_valid: bool
    why: str
    estimand: str = "effect"


@final
@dataclass(frozen=True, slots=True)
class ProvenRow:
    """One method in one world over `seeds` tables.

    bias, rmse: of the estimate. coverage: share of intervals that hold the truth. type_one: share of tables that are
    said to have an effect with the effect off; power: with it on. None where there is no such thing: a correction for
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

    def entry(self) -> dict[str, Any]:
        """The row as JSON values."""
        return asdict(self)

    def holds(self, errors: float = 2.0) -> bool:
        """Whether the row shows what was expected, within so many Monte Carlo standard errors.

        Valid: coverage from .93 to .97 and type I error at most .07, as far as the row has them. Not valid: coverage
        or type I error beyond these.
        """
        covers = self.coverage is None or within(self.coverage, LEAST_COVERAGE, MOST_COVERAGE, self.seeds, errors)
        keeps = self.type_one is None or self.type_one <= MOST_TYPE_ONE
        if self.expected_valid:
            return covers and keeps
        surely_low = self.coverage is not None and self.coverage < LEAST_COVERAGE - errors * _error(0.93, self.seeds)
        surely_wrong = self.type_one is not None and self.type_one > MOST_TYPE_ONE + errors * _error(0.07, self.seeds)
        return surely_low or surely_wrong


def within(share: float, low: float, high: float, seeds: int, errors: float = 2.0) -> bool:
    """Whether a share over so many tables is consistent with a probability between low and high.

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

    Row by row a function of the number of seeds alone: seed s always has the same table. progress: told each world.

    Raises BadInput for fewer than ten seeds.
    """
    if seeds < FEWEST_SEEDS:
        raise BadInput(f"seeds: expected at least {FEWEST_SEEDS}, got {seeds}; 500 tell 93 from 95 %")
    chosen = CLAIMS if claims is None else claims
    rows = []
    for world in WORLDS:
        of_world = [claim for claim in chosen if claim.world == world.name]
        if not of_world:
            continue
        if progress is not None:
            progress(world.name)
        on, off = (world.tables(seeds, effect) if world.tested or not effect else None for effect in (1.0, 0.0))
        for claim in of_world:
            without = claim.contender(off) if off is not None else None
            rows.append(_row(claim, world, None if on is None else claim.contender(on), without, seeds))
    return rows


def _row(claim: Claim, world: PlantedWorld, on: Answers | None, off: Answers | None, seeds: int) -> ProvenRow:
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
    )


def as_rows(made: Sequence[ProvenRow]) -> list[list[str]]:
    """The rows as texts: method, world, bias, RMSE, coverage, type I, power, what was expected, whether it showed."""

    def number(value: float | None, hundredfold: bool) -> str:
        return "" if value is None else f"{100 * value:.1f}" if hundredfold else f"{value:+.3f}"

    return [
        [
            row.method,
            row.world,
            number(row.bias, False),
            number(row.rmse, False).lstrip("+"),
            *(number(share, True) for share in (row.coverage, row.type_one, row.power)),
            "valid" if row.expected_valid else "fails",
            "yes" if row.holds() else "no",
        ]
        for row in made
    ]


CLAIMS: Final = (
    Claim("paired contrast", "null", contenders.paired_contrast, True, "the level is kept"),
    Claim("unadjusted difference", "null", contenders.unadjusted, True, "nothing to adjust for"),
    Claim("OLS, adjusted", "null", adjusting.adjusted_ols, True, "nothing to adjust for"),
    Claim("AIPW", "null", adjusting.adjusted_aipw, True, "nothing to adjust for"),
    Claim("20 tests, uncorrected", "null", contenders.uncorrected_family, False, "twenty chances to be wrong", ""),
    Claim("20 tests, Holm", "null", contenders.holm_family, True, "valid whatever the dependence", ""),
    Claim("20 tests, max-T bootstrap", "null", contenders.max_t_family, True, "valid, and knows the dependence", ""),
    Claim("paired contrast", "direct effect", contenders.paired_contrast, True, "set by experiment"),
    Claim("unadjusted difference", "direct effect", contenders.unadjusted, True, "nothing goes along"),
    Claim("OLS, adjusted", "direct effect", adjusting.adjusted_ols, True, "the model is right"),
    Claim("AIPW", "direct effect", adjusting.adjusted_aipw, True, "both of its models are right"),
    Claim("averaged contrast", "interaction", contenders.averaged_contrast, True, "the average effect, by design"),
    Claim(
        "interaction contrast",
        "interaction",
        contenders.interaction_contrast,
        True,
        "the difference of differences",
        "interaction",
    ),
    Claim("unadjusted difference", "interaction", contenders.unadjusted, False, "the other attribute goes along"),
    Claim("OLS, adjusted", "interaction", adjusting.adjusted_ols, False, "weighs groups by how mixed they are"),
    Claim("g-computation", "interaction", adjusting.adjusted_g, False, "its model has no interaction"),
    Claim("AIPW", "interaction", adjusting.adjusted_aipw, True, "one right model of two is enough"),
    Claim("paired contrast", "confounded population", contenders.paired_contrast, True, "set by experiment"),
    Claim("unadjusted difference", "confounded population", contenders.unadjusted, False, "a common cause"),
    Claim("OLS, adjusted", "confounded population", adjusting.adjusted_ols, True, "the cause is recorded"),
    Claim("g-computation", "confounded population", adjusting.adjusted_g, True, "the cause is recorded"),
    Claim("AIPW", "confounded population", adjusting.adjusted_aipw, True, "the cause is recorded"),
    Claim("projection", "another population", contenders.projection, True, "weighted by its shares", "impact"),
    Claim(
        "averaged contrast",
        "another population",
        contenders.averaged_contrast,
        False,
        "an effect is not the difference between groups",
        "impact",
    ),
    Claim("contrast of the intended", "entangled manipulation", contenders.score_contrast, False, "two things moved"),
    Claim("OLS on perceived", "entangled manipulation", adjusting.perceived_ols, False, "a hidden trait shows in both"),
    Claim(
        "instrumental variables",
        "entangled manipulation",
        adjusting.instrumented_square,
        True,
        "what was set is random",
    ),
    Claim("paired contrast, exact control", "hidden attribute", contenders.paired_contrast, True, "all else is held"),
    Claim(
        "paired contrast, learned direction",
        "hidden attribute",
        contenders.dragging_contrast,
        False,
        "earrings come along",
    ),
    Claim("unadjusted difference", "hidden attribute", contenders.unadjusted, False, "earrings come along"),
    Claim(
        "instrumental variables, learned direction",
        "hidden attribute",
        adjusting.instrumented_dragging,
        False,
        "earrings are another way to the outcome",
    ),
    Claim("OLS, adjusted", "hidden attribute", adjusting.adjusted_ols, False, "earrings were not recorded"),
    Claim("AIPW", "hidden attribute", adjusting.adjusted_aipw, False, "earrings were not recorded"),
    Claim("slope on intended levels", "rater noise", contenders.intended_slope, True, "levels are set without noise"),
    Claim("OLS on ratings", "rater noise", adjusting.rated_ols, False, "noise pulls the slope towards 0"),
    Claim("instrumental variables", "rater noise", adjusting.rated_instrument, True, "levels are set without noise"),
    Claim("people's ratings alone", "rater bias", contenders.people_alone, True, "few, but right"),
    Claim("prediction-powered", "rater bias", contenders.people_and_machine, True, "the machine's bias is taken off"),
    Claim("machine's ratings alone", "rater bias", contenders.machine_alone, False, "its bias counts as effect"),
    Claim("paired contrast", "near-separated", contenders.paired_contrast, True, "score interval for rare outcomes"),
    Claim("logit", "near-separated", adjusting.pair_logit, False, "no maximum where a level has no error", "log odds"),
    Claim(
        "logistic, C = 1",
        "near-separated",
        adjusting.pair_penalised,
        False,
        "the penalty pulls it towards 0",
        "log odds",
    ),
    Claim("paired contrast of ten cells", "heavy clustering", contenders.cells_contrast, True, "by subject", "within"),
    Claim(
        "difference of images",
        "heavy clustering",
        contenders.images_contrast,
        False,
        "images are not subjects",
        "between",
    ),
    Claim("OLS, images", "heavy clustering", adjusting.image_ols, False, "images are not subjects", "between"),
    Claim("OLS, by subject", "heavy clustering", adjusting.clustered_ols, True, "errors by subject", "between"),
    Claim(
        "logistic, C = 1, images",
        "heavy clustering",
        adjusting.published_penalised,
        False,
        "as published: images are resampled",
        "log odds",
    ),
    Claim(
        "logistic, C = 1, subjects",
        "heavy clustering",
        adjusting.subject_penalised,
        True,
        "subjects are resampled",
        "log odds",
    ),
    Claim("rate of images", "heavy clustering", contenders.image_rate, False, "images are not subjects", "rate"),
    Claim("rate on effective images", "heavy clustering", contenders.subject_rate, True, "design effect", "rate"),
)
"""When to use which estimator: what the documents say of it, row by row."""
