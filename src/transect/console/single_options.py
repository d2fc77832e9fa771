"""What every command refuses: a second value of an option that takes one, and an address where only a path fits."""

from __future__ import annotations

import typing
from collections import Counter
from pathlib import Path
from typing import Any, Final, final

import typer
from typer.core import TyperCommand, TyperGroup

from transect.errors import BadInput
from transect.runs.addresses import is_address

_TEXTS: Final = "texts:"
"""What stands before the folder of a run whose texts people code."""
_WRITTEN: Final = frozenset({"out", "report", "publish", "junit", "summary", "badge"})
"""Parameters that say where a command writes."""


@final
class _Command(TyperCommand):
    """A command that refuses a repeated option, of which the parser would keep the last value only."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _check(self, ctx, args)
        return super().parse_args(ctx, args)


@final
class _Group(TyperGroup):
    """A group that refuses a repeated option, as its commands do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _check(self, ctx, args)
        return super().parse_args(ctx, args)


def refuse_repeats(app: typer.Typer) -> None:
    """Make an app, its groups and all their commands raise BadInput for a repeated option that takes one value."""
    app.info.cls = _Group
    for command in app.registered_commands:
        command.cls = _Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            refuse_repeats(group.typer_instance)


def _check(command: TyperCommand | TyperGroup, ctx: Any, args: list[str]) -> None:
    try:
        values, _, order = command.make_parser(ctx).parse_args(args=list(args))
    except Exception as error:
        if getattr(error, "ctx", ctx) is None:  # a usage error, whose command the message names
            error.ctx = ctx  # type: ignore[attr-defined]
        raise
    for parameter, times in Counter(order).items():
        if times > 1 and parameter.param_type_name == "option" and not getattr(parameter, "multiple", False):
            name = "/".join((*parameter.opts, *parameter.secondary_opts))
            raise BadInput(f"{name}: expected one value, got the option {times} times; give it once")
    for parameter in command.params:
        _check_local(parameter, values.get(parameter.name or ""))


def _check_local(parameter: Any, value: object) -> None:
    """Raises BadInput for an address as a path; its text may hold a secret, and is not repeated."""
    kind = getattr(parameter, "type_descriptor", None)
    annotation = getattr(kind, "annotation", None)
    given = value if isinstance(value, list | tuple) else [value]
    local = Path in (annotation, *typing.get_args(annotation))
    if local and any(isinstance(text, str) and is_address(text.removeprefix(_TEXTS)) for text in given):
        name = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
        advice = (
            "give a folder here, and copy it to the storage afterwards"
            if parameter.name in _WRITTEN
            else "copy the run to this machine first, and give its folder"
        )
        raise BadInput(f"{name}: expected a file or folder of this machine, got an address; {advice}")
