"""What docs/concepts/architecture.md names is there."""

import re
from importlib import import_module

from places import ROOT

TEXT = (ROOT / "docs" / "concepts" / "architecture.md").read_text()


def test_the_way_of_a_setting_has_few_stops_and_all_are_there():
    stops = re.findall(r"^\| (\d+) \| `(transect[\w.]+):(\w+)` \|", TEXT, re.MULTILINE)
    assert [int(number) for number, _, _ in stops] == list(range(1, len(stops) + 1))
    assert 10 < len(stops) <= 18
    for _, module, name in stops:
        assert hasattr(import_module(module), name), f"{module}: {name}"


def test_folders_and_modules_that_are_named_exist():
    source = ROOT / "src" / "transect"
    folders = re.findall(r"^\| +\d* *\| `(\w+)/`", TEXT, re.MULTILINE)
    assert len(folders) > 10
    modules = re.findall(r"`((?:reports|analysis|effects|designs|datasets|targets)/[\w/]+\.py)`", TEXT)
    assert len(modules) > 5
    assert [name for name in (*folders, *modules) if not (source / name).exists()] == []
