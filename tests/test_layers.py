"""The architecture is visible: imports point down the folders, and heavy libraries are imported where they are used."""

import ast
import re
import subprocess
import sys

import pytest
from places import ROOT

SOURCE = ROOT / "src" / "transect"
PAGE = ROOT / "docs" / "concepts" / "architecture.md"

RANKS = [
    ["__init__", "texts", "errors", "spoken_answers", "records", "protocols", "options"],
    ["engines", "runs", "console"],
    ["datasets", "marks", "generators", "training", "perceptual", "inversion", "controls", "designs"],
    ["targets", "effects", "annotation", "testing"],
    ["attacks", "mitigation", "ratings"],
    ["experiment", "reports"],
    ["analysis"],
    ["job"],
    ["jobs"],
    ["cli"],
    ["__main__"],
]
"""Folders, and the few modules of the root. Each may import those before it, of its own rank too; jobs none of each other."""

ORDER = {name: place for place, name in enumerate(name for rank in RANKS for name in rank)}
ROOT_MODULES = {
    "__init__",
    "__main__",
    "texts",
    "errors",
    "spoken_answers",
    "records",
    "protocols",
    "options",
    "testing",
    "job",
}
HEAVY = {
    "torch",
    "diffusers",
    "transformers",
    "cv2",
    "dlib",
    "onnxruntime",
    "ai_edge_litert",
    "matplotlib",
    "pandas",
    "statsmodels",
    "sklearn",
    "fastapi",
    "sqlalchemy",
    "ray",
}
LOOKED_UP = (
    ["--help"], ["list", "targets"], ["list", "datasets"], ["list", "attributes"], ["audit", "--help"], ["annotate", "serve", "--help"], ["view", "--help"],
)  # fmt: skip
MODULES = sorted(SOURCE.rglob("*.py"))
PLACES = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}


def folder_of(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def job_of(name: str) -> str:
    """The job that a module below `jobs` belongs to."""
    parts = name.split(".")
    return parts[1] if parts[0] == "jobs" and len(parts) > 1 else ""


def imports_of(path) -> list[str]:
    """Names below `transect` of every module imported anywhere in a file, also inside functions."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name.removeprefix("transect.") for name in names if name.startswith("transect.")]


def upward_arrows(here: str, names: list[str]) -> list[str]:
    """Imports of a module `here` that point up, or from one job to another."""
    found = []
    for there in sorted(set(names)):
        source, target = folder_of(here), folder_of(there)
        if target not in ORDER:
            continue
        up = source != target and ORDER[target] >= ORDER[source]
        if up or (source == target == "jobs" and job_of(there) != job_of(here)):
            found.append(f"{here} -> {there}")
    return found


def module_name(path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def test_every_folder_has_a_rank_and_every_rank_a_folder():
    assert set(ORDER) == PLACES | ROOT_MODULES


def test_the_root_holds_nothing_but_the_nouns():
    assert {path.stem for path in SOURCE.glob("*.py")} == ROOT_MODULES


def test_imports_point_down_the_folders():
    """The root's `__init__` aside, which gives the public names of all folders and loads them when they are used."""
    paths = [path for path in MODULES if path != SOURCE / "__init__.py"]
    assert [arrow for path in paths for arrow in upward_arrows(module_name(path), imports_of(path))] == []


def test_an_upward_arrow_is_found():
    assert upward_arrows("generators.x", ["effects.rates.wilson"]) == ["generators.x -> effects.rates.wilson"]
    assert upward_arrows("jobs.match", ["jobs.leakage.run"]) == ["jobs.match -> jobs.leakage.run"]
    assert upward_arrows("jobs.leakage.page", ["jobs.leakage.run", "reports.document"]) == []
    assert upward_arrows("effects.x", ["records.Effect", "designs.levels"]) == []


def test_the_architecture_page_names_every_folder_and_job():
    page = PAGE.read_text()
    jobs = {path.name for path in (SOURCE / "jobs").iterdir() if (path / "__init__.py").exists()}
    named = set(re.findall(r"`([a-z_]+)/?`", page))
    assert (PLACES | jobs) - named == set()


def test_a_job_of_several_files_has_its_command_in_one_of_two_places():
    for path in (SOURCE / "jobs").iterdir():
        if (path / "__init__.py").exists():
            own = "def command(" in (path / "__init__.py").read_text()
            assert own or (path / "command.py").exists(), f"{path.name} has no command"


@pytest.mark.integration
def test_what_is_looked_up_loads_no_heavy_library():
    """In one process of its own, one command after the other: what one loads, the next would be blamed for too."""
    code = f"""
import sys
from transect.cli.app import main
for words in {LOOKED_UP!r}:
    sys.argv = ["transect", *words]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, words
    assert not {HEAVY!r} & sys.modules.keys(), (words, {HEAVY!r} & sys.modules.keys())
    if words == ["--help"]:  # half a second, of which Typer takes most
        assert not {{"numpy", "pyarrow", "pydantic", "jaxtyping"}} & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_files_are_short():
    assert {str(path): n for path in MODULES if (n := len(path.read_text().splitlines())) > 800} == {}
