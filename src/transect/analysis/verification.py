"""How an audit verifies the images of an embedding target: the rule as asked, as a spec keeps it, and what it finds."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.finished_run import Run
from transect.effects.verification import Rule, Threshold, Verified, find_threshold, reference_rows
from transect.records import Predictions, Task
from transect.runs.spec import TargetEntry


def rule_of(run: Run, target: TargetEntry) -> Rule:
    """The rule of one target of a finished run: by the rate in its spec, else the target's own threshold."""
    stated = run.spec.verification
    if stated is None or target.task is not Task.EMBEDDING:
        return Rule()
    threshold = target.description.threshold if stated.false_match_rate is None else None
    return Rule(threshold, stated.false_match_rate, stated.within)


def references(run: Run, target: TargetEntry) -> Int[np.ndarray, " n"]:
    """The row that each image is compared with."""
    return reference_rows(run.design, rule_of(run, target).within)


def threshold_of(run: Run, target: TargetEntry, predictions: Predictions) -> Threshold:
    """The threshold, found among the reference images; a pruned one has no embedding there."""
    rows = np.unique(references(run, target))
    kept = np.where((run.seen.reasons == "")[rows, None], predictions.scores[rows], np.nan)
    return find_threshold(kept, run.people[rows], rows % run.design.n_cells, rule_of(run, target))


def verified(
    run: Run,
    target: TargetEntry,
    predictions: Predictions,
    distance: Float[np.ndarray, " n"],
    non_match: Float[np.ndarray, " n"],
) -> Verified:
    """The target's images with what says who is on them. distance, non_match: the outcomes of these names."""
    rule, reference = rule_of(run, target), references(run, target)
    stated = run.spec.verification
    own = [] if stated is None else [attribute for attribute in stated.own if attribute.name in run.true]
    return Verified(
        threshold_of(run, target, predictions),
        distance,
        non_match,
        reference,
        rule.within,
        {attribute.name: run.true[attribute.name][reference] for attribute in own},
        {attribute.name: attribute for attribute in own},
    )
