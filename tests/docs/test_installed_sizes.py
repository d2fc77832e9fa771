"""The table of installed sizes: its rows are the extras, and its sums are right in an environment that is planted."""

import importlib
import re
import sys
import tomllib

import pytest
from places import ROOT

PROJECT = {
    "name": "transect",
    "dependencies": ["a_lib>=1", "torch>=2.6,<3", "never>=1; python_version < '3'"],
    "optional-dependencies": {
        "x": ["c>=1"],
        "y": ["transect[x]", "d[more]>=1"],
        "z": ["a-lib>=1", "nowhere>=1"],
    },
}


@pytest.fixture(scope="module")
def sizes():
    sys.path.insert(0, str(ROOT / ".ci"))
    yield importlib.import_module("sizes")
    sys.path.remove(str(ROOT / ".ci"))


def plant(folder, name, needs=(), files=(), bytecode=0):
    """A library as an installer leaves it: sizes of files in its record, and none of bytecode, which is on the disk."""
    record = [f"{name}/{k}.py,sha256=x,{size}" for k, size in enumerate(files)]
    if bytecode:
        (folder / name).mkdir()
        (folder / name / "0.pyc").write_bytes(b"x" * bytecode)
        record += [f"{name}/0.pyc,,", f"{name}/gone.pyc,,"]
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {line}" for line in needs)]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "RECORD").write_text("\n".join(record) + "\n")


@pytest.fixture
def there(sizes, tmp_path):
    """a-lib needs shared; torch needs shared and sympy; c needs sympy; d needs e with its extra, and f with another."""
    plant(tmp_path, "A.Lib", ["shared"], [100_000_000], bytecode=7)
    plant(tmp_path, "shared", [], [1_000_000, 2_000_000])
    plant(tmp_path, "torch", ["shared", "sympy; extra != 'x'"], [700_000_000])
    plant(tmp_path, "sympy", ["torch"], [50_000_000])
    plant(tmp_path, "c", ["sympy"], [30_000_000])
    plant(tmp_path, "d", ["e; extra == 'more'", "f; extra == 'other'"], [4_000_000])
    plant(tmp_path, "e", [], [5_000_000])
    plant(tmp_path, "f", [], [6_000_000])
    found = importlib.import_module("dependencies").environment([tmp_path])
    return {name: each for name, each in found.items() if name in ("a-lib", "shared", "torch", "sympy", *"cdef")}


def test_each_part_is_the_sum_of_what_it_adds(sizes, there):
    rows = {row.what: row for row in sizes.measured(PROJECT, there, own=11)}
    assert list(rows) == [sizes.BASE, sizes.TORCH, "`transect[x]`", "`transect[y]`", "`transect[z]`"]
    assert rows[sizes.BASE].size == 11 + 100_000_000 + 7 + 3_000_000
    assert rows[sizes.TORCH].size == 700_000_000 + 50_000_000
    assert rows["`transect[x]`"].size == 30_000_000
    assert rows["`transect[y]`"].size == 30_000_000 + 4_000_000 + 5_000_000
    assert [rows[what].libraries for what in rows] == [2, 2, 1, 3, 0]
    assert rows["`transect[y]`"].largest == "c, 30 MB"
    assert rows["`transect[z]`"].absent == ("nowhere",)
    assert rows["`transect[z]`"].line() == "| `transect[z]` | not measured: nowhere not installed | | |\n"


def test_what_the_guide_states_otherwise_is_named(sizes, there):
    rows = sizes.measured(PROJECT, there, own=0)
    page = f"text\n{sizes.BEGIN}{sizes.table(rows)}{sizes.END}text"
    assert sizes.differences(rows, page) == []
    half = page.replace("| 30 MB", "| 12 MB").replace("`transect[z]`", "`transect[q]`")
    assert sizes.differences(rows, half) == [
        "no row in the guide: `transect[z]`",
        "a row of the guide without an extra: `transect[q]`",
        "`transect[x]`: 30 MB here, 12 MB in the guide",
    ]
    cuda = page.replace("| 750 MB", "| 3,200 MB")
    assert sizes.differences(rows, cuda) == [f"{sizes.TORCH}: 750 MB here, 3,200 MB in the guide"]
    assert sizes.differences(rows, cuda, [sizes.TORCH]) == []


def test_the_rows_of_the_guide_are_the_extras(sizes):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    stated = sizes.stated((ROOT / "docs" / "how-to" / "install.md").read_text())
    assert list(stated) == [sizes.BASE, sizes.TORCH, *(f"`transect[{extra}]`" for extra in extras)]
    assert all(size > 0 for size in stated.values())


def test_the_sizes_of_the_guide_are_those_of_this_environment(sizes):
    """All that `make sizes` compares, in the check too."""
    there = importlib.import_module("dependencies").environment()
    rows = sizes.rows_here(there)
    assert rows[0].size > 100e6
    assert sizes.differences(rows, sizes.PAGE.read_text(), sizes.let_be(there)) == []


def test_the_readme_names_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`transect\[.*?) \|", (ROOT / "README.md").read_text(), re.M)
    named = re.findall(r"\[(\w+)\]", " ".join(rows))
    assert set(named) == set(extras) - {"demo", "docs", "test"}
    assert len(named) == len(set(named))
