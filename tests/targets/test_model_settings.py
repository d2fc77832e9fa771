"""What users may say of a model: one record, from which commands take their options."""

import typing
from pathlib import Path

import pytest

from transect import ModelSettings
from transect.console import options as console
from transect.options import built, settings

OF_COMMANDS = {
    "task": console.TaskName,
    "preprocess": console.PreprocessFile,
    "labels": console.ClassNames,
    "positive": console.PositiveClass,
    "threshold": console.Threshold,
    "output": console.OutputKind,
    "output_name": console.OutputName,
    "isolate": console.Isolate,
    "templates": console.Templates,
    "dtype": console.Dtype,
    "model_device": console.ModelDevice,
    "allow_download": console.AllowDownload,
}


@pytest.mark.parametrize("setting", settings(ModelSettings), ids=lambda setting: setting.name)
def test_commands_say_of_each_what_the_record_says(setting):
    kind, shown = typing.get_args(OF_COMMANDS[setting.name])
    assert (setting.option.help, setting.option.panel) == (shown.help, shown.rich_help_panel)
    name = shown.default if isinstance(shown.default, str) else f"--{setting.name.replace('_', '-')}"
    assert setting.shown == name.partition("/")[0]
    assert kind in (setting.kind, setting.kind | None)


def test_values_of_the_command_line_are_read():
    read = {setting.name: setting.option.read for setting in settings(ModelSettings)}
    given = built(ModelSettings, {"labels": read["labels"]("no, yes"), "preprocess": Path("a.toml")})
    assert given.options() == {"labels": ("no", "yes"), "preprocess": Path("a.toml")}
    assert ModelSettings(model_device="cuda").options() == {"device": "cuda"}
