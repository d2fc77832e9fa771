"""A repeated option that takes one value is refused, on every command of the application."""

import pytest
import typer.main
from commands import refused

from transect.cli.app import app
from transect.errors import BadInput


def _commands(command, path=()):
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))


COMMANDS = list(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) or "transect" for path, _ in COMMANDS])
def test_every_option_that_takes_one_value_is_refused_when_repeated(path, command):
    for option in command.params:
        if option.param_type_name == "option" and not option.multiple and not option.is_eager:
            single = [option.opts[0], *(["1"] * option.nargs if not option.is_flag else [])]
            with pytest.raises(BadInput, match=f"{option.opts[0]}.*: given 2 times"):
                command.make_context("x", [*single, *single])


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("leakage", "labels.csv", "--protected", "race", "--protected", "gender"), "--protected"),
        (("audit", "x", "--control", "--no-control"), "--control/--no-control"),
        (("list", "datasets", "--json", "--json"), "--json"),
    ],
)
def test_the_message_names_the_option(arguments, option):
    assert f"{option}: given 2 times; give it once" in refused(*arguments)


def test_options_that_take_several_values_may_be_repeated():
    audit = dict(COMMANDS)["audit",]
    assert list(audit.make_context("audit", ["x", "--vary", "a", "--vary", "b"]).params["vary"]) == ["a", "b"]
