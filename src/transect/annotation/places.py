"""Where in a TOML text a key stands, so that an error names its line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError


def complaint(text: str, error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, with its line and key, after the file's name."""
    errors = error.errors(include_url=False)
    # A misspelt key is why another is missing.
    first = next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])
    loc = tuple(part for part in first["loc"] if not (isinstance(part, str) and "[" in part))
    key, line = ".".join(str(part) for part in loc), line_of(text, loc)
    place = f", line {line}" if line else ""
    if first["type"] == "extra_forbidden":
        known = _fields(model, loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5) or known
        return f"{place}: {key}: unknown key: did you mean {', '.join(near)}?"
    if first["type"] == "missing":
        return f"{place}: {key}: expected it, found none: add it"
    message = first["msg"].removeprefix("Value error, ")
    got = first["input"]
    shown = f", got {got!r}" if isinstance(got, str | int | float) and "got" not in message else ""
    return f"{place}: {key or 'file'}: {message[0].lower()}{message[1:]}{shown}; fix it"


def line_of(text: str, loc: Sequence[str | int]) -> int:
    r"""The line, from 1, of a key given by its path, or else of the nearest table above it; 0 where there is none.

    >>> line_of('title = "x"\n[[question]]\nname = "a"\n[[question]]\nname = "b"', ("question", 1, "name"))
    5
    """
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


def _fields(model: Any, loc: Sequence[str | int]) -> list[str]:
    """Names that a table may have."""
    for part in loc:
        if isinstance(part, str) and part in getattr(model, "model_fields", {}):
            model = _model_in(model.model_fields[part].annotation)
    return list(getattr(model, "model_fields", {}))


def _model_in(annotation: object) -> object:
    """The table that an annotation such as `tuple[Level, ...]` or `Stop | None` is about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)
