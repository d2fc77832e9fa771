"""Which outcomes are counted on a target, and how embeddings verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from transect.effects.outcomes import FACE, OF_OPTION, OPTION, InWords, Truth, asked_in, compute, is_in_words, offered
from transect.effects.verification import Rule
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Attribute, Design, Predictions, Task
from transect.runs.spec import VerificationEntry
from transect.targets.capabilities import answers_in_words, describe, labels_of, positive_of, threshold_of
from transect.texts import whole_number


def choose_outcomes(
    task: Task, truth: str | None, wanted: Sequence[str], *, verifies: bool = False, asked: InWords | None = None
) -> list[str]:
    """The outcomes to count: those wanted, or the usual ones of the task. verifies: whether there is a threshold, from
    which two embeddings are no match. asked: of a question in words, after what its outcomes are named.

    >>> choose_outcomes(Task.DETECTION, None, ())
    ['answer']
    """
    possible = offered(task, truth is not None, asked)
    for outcome in wanted:
        if outcome not in possible:
            hint = "" if truth else "; give --truth to count errors"
            raise BadInput(
                f"outcome {outcome!r} is not offered for a {task} target: choose from {', '.join(possible)}{hint}"
            )
    if "non_match" in wanted and not verifies:
        raise BadInput("outcome non_match needs --vary and a threshold: give --threshold or --false-match-rate")
    return list(dict.fromkeys(wanted)) or [
        *_usual_outcomes(task, truth, asked),
        *(["non_match"] if verifies and task is Task.EMBEDDING else []),
    ]


def shared_out(wanted: Sequence[str], targets: Sequence[Target]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Which outcomes are counted of which target (an outcome of answers in words where it exists), and what lacks."""
    possible = {target.name: offered_by(target) for target in targets}
    lacking = {
        name: [target for target, known in possible.items() if name not in known]
        for name in wanted
        if is_in_words(name)
    }
    lacking = {name: without for name, without in lacking.items() if 0 < len(without) < len(targets)}
    left = {target: tuple(name for name in wanted if target not in lacking.get(name, ())) for target in possible}
    lines = [f"--outcome {name}: not of {', '.join(those)}, which lack it" for name, those in lacking.items()]
    usual = [target for target, names in left.items() if wanted and not names]
    if usual:
        lines.append(f"--outcome: none of those named is among {', '.join(usual)}, so these are counted")
    return left, lines


def offered_by(target: Target) -> tuple[str, ...]:
    """Every outcome that a target can have, whatever the truth."""
    return offered(Task(target.task), True, asked_in(describe(target)) if answers_in_words(target) else None)


def _usual_outcomes(task: Task, truth: str | None, asked: InWords | None) -> list[str]:
    if asked is not None:
        others = [label for label in asked.labels if asked.positive not in ("", label)]
        rare = ("miss", "false_alarm", "loss", *(f"{kind}{label}" for kind in (OPTION, OF_OPTION) for label in others))
        return [name for name in offered(task, truth is not None, asked) if name not in rare]
    if task is Task.EMBEDDING:
        return ["distance"]
    if task is Task.REGRESSION:
        return ["score", "error"] if truth else ["score"]
    if task is Task.DETECTION:
        return ["answer"] if truth is None else ["miss"] if truth.strip() == FACE else ["answer", "error"]
    return ["answer", "error"] if truth else ["answer", "score"]


def rehearse(target: Target, outcomes: Sequence[str], truth: Truth | None, attributes: Mapping[str, Attribute]) -> None:
    """Compute the outcomes of two made-up answers, so that an impossible one is refused before rendering."""
    task, positive = Task(target.task), positive_of(target)
    labels = labels_of(target)
    positive_text = "" if positive is None else str(positive)
    number = whole_number(positive_text)
    if number is not None and number >= _MOST_CLASSES and not labels:
        raise BadInput(f"positive: expected a class below {_MOST_CLASSES:,}, got {number:,}; give its name")
    width = len(labels) or (2 if number is None else number + 1)
    one_score = task in (Task.BINARY, Task.REGRESSION, Task.DETECTION)
    # A positive class that the target will name only in its predictions is accepted unchecked.
    known = labels or ((positive_text,) * width if positive_text and number is None else ())
    boxes = (np.empty((0, 5)),) * 2 if task is Task.DETECTION else None
    said = ((), ()) if answers_in_words(target) else None
    answers = Predictions(task, np.full((2, 1 if one_score else width), 0.5), ("", ""), boxes, known, said)
    label = None if truth is None else truth.of({name: np.array(a.bounds) for name, a in attributes.items()})
    for name in outcomes:
        compute(name, answers, truth=label, positive=positive, reference=np.zeros(2, dtype=np.int64))


_MOST_CLASSES: Final = 1_000_000
NON_MATCH: Final = "non_match"
WHO: Final = ("skin_tone", "age", "face_shape")
"""Attributes by which subjects are grouped where an experiment does not set them."""


def chosen_rule(
    targets: Sequence[Target], design: Design, false_match_rate: float | None, within: Sequence[str] = ()
) -> Rule:
    """The requested rule. Raises BadInput or UnknownName where it does not fit the targets or the design."""
    embeds = [target for target in targets if Task(target.task) is Task.EMBEDDING]
    if (false_match_rate is not None or within) and not (embeds and design.levels):
        raise BadInput("--false-match-rate and --within need embedding targets and --vary: drop them, or set --task")
    stated = [target for target in embeds if threshold_of(target) is not None]
    if false_match_rate is not None and stated:
        raise BadInput(f"{stated[0].name} has a threshold: drop it or --false-match-rate")
    rule = Rule(None, false_match_rate, tuple(dict.fromkeys(within)))
    for target in stated:
        Rule(threshold_of(target), None, rule.within).check(design)
    rule.check(design)
    return rule


def verifies(target: Target, design: Design, rule: Rule) -> bool:
    """Whether the target's images can match or not: an embedding, an experiment, and a threshold."""
    known = rule.verifies or threshold_of(target) is not None
    return known and Task(target.task) is Task.EMBEDDING and bool(design.levels)


def verification_entry(
    rule: Rule, targets: Sequence[Target], design: Design, attributes: Sequence[Attribute]
) -> VerificationEntry | None:
    """The entry of a run's spec; None where no target verifies."""
    if not any(verifies(target, design, rule) for target in targets) and not rule.within:
        return None
    grouping = tuple(a for a in attributes if a.name in WHO and a.name not in design.levels)
    return VerificationEntry(rule.false_match_rate, rule.within, grouping)
