"""The files of a release say what is done: workflows run what anybody runs, and the image has a user without rights."""

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from places import ROOT

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which other libraries of the tests bring along")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def steps_of(path):
    return [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]


def commands_of(name):
    return [step["run"] for step in steps_of(ROOT / ".github" / "workflows" / name) if "run" in step]


def test_the_workflow_runs_exactly_the_check():
    assert commands_of("check.yml") == ["bash .ci/run"]
    makefile = (ROOT / "Makefile").read_text()
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())["jobs"].values()
    assert job["steps"][-1]["run"] == "make nightly NIGHTLY=${{ matrix.part }}"
    parts = re.search(r"^nightly: \$\(or \$\(NIGHTLY\),(.*)\)", makefile, re.M)[1].split()
    assert job["strategy"]["matrix"]["part"] == parts
    size = re.search(r"^fuzz: export FUZZ_INPUTS := \$\(or \$\(FUZZ_INPUTS\),(\d+)\)$", makefile, re.M)
    assert int(size[1]) >= 1_000_000
    for name in [*parts, *re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text(), re.M)]:
        assert re.search(rf"^{name}:", makefile, re.M), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_names_versions(path):
    whole = yaml.safe_load(path.read_text())
    assert whole["permissions"] == {"contents": "read"}
    uses = [step["uses"] for step in steps_of(path) if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", each) for each in uses)
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    pythons = [step["with"]["python-version"] for step in steps_of(path) if "setup-python" in step.get("uses", "")]
    assert pythons == [lowest.removeprefix(">=")] * len(yaml.safe_load(path.read_text())["jobs"])


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


def test_versions_are_the_same_everywhere():
    """The citation states the package's version, and pre-commit runs a Ruff that pyproject.toml allows."""
    from transect import __version__

    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (ruff,) = [each["rev"].removeprefix("v") for each in hooks if each["repo"].endswith("/ruff-pre-commit")]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (allowed,) = [Requirement(line) for line in extras["test"] if line.startswith("ruff>")]
    assert allowed.specifier.contains(ruff)


@pytest.fixture(scope="module")
def release():
    """The program of `make release-check`, as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / ".ci")
        yield importlib.import_module("release")


def test_a_licence_that_nobody_has_read_or_that_is_not_listed_is_named(release, monkeypatch, tmp_path):
    named = {"psycopg": "LGPL-3.0-only", "b": "UNKNOWN", "A.Lib": "MIT", "d": "GNU GPL v3"}
    rows = json.dumps([{"Name": name, "License": licence} for name, licence in named.items()])
    monkeypatch.setattr(release, "DIST", tmp_path)
    monkeypatch.setattr(release, "tool", lambda folder, *words: subprocess.CompletedProcess(words, 0, rows, ""))
    count, questions = release.licences(tmp_path, dict.fromkeys(["psycopg", "b", "a-lib", "d", "gone"], "1"))
    assert count == 4
    assert questions == ["licence of b: UNKNOWN", "licence of d: GNU GPL v3", "licence of gone: not listed"]
    assert json.loads((tmp_path / "licences.json").read_text()) == json.loads(rows)


AUDITED = {
    "dependencies": [
        {"name": "A.Lib", "version": "1", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]},
        {"name": "b", "version": "2", "vulns": []},
        {"name": "c", "skip_reason": "not on PyPI"},
    ]
}
REFUSED = "HTTPConnectionPool(host='x', port=443): Max retries exceeded (Caused by NewConnectionError('refused'))"


def audit(release, monkeypatch, folder, *, written="", said="", ci=""):
    """Of five libraries, where pip-audit leaves that file and says that."""

    def tool(_, *words):
        if written:
            (folder / "audit.json").write_text(written)
        return subprocess.CompletedProcess(words, 1, "", said)

    monkeypatch.setattr(release, "DIST", folder)
    monkeypatch.setattr(release, "tool", tool)
    monkeypatch.setenv("CI", ci)
    return release.audit(folder, {"a-lib": "1", "b": "2", "c": "3", "d": "4"})


def test_vulnerabilities_and_libraries_that_were_not_audited_are_named(release, monkeypatch, tmp_path):
    line, faults = audit(release, monkeypatch, tmp_path, written=json.dumps(AUDITED))
    assert line == "vulnerabilities: 2 known in 2 libraries"
    unknown = ["vulnerabilities of c: not audited", "vulnerabilities of d: not audited"]
    assert faults == ["A.Lib 1: PYSEC-1", "A.Lib 1: PYSEC-2", *unknown]


@pytest.fixture(scope="module")
def transect_of_the_wheel(release, tmp_path_factory):
    """Runs a program of a new environment that has the wheel, which was built from the sdist.

    The environment's libraries are those of the tests, by a path file that leaves out the source tree, since PyTorch
    again would be 750 MB.
    """
    folder = tmp_path_factory.mktemp("release")
    wheel, sdist = release.build(Path(sys.executable).parent, folder)
    assert (sdist.suffix, wheel.suffix) == (".gz", ".whl")
    venv.create(folder / "clean", with_pip=False)
    python = folder / "clean" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", str(wheel)], check=True, capture_output=True)
    asked = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    purelib = subprocess.run([str(python), "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    # A path in a .pth file is added as it is: the .pth files in that folder, one of them the source tree's, are not read.
    (Path(purelib) / "libraries.pth").write_text(f"{libraries}\n")
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}

    def run(program, *words):
        line = [str(python.parent / program), *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, env=clean, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("python", "-c", "import transect; print(transect.__file__)").startswith(purelib)
    return folder, run


@pytest.mark.integration
def test_the_commands_of_the_readme_run_from_the_wheel(transect_of_the_wheel):
    """`transect demo`, which is what `make demo` runs, and the first audit, both with few subjects; and the program."""
    folder, run = transect_of_the_wheel
    readme = (ROOT / "README.md").read_text()
    assert "then `transect demo`" in readme
    run("transect", "demo", "--subjects", "5", "--out", "demo")
    assert (folder / "demo" / "report.html").stat().st_size > 10_000
    first = re.search(r"^transect (audit opencv:.*) --subjects \d+$", readme, re.M)[1]
    run("transect", *shlex.split(first), "--subjects", "4", "--size", "48", "--out", "run")
    assert (folder / "run" / "report.html").stat().st_size > 10_000
    assert "as written" in run("transect", "verify", "run", "run")
    program = re.search(r"```python\n(.*?)```", readme, re.S)[1]
    assert len(run("python", "-c", program).splitlines()) >= 2
