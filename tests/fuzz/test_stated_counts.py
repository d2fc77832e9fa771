"""What a run tried is stated, also with pytest-xdist, and FUZZ_INPUTS scales properties too."""

import os
import re
import subprocess
import sys

import nightly
from places import ROOT

PROPERTIES = """
import pytest
from hypothesis import given, settings, strategies as st
seen = []

@given(st.integers())
def test_of_the_profile(value):
    seen.append(value)

@pytest.mark.parametrize("which", [1, 2])
@settings(max_examples=7)
@given(value=st.integers())
def test_with_its_own_number(which, value):
    seen.append(value)

def test_how_many():
    assert len(seen) == 300 + 2 * 21

@pytest.mark.parametrize("name", ["a", "b"])
def test_surface(name, record_property):
    record_property("tally", (name, 30, 5))
"""
"""36,000 inputs are nine times the default: three times the examples, of 100 by default and of 7."""


def test_properties_try_more_and_say_so(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "from nightly import load_profile, pytest_terminal_summary, try_more\n"
        "load_profile()\n"
        "def pytest_collection_modifyitems(items):\n"
        "    try_more(items)\n"
    )
    (tmp_path / "test_few.py").write_text(PROPERTIES)
    words = ["-p", "xdist", "-p", "no:cacheprovider", "-q", "-n", "1", "--rootdir", str(tmp_path), "-c", os.devnull]
    variables = os.environ | {
        "FUZZ_INPUTS": "36000",
        "PYTHONPATH": str(ROOT / "tests" / "support"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=variables,
    )
    assert done.returncode == 0, done.stdout
    found = re.findall(r"^(?:fuzz|properties): .*$", done.stdout, re.M)
    assert found == [
        "fuzz: a: 35 inputs, 30 read, 5 refused",
        "fuzz: b: 35 inputs, 30 read, 5 refused",
        "fuzz: 2 kinds: 70 inputs, 60 read, 10 refused",
        "properties: 3 tests, at most 342 examples",
    ]


def test_examples_grow_with_the_square_root():
    assert [nightly.times(n) for n in (1, 4000, 15_999, 16_000, 1_200_000)] == [1, 1, 1, 2, 17]
