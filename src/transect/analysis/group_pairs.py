"""The difference between every two groups of observed images, by the estimator of first and last."""

from __future__ import annotations

import numpy as np

from transect.analysis.finished_run import Run
from transect.effects.analysis import analyse_population
from transect.effects.observational import Groups, cut, pairs
from transect.effects.outcomes import Outcome
from transect.effects.samples import Measure
from transect.records import Effect
from transect.runs.bins import Bins


def pairs_of_groups(
    run: Run, target: str, outcome: Outcome, attribute: str, bins: Bins, confidence: float
) -> tuple[Effect, ...]:
    """A contrast for every two groups of an attribute, the later less the earlier; NaN with a reason."""
    groups = cut(run.attributes[attribute], run.true[attribute], bins.get(attribute))
    measure = Measure(target, outcome.name, outcome.unit, outcome.is_binary, answers=outcome.answers)
    return tuple(_pair(run, outcome, measure, two, confidence) for two in pairs(groups))


def _pair(run: Run, outcome: Outcome, measure: Measure, two: Groups, confidence: float) -> Effect:
    name, chosen = two.attribute.name, two.index >= 0
    analysis = analyse_population(
        outcome.values[chosen],
        outcome.reasons[chosen],
        {name: two.index[chosen].astype(np.float64)},
        {name: two.attribute},
        measure,
        subjects=run.people[chosen],
        confidence=confidence,
        seed=run.design.seed,
        max_order=0,
    )
    return next(effect for effect in analysis.effects if effect.kind == "contrast")
