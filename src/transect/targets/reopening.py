"""Opens a target again by its description in a run: the same model, with the settings that it had, also one that is
asked in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from transect.errors import BadInput, TransectError
from transect.protocols import Target
from transect.runs.json_records import json_of
from transect.targets.capabilities import describe
from transect.targets.preprocess import Preprocess
from transect.targets.resolution import resolve
from transect.targets.words.asked import PairwiseQuestion, ask, asked_of
from transect.targets.words.judging import coders_of
from transect.targets.words.speakers import SharedSpeaker, gives_words, shared, shared_object

Facts = Mapping[str, Any]

_OPEN: Final = ("hf:", "timm:")
HTTP: Final = "HTTP"
"""The kind of a target behind a web address, as its description has it."""
_OF_VERSIONS: Final = ("library", "resized_by")
"""What a description says of installed libraries."""
_NOT_SET: Final = (
    *("name", "kind", "box_convention", "class", "function", "code_sha256", "state_sha1", "method", "classes"),
    *("architecture", "vector", "positive_class", "template"),
    *("file", "files", "sha256", "external_data", "landmarks", "landmarks_sha256", "input", "assumed", *_OF_VERSIONS),
)
"""What no option sets."""
_OF_OPEN: Final = ("task", "labels", "templates", "positive", "threshold", "preprocess", "dtype", "device")
"""What options set of an open model."""


def without_versions(facts: Any) -> Any:
    """The description without what it says of installed libraries.

    >>> without_versions({"library": "dlib 20", "preprocess": {"resized_by": "Pillow 11", "crop": None}})
    {'preprocess': {'crop': None}}
    """
    if isinstance(facts, Mapping):
        return {key: without_versions(value) for key, value in facts.items() if key not in _OF_VERSIONS}
    return [without_versions(value) for value in facts] if isinstance(facts, list) else facts


def differing(stored: Facts, target: Target) -> list[str]:
    """The keys of the stored description, versions aside, that the target's own has otherwise; `name` is left out."""
    return differing_from(stored, describe(target))


def differing_from(stored: Facts, facts: Facts) -> list[str]:
    """As `differing`, of another description.

    >>> differing_from({"name": "ours", "file": "a.onnx"}, {"name": "theirs", "file": "b.onnx"})
    ['file']
    """
    was, is_now = without_versions(stored), without_versions(facts)
    return [key for key in sorted({*was, *is_now} - {"name"}) if was.get(key) != is_now.get(key)]


def reopen(stored: Facts, spec: str = "") -> Target:
    """The target of a stored description, from a spec, or from its name where that is one.

    Only settings in which it differs from the usual are set. Raises BadInput, in one line, where the model is not there
    or is another one.
    """
    name = str(stored["name"])
    errors: list[TransectError] = []
    for tried in [spec] if spec else _specs(stored):
        try:
            target = _as_it_was(stored, tried)
        except TransectError as error:
            errors.append(error)
            continue
        if wrong := differing(stored, target):
            raise BadInput(
                f"target {name}: expected the model of the run, got one with another {', '.join(wrong)}; "
                f"give it: --target '{name}=SPEC'"
            )
        if target.name != name:
            target.name = name  # type: ignore[misc]
        return target
    raise BadInput(f"target {name}: {errors[0] if errors else 'no spec'}; say where it is: --target '{name}=SPEC'")


def _specs(stored: Facts) -> Iterable[str]:
    """What may name the model: its name, unless the user gave it one, and the function that it is."""
    return dict.fromkeys(str(stored[key]) for key in ("name", "function") if stored.get(key))


def _as_it_was(stored: Facts, spec: str) -> Target:
    """The target with the settings that it had: as it opens by itself, else with those that differ, else with all."""
    is_open = str(stored["name"]).startswith(_OPEN) or spec.startswith(_OPEN)
    try:
        target = resolve(spec)
        keys = [key for key in differing(stored, target) if key not in _NOT_SET]
    except BadInput:
        keys = ["output", *_OF_OPEN] if is_open else ["task", "labels", "output", "threshold", "positive", "preprocess"]
    else:
        if not keys:
            return target
    if is_open:
        keys = [key for key in keys if key in _OF_OPEN]
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


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def reopen_asked(stored: Mapping[str, Any], source: object = "", coding: Mapping[str, object] = _NOTHING) -> Target:
    """The target of a stored description.

    source: the spec of its model, or the model, opened or not; "" tries the model's own name. coding: by name, what
    names its judge, and the functions that score its texts.

    Raises BadInput, in one line, where the model is not there or is another one.
    """
    name, model = str(stored["name"]), str(stored["model"]["name"])
    question, speaker = asked_of(stored), _speaker(name, model, source)
    target = ask(speaker, question, coders_of(question, *_coders(stored, coding)))
    if wrong := differing(stored, target):
        raise _another(name, model, wrong)
    if target.name != name:
        target.name = name  # type: ignore[misc]
    return target


def reopen_pairs(
    stored: Mapping[str, Any], source: object = "", coding: Mapping[str, object] = _NOTHING
) -> PairwiseQuestion:
    """As `reopen`, of a question about two images; which pairs were matched is not the model's."""
    _ = coding  # two images are asked about in no free text
    stored = {key: value for key, value in stored.items() if key != "matched"}
    name, model, question = str(stored["name"]), str(stored["model"]["name"]), asked_of(stored)
    asked = PairwiseQuestion(_speaker(name, model, source), question, name.removesuffix(f"/{question.name}"))
    if wrong := differing_from(stored, json_of(asked.describe())):
        asked.close()
        raise _another(name, model, wrong)
    return asked


def _coders(stored: Mapping[str, Any], given: Mapping[str, object]) -> tuple[object, dict[str, Any]]:
    """The judge of a stored description, None without one, and its functions by name.

    Raises BadInput for a function that is not given: its code would run that only the description names.
    """
    judge, scorers = stored.get("judge"), [str(each["name"]) for each in stored.get("scorers") or ()]
    for name in scorers:
        if name not in given:
            raise BadInput(
                f"scorer {name}: its code would run with your rights; if you trust it, say where it is: --target "
                f"'{name}=module:function'"
            )
    model = "" if judge is None else str(judge["name"])
    opened = None if judge is None else _speaker(f"judge {model}", model, given.get(model, ""))
    return opened, {name: given[name] for name in scorers}


def _another(name: str, model: str, wrong: Sequence[str]) -> BadInput:
    return BadInput(
        f"target {name}: expected the model of the run, got one with another {', '.join(wrong)}; give it: "
        f"--target '{model}=SPEC'"
    )


def _speaker(name: str, model: str, source: object) -> SharedSpeaker:
    if isinstance(source, SharedSpeaker):
        return source
    if not isinstance(source, str):
        return shared_object(source)
    if not source and not gives_words(model):
        raise BadInput(f"target {name}: expected the model {model}, got none; say where it is: --target '{model}=SPEC'")
    try:
        return shared(source or model, {})
    except TransectError as error:
        raise BadInput(f"target {name}: {error}; say where it is: --target '{model}=SPEC'") from None
