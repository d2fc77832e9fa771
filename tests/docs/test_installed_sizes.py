"""The table of installed sizes: its rows are the extras, and its sums are right in an environment that is planted."""

import importlib
import sys
import tomllib

import pytest
from places import ROOT


@pytest.fixture(scope="module")
def sizes():
    sys.path.insert(0, str(ROOT / ".ci"))
    yield importlib.import_module("sizes")
    sys.path.remove(str(ROOT / ".ci"))


def test_the_rows_of_the_guide_are_the_extras(sizes):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    stated = sizes.stated((ROOT / "docs" / "how-to" / "install.md").read_text())
    assert list(stated) == [sizes.BASE, sizes.TORCH, *(f"`transect[{extra}]`" for extra in extras)]
    assert all(size > 0 for size in stated.values())


@pytest.mark.integration
def test_the_sizes_of_the_guide_are_those_of_this_environment(sizes):
    """All that `make sizes` compares, in the check too."""
    there = importlib.import_module("dependencies").environment()
    rows = sizes.rows_here(there)
    assert rows[0].size > 100e6
    assert sizes.differences(rows, sizes.PAGE.read_text(), sizes.let_be(there)) == []
