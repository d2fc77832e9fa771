"""The effects that a report's summary picks, with intervals and estimates that allow for the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np

from transect.analysis.findings import Findings, estimate
from transect.analysis.finished_run import Run
from transect.analysis.target_outcomes import TargetOutcomes
from transect.effects.analysis import CONFIDENCE
from transect.effects.outcomes import UNTRUE
from transect.effects.selection import confidence_of, errors_of, shrunken
from transect.records import Effect
from transect.runs.bins import Bins

ALPHA: Final = 0.05
LARGEST: Final = 3
Again: TypeAlias = Callable[[str, Effect, float], Effect]
"""From a study's name, one of its effects and a level to the effect with an interval of that level."""


@final
@dataclass(frozen=True, slots=True)
class Picked:
    """An effect by its index, its interval at the level of the selection, and its estimate drawn towards 0."""

    effect: int
    low: float
    high: float
    shrunken: float


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """The effects that were picked of `of` candidates, and the level of each interval."""

    of: int
    confidence: float
    effects: tuple[Picked, ...]


def select(studies: Sequence[Findings], effects: Sequence[Effect], again: Again | None = None) -> Selection:
    """The largest effects, with intervals whose false coverage rate is at most 5 % and shrunken estimates.

    effects: of all studies, in order, with adjusted p-values. Without `again`, intervals of another level than the
    effects' own are NaN. Source: see `effects.selection`.
    """
    candidates = _candidates(effects, _truths(studies))
    listed = _largest(effects, candidates)
    level = confidence_of(len(listed), len(candidates))
    names = [study.spec.name for study in studies for _ in study.effects]
    means = dict(zip(candidates, _shrunken([effects[index] for index in candidates]), strict=True))
    return Selection(
        len(candidates),
        level,
        tuple(_picked(index, names[index], effects[index], level, means[index], again) for index in listed),
    )


def at_confidence(runs: Mapping[str, Run], bins: Bins | None, study: str, effect: Effect, confidence: float) -> Effect:
    """An effect of one of the runs, by study, with an interval of another level."""
    run = runs[study]
    target = next(entry for entry in run.spec.targets if entry.name == effect.target)
    outcome = TargetOutcomes(run, target).outcome(effect.outcome)
    edges = {} if run.design.levels else dict(bins or {})
    same = estimate(run, target.name, outcome, edges, confidence).effects
    return next(each for each in same if each.name == effect.name)


def _picked(index: int, study: str, effect: Effect, level: float, mean: float, again: Again | None) -> Picked:
    if level == CONFIDENCE:
        return Picked(index, effect.low, effect.high, mean)
    if again is None:
        return Picked(index, np.nan, np.nan, mean)
    wider = again(study, effect, level)
    return Picked(index, wider.low, wider.high, mean)


def _shrunken(effects: Sequence[Effect]) -> list[float]:
    """Estimates drawn towards 0; the estimate itself where nothing is left out, NaN without an interval."""
    estimates, low, high = (np.array([getattr(each, end) for each in effects]) for end in ("estimate", "low", "high"))
    if len(effects) <= LARGEST:
        return [float(each) for each in estimates]
    return [float(mean) for mean in shrunken(estimates, errors_of(estimates, low, high, CONFIDENCE))]


def _truths(studies: Sequence[Findings]) -> list[str]:
    """For each effect, in order, the attribute that its target's truth is about; "" without one."""
    return [_truth_of(study, effect.target) for study in studies for effect in study.effects]


def _truth_of(study: Findings, target: str) -> str:
    return next((answers.truth_attribute for answers in study.answers if answers.target == target), "")


def _candidates(effects: Sequence[Effect], truths: Sequence[str]) -> list[int]:
    """Contrasts that the summary may list, of proportions where there are any.

    Effects of the truth's own attribute on an error are left out: where the label changes, the error does.
    """
    contrasts = [
        i
        for i, (effect, truth) in enumerate(zip(effects, truths, strict=True))
        if effect.estimable and effect.kind == "contrast" and (effect.attribute != truth or effect.outcome in UNTRUE)
    ]
    return [i for i in contrasts if effects[i].unit == "proportion"] or contrasts


def _largest(effects: Sequence[Effect], candidates: Sequence[int]) -> list[int]:
    """Indices of the three largest, significant ones first; those of exactly 0 only where there is nothing else."""
    ranked = sorted(candidates, key=lambda i: (not effects[i].p_adjusted <= ALPHA, -abs(effects[i].estimate)))
    return [i for i in ranked if effects[i].estimate][:LARGEST] or ranked[:1]
