"""TOML files that a user writes: read, parsed and checked by a pydantic model; every error is one line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import EnumType
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from transect.errors import BadInput, UnknownName, did_you_mean
from transect.runs.wording import expectation, in_words
from transect.texts import words_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)
_DEEPEST: Final = 100


def read_text(path: Path, kind: str = "a TOML file") -> str:
    """The text of a file in UTF-8. kind: what messages call the file. Raises BadInput where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({words_of(error)}): expected {kind}; check the path") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: expected {kind} in UTF-8, got other bytes; save it as UTF-8") from None


def shipped_or_file(name: str | Path, shipped: Sequence[str], kind: str, folder: str, package: str) -> tuple[str, str]:
    """The text of a file that ships in a package's folder, by name, or of the user's own; and what messages call it."""
    if str(name) in shipped:
        file = resources.files(package) / folder / f"{name}.toml"
        return file.read_text(encoding="utf-8"), f"{kind} {name}"
    if not Path(name).is_file():
        raise UnknownName(kind, str(name), shipped, "or give the path of a TOML file")
    return read_text(Path(name)), str(name)


def parse(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML text. where: what messages call it. Raises BadInput with the line."""
    try:
        content = tomllib.loads(text)
        if not _is_deep(content):
            return content
        raise RecursionError
    except RecursionError:
        raise BadInput(f"{where}: expected TOML: nested too deeply; flatten it") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{where}: expected TOML: {words_of(error)}; fix that line") from None
    except ValueError:  # Python's own limit
        raise BadInput(f"{where}: expected TOML: a whole number has thousands of digits; shorten it") from None


def _is_deep(content: object) -> bool:
    """Whether tables and lists are nested further than any reader of ours goes."""
    level: list[Any] = [content]
    for _ in range(_DEEPEST):
        tables = [value.values() if isinstance(value, dict) else value for value in level]
        level = [inner for table in tables for inner in table if isinstance(inner, dict | list)]
    return bool(level)


def read(path: Path, kind: str = "a TOML file") -> dict[str, Any]:
    """The tables of a TOML file. Raises as `read_text` and `parse`."""
    return parse(read_text(path, kind), str(path))


def checked(model: type[M], content: Mapping[str, object], where: str, text: str = "", *, quotes: bool = True) -> M:
    """The content as a model; text: its TOML, for the line; quotes: quote a wrong value, which may be a secret."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # A misspelt key is why another is missing.
        first = next((fault for fault in errors if fault["type"] == "extra_forbidden"), errors[0])
        loc = _keys(first["loc"], content, first["type"])
        raise BadInput(f"{where}{line_words(text, loc)}: {_complaint(first, loc, model, quotes)}") from None


def _keys(loc: Sequence[str | int], content: object, kind: str) -> tuple[str | int, ...]:
    """The part of a fault's place that the file has; pydantic adds the type that it tried last."""
    keys: list[str | int] = []
    for number, part in enumerate(loc):
        lists = isinstance(content, list | tuple) and isinstance(part, int)
        there = part in content if isinstance(content, Mapping) else lists
        if there:
            content = content[part]  # type: ignore[index]
        if there or (kind == "missing" and number == len(loc) - 1):
            keys.append(part)
    return tuple(keys)


def _named(loc: Sequence[str | int]) -> str:
    """A place in words, tables of a list counted from 1.

    >>> _named(("question", 0, "levels")), _named(())
    ('question 1.levels', 'file')
    """
    return "".join(f" {part + 1}" if isinstance(part, int) else f".{part}" for part in loc).strip(". ") or "file"


def _complaint(first: ErrorDetails, loc: Sequence[str | int], model: type[BaseModel], quotes: bool) -> str:
    key = _named(loc)
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key: {did_you_mean(str(loc[-1]), _fields(model, loc[:-1]), most=1)}"
    if first["type"] == "missing":
        kind = _fields(model, loc[:-1]).get(str(loc[-1]))
        choices = f" (one of {', '.join(kind)})" if isinstance(kind, EnumType) else ""
        return f"{key} is missing: add it{choices}"
    message, got = expectation(first), first["input"]
    shown = f", got {in_words(got)}" if quotes and isinstance(got, str | int | float) and "got" not in message else ""
    return f"{key}: {message}{shown}"


def line_words(text: str, loc: Sequence[str | int]) -> str:
    """The words ", line 7" for the place of a key; "" where it has none."""
    line = line_of(text, loc)
    return f", line {line}" if line else ""


def line_of(text: str, loc: Sequence[str | int]) -> int:
    """The line, from 1, of a key given by its path, or else of the nearest table above it; 0 where there is none."""
    lines = text.splitlines()
    start, end, after = 0, len(lines), 0
    path = ""
    for part in loc:
        if isinstance(part, int):
            headers = [i for i in range(len(lines)) if re.match(rf"\s*\[\[\s*{re.escape(path)}\s*\]\]", lines[i])]
            if part < len(headers):
                start, after = headers[part], headers[part] + 1
                end = headers[part + 1] if part + 1 < len(headers) else len(lines)
            elif after:  # within an inline array: as many lines with a brace further
                braces = [i for i in range(start, end) if "{" in lines[i]]
                after = braces[part] + 1 if part < len(braces) else after
                start = after - 1
            continue
        path = f"{path}.{part}" if path else part
        key = re.compile(rf"""(?:^|[\s{{,.])["']?{re.escape(part)}["']?\s*=""")
        header = re.compile(rf"\s*\[+\s*(?:[\w.]+\.)?{re.escape(part)}\s*\]+")
        for i in range(start, end):
            if header.match(lines[i]) or key.search(lines[i].split("#")[0]):
                start, after = i, i + 1
                break
    return after


def _fields(model: type[BaseModel], loc: Sequence[str | int]) -> dict[str, object]:
    """Keys that a table may have, with their types. A part of the path is a field, a tag, or a name of the user's."""
    models = [model]
    for part in loc:
        inner = [
            each for m in models if part in m.model_fields for each in _models(m.model_fields[str(part)].annotation)
        ]
        tagged = [m for m in models if any(part in get_args(f.annotation) for f in m.model_fields.values())]
        models = inner or tagged or models
    return {field.alias or name: field.annotation for m in models for name, field in m.model_fields.items()}


def _models(annotation: object) -> list[type[BaseModel]]:
    """The tables that an annotation such as `tuple[Level, ...]` or `Stop | None` is about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]
