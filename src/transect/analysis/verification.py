"""How an audit verifies the images of an embedding target: the rule as asked, as a spec keeps it, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from transect.analysis.finished_run import Run, attribute_of
from transect.effects.verification import Rule, Verified, find_threshold, reference_rows
from transect.records import Predictions, Task


def rule_of(run: Run, target: Mapping[str, Any]) -> Rule:
    """The rule of one target of a finished run: by the rate in its spec, else the target's own threshold."""
    stated = run.spec.get("verification")
    if stated is None or target["task"] != Task.EMBEDDING:
        return Rule()
    rate = stated["false_match_rate"]
    threshold = target["description"].get("threshold") if rate is None else None
    return Rule(threshold, rate, tuple(stated["within"]))


def references(run: Run, target: Mapping[str, Any]) -> Any:
    """The row that each image is compared with."""
    return reference_rows(run.design, rule_of(run, target).within)


def threshold_of(run: Run, target: Mapping[str, Any], predictions: Predictions) -> Any:
    """The threshold, found among the reference images; a pruned one has no embedding there."""
    rows = np.unique(references(run, target))
    kept = np.where((run.seen.reasons == "")[rows, None], predictions.scores[rows], np.nan)
    return find_threshold(kept, run.people[rows], rows % run.design.n_cells, rule_of(run, target))


def verified(
    run: Run,
    target: Mapping[str, Any],
    predictions: Predictions,
    distance: Float[np.ndarray, " n"],
    non_match: Float[np.ndarray, " n"],
) -> Verified:
    """The target's images with what says who is on them. distance, non_match: the outcomes of these names."""
    rule, reference = rule_of(run, target), references(run, target)
    fields = [one for one in run.spec["verification"]["own"] if one["name"] in run.true]
    return Verified(
        threshold_of(run, target, predictions),
        distance,
        non_match,
        reference,
        rule.within,
        {one["name"]: run.true[one["name"]][reference] for one in fields},
        {one["name"]: attribute_of(one) for one in fields},
    )
