"""The targets of a study: opened, and each with a name of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from transect.errors import BadInput
from transect.protocols import Target
from transect.runs.folder import slug
from transect.spoken_answers import AskedSpec
from transect.targets.words.speakers import question_set, shared_object

LONGEST: Final = 60
"""Characters of a name: it stands in tables, headings and the names of folders."""


def check_names(names: Sequence[str], targets: int) -> tuple[str, ...]:
    """The names, one per target in their order, without spaces at the ends; () where none was given."""
    cleaned = tuple(name.strip() for name in names)
    if cleaned and len(cleaned) != targets:
        raise BadInput(
            f"--name: expected one name per target ({targets}), in the same order, got {len(cleaned)}; give "
            "as many, or leave the option out"
        )
    for name in cleaned:
        if not any(letter.isalnum() for letter in name):
            raise BadInput(f"--name: expected a name with a letter or a digit, got {name!r}")
        if len(name) > LONGEST or not name.isprintable():
            raise BadInput(f"--name: expected one line of at most {LONGEST} characters, got {len(name)}; shorten it")
    folders = [slug(name) for name in cleaned]
    for name, folder in zip(cleaned, folders, strict=True):
        if folders.count(folder) > 1:
            raise BadInput(f"--name: expected a different name for each target, got {name!r} twice; rename one")
    return cleaned


def give_name(target: Target, name: str, source: object) -> None:
    """Give a target that was opened here the user's name."""
    if target is source:
        raise BadInput(
            f"--name: expected the spec of a target or a function, got the object {target.name!r}; set its own name"
        )
    try:
        target.name = name  # type: ignore[misc]
    except AttributeError:
        raise BadInput(f"--name: {target.name} has a fixed name; leave the option out") from None


def resolve_targets(
    targets: object, options: Mapping[str, object] | None = None, names: Sequence[str] = ()
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
    from transect.targets.words.judging import coders_of

    if settings:
        unused = next(iter(settings))
        raise BadInput(f"{source.question}: the question sets {unused}; leave it out")
    question = question_set(source.questions).named(source.question)
    return ask(shared_object(source.source), question, coders_of(question, source.judge, source.scorers))
