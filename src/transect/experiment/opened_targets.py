"""Opens what a study asks: specs, objects, and questions asked of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transect.errors import BadInput
from transect.experiment.target_names import check_names, give_name
from transect.protocols import Target
from transect.said import AskedSpec
from transect.targets.words.speakers import question_set, shared_object


def resolve_targets(
    targets: object, options: Mapping[str, Any] | None = None, names: Sequence[str] = ()
) -> list[Target]:
    """The targets that specs, callables or objects name. names: the user's own names, in their order."""
    named = [targets] if isinstance(targets, str) or not isinstance(targets, Sequence) else list(targets)
    settings, given = dict(options or {}), check_names(names, len(named))
    opened = [open_target(target, settings) for target in named]
    for target, name, source in zip(opened, given, named, strict=False):  # no names at all, or one each
        give_name(target, name, source)
    return opened


def open_target(source: object, settings: Mapping[str, Any]) -> Target:
    """The target that a spec, an object, or a question asked of either names."""
    from transect.targets import as_target, resolve

    if not isinstance(source, AskedSpec):
        return resolve(source, **settings) if isinstance(source, str) else as_target(source, **settings)
    if isinstance(source.source, str):
        return resolve(source.source, **settings, **source.settings())
    from transect.targets.words.asked import ask
    from transect.targets.words.coders import coders_of

    if settings:
        unused = next(iter(settings))
        raise BadInput(f"{source.question}: expected no {unused}, since the question says it; leave it out")
    question = question_set(source.questions).named(source.question)
    return ask(shared_object(source.source), question, coders_of(question, source.judge, source.scorers))
