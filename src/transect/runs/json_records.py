"""From records to JSON and back: the one way there, and the way back that refuses unknown and missing keys.

On the way there NaN and infinity become null. The way back, by which run.json and all other records are read, stays
here and is not pydantic: that makes 3.0 of a 3 in a field of floating-point numbers, and a run's hash is of its numbers
as they were written.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from transect.errors import BadInput
from transect.texts import UNSEEN, encodable, words_of

T = TypeVar("T")
_HIDDEN: Final = "hidden"
_KEY: Final = "key"


def plain(value: object) -> Any:
    """The value in JSON's own types: dict, list, str, int, float, bool and None.

    Dataclasses become objects by field, arrays and sets lists (sets sorted), enumerations and paths text, and numbers
    that are not finite null. -0.0 is 0.0.
    """
    numpy = sys.modules.get("numpy")  # until it is loaded no value is of it; `transect --help` does without
    if numpy and isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # -0.0 + 0.0 is 0.0
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return encodable(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: plain(getattr(value, name)) for name, key in _written(type(value)).items()}
    return _collection(value)


@typing.overload
def hidden() -> Any: ...
@typing.overload
def hidden(default: T) -> T: ...
def hidden(default: object = dataclasses.MISSING) -> Any:
    """A field of a record that its JSON leaves out, as pictures that only the page shows; required by default."""
    return dataclasses.field(default=default, repr=False, metadata={_HIDDEN: True})


def hidden_fields(kind: type[Any]) -> list[str]:
    """The fields of a record that its JSON leaves out."""
    return [field.name for field in dataclasses.fields(kind) if field.metadata.get(_HIDDEN)]


def named(key: str) -> float:
    """The estimate of a record that extends Estimate, which its JSON calls by what it is, as "rate".

    >>> from transect.records import Estimate
    >>> @dataclasses.dataclass(frozen=True)
    ... class Rate(Estimate):
    ...     estimate: float = named("rate")
    >>> plain(Rate(0.5, 0.25, 0.75))
    {'rate': 0.5, 'low': 0.25, 'high': 0.75, 'reason': ''}
    """
    return dataclasses.field(default=math.nan, metadata={_KEY: key})


def keys_of(kind: type[Any]) -> dict[str, str]:
    """The key in JSON of each field that has another one than its name."""
    return {field.name: field.metadata[_KEY] for field in dataclasses.fields(kind) if _KEY in field.metadata}


@cache
def _written(kind: Any) -> dict[str, str]:
    """The key of each field that JSON has."""
    fields = [field for field in dataclasses.fields(kind) if not field.metadata.get(_HIDDEN)]
    return {field.name: field.metadata.get(_KEY, field.name) for field in fields}


def _collection(value: object) -> Any:
    if isinstance(value, Path):
        return encodable(str(value))
    if isinstance(value, Mapping):
        return {encodable(str(key)): plain(item) for key, item in value.items()}
    if (numpy := sys.modules.get("numpy")) and isinstance(value, numpy.ndarray):
        return plain(value.tolist())
    if isinstance(value, Set):
        return [plain(item) for item in sorted(value)]
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    raise TypeError(f"expected a value that JSON can hold, got {type(value).__name__}")


def dumps(value: object, indent: int | None = 2) -> str:
    """The value as JSON text, by `plain`. What a terminal would obey is escaped, so that it may be printed."""
    return escaped(json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False))


def escaped(text: str) -> str:
    """JSON text with each control and bidirectional character that JSON allows as it stands written as its number."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def loads(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if the text is not JSON, or is nested too deeply for a reader."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


R = TypeVar("R")

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


def record_of(kind: type[R], value: object, place: str = "") -> R:
    """The record of this kind that a JSON object stands for; fields with a default may be left out.

    place: where the object stands, for messages.

    >>> from transect.records import Attribute
    >>> record_of(Attribute, {"name": "age", "kind": "continuous", "meaning": "apparent age", "high": 80}).high
    80
    """
    if not isinstance(value, Mapping):
        raise _unexpected(place, "an object", value)
    if _AS_ITSELF in dataclasses.fields(typing.cast("Any", kind))[0].metadata:
        return typing.cast("Callable[[object], R]", kind)(dict(value))
    fields, types_by_name = _fields_of(typing.cast("Hashable", kind))
    none = dataclasses.MISSING
    required = [field.name for field in fields if field.default is none and field.default_factory is none]
    unknown = [str(key) for key in value if key not in types_by_name]
    missing = [name for name in required if name not in value]
    if unknown or missing:
        problem = f"unknown key {unknown[0]!r}" if unknown else f"no key {missing[0]!r}"
        raise BadInput(f"{place or kind.__name__}: expected the keys {', '.join(types_by_name)}, got {problem}")
    return kind(**{name: _value(types_by_name[name], value[name], f"{place}.{name}".strip(".")) for name in value})


def read_json(path: Path, expected: str, advice: str) -> Any:
    """The value of a JSON file. Raises BadInput, in one line with the path, for one that cannot be read or parsed."""
    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: expected {expected}, got a damaged file ({words_of(error)}); {advice}") from None


def read_texts(path: Path, expected: str, advice: str) -> list[str]:
    """The texts of a JSON file that lists texts. Raises BadInput as `read_json`, and for another value."""
    texts = read_json(path, expected, advice)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{path}: expected {expected}, got a different value; {advice}")
    return texts


def record_in(path: Path, kind: type[R]) -> R:
    """The record that a JSON file holds. Raises BadInput, in one line with the path, for a file that holds none."""
    try:
        return record_of(kind, loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, BadInput) as error:
        raise BadInput(f"{path}: {words_of(error)}: restore the file that the run wrote") from None


@cache
def _fields_of(kind: Any) -> tuple[tuple[dataclasses.Field[object], ...], dict[str, object]]:
    hints = typing.get_type_hints(kind)
    fields = tuple(field for field in dataclasses.fields(kind) if field.init)
    return fields, {field.name: hints[field.name] for field in fields}


def _value(kind: object, value: object, place: str) -> object:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        return _value(next(kind for kind in arguments if kind is not type(None)), value, place)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _unexpected(place, "a list", value)
        return tuple(_value(arguments[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _unexpected(place, "an object", value)
        return {str(key): _value(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    if origin is typing.Literal:
        if value not in arguments:
            raise _unexpected(place, " or ".join(map(repr, arguments)), value)
        return value
    return _plain_value(kind, value, place)


def _plain_value(kind: object, value: object, place: str) -> object:
    if kind in (Any, object):
        return value
    if dataclasses.is_dataclass(kind):
        return record_of(typing.cast("type[object]", kind), value, place)
    kind = typing.cast("type[object]", kind)
    if issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise _unexpected(place, f"one of {', '.join(str(member.value) for member in kind)}", value) from None
    allowed = (int, float) if kind is float else (kind,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise _unexpected(place, _NAMES[kind], value)
    return value


def _unexpected(place: str, expected: str, value: object) -> BadInput:
    text = " ".join(repr(value).split())
    shown = text if len(text) <= 40 else f"{text[:39]}…"
    return BadInput(f"{place or 'value'}: expected {expected}, got {shown}")


_AS_ITSELF, _WHERE_SET = "as itself", "where set"
AS_ITSELF: Final = {_AS_ITSELF: True}
"""Metadata of the only field of a record: JSON has the field in place of the record."""
WHERE_SET: Final = {_WHERE_SET: True}
"""Metadata of a field that JSON has only where it differs from its default."""


def json_of(value: object) -> Any:
    """The value with lists for tuples and objects for records, as JSON reads it back; numbers stay as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        if _AS_ITSELF in fields[0].metadata:
            return json_of(getattr(value, fields[0].name))
        named = {each.name: getattr(value, each.name) for each in fields}
        left_out = {each.name for each in fields if _WHERE_SET in each.metadata and named[each.name] == each.default}
        return {name: json_of(item) for name, item in named.items() if name not in left_out}
    if isinstance(value, Mapping):
        return {str(key): json_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_of(item) for item in value]
    return str(value) if isinstance(value, Enum) else value
