"""The one way from records to JSON: dataclasses become objects, NaN and infinity become null, keys keep their order."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from pathlib import Path
from typing import Any

from transect.texts import UNSEEN, encodable


def plain(value: object) -> Any:
    """The value in JSON's own types: dict, list, str, int, float, bool and None.

    Dataclasses become objects by field, arrays and sets lists (sets sorted), enumerations and paths text, and numbers
    that are not finite null.
    """
    numpy: Any = sys.modules.get("numpy")  # until it is loaded no value is of it; `transect --help` does without
    if numpy and isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return encodable(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _collection(value)


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
    """The value of a JSON text. Raises ValueError for what is none, or is nested too deeply for a reader."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
