"""Opens a target again by its description in a run: the same model, with the settings that it had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from transect.errors import BadInput, TransectError
from transect.protocols import Target
from transect.runs.json_records import json_of
from transect.targets.capabilities import describe
from transect.targets.preprocess import Preprocess
from transect.targets.resolution import resolve, takes
from transect.targets.words.asked import PairwiseQuestion, ask, asked_of
from transect.targets.words.judging import coders_of
from transect.targets.words.speakers import SharedSpeaker, gives_words, shared, shared_object

Facts = Mapping[str, Any]

HTTP: Final = "HTTP"
"""The kind of a target behind a web address, as its description has it."""
_OF_VERSIONS: Final = ("library", "resized_by")
"""What a description says of installed libraries."""


def without_versions(facts: object) -> Any:
    """The description without what it says of installed libraries."""
    if isinstance(facts, Mapping):
        return {key: without_versions(value) for key, value in facts.items() if key not in _OF_VERSIONS}
    return [without_versions(value) for value in facts] if isinstance(facts, list) else facts


def _differing(stored: Facts, facts: Facts) -> list[str]:
    """The keys of the stored description, versions, name and what was assumed aside, that another has otherwise."""
    was, is_now = without_versions(stored), without_versions(facts)
    return [key for key in sorted({*was, *is_now} - {"name", "assumed"}) if was.get(key) != is_now.get(key)]


def _check_same(stored: Facts, facts: Facts, model: str) -> None:
    if wrong := _differing(stored, facts):
        raise BadInput(
            f"target {stored['name']}: expected the model of the run, got a different {', '.join(wrong)}; give "
            f"it: --target '{model}=SPEC'"
        )


def _same(stored: Facts, target: Target, model: str) -> Target:
    """The target under its name in the run. Raises BadInput where it is another model."""
    _check_same(stored, describe(target), model)
    if target.name != stored["name"]:
        target.name = str(stored["name"])  # type: ignore[misc]
    return target


def reopen(stored: Facts, spec: str = "") -> Target:
    """The target of a stored description, from a spec, or else from its name or the function that it is.

    Only settings in which it differs from the usual are set. Raises BadInput where the model is not there or is another
    one.
    """
    name = str(stored["name"])
    named = dict.fromkeys(str(stored[key]) for key in ("name", "function") if stored.get(key))
    errors: list[TransectError] = []
    for tried in [spec] if spec else named:
        try:
            target = _as_it_was(stored, tried)
        except TransectError as error:
            errors.append(error)
            continue
        return _same(stored, target, name)
    raise BadInput(f"target {name}: {errors[0] if errors else 'no spec'}; say where it is: --target '{name}=SPEC'")


def _as_it_was(stored: Facts, spec: str) -> Target:
    """The target with the settings that it had: as it opens by itself, else with those that differ, else with all."""
    try:
        target = resolve(spec)
        keys = [key for key in _differing(stored, describe(target)) if takes(spec, key)]
    except BadInput:
        keys = [key for key in stored if takes(spec, key)]
    else:
        if not keys:
            return target
    settings: dict[str, Any] = {key: value for key in keys if (value := _setting(stored, key)) is not None}
    try:
        return resolve(spec, **settings)
    except BadInput:
        if not (Path(spec).exists() or ":" in spec):
            raise
        return resolve(spec)  # what differs is no setting: `reopen` names it


def _setting(stored: Facts, key: str) -> object:
    value = stored.get(key)
    if key != "preprocess" or not isinstance(value, Mapping):
        return tuple(value) if isinstance(value, list) and value else value or None
    known = {field.name for field in fields(Preprocess)}
    return {name: item for name, item in value.items() if name in known and item is not None} or None


def reopen_asked(stored: Facts, source: object, coding: Mapping[str, object]) -> Target:
    """As `reopen`, of a question in words. source: its model, or "". coding: its judge and functions, by name."""
    model, question = str(stored["model"]["name"]), asked_of(stored)
    speaker = _speaker(str(stored["name"]), model, source)
    return _same(stored, ask(speaker, question, coders_of(question, *_coders(stored, coding))), model)


def reopen_pairs(stored: Facts, source: object, coding: Mapping[str, object]) -> PairwiseQuestion:
    """As `reopen_asked`, of a question about two images; which pairs were matched is not the model's."""
    _ = coding  # two images are asked about in no free text
    stored = {key: value for key, value in stored.items() if key != "matched"}
    name, model, question = str(stored["name"]), str(stored["model"]["name"]), asked_of(stored)
    asked = PairwiseQuestion(_speaker(name, model, source), question, name.removesuffix(f"/{question.name}"))
    try:
        _check_same(stored, json_of(asked.describe()), model)
    except BadInput:
        asked.close()
        raise
    return asked


def _coders(stored: Mapping[str, Any], given: Mapping[str, object]) -> tuple[object, dict[str, Any]]:
    """The judge of a stored description and its functions by name. Refuses a function that is not given: it is code."""
    judge, scorers = stored.get("judge"), [str(each["name"]) for each in stored.get("scorers") or ()]
    for name in scorers:
        if name not in given:
            raise BadInput(
                f"scorer {name}: its code runs with your permissions; if you trust it: --target "
                f"'{name}=module:function'"
            )
    model = "" if judge is None else str(judge["name"])
    opened = None if judge is None else _speaker(f"judge {model}", model, given.get(model, ""))
    return opened, {name: given[name] for name in scorers}


def _speaker(name: str, model: str, source: object) -> SharedSpeaker:
    if isinstance(source, SharedSpeaker):
        return source
    if not isinstance(source, str):
        return shared_object(source)
    where = f"say where it is: --target '{model}=SPEC'"
    if not source and not gives_words(model):
        raise BadInput(f"target {name}: expected the model {model}, got none; {where}")
    try:
        return shared(source or model, {})
    except TransectError as error:
        raise BadInput(f"target {name}: {error}; {where}") from None
