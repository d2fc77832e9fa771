"""The public names: each can be imported as the reference shows it, and is typed. `support/user_calls.py` has typed calls."""

import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest
from places import ROOT

import transect
from transect.cli.declared import declared
from transect.job import opened

STUB = (ROOT / "src" / "transect" / "__init__.pyi").read_text()
JOBS = [name for name in re.findall(r"^from \.jobs\.[\w.]+ import (\w+)", STUB, re.MULTILINE) if name.islower()]


def test_no_folder_has_the_name_of_a_function():
    """Importing a module of that folder would put the folder in the function's place."""
    folders = {path.name for path in (ROOT / "src" / "transect").iterdir() if path.is_dir()}
    assert not folders & set(JOBS)


@pytest.mark.integration
def test_every_name_in_the_tables_of_the_reference_can_be_imported_as_shown():
    """In a fresh process, where no other test has imported a submodule."""
    rows = re.findall(r"^\| (`.+?) \| ", (ROOT / "docs" / "reference" / "python.md").read_text(), re.MULTILINE)
    statements = [span.split("(")[0] for row in rows for span in re.findall("`(.+?)`", row)]
    assert len(statements) > 60
    assert all(each.startswith(("transect.", "from transect.")) for each in statements)
    names = [each for each in statements if each.startswith("transect.")]  # before any import adds an attribute
    imports = [each for each in statements if each.startswith("from ")]
    code = "\n".join(["import transect", *names, *imports])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_job_of_each_command_has_a_function():
    """But that of `directions show`, whose function is `controls.learned.read_directions`, and those of a group."""
    lacking = [
        name
        for name in declared()
        if (kind := opened(name)) and not any(getattr(each, "job", None) is kind for each in _functions(name))
    ]
    assert lacking == ["annotate", "directions_show"], "add NAME = function(CLASS) to the file of the job"


def _functions(name):
    return filter(inspect.isfunction, vars(import_module(f"transect.jobs.{name}")).values())


def test_each_job_is_called_by_its_tests():
    tests = "".join(path.read_text() for path in ROOT.glob("tests/jobs/**/*.py"))
    assert [name for name in JOBS if not re.search(rf'\b{name}\(|"{name}"', tests)] == []


def test_a_job_takes_at_most_twelve_typed_arguments():
    for name in JOBS:
        signature = inspect.signature(getattr(transect, name))
        assert len(signature.parameters) <= 12, name
        assert all(each.annotation is not inspect.Parameter.empty for each in signature.parameters.values()), name
        assert signature.return_annotation is not inspect.Signature.empty, name
