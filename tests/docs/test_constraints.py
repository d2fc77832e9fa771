"""constraints.txt names one version of each library, and pyproject.toml allows it."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name != "test"}
DIRECT = [
    Requirement(line) for line in [*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]
]
UNTESTED = {"faiss-cpu", "pillow-heif", "timm"}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pairs = [line.split("==") for line in lines]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize("requirement", [r for r in DIRECT if r.name != "transect"], ids=str)
def test_what_is_pinned_is_allowed(requirement):
    name = normal(requirement.name)
    if name in UNTESTED:
        assert name not in pinned()
    else:
        assert requirement.specifier.contains(Version(pinned()[name]))


def test_each_upper_bound_has_its_reason():
    """The line of a bound ends in a comment."""
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    bounded = [line for line in lines if re.search(r'>=[^"]*,<', line)]
    assert len(bounded) >= 2
    assert [line for line in bounded if "#" not in line] == []


def test_each_library_has_a_lowest_version():
    assert [str(r) for r in DIRECT if r.name != "transect" and ">=" not in str(r.specifier)] == []
