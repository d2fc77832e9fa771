"""Each extra, where its libraries are not installed, names itself; and what needs no PyTorch does not import it."""

import importlib
import json
import shutil
import subprocess
import sys
import tomllib

import pytest
from commands import refused
from places import ROOT
from small_folders import FOLDERS

from transect.errors import MissingExtra
from transect.runs import manifest

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
GROUPS = {
    "demo": "opencv, under the name of what it is for",
    "heic": "photographs of that kind, which are counted without it",
    "docs": "the builder of the documentation site, which no command of the product needs",
    "test": "what the tests need",
}
"""Extras without which every command works."""


def _module(name):
    """A module that has not been imported yet: its own imports run again, and see what is hidden."""
    return importlib.import_module(f"transect.{name}")


def _aws_transport():
    return _module("targets.http.asking").AwsTransport("rekognition", "", None, region="", endpoint="", limits=None)


USES = {
    "opencv": ("cv2", lambda _: _module("targets").resolve("opencv:haarcascade_smile")),
    "dlib": ("dlib", lambda _: _module("targets").resolve("dlib:hog-face")),
    "onnx": ("onnxruntime", lambda _: _module("targets").resolve("onnx:model.onnx")),
    "tflite": ("ai_edge_litert", lambda _: _module("targets").resolve("tflite:model.tflite")),
    "mediapipe": ("ai_edge_litert", lambda _: _module("marks").open_marks("mediapipe:face.task")),
    "huggingface": ("transformers.utils.logging", lambda _: _module("targets.hf.loading").quiet("folder").__enter__()),
    "http": ("tenacity", lambda _: _module("targets.http.asking").Asker(None, None, None, None, None)),
    "rekognition": ("boto3", lambda _: _aws_transport()),
    "annotate": ("sqlalchemy", lambda _: _reloaded("annotation.database")),
    "view": ("uvicorn", lambda run: _module("jobs.view").view(run)),
    "postgres": ("psycopg", lambda _: _module("annotation.database")._engine("postgresql://localhost/a")),
    "storage": ("obstore", lambda _: _module("runs.object_storage").Store("s3://bucket/run")),
    "ray": ("ray", lambda _: _module("engines.ray_tasks").OnRay("", 1)),
    "ann": ("faiss", lambda _: _module("designs.matching.nearest")._faiss()),
    "accelerate": ("accelerate", lambda _: _module("training.loop").Processes.from_environment("cpu")),
    "timm": ("timm", lambda _: _module("targets").resolve("timm:resnet18@own.safetensors")),
    "backbones": ("timm", lambda _: _module("mitigation.networks")._library("timm")),
    "diffusers": ("diffusers", lambda run: _module("generators.diffusion.generator").open_pipeline(run, "", "", False)),
    "figures": ("resvg_py", lambda _: _module("reports.exports.formats").png("<svg/>")),
    "mlflow": ("mlflow", lambda run: _module("reports.exports.formats").to_mlflow({}, run, run, "")),
    "wandb": ("wandb", lambda run: _module("reports.exports.formats").to_wandb({}, {}, run, run, "")),
    "sign": ("cryptography.hazmat.primitives", lambda run: _module("runs.manifest").sign(run, run / "key")),
}
"""For each extra, a library of it, and a use of what it adds."""


def _reloaded(name):
    return importlib.reload(_module(name))


def test_every_extra_has_a_use():
    assert set(USES) == set(EXTRAS) - set(GROUPS)
    assert all(line.startswith("transect[") for line in EXTRAS["demo"])


@pytest.mark.parametrize("extra", USES)
def test_an_absent_extra_is_named(extra, monkeypatch, tmp_path):
    library, use = USES[extra]
    if extra == "accelerate":
        monkeypatch.setenv("WORLD_SIZE", "2")
    if extra == "diffusers":
        monkeypatch.setattr("transect.generators.diffusion.generator.check_folder", lambda folder: folder)
    for name in [name for name in sys.modules if name == library or name.startswith(f"{library}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"needs an optional part: pip install 'transect\[{extra}\]'") as error:
        use(tmp_path)
    assert "\n" not in str(error.value)


TORCH_FREE = """
import json
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "safetensors"}:
            raise ModuleNotFoundError("not installed", name="torch")


sys.meta_path.insert(0, Absent())  # None in sys.modules would disturb SciPy, which looks there for what is imported
import numpy as np
import transect
from typer.testing import CliRunner
from transect.cli.app import app

draw = np.random.default_rng(0)
labels = {name: draw.integers(0, 2, 60).tolist() for name in ("glasses", "smile", "yes")}
images = {"hat": labels["glasses"], "yes": labels["yes"], "age": draw.normal(40, 10, 60), "who": [k // 2 for k in range(60)]}
matched = {
    "overlap": transect.match(images, "hat", method="overlap", covariates="age"),
    "greedy": transect.match(images, "hat", covariates="age", outcomes="yes", identity="who", caliper=20.0),
}
for method in ("optimal", "propensity", "mahalanobis"):
    matched[method] = transect.match(images, "hat", method=method, covariates="age", outcomes="yes")
with transect.view("run", quiet=True) as page:
    viewed = page.headline()
done = {
    "match": sorted(method for method, found in matched.items() if found.report(f"matched/{method}").is_file()),
    "compare": transect.compare(["run", "run"]).headline(),
    "view": viewed,
    "leakage": transect.leakage(labels, "glasses", ["smile", "yes"], quiet=True).headline(),
    "report": transect.report("run", quiet=True).headline(),
    "open_run": len(transect.open_run("run").images),
    "export": len(transect.export("run", "csv", "tables").numbers.files),
    "check": transect.check("run", [transect.Requirement(attribute="light_level", outcome="score", margin=0.5)]).headline(),
    "list_runs": len(transect.list_runs(".").numbers.runs),
}
for words in (
    "annotate invite run --raters 1 --questions questions.toml",
    "annotate export run",
    "verify run whole",
    "match --features rows.csv --columns age --treatment hat --out pairs.parquet",
    "list runs .",
    "report run",
    "export run --to csv --out again",
):
    ended = CliRunner().invoke(app, words.split())
    assert ended.exit_code == 0, (words, ended.output, ended.exception)
assert not {"torch", "safetensors"} & set(sys.modules)
print(json.dumps(done))
"""
QUESTIONS = """
[plan]
ratings = 1
[[question]]
name = "smile"
text = "Does it smile?"
levels = ["no", "yes"]
"""


@pytest.mark.integration
def test_jobs_that_make_no_images_need_no_torch(tmp_path):
    for name in ("run", "whole"):
        shutil.copytree(FOLDERS / "version-1", tmp_path / name)
    manifest.write(tmp_path / "whole")
    (tmp_path / "rows.csv").write_text("hat,age\n1,30\n1,50\n0,31\n0,70\n")
    (tmp_path / "questions.toml").write_text(QUESTIONS)
    ended = subprocess.run(
        [sys.executable, "-c", TORCH_FREE], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    done = json.loads(ended.stdout)
    assert done["open_run"] == 8
    assert done["list_runs"] == 2 + len(done["match"])
    assert done["match"] == ["greedy", "mahalanobis", "optimal", "overlap", "propensity"]
    assert "8 images" in done["view"]


@pytest.mark.integration
def test_without_torch_a_command_that_needs_it_is_one_line():
    line = refused("audit", "opencv:haarcascade_smile", "--vary", "glasses", hide="torch")
    assert line == "this needs PyTorch: pip install torch; see the how-to on installing for its small CPU build"
