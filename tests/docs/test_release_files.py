"""The files of a release say what is done: workflows run what anybody runs, and the image has a user without rights."""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from places import ROOT

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which other libraries of the tests bring along")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def steps_of(path):
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    return job["steps"]


def test_the_workflow_runs_exactly_the_check():
    commands = [step["run"] for step in steps_of(ROOT / ".github/workflows/check.yml") if "run" in step]
    assert commands == ["bash .ci/run"]
    assert [step["run"] for step in steps_of(ROOT / ".github/workflows/nightly.yml") if "run" in step] == ["make fuzz"]
    size = re.search(r"^fuzz:.*\n\tFUZZ_INPUTS=\$\$\{FUZZ_INPUTS:-(\d+)\}", (ROOT / "Makefile").read_text(), re.M)
    assert int(size[1]) >= 1_000_000


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_names_versions(path):
    whole = yaml.safe_load(path.read_text())
    assert whole["permissions"] == {"contents": "read"}
    uses = [step["uses"] for step in steps_of(path) if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", each) for each in uses)
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert [step["with"]["python-version"] for step in steps_of(path) if "setup-python" in step.get("uses", "")] == [
        lowest.removeprefix(">=")
    ]


def test_the_forms_of_issues_ask_for_what_they_need():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        if path.name != "config.yml":
            assert form["name"]
            assert form["description"]
            assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_image_runs_the_demo_as_a_user_without_rights():
    """The rules of a linter for such files that matter here; hadolint passes too."""
    stages = DOCKERFILE.split("\nFROM ")
    last = stages[-1]
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.M) == ["python:3.11-slim"] * 2
    assert ":latest" not in DOCKERFILE
    assert not re.search(r"^(ADD|MAINTAINER|RUN (sudo|apt-get upgrade))", DOCKERFILE, re.M)
    users = re.findall(r"^USER (\S+)$", last, re.M)
    assert users == ["10001"]
    assert last.index("USER 10001") < last.index("ENTRYPOINT")
    assert re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", last, re.M) == ['["transect"]', '["demo", "--out", "/runs/demo"]']
    assert all("--no-cache-dir" in line for line in re.findall(r".*pip (?:install|wheel).*", DOCKERFILE))
    from transect import __version__

    assert f'"transect[demo]=={__version__}"' in DOCKERFILE


def test_the_image_copies_what_there_is():
    """And .dockerignore lets each of it in."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.M) for word in line.split()]
    assert len(copied) == 5
    assert all((ROOT / name).exists() and name in let_in for name in copied)


def test_no_page_names_an_address_of_the_project():
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"):
        assert not re.search(r"https?://|[\w.]+@[\w.]+\.\w+", (ROOT / name).read_text()), name


@pytest.mark.slow
def test_the_wheel_has_what_the_first_commands_need(tmp_path):
    """Built, installed into a new environment and run from there: `transect demo` is what `make demo` runs.

    The environment gets the wheel alone; its libraries are those of the tests, by a path file that leaves out the
    source tree, since PyTorch again would be 750 MB.
    """
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("transect-*.whl")
    venv.create(tmp_path / "clean", with_pip=False)
    python = tmp_path / "clean" / "bin" / "python"
    asked = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    purelib = subprocess.run([str(python), "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", purelib, str(wheel)], check=True
    )
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    # A path in a .pth file is added as it is: the .pth files in that folder, one of them the source tree's, are not read.
    (Path(purelib) / "libraries.pth").write_text(f"{libraries}\n")
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}

    def run(*words):
        return subprocess.run(
            [str(python), *words], capture_output=True, text=True, check=False, cwd=tmp_path, env=clean, timeout=900
        )

    where = run("-c", "import transect; print(transect.__file__)").stdout
    assert where.startswith(purelib)
    audit = ("audit", "opencv:haarcascade_frontalface_default", "--vary", "glasses=none,dark", "--truth", "face")
    done = run("-m", "transect", *audit, "--subjects", "4", "--size", "48", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    assert run("-m", "transect", "verify", "run", "run").returncode == 0
    readme = (ROOT / "README.md").read_text()
    program = re.search(r"```python\n(import transect.*?)```", readme, re.S)[1]
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2
