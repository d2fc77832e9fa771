"""The numbers of a matching: what `transect match --json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, final

from transect.designs.matching.references import Difficulty
from transect.designs.matching.sample import Facts
from transect.effects.matched_pairs import AdjustedPairs, Balance, Side
from transect.effects.paired_models import Disagreement
from transect.effects.verdicts import Verdict


@final
@dataclass(frozen=True, slots=True)
class CovariateBalance:
    """One covariate: standardized mean differences before and after matching, then what is behind them.

    used: whether the method saw it. n: images of both groups with a value, effective where weighted. Intervals are
    Wilson's, of covariates of 0 and 1.
    """

    covariate: str
    before: float
    after: float
    used: bool
    treated_before: float
    control_before: float
    treated_interval_before: tuple[float, float]
    control_interval_before: tuple[float, float]
    variance_ratio_before: float
    ks_before: float
    n_before: tuple[float, float]
    treated_after: float
    control_after: float
    treated_interval_after: tuple[float, float]
    control_interval_after: tuple[float, float]
    variance_ratio_after: float
    ks_after: float
    n_after: tuple[float, float]

    @classmethod
    def of(cls, balance: Balance) -> CovariateBalance:
        """The same numbers in one row."""
        sides = {"before": balance.before, "after": balance.after}
        details: dict[str, Any] = {
            f"{entry.name}_{when}": getattr(side, entry.name)
            for when, side in sides.items()
            for entry in fields(Side)
            if entry.name != "smd"
        }
        before, after = balance.before.smd, balance.after.smd
        return cls(covariate=balance.covariate, before=before, after=after, used=balance.used, **details)


@dataclass(frozen=True, slots=True)
class Contrast:
    """One contrast of a finished audit; NaN where it could not be estimated."""

    name: str
    target: str
    estimate: float
    low: float
    high: float
    n_subjects: int
    unit: str


@final
@dataclass(frozen=True, slots=True)
class ExperimentComparison(Contrast):
    """An experiment's effect, and how far the difference within pairs is from it, as estimated and adjusted.

    matched, adjusted: None with a reason where the two are not in the same unit.
    """

    reason: str
    matched: Disagreement | None
    adjusted: Disagreement | None


@final
@dataclass(frozen=True, slots=True)
class MatchedOutcome:
    """The difference of one outcome within pairs, a minus b; NaN with a reason where it cannot be estimated.

    n_pairs, n_missing: pairs with and without both outcomes. gammas, largest_p, tolerated, discordant, bounds_method:
    Rosenbaum's bounds of hidden bias, empty with `no_bounds` where there are none. adjusted: for the covariates that
    still differ within pairs. versus: of more than two groups the one of b; p_groups, adjusted_p_groups: p
    and that of the adjusted difference corrected for the number of these groups (Holm), NaN with two groups. of_a,
    of_b: mean outcome of either side. verdict: found, no difference (larger than the margin: its 90 % interval, least
    to most, lies inside) or cannot tell; margin: NaN of an outcome in another unit than a proportion. pairs_needed:
    with which the pairs could tell. spread: standard deviation of the differences. agreement: of the two outcomes of a
    pair: Cohen's kappa of 0 and 1, the correlation of numbers; NaN where either side does not vary.
    """

    outcome: str
    estimate: float
    low: float
    high: float
    p: float
    n_pairs: int
    n_missing: int
    is_binary: bool
    interval_method: str
    test_method: str
    reason: str
    no_bounds: str
    gammas: tuple[float, ...]
    largest_p: tuple[float, ...]
    tolerated: float
    discordant: int
    bounds_method: str
    adjusted: AdjustedPairs
    experiment: tuple[ExperimentComparison, ...]
    versus: str = ""
    p_groups: float = math.nan
    adjusted_p_groups: float = math.nan
    of_a: float = math.nan
    of_b: float = math.nan
    least: float = math.nan
    most: float = math.nan
    spread: float = math.nan
    margin: float = math.nan
    verdict: Verdict = "not estimable"
    pairs_needed: int | None = None
    agreement: float = math.nan

    @property
    def tested_p(self) -> float:
        """p, corrected where there are several groups."""
        return self.p_groups if math.isfinite(self.p_groups) else self.p

    @property
    def label(self) -> str:
        """The outcome, and of more than two groups that of b.

        `error` with two groups, `error (with b)` with more.
        """
        return f"{self.outcome} (with {self.versus})" if self.versus else self.outcome


@final
@dataclass(frozen=True, slots=True)
class MatchNumbers:
    """A matching in numbers.

    treated, control: images of each group (of a continuous treatment, all with a value). pairs: rows of pairs; sets: of
    more than two groups; weighted: images with a weight, of methods that weigh. missing: images with missing values,
    missing_rows: the first of them. refused: treated images without a partner by reason. facts: what the method
    measured about its result. references: distances of reference images. None where a field does not apply.
    """

    treatment: str
    groups: tuple[str, ...]
    method: str
    treated: int
    control: int
    pairs: int
    sets: int | None
    weighted: int | None
    dose_gap: float | None
    mean_distance: float | None
    missing: int
    missing_rows: tuple[int, ...]
    refused: Mapping[str, int]
    notes: tuple[str, ...]
    verdict: str
    balance: tuple[CovariateBalance, ...]
    outcomes: tuple[MatchedOutcome, ...]
    references: Difficulty | None
    facts: Facts
    seconds: float
    peak_mb: float
