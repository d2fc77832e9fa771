"""What users may say of a model: one record, from which commands take their options."""

from pathlib import Path

from transect import ModelSettings
from transect.options import built, settings


def test_values_of_the_command_line_are_read():
    read = {setting.name: setting.option.read for setting in settings(ModelSettings)}
    given = built(ModelSettings, {"labels": read["labels"]("no, yes"), "preprocess": Path("a.toml")})
    assert given.options() == {"labels": ("no", "yes"), "preprocess": Path("a.toml")}
    assert ModelSettings(model_device="cuda").options() == {"device": "cuda"}
