"""The architecture is visible: imports point down the flow, and heavy libraries are imported where they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "transect"

# Later stages may import earlier ones, never back. Modules of one layer do not import each other.
RANK = {}
HEAVY = {
    "torch",
    "diffusers",
    "transformers",
    "cv2",
    "dlib",
    "onnxruntime",
    "matplotlib",
    "pandas",
    "statsmodels",
    "sklearn",
    "fastapi",
    "sqlalchemy",
}
MODULES = sorted(SOURCE.rglob("*.py"))


def stage_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[str]:
    """Absolute names of every module imported anywhere in a file, also inside functions."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def upward_arrows(path: Path, names: list[str]) -> list[str]:
    here = stage_of(path)
    stages = {name.split(".")[1] for name in names if name.startswith("transect.") and name.count(".")}
    return [
        f"{here} -> {there}" for there in sorted(stages & RANK.keys()) if there != here and RANK[there] >= RANK[here]
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_the_flow(path):
    assert stage_of(path) in RANK, f"{path} is in no layer: add it to LAYERS"
    assert upward_arrows(path, imports_of(path)) == []


def test_an_upward_arrow_is_found():
    assert upward_arrows(SOURCE / "generators" / "x.py", ["transect.effects.rates.wilson"]) == ["generators -> effects"]
    assert upward_arrows(SOURCE / "effects" / "x.py", ["transect.records.Effect", "numpy"]) == []


@pytest.mark.parametrize(
    "command",
    [["--help"], ["targets"], ["datasets"], ["attributes"], ["audit", "--help"], ["annotate", "serve", "--help"]],
)
def test_answers_without_heavy_libraries(command):
    """The command line loads none of the heavy libraries for what is only looked up."""
    code = (
        "import sys\nfrom transect.cli.app import main\n"
        f"sys.argv = ['transect', *{command!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"print('HEAVY', sorted({HEAVY!r} & sys.modules.keys()))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip().endswith("HEAVY []")


def test_files_are_short():
    assert {str(path): n for path in MODULES if (n := len(path.read_text().splitlines())) > 400} == {}
