"""`transect targets check MODEL --questions …`: what a model that answers in words says, and how that is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from transect.console.printing import table
from transect.errors import BadInput
from transect.runs.plain_json import dumps
from transect.texts import one_line, say

if TYPE_CHECKING:
    from transect.protocols import Target
    from transect.records import Images, Predictions

_LONGEST = 120


def check(spec: str, questions: str, options: Mapping[str, Any], images: Images, timeout: float, *, json: bool) -> None:
    """Ask a model every question about the first image, and print what it said and what that was read as.

    Raises BadInput where no call about a question came through.
    """
    from transect.experiment import costs
    from transect.experiment.opened_targets import open_target
    from transect.targets.guard import guarded
    from transect.targets.words.speakers import about_two, asked_specs

    first = images.take(slice(0, 1))
    opened = [open_target(source, options) for source in asked_specs(spec, questions)]
    try:
        answers = [(target, guarded(target, first, timeout=timeout, batch=1)) for target in opened]
    finally:
        costs.close(opened)
    rows = [row for target, found in answers for row in _rows(target, found)]
    if json:
        say(dumps([dict(zip(_HEADS, row, strict=True)) for row in rows]))
    else:
        table([head.replace("_", " ") for head in _HEADS], rows, as_json=False)
    if left_out := [question.name for question in about_two(questions)]:
        say(f"not asked here, since an audit shows two images at once: {', '.join(left_out)}", error=True)
    failed = [(target, reason) for target, found in answers if (reason := _failure(found))]
    if failed:
        raise BadInput(f"{failed[0][0].name}: no answer: {failed[0][1]}; check the model and the question")


def _failure(found: Predictions) -> str:
    """Why no wording brought an answer; "" where one did."""
    from transect.targets.words.paired import failure_of

    said = (found.said or ((),))[0]
    return failure_of(said) if said else found.failures[0]


_HEADS = ["question", "paraphrase", "said", "what_became_of_it", "value", "why_none"]


def _rows(target: Target, found: Predictions) -> Iterator[list[str]]:
    from transect.records import Task

    name = target.name.rpartition("/")[2]
    for one in (found.said or ((),))[0]:
        value = "" if one.value != one.value else f"{one.value:g}"
        if Task(target.task) is Task.BINARY and value:
            value = "yes" if one.value else "no"
        if found.labels and value and not one.codes:
            value = found.labels[int(one.value)]
        codes = [label for label, there in zip(found.labels, one.codes, strict=False) if there == 1]
        text = one_line(one.text, _LONGEST)
        yield [name, str(one.paraphrase + 1), text, str(one.status), value or ", ".join(codes), one.reason]
