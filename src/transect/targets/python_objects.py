"""Python objects by name, `module:attribute`, and digests of their code."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from transect.errors import BadInput, UnknownName
from transect.texts import words_of


class NoSuchModule(BadInput):
    """There is no module of that name (a module that exists and fails to import is plain BadInput)."""


def import_object(reference: str) -> object:
    """The object that `module:attribute` names; dots in the attribute go deeper.

    The working folder is searched after everything that is installed, so that it cannot shadow a library. Raises
    NoSuchModule, BadInput for a module that fails on import, UnknownName for a missing attribute.
    """
    module_name, colon, attribute = reference.partition(":")
    if not colon or not module_name or not attribute:
        raise BadInput(f"expected module:attribute, got {reference!r}")
    value: object = _module(module_name)
    for part in attribute.split("."):
        if not hasattr(value, part):
            known = [name for name in dir(value) if not name.startswith("_")]
            raise UnknownName(f"attribute of {module_name}", part, known)
        value = getattr(value, part)
    return value


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise NoSuchModule(f"no Python module {name!r}: check the name, or run where it can be imported") from None
        raise BadInput(
            f"module {name} could not be imported: {words_of(error)}, which it imports; install it"
        ) from error
    except Exception as error:
        text = words_of(error)
        raise BadInput(
            f"module {name} could not be imported: {type(error).__name__}: {text}; --debug shows where it failed"
        ) from error


def array_digest(*arrays: np.ndarray) -> str:
    """SHA-256 of the shapes and numbers of arrays, in order: the same picture is the same question.

    >>> array_digest(np.zeros((1, 2, 3), np.uint8)) == array_digest(np.zeros((2, 1, 3), np.uint8))
    False
    """
    found = hashlib.sha256()
    for array in arrays:
        found.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def fingerprint(obj: object) -> str:
    """SHA-256 in hexadecimal digits of what makes a function, class, network or object answer as it does."""
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
    codes = [getattr(value, "__code__", None) for value in vars(kind).values()]
    methods = [text for each in codes if isinstance(each, CodeType) for text in _code(each)]
    return [_source(kind), *methods, *_state(obj)]


def _source(obj: object) -> bytes:
    """The text of the module; a script's own file changes for other reasons, so that only its code counts."""
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or module.__name__ == "__main__" or not file or not Path(file).is_file():
        return b""
    return Path(file).read_bytes()


def _code(code: CodeType) -> list[bytes]:
    """Instructions, names and constants; those of nested functions too, without the addresses of their repr."""
    constants = [
        text for value in code.co_consts for text in (_code(value) if isinstance(value, CodeType) else [_value(value)])
    ]
    return [code.co_code, " ".join(code.co_names).encode(), *constants]


def _state(obj: object) -> list[bytes]:
    """A network's weights, or the plain values that an object holds."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.nn.Module):
        weights = obj.state_dict().items()
        return [name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes() for name, tensor in weights]
    held = {} if inspect.isclass(obj) else getattr(obj, "__dict__", {})
    return [name.encode() + _value(value) for name, value in sorted(held.items())]


def _value(value: object) -> bytes:
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
