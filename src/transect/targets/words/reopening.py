"""Opens a question that a run asked again: of the same model, in the words that the run's description holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from transect.errors import BadInput, TransectError
from transect.protocols import Target
from transect.runs.json_records import json_of
from transect.targets.reopening import check_code, differing, differing_from
from transect.targets.words.asked import ask, asked_of
from transect.targets.words.coders import coders_of
from transect.targets.words.paired import AskedOfTwo
from transect.targets.words.speakers import SharedSpeaker, gives_words, shared, shared_object

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def reopen(stored: Mapping[str, Any], source: object = "", coding: Mapping[str, object] = _NOTHING) -> Target:
    """The target of a stored description.

    source: the spec of its model, or the model, opened or not; "" tries the model's own name. coding: by name, what
    names its judge, and the functions that score its texts.

    Raises BadInput, in one line, where the model is not there or is another one, and where its code would run that only
    the description names.
    """
    name, model = str(stored["name"]), str(stored["model"]["name"])
    question, speaker = asked_of(stored), _speaker(name, model, source)
    target = ask(speaker, question, coders_of(question, *_coders(stored, coding)))
    if wrong := differing(stored, target):
        raise _another(name, model, wrong)
    if target.name != name:
        target.name = name  # type: ignore[misc]
    return target


def reopen_pairs(stored: Mapping[str, Any], source: object = "", coding: Mapping[str, object] = _NOTHING) -> AskedOfTwo:
    """As `reopen`, of a question about two images; which pairs were matched is not the model's."""
    _ = coding  # two images are asked about in no free text
    stored = {key: value for key, value in stored.items() if key != "matched"}
    name, model, question = str(stored["name"]), str(stored["model"]["name"]), asked_of(stored)
    asked = AskedOfTwo(_speaker(name, model, source), question, name.removesuffix(f"/{question.name}"))
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
    if not source:
        check_code(name, model)
    try:
        return shared(source or model, {})
    except TransectError as error:
        raise BadInput(f"target {name}: {error}; say where it is: --target '{model}=SPEC'") from None
