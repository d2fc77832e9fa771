"""An audit of models that answer in words: each question of the file is a target of its own, for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transect.errors import BadInput
from transect.experiment.target_names import check_names
from transect.jobs.audit.request import AuditRequest
from transect.protocols import Target
from transect.said import AskedSpec
from transect.targets.words.coders import check
from transect.targets.words.paired import AskedOfTwo
from transect.targets.words.question_file import load
from transect.targets.words.speakers import about_two, asked_specs, shared, shared_object


def expanded(request: AuditRequest) -> AuditRequest:
    """The request with a target for each question of each model; itself where it has no questions."""
    if request.questions is None and (request.judge is not None or request.scorers):
        raise BadInput("--judge and --scorer are of answers in words: give --questions, or drop them")
    if request.questions is None or not request.targets:
        return request
    check(load(request.questions), request.judge, request.scorers)
    given = [request.targets] if isinstance(request.targets, str) else list(request.targets)
    called = check_names(request.names, len(given))
    specs = [source for source in asked_specs(given, request.questions) if isinstance(source, AskedSpec)]
    asked = [replace(source, judge=request.judge, scorers=request.scorers) for source in specs]
    each = len(asked) // len(given)
    own = [f"{called[place // each]}/{one.question}" for place, one in enumerate(asked)] if called else []
    return replace(request, targets=tuple(asked), names=tuple(own))


def model_name(request: AuditRequest, targets: Sequence[Target]) -> str:
    """What the run folder is called after: the first model, whatever it is asked."""
    first = next(iter(request.targets), None)
    name = targets[0].name
    return name.removesuffix(f"/{first.question}") if isinstance(first, AskedSpec) else name


def of_two(request: AuditRequest, targets: Sequence[Target]) -> tuple[AskedOfTwo, ...]:
    """The questions of the file about two images at once, of each model."""
    if request.questions is None:
        return ()
    models: dict[str, object] = {}
    for source, target in zip(request.targets, targets, strict=True):
        if isinstance(source, AskedSpec):
            models.setdefault(target.name.removesuffix(f"/{source.question}"), source.source)
    questions, options = about_two(request.questions), request.model.options()
    return tuple(
        AskedOfTwo(shared(source, options) if isinstance(source, str) else shared_object(source), question, name)
        for name, source in models.items()
        for question in questions
    )
