"""The effects that a report's verdicts rest on, with intervals and estimates that allow for their being picked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np

from transect.analysis.findings import Findings, estimate
from transect.analysis.finished_run import Run
from transect.analysis.group_pairs import pairs_of_groups
from transect.analysis.preferred import named, preferred
from transect.analysis.target_outcomes import TargetOutcomes
from transect.analysis.verdicts import Again, AttributeVerdict, truth_of
from transect.effects.analysis import CONFIDENCE
from transect.effects.selection import confidence_of, errors_of, shrunken
from transect.records import Effect
from transect.runs.bins import Bins

FEW: Final = 3
"""Candidates up to which estimates stay as they are: hardly anything was picked."""


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


def select(
    studies: Sequence[Findings], effects: Sequence[Effect], picked: Sequence[int], again: Again | None = None
) -> Selection:
    """The picked effects, with intervals whose false coverage rate is at most 5 % and shrunken estimates.

    effects: of all studies, in order. picked: indices into them, of differences that were found. Candidates are all
    estimable effects but those of the truth's own attribute. Without `again`, intervals of another level than the
    effects' own are NaN. Source: see `effects.selection`.
    """
    names = [study.spec.name for study in studies for _ in study.effects]
    candidates = [index for index in _candidates(studies) if effects[index].estimable]
    level = confidence_of(len(picked), len(candidates)) if picked else CONFIDENCE
    means = dict(zip(candidates, _shrunken([effects[index] for index in candidates]), strict=True))
    chosen = tuple(_picked(index, names[index], effects[index], level, means[index], again) for index in picked)
    return Selection(len(candidates), level, chosen)


def with_sizes(
    verdicts: Sequence[AttributeVerdict], effects: Sequence[Effect], picked: Selection
) -> tuple[AttributeVerdict, ...]:
    """The verdicts, with whether the interval of each difference that was found excludes 0."""
    listed = {row.effect: row for row in picked.effects if math.isfinite(row.low) and len(picked.effects) < picked.of}
    return tuple(
        replace(verdict, sized=_excludes_zero(listed.get(verdict.effect, effects[verdict.effect])))
        if verdict.verdict == "found" and verdict.effect is not None
        else verdict
        for verdict in verdicts
    )


def _excludes_zero(row: Effect | Picked) -> bool:
    """False without an interval, as of NaN ends."""
    return row.low > 0 or row.high < 0


@final
@dataclass(frozen=True, slots=True)
class Estimates:
    """Effects of finished runs, by study, with intervals of another level; each level is estimated once."""

    runs: Mapping[str, Run]
    bins: Bins | None
    _known: dict[tuple[str, str, str, float], tuple[Effect, ...]] = field(default_factory=dict, repr=False)

    def __call__(self, study: str, effect: Effect, confidence: float) -> Effect:
        """The effect with an interval of this level."""
        key = study, effect.target, effect.outcome, confidence
        if key not in self._known:
            self._known[key] = self._estimated(*key)
        return next(each for each in self._known[key] if each.name == effect.name)

    def pairs(self, study: str, effect: Effect, confidence: float) -> tuple[Effect, ...]:
        """The differences between every two groups of the effect's attribute: observed images, or two at once."""
        run = self.runs[study]
        if asked := named(run, effect.target):
            return tuple(each for each in preferred(run, asked, confidence)[0] if each.attribute == effect.attribute)
        entry = next(entry for entry in run.spec.targets if entry.name == effect.target)
        answered = TargetOutcomes(run, entry).outcome(effect.outcome)
        return pairs_of_groups(run, effect.target, answered, effect.attribute, self.bins or {}, confidence)

    def _estimated(self, study: str, target: str, outcome: str, confidence: float) -> tuple[Effect, ...]:
        run = self.runs[study]
        if asked := named(run, target):
            return preferred(run, asked, confidence)[0]
        entry = next(entry for entry in run.spec.targets if entry.name == target)
        edges = {} if run.design.levels else dict(self.bins or {})
        answered = TargetOutcomes(run, entry).outcome(outcome)
        return estimate(run, target, answered, edges, confidence, max_order=0).effects


def _picked(index: int, study: str, effect: Effect, level: float, mean: float, again: Again | None) -> Picked:
    if level == CONFIDENCE:
        return Picked(index, effect.low, effect.high, mean)
    if again is None:
        return Picked(index, np.nan, np.nan, mean)
    wider = again(study, effect, level)
    return Picked(index, wider.low, wider.high, mean)


def _shrunken(effects: Sequence[Effect]) -> list[float]:
    """Estimates drawn towards 0; the estimate itself where there are few, NaN without an interval."""
    estimates, low, high = (np.array([getattr(each, end) for each in effects]) for end in ("estimate", "low", "high"))
    if len(effects) <= FEW:
        return [float(each) for each in estimates]
    return [float(mean) for mean in shrunken(estimates, errors_of(estimates, low, high, CONFIDENCE))]


def _candidates(studies: Sequence[Findings]) -> list[int]:
    """Effects that may be picked: of the truth's own attribute neither those on errors, whose label changes with it,
    nor those on answers, which check the target.
    """
    named = [(study, effect) for study in studies for effect in study.effects]
    return [i for i, (study, effect) in enumerate(named) if effect.attribute != truth_of(study, effect.target)]
