"""The run-time type checker of the test suite: an int is a float, as PEP 484 has it."""

from collections.abc import Callable
from typing import Any

import typer
from beartype import BeartypeConf, beartype

_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its annotations checked.

    Not those of commands that take typer's context: typer hands over an object of the class above it.
    """
    annotations = getattr(function, "__annotations__", {}).values()
    takes_context = any(one == "typer.Context" or one is typer.Context for one in annotations)
    return function if takes_context else _check(function)
