"""How an audit verifies the images of an embedding target: the requested rule, and its entry in the spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from transect.effects.verification import Rule
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Attribute, Design, Task
from transect.runs.spec import VerificationEntry
from transect.targets.capabilities import threshold_of

NON_MATCH: Final = "non_match"
WHO: Final = ("skin_tone", "age", "face_shape")
"""Attributes by which subjects are grouped where an experiment does not set them."""


def chosen(
    targets: Sequence[Target], design: Design, false_match_rate: float | None, within: Sequence[str] = ()
) -> Rule:
    """The requested rule. Raises BadInput or UnknownName where it does not fit the targets or the design."""
    embeds = [target for target in targets if Task(target.task) is Task.EMBEDDING]
    if (false_match_rate is not None or within) and not (embeds and design.levels):
        raise BadInput("--false-match-rate and --within need embedding targets and --vary: drop them, or set --task")
    stated = [target for target in embeds if threshold_of(target) is not None]
    if false_match_rate is not None and stated:
        raise BadInput(f"{stated[0].name} has a threshold: expected it or --false-match-rate, got both; drop one")
    rule = Rule(None, false_match_rate, tuple(dict.fromkeys(within)))
    for target in stated:
        Rule(threshold_of(target), None, rule.within).check(design)
    rule.check(design)
    return rule


def verifies(target: Target, design: Design, rule: Rule) -> bool:
    """Whether the target's images can match or not: an embedding, an experiment, and a threshold."""
    known = rule.verifies or threshold_of(target) is not None
    return known and Task(target.task) is Task.EMBEDDING and bool(design.levels)


def spec_entry(
    rule: Rule, targets: Sequence[Target], design: Design, attributes: Sequence[Attribute]
) -> VerificationEntry | None:
    """The entry of a run's spec; None where no target verifies.

    own: attributes by which subjects are grouped, since nothing sets them.
    """
    if not any(verifies(target, design, rule) for target in targets) and not rule.within:
        return None
    grouping = tuple(a for a in attributes if a.name in WHO and a.name not in design.levels)
    return VerificationEntry(rule.false_match_rate, rule.within, grouping)
