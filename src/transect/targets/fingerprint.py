"""Has the code behind a target changed since its answers were stored? A digest that a resumed run compares.

It covers the source of the module that the code lives in, the code itself with its defaults and closure, and a
network's weights. Code that is imported from elsewhere is not followed.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from pathlib import Path
from types import CodeType
from typing import Any


def fingerprint(obj: object) -> str:
    """SHA-256, as 64 hexadecimal digits, of what makes a function, class, network or object answer as it does.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    digest = hashlib.sha256()
    for text in _parts(obj):
        digest.update(text + b"\0")
    return digest.hexdigest()


def _parts(obj: Any) -> list[bytes]:
    if isinstance(obj, functools.partial):
        return [*_parts(obj.func), repr((obj.args, sorted(obj.keywords.items()))).encode()]
    code = getattr(obj, "__code__", None)
    if isinstance(code, CodeType):
        cells = [_value(cell.cell_contents) for cell in obj.__closure__ or ()]
        return [_source(obj), *_code(code), *cells, _value(obj.__defaults__), _value(obj.__kwdefaults__)]
    kind = obj if inspect.isclass(obj) else type(obj)
    return [_source(kind), *_methods(kind), *_state(obj)]


def _source(obj: Any) -> bytes:
    """The text of the module; a script's own file changes for other reasons, so that only its code counts."""
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or module.__name__ == "__main__" or not file or not Path(file).is_file():
        return b""
    return Path(file).read_bytes()


def _methods(kind: type) -> list[bytes]:
    codes = [getattr(value, "__code__", None) for value in vars(kind).values()]
    return [text for code in codes if isinstance(code, CodeType) for text in _code(code)]


def _code(code: CodeType) -> list[bytes]:
    """Instructions, names and constants; those of nested functions too, without the addresses of their repr."""
    constants = [text for value in code.co_consts for text in (_code(value) if _nested(value) else [_value(value)])]
    return [code.co_code, " ".join(code.co_names).encode(), *constants]


def _nested(value: object) -> bool:
    return isinstance(value, CodeType)


def _state(obj: object) -> list[bytes]:
    """A network's weights, or the plain values that an object holds."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.nn.Module):
        weights = obj.state_dict().items()
        return [name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes() for name, tensor in weights]
    held = {} if inspect.isclass(obj) else getattr(obj, "__dict__", {})
    return [name.encode() + _value(value) for name, value in sorted(held.items())]


def _value(value: Any) -> bytes:
    """A plain value or array as bytes; of anything else the kind, since a repr may hold addresses."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value).encode()
    if isinstance(value, list | tuple):
        return b"[" + b",".join(_value(item) for item in value) + b"]"
    if isinstance(value, dict):
        return b"{" + b",".join(_value(key) + b":" + _value(item) for key, item in value.items()) + b"}"
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return bytes(value.tobytes())
    if callable(value) and hasattr(value, "__code__"):
        return b"".join(_code(value.__code__))
    return type(value).__qualname__.encode()
