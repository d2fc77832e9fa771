"""Commands of the command line, by name: options from a study file to arguments, a check of them, and the call."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, final, runtime_checkable

from transect.errors import BadInput, Interrupted, UnknownName
from transect.runs.plain_json import loads
from transect.studies.file import Scalar, Value

JSON: Final = "--json"


@runtime_checkable
class Command(Protocol):
    """What is used of a command of Typer's: its parameters, and a parser of arguments; groups have `commands`."""

    params: Sequence[Any]

    def make_context(self, info_name: str, args: list[str]) -> Any:
        """Parse the arguments; raises where they do not fit."""

    def main(self, args: Sequence[str], prog_name: str, *, standalone_mode: bool) -> Any:
        """Parse the arguments, and call the command."""


@final
class Commands:
    """The command line's own tree of commands."""

    def __init__(self, root: Command) -> None:
        self._root = root

    def named(self, name: str) -> Command:
        """The command of a name such as "directions fit". Raises UnknownName for another, BadInput for a group."""
        command, before = self._root, ""
        for word in name.split():
            within: Mapping[str, Command] = getattr(command, "commands", {})
            if word not in within:
                known = [f"{before} {key}".strip() for key in within]
                raise UnknownName("command", name, known, "see: transect --help")
            command, before = within[word], f"{before} {word}".strip()
        if getattr(command, "commands", None):
            known = [f"{name} {key}" for key in getattr(command, "commands", {})]
            raise UnknownName("command", name, known, "name one of the group")
        if name.split(maxsplit=1)[0] == "study":
            raise BadInput('run: expected a command other than "study"; put the steps of that study into this one')
        if name == "annotate serve":
            raise BadInput(
                'run: expected a command that ends, got "annotate serve", which serves until it is stopped; write '
                'waits_for = "ratings", and the study says how to serve'
            )
        return command

    def arguments(self, name: str, arguments: Sequence[Value], options: Mapping[str, Value]) -> list[str]:
        """The words of a command line, after the command's own. Raises UnknownName for an option that there is not.

        Lists repeat an option, or give one that takes several values; empty texts and lists leave it out.
        """
        command = self.named(name)
        words = [word for key, value in options.items() for word in _words(_option(command, name, key), key, value)]
        given = [str(item) for value in arguments for item in (value if isinstance(value, tuple) else (value,))]
        return [*(text for text in given if text), *words]

    def check(self, name: str, words: Sequence[str]) -> None:
        """Raise BadInput where the command would not take these words."""
        try:
            self.named(name).make_context(name, [*words])
        except BadInput:
            raise
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            raise BadInput(f"transect {name}: {error.format_message()}") from None

    def call(self, name: str, words: Sequence[str], *, quiet: bool = False) -> object:
        """Call a command; returns what it prints with --json, or its text. Raises what the command raises.

        quiet: without its progress on standard error.
        """
        as_json = [JSON] if any(JSON in parameter.opts for parameter in self.named(name).params) else []
        silence = contextlib.redirect_stderr(io.StringIO()) if quiet else contextlib.nullcontext()
        with contextlib.redirect_stdout(io.StringIO()) as printed, silence:
            code = self._root.main([*name.split(), *words, *as_json], "transect", standalone_mode=False)
        if code == Interrupted.exit_code:
            raise Interrupted("interrupted; rerun the command to resume")
        if isinstance(code, int) and code:
            raise BadInput(f"transect {name} ended with exit code {code}; run it alone to see why")
        try:
            answer: object = loads(printed.getvalue())
        except ValueError:
            return printed.getvalue()
        return answer


def _option(command: Command, name: str, key: str) -> Any:
    flag = f"--{key.replace('_', '-')}"
    options = {text: each for each in command.params if each.param_type_name == "option" for text in each.opts}
    if flag not in options or flag == JSON:
        known = [text.removeprefix("--") for text in options if text not in (JSON, "--help")]
        raise UnknownName(f"option of {name}:", key, known, f"see: transect {name} --help")
    return options[flag]


def _words(option: Any, key: str, value: Value) -> list[str]:
    """An option and its value as words of a command line."""
    flag = f"--{key.replace('_', '-')}"
    if option.is_flag:
        if not isinstance(value, bool):
            raise BadInput(f"option {key}: expected true or false, got {value!r}; it is a switch")
        off = list(option.secondary_opts[:1])
        return [flag] if value else off
    if isinstance(value, bool):
        raise BadInput(f"option {key}: expected a value, got {str(value).lower()}; it is no switch")
    if value in ("", ()):
        return []
    if not isinstance(value, tuple):
        return [flag, str(value)]
    if option.nargs > 1:
        return [flag, *map(str, value)]
    return [word for item in value if item != "" for word in (flag, _text(item))]


def _text(item: Scalar) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)
