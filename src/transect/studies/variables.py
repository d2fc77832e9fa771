"""The variables of a study: the values of a profile, what the user sets instead, and references to them in texts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from transect.errors import BadInput, UnknownName
from transect.studies.file import StudyFile, Value, variables_of

REFERENCE: Final = re.compile(r"\{([a-z][a-z0-9_-]*)\}")
_KINDS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list"}


def values_of(
    study: StudyFile, profile: str, given: Mapping[str, object], *, lenient: bool = False
) -> dict[str, Value]:
    """The value of every variable. given: what the user set; texts are read as the default's type.

    lenient: a variable that must be set and is not stands for itself, so that the steps can be shown. Raises
    UnknownName for another profile or variable, BadInput for a value of another type, a variable that must be set, or
    variables that refer to each other in a circle.
    """
    if profile not in study.profiles:
        raise UnknownName("profile", profile, study.profiles, "the profiles are tables of the study file")
    defaults = dict(variables_of(study)) | study.profiles[profile]
    for name, value in given.items():
        if name not in defaults:
            raise UnknownName("variable", name, defaults, "see [profiles] and [needs] of the study file")
        defaults[name] = _as_default(name, value, defaults[name])
    if lacking := [name for name, value in defaults.items() if value is None and not lenient]:
        name = lacking[0]
        raise BadInput(f"--set {name}: expected {study.needs[name]}, found none; add --set {name}=…")
    whole = {name: name.upper() if value is None else value for name, value in defaults.items()}
    return {name: _resolved(name, whole, ()) for name in whole}


def unset(study: StudyFile, profile: str, given: Mapping[str, object]) -> dict[str, str]:
    """Variables that the user must still set, with what each is."""
    values = study.profiles.get(profile, {})
    return {name: what for name, what in study.needs.items() if name not in values and name not in given}


def parsed(settings: Sequence[str]) -> dict[str, object]:
    """What `--set NAME=VALUE` gives. Raises BadInput for a text without a name, or a name twice."""
    given: dict[str, object] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise BadInput(f"--set {text}: expected NAME=VALUE, for example --set subjects=100; fix it")
        if name in given:
            raise BadInput(f"--set {name}: expected one value, got two; give it once")
        given[name] = value
    return given


def substituted(text: str, known: Callable[[str], str]) -> str:
    """The text with each {name} replaced by what `known` says; `known` raises for a name that there is not."""
    return REFERENCE.sub(lambda match: known(match[1]), text)


def _as_default(name: str, value: object, default: Value | None) -> Value:
    """The value, of the type of the default. Raises BadInput for another type."""
    kind = str if default is None else type(default)
    if isinstance(value, str) and kind is str:
        return value
    read = _of_toml(value) if isinstance(value, str) else value
    read = tuple(read) if isinstance(read, list) else read
    if kind is tuple and not isinstance(read, tuple):
        read = (read,)
    if kind is float and type(read) is int:
        read = float(read)
    if type(read) is not kind:
        raise BadInput(f"--set {name}: expected {_KINDS[kind]}, as {_shown(default)}, got {value!r}; change it")
    return read


def _of_toml(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text


def _shown(default: Value | None) -> str:
    return (
        str(default).lower()
        if isinstance(default, bool)
        else repr(list(default) if isinstance(default, tuple) else default)
    )


def _resolved(name: str, values: Mapping[str, Value], above: tuple[str, ...]) -> Value:
    """A variable's value with the variables that its texts refer to. References to steps stay."""
    if name in above:
        raise BadInput(f"variables: expected no circle, got {' → '.join([*above, name])}; give one of them a value")
    value = values[name]

    def known(reference: str) -> str:
        if reference not in values:
            return "{" + reference + "}"
        inner = _resolved(reference, values, (*above, name))
        if isinstance(inner, tuple):
            raise BadInput(
                f"variable {name}: expected texts or numbers in {{…}}, got the list {reference}; name its parts"
            )
        return str(inner)

    if isinstance(value, tuple):
        return tuple(substituted(item, known) if isinstance(item, str) else item for item in value)
    return substituted(value, known) if isinstance(value, str) else value
