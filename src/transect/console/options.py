"""Options that several commands share, and the refusal of a repeated one that takes one value."""

from __future__ import annotations

import functools
import inspect
import typing
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from transect.errors import BadInput
from transect.options import Setting, named_on_command_line, settings
from transect.runs.addresses import is_address
from transect.texts import say


def _help_all(context: typer.Context, wanted: bool) -> bool:
    """Print the help with the options that it leaves out, and stop."""
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        say(context.get_help())
        raise typer.Exit
    return wanted


HelpAll = Annotated[
    bool, typer.Option("--help-all", help="Show all options and exit.", is_eager=True, callback=_help_all)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]


def on_command_line(context: typer.Context, values: Mapping[str, object]) -> dict[str, object]:
    """The values that the user typed, without those that are defaults."""
    sources = {name: context.get_parameter_source(name) for name in values}
    return {n: value for n, value in values.items() if (source := sources[n]) and source.name == "COMMANDLINE"}


def parameters(kind: type[object]) -> list[inspect.Parameter]:
    """The options of a record as parameters of a command, with --help-all where some of them are rare."""
    found = settings(kind)
    all_of = [keyword("help_all", HelpAll, default=False)] if any(each.option.rare for each in found) else []
    return [keyword("context", typer.Context), *map(_parameter, found), *all_of]


def with_options(kind: type[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a record in place of its keywords."""

    def decorated(call: Callable[..., None]) -> Callable[..., None]:
        context, *own = inspect.signature(call, eval_str=True).parameters.values()
        keywords = [each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD]
        made = [each for each in parameters(kind) if each.name != context.name]
        shown = (each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (context, *keywords, *made))
        call.__signature__ = inspect.Signature(list(shown))  # type: ignore[attr-defined]
        call.__annotations__ = {}
        return call

    return decorated


def _parameter(setting: Setting) -> inspect.Parameter:
    """A field as a parameter: of a list the default is that of the field, and its help says it."""
    option, kind = setting.option, setting.kind
    as_shown = not (setting.required or setting.several or option.read or isinstance(setting.default, tuple))
    default = setting.default if option.default is None else option.default
    names = option.names or ((setting.shown,) if setting.default is False else ())
    made = typer.Argument if option.argument else functools.partial(typer.Option, *names)
    shown = made(help=option.help, metavar=option.metavar, rich_help_panel=option.panel, hidden=option.rare)
    if setting.needed:
        return keyword(setting.name, Annotated[kind, shown])
    if as_shown or option.default is not None:
        return keyword(setting.name, Annotated[kind, shown], default)
    return keyword(setting.name, Annotated[kind | None, shown], None)


def keyword(name: str, kind: object, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    """A parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_TEXTS: Final = "texts:"
"""What stands before the folder of a run whose texts people code."""
_WRITTEN: Final = frozenset({"out", "report", "publish", "junit", "summary", "badge"})
"""Parameters that say where a command writes."""


class Command(TyperCommand):
    """A command that refuses a repeated option, of which the parser would keep the last value only."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is repeated, and an address where a path belongs."""
        _check(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run it; errors name its options."""
        typed = (each for each in self.params if each.name and each.param_type_name == "option")
        with named_on_command_line({str(each.name): each.opts[0] for each in typed}):
            return super().invoke(ctx)


class Group(TyperGroup):
    """A group that refuses a repeated option, as its commands do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is repeated, and an address where a path belongs."""
        _check(self, ctx, args)
        return super().parse_args(ctx, args)


def refuse_repeats(app: typer.Typer) -> None:
    """Make an app, its groups and all their commands raise BadInput for a repeated option that takes one value."""
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
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
            raise BadInput(f"{name}: given {times} times; give it once")
    for parameter in command.params:
        _check_local(parameter, values.get(parameter.name or ""))


def takes_paths(parameter: object) -> bool:
    """Whether a parameter of a command is a path, or several."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return Path in (annotation, *typing.get_args(annotation))


def _check_local(parameter: Any, value: object) -> None:
    """Raises BadInput for an address as a path; its text may hold a secret, and is not repeated."""
    given = value if isinstance(value, list | tuple) else [value]
    if takes_paths(parameter) and any(
        isinstance(text, str) and is_address(text.removeprefix(_TEXTS)) for text in given
    ):
        name = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
        advice = (
            "give a folder here, and copy it to the storage afterwards"
            if parameter.name in _WRITTEN
            else "copy the run to this machine first, and give its folder"
        )
        raise BadInput(f"{name}: expected a file or folder on this machine, got an address; {advice}")
