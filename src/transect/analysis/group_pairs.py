"""The difference between every two groups of observed images, by the estimator of first and last."""

from __future__ import annotations

import itertools

import numpy as np

from transect.analysis.finished_run import Run
from transect.effects.analysis import analyse_population
from transect.effects.observational import Groups, cut
from transect.effects.outcomes import Outcome
from transect.effects.samples import Measure
from transect.records import Attribute, Effect
from transect.runs.bins import Bins


def pairs_of_groups(
    run: Run, target: str, outcome: Outcome, attribute: str, bins: Bins, confidence: float
) -> tuple[Effect, ...]:
    """A contrast for every two groups of an attribute, the later less the earlier; NaN with a reason where it has none.

    bins: cut points of ranges; without, a range is cut at its terciles.
    """
    observed = run.attributes[attribute]
    groups = cut(observed, run.true[attribute], bins.get(attribute))
    measure = Measure(target, outcome.name, outcome.unit, outcome.is_binary)
    pairs = itertools.combinations(range(len(groups.centers)), 2)
    return tuple(_pair(run, outcome, measure, groups, pair, confidence) for pair in pairs)


def _pair(
    run: Run, outcome: Outcome, measure: Measure, groups: Groups, pair: tuple[int, int], confidence: float
) -> Effect:
    observed, index = groups.attribute, groups.index
    labels = groups.label(pair[0]), groups.label(pair[1])
    column = np.where(index == pair[0], 0.0, np.where(index == pair[1], 1.0, np.nan))
    two = Attribute(observed.name, "binary", observed.meaning, levels=labels)
    chosen = np.isfinite(column)
    analysis = analyse_population(
        outcome.values[chosen],
        outcome.reasons[chosen],
        {observed.name: column[chosen]},
        {observed.name: two},
        measure,
        subjects=run.people[chosen],
        confidence=confidence,
        seed=run.design.seed,
        max_order=0,
    )
    return next(effect for effect in analysis.effects if effect.kind == "contrast")
