"""Opens a question that a run asked again: of the same model, in the words that the run's description holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transect.errors import BadInput, TransectError
from transect.protocols import Target
from transect.runs.json_records import json_of
from transect.targets.reopening import check_code, differing, differing_from
from transect.targets.words.asked import ask, asked_of
from transect.targets.words.paired import AskedOfTwo
from transect.targets.words.speakers import SharedSpeaker, gives_words, shared, shared_object


def reopen(stored: Mapping[str, Any], source: object = "") -> Target:
    """The target of a stored description.

    source: the spec of its model, or the model, opened or not; "" tries the model's own name.

    Raises BadInput, in one line, where the model is not there or is another one, and where its code would run that only
    the description names.
    """
    name, model = str(stored["name"]), str(stored["model"]["name"])
    target = ask(_speaker(name, model, source), asked_of(stored))
    if wrong := differing(stored, target):
        raise _another(name, model, wrong)
    if target.name != name:
        target.name = name  # type: ignore[misc]
    return target


def reopen_pairs(stored: Mapping[str, Any], source: object = "") -> AskedOfTwo:
    """As `reopen`, of a question about two images; which pairs were matched is not the model's."""
    stored = {key: value for key, value in stored.items() if key != "matched"}
    name, model, question = str(stored["name"]), str(stored["model"]["name"]), asked_of(stored)
    asked = AskedOfTwo(_speaker(name, model, source), question, name.removesuffix(f"/{question.name}"))
    if wrong := differing_from(stored, json_of(asked.describe())):
        asked.close()
        raise _another(name, model, wrong)
    return asked


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
