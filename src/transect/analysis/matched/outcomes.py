"""The numbers of a matching, which `transect match --json` prints; and matched effects: outcomes within pairs,
adjusted, bounded, and compared with an experiment.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.margins import margin_of
from transect.analysis.matched import methods, user_pairs
from transect.analysis.matched.methods import Matched, matched
from transect.analysis.matched.request import Request, check
from transect.analysis.matched.sample import Prepared, crowded_note, prepare
from transect.analysis.matched.user_pairs import without_identity
from transect.annotation.agreement.coefficients import cohen_kappa
from transect.designs.matching.references import Difficulty
from transect.designs.matching.sample import MISSING, Facts
from transect.effects.matched_pairs import (
    AdjustedPairs,
    Balance,
    PairOutcome,
    Side,
    adjusted_pair_outcome,
    pair_outcome,
    proportion_reach,
    verdict,
)
from transect.effects.multiplicity import holm
from transect.effects.paired_models import Disagreement, disagreement_of_designs
from transect.effects.verdicts import Verdict, judge, largest, subjects_for
from transect.errors import BadInput
from transect.records import Estimate
from transect.runs.json_records import hidden, loads


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast(Estimate):
    """One contrast of a finished audit; NaN where it could not be estimated."""

    name: str
    target: str
    n_subjects: int
    unit: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentComparison(Contrast):
    """An experiment's effect, and how far the pairs' is from it: None with a reason where the units differ."""

    matched: Disagreement | None
    adjusted: Disagreement | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedOutcome(PairOutcome):
    """The difference of one outcome within pairs, a minus b, and what is concluded.

    adjusted: for the covariates that still differ within pairs. versus: of more than two groups the one of b; p_groups,
    adjusted_p_groups: p and that of the adjusted difference corrected for the number of these groups (Holm), NaN with
    two groups. verdict: found, no difference (larger than the margin: its 90 % interval, least to most, lies inside) or
    cannot tell; margin: NaN of an outcome in another unit than a proportion. pairs_needed: with which the pairs could
    tell. agreement: of the two outcomes of a pair: Cohen's kappa of 0 and 1, the correlation of numbers; NaN where
    either side does not vary.
    """

    outcome: str
    adjusted: AdjustedPairs
    experiment: tuple[ExperimentComparison, ...]
    versus: str = ""
    p_groups: float = math.nan
    adjusted_p_groups: float = math.nan
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
        """The outcome, and of more than two groups that of b: `error (with b)`."""
        return f"{self.outcome} (with {self.versus})" if self.versus else self.outcome


@final
@dataclass(frozen=True, slots=True, kw_only=True)
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
    request: Request = hidden()
    prepared: Prepared = hidden()
    matched: Matched = hidden()


ALPHA: Final = 0.05
_LEAST_PAIRS: Final = 3
_MOST_LISTED: Final = 20
"""Rows with missing values that are listed."""
Effects: TypeAlias = Sequence[tuple[str, Contrast]]
"""The outcome, and a contrast of a finished audit in it."""
Rows = tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]


def effects_of_sets(
    prepared: Prepared, groups: Sequence[str], rows: Int[np.ndarray, "sets groups"], seed: int = 0
) -> tuple[MatchedOutcome, ...]:
    """For each outcome the base group, the first, against each other one within sets; p corrected over these (Holm)."""
    effects: list[MatchedOutcome] = []
    for name in prepared.outcomes:
        each = [
            replace(_matched(name, prepared, (rows[:, 0], rows[:, place]), (), seed), versus=group)
            for place, group in enumerate(groups[1:], start=1)
        ]
        effects += _corrected(each)
    return tuple(effects)


def _corrected(each: Sequence[MatchedOutcome]) -> list[MatchedOutcome]:
    """The same with both p values corrected over all of them (Holm): as found, and as adjusted."""
    found = holm(np.array([effect.p for effect in each])).tolist()
    adjusted = holm(np.array([effect.adjusted.p for effect in each])).tolist()
    rows = zip(each, found, adjusted, strict=True)
    return [
        _judged(replace(effect, p_groups=p, adjusted_p_groups=after if math.isfinite(after) else math.nan), len(each))
        for effect, p, after in rows
    ]


def _judged(outcome: MatchedOutcome, family: int = 1) -> MatchedOutcome:
    """The outcome with its verdict, and where the pairs cannot tell, how many could. family: tests that share 5 %."""
    if not math.isfinite(outcome.estimate):
        return outcome
    margin = margin_of({}, outcome.outcome, "proportion" if outcome.is_binary else "")
    verdict = judge(outcome.tested_p <= ALPHA, outcome.least, outcome.most, margin)
    needed = None
    if verdict == "cannot tell":
        needed = subjects_for(margin, outcome.n_pairs, outcome.low, outcome.high, spread=outcome.spread, family=family)
    return replace(outcome, margin=margin, verdict=verdict, pairs_needed=largest([needed]))


def read_experiment(folder: Path, attribute: str, outcomes: Sequence[str]) -> Effects:
    """The contrasts of an attribute in a finished audit, for these outcomes."""
    path = folder / "results.json"
    try:
        effects = loads(path.read_text(encoding="utf-8"))["effects"]
        contrasts = [row for row in effects if row["kind"] == "contrast" and row["basis"] == "experimental"]
        rows = [row for row in contrasts if row["attribute"] == attribute and row["outcome"] in outcomes]
        chosen = [_effect(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"--experiment {folder}: no finished audit's results.json") from None
    if not chosen:
        present = ", ".join(dict.fromkeys(f"{row['outcome']} by {row['attribute']}" for row in contrasts)) or "nothing"
        raise BadInput(
            f"--experiment {folder}: expected {' or '.join(outcomes)} by {attribute}, found {present}; set "
            "--experiment-attribute, and rename the columns of --outcome to its outcomes"
        )
    return chosen


def _effect(row: Mapping[str, Any]) -> tuple[str, Contrast]:
    ends: dict[str, Any] = {
        end: math.nan if row[end] is None else float(row[end]) for end in ("estimate", "low", "high")
    }
    return row["outcome"], Contrast(**ends, **{name: row[name] for name in ("name", "target", "n_subjects", "unit")})


def _matched(name: str, prepared: Prepared, pairs: Rows, experiment: Effects, seed: int) -> MatchedOutcome:
    values = prepared.outcomes[name]
    pair = pair_outcome(values, *pairs, reach=prepared.reaches[name], seed=seed)
    adjusted = adjusted_pair_outcome(values, prepared.covariates, *pairs)
    return MatchedOutcome(
        **{entry.name: getattr(pair, entry.name) for entry in fields(pair)},
        outcome=name,
        adjusted=adjusted,
        experiment=tuple(_compared(effect, pair, adjusted) for outcome, effect in experiment if outcome == name),
        agreement=agreement(values, *pairs),
    )


def agreement(values: Float[np.ndarray, " n"], a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]) -> float:
    """How far the two outcomes of a pair agree: Cohen's kappa of 0 and 1, else Pearson's correlation.

    NaN where fewer than three pairs have both, either side does not vary, or an image is in several pairs. Sources:
    Cohen 1960, doi:10.1177/001316446002000104; Pearson 1895.

    >>> agreement(np.array([1.0, 2.0, 3.0, 2.0, 4.0, 6.0]), np.arange(3), np.arange(3, 6))
    1.0
    """
    known = np.isfinite(values[a]) & np.isfinite(values[b])
    first, second = values[a][known], values[b][known]
    once = len(np.unique(a)) == len(a) and len(np.unique(b)) == len(b)
    if not once or len(first) < _LEAST_PAIRS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    if proportion_reach(np.concatenate([first, second])):
        return cohen_kappa(first, second)
    return round(float(np.corrcoef(first, second)[0, 1]), 12)


def _compared(effect: Contrast, pair: PairOutcome, adjusted: AdjustedPairs) -> ExperimentComparison:
    """An experiment's effect, and how far the pairs' is from it, as estimated and adjusted."""
    same_unit = (effect.unit == "proportion") == pair.is_binary
    counted = "shares" if pair.is_binary else "numbers"
    matched, after = (
        disagreement_of_designs((side.estimate, side.low, side.high), (effect.estimate, effect.low, effect.high))
        if same_unit
        else None
        for side in (pair, adjusted)
    )
    return ExperimentComparison(
        **{entry.name: getattr(effect, entry.name) for entry in fields(Contrast) if entry.name != "reason"},
        reason="" if same_unit else f"the experiment counts {effect.unit}, the pairs {counted}",
        matched=matched,
        adjusted=after,
    )


def matching(request: Request) -> MatchNumbers:
    """The matching that is asked for. Raises BadInput where it cannot be made."""
    started = time.perf_counter()
    prepared = prepare(request)
    check(request, len(prepared.groups))
    experiment = _experiment(request)
    result = matched(request, prepared)
    sample = prepared.sample
    missing = sorted(row for row, reason in sample.ineligible.items() if reason == MISSING)
    known = sample.treatment[np.isfinite(sample.treatment)]
    outcomes = _outcomes(request, prepared, result, experiment)
    adjusted = [(each.adjusted.covariates, each.adjusted.n_pairs) for each in outcomes]
    crowded = list(dict.fromkeys(note for counts in adjusted for note in crowded_note(*counts)))
    notes = [*_equal_images(request, result), *without_identity(request, result.rows), *crowded]
    return MatchNumbers(
        treatment=request.treatment,
        groups=result.groups,
        method=result.method,
        treated=len(known) if sample.dose_gap else int((known == 1).sum()),
        control=len(known) if sample.dose_gap else int((known == 0).sum()),
        pairs=0 if result.weights is not None else result.rows.num_rows,
        sets=None if result.sets is None else len(result.sets.rows),
        weighted=None if result.weights is None else result.rows.num_rows,
        dose_gap=sample.dose_gap or None,
        mean_distance=result.mean_distance,
        missing=len(missing),
        missing_rows=tuple(missing[:_MOST_LISTED]),
        refused=result.refused,
        notes=(
            *prepared.notes,
            *user_pairs.notes(request),
            *methods.notes(request),
            *filter(None, [prepared.apart]),
            *notes,
        ),
        verdict=verdict(result.balance, request.options.gate),
        balance=tuple(CovariateBalance.of(row) for row in result.balance),
        outcomes=outcomes,
        references=result.difficulty,
        facts=result.facts,
        seconds=round(time.perf_counter() - started, 3),
        peak_mb=_peak_megabytes(),
        request=request,
        prepared=prepared,
        matched=result,
    )


def _experiment(request: Request) -> Effects:
    folder = request.options.experiment
    if folder is None:
        return []
    return read_experiment(Path(folder), request.options.experiment_attribute or request.treatment, request.outcomes)


def _outcomes(request: Request, prepared: Prepared, result: Matched, experiment: Effects) -> tuple[MatchedOutcome, ...]:
    if result.sets is not None:
        sets = result.sets
        return effects_of_sets(prepared, sets.groups, sets.rows, seed=request.seed)
    if result.pairs is None:
        return ()
    pairs = result.pairs.a, result.pairs.b
    return tuple(_judged(_matched(name, prepared, pairs, experiment, request.seed)) for name in prepared.outcomes)


def _equal_images(request: Request, result: Matched) -> list[str]:
    """A note on pairs at distance 0."""
    count = 0 if result.pairs is None else int((result.pairs.distance == 0).sum())
    if not count or request.method.startswith("propensity"):
        return []
    pairs = "1 pair has" if count == 1 else f"{count} pairs have"
    return [f"{pairs} distance 0: the same image twice, or features that cannot distinguish images"]


def _peak_megabytes() -> float:
    """The process's largest resident memory so far, mapped files included; 0 where the system does not report it.
    Linux's own count first: getrusage also counts what the process was before, a copy of the one that started it.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    except (OSError, IndexError, ValueError):  # no Linux
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
