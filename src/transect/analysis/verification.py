"""How an audit verifies the images of an embedding target: the rule as asked, as a spec keeps it, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis.finished_run import Run, attribute_of
from transect.effects.verification import Rule, Verified, find_threshold, reference_rows
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Attribute, Design, Predictions, Task

NON_MATCH: Final = "non_match"
WHO: Final = ("skin_tone", "age", "face_shape")
"""Attributes by which subjects are grouped where an experiment does not set them."""


def chosen(
    targets: Sequence[Target], design: Design, false_match_rate: float | None, within: Sequence[str] = ()
) -> Rule:
    """The rule as asked. Raises BadInput or UnknownName where the targets or the design cannot be verified so."""
    embeds = [target for target in targets if Task(target.task) is Task.EMBEDDING]
    if (false_match_rate is not None or within) and not (embeds and design.levels):
        raise BadInput("--false-match-rate and --within are of embedding targets and --vary: drop them, or set --task")
    stated = [target for target in embeds if getattr(target, "threshold", None) is not None]
    if false_match_rate is not None and stated:
        raise BadInput(f"{stated[0].name} has a threshold: expected it or --false-match-rate, got both; drop one")
    rule = Rule(None, false_match_rate, tuple(dict.fromkeys(within)))
    for target in stated:
        Rule(getattr(target, "threshold", None), None, rule.within).check(design)
    rule.check(design)
    return rule


def verifies(target: Target, design: Design, rule: Rule) -> bool:
    """Whether the target's images can match or not: an embedding, an experiment, and a threshold."""
    known = rule.verifies or getattr(target, "threshold", None) is not None
    return known and Task(target.task) is Task.EMBEDDING and bool(design.levels)


def spec_entry(
    rule: Rule, targets: Sequence[Target], design: Design, attributes: Sequence[Attribute]
) -> dict[str, Any]:
    """What a run's spec keeps of it; nothing where no target verifies, so that other specs stay as they were.

    own: attributes by which subjects are grouped, since nothing sets them.
    """
    if not any(verifies(target, design, rule) for target in targets) and not rule.within:
        return {}
    own = [asdict(one) for one in attributes if one.name in WHO and one.name not in design.levels]
    return {"verification": {"false_match_rate": rule.false_match_rate, "within": list(rule.within), "own": own}}


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
