"""Python objects by name: `module:attribute`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from transect.errors import BadInput, UnknownName
from transect.texts import words_of


class NoSuchModule(BadInput):
    """There is no module of that name (a module that exists and fails to import is plain BadInput)."""


def import_object(reference: str) -> object:
    """The object that `module:attribute` names; dots in the attribute go deeper.

    The working folder is searched after everything that is installed, so that it cannot shadow a library.
    Raises NoSuchModule, BadInput for a module that fails on import or a malformed reference, UnknownName for a
    missing attribute.

    >>> import_object("math:pi")
    3.141592653589793
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
        raise BadInput(f"module {name} could not be imported: {words_of(error)}") from error
    except Exception as error:
        text = words_of(error)
        raise BadInput(f"module {name} could not be imported: {type(error).__name__}: {text}") from error
