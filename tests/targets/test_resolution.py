"""Specs, Python objects, plug-ins and options."""

import sys

import audited_models
import numpy as np
import pytest
from numpy.testing import assert_allclose

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import as_target, describe, resolve
from transect.targets.isolated import IsolatedTarget

RED = Images(np.full((2, 4, 4, 3), [51, 0, 0], np.uint8))


@pytest.mark.parametrize(
    "spec", ["audited_models:red_share", "callable:audited_models:red_share", "audited_models:Holder.red"]
)
def test_a_function_by_name(spec):
    target = resolve(spec)
    assert target.name == spec
    assert_allclose(target.predict(RED).scores, [[0.2], [0.2]])
    assert describe(target)["function"] == "audited_models:red_share"


def test_a_target_and_its_class_by_name():
    for found in (
        resolve("audited_models:Halves"),
        as_target(audited_models.Halves()),
        as_target(audited_models.Halves),
    ):
        assert found.name == "halves"
        assert found.predict(RED).scores.tolist() == [[0.5], [0.5]]


def test_options_say_how_the_output_is_read():
    target = resolve(
        "audited_models:red_share", task="binary", output="logit", threshold=0.4, labels=["red"], positive="red"
    )
    assert (target.task, target.threshold, target.labels, target.positive) == (Task.BINARY, 0.4, ("red",), 0)
    assert_allclose(target.predict(RED).scores, 1 / (1 + np.exp([[-0.2], [-0.2]])))


def test_a_module_of_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "my_own_model.py").write_text("def answer(pixels):\n    return [0.5] * len(pixels)\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('shadowed')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert resolve("my_own_model:answer").predict(RED).scores.tolist() == [[0.5], [0.5]]
    monkeypatch.delitem(sys.modules, "json")
    assert resolve("json:dumps").name == "json:dumps"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("haarcascade_eye", "unknown target 'haarcascade_eye': did you mean opencv:haar"),
        ("onx:model.onnx", "unknown kind of target 'onx': did you mean onnx"),
        ("clasifier:folder", "unknown target 'clasifier:folder': did you mean classifier:folder"),
        ("nomod:embed", "target 'nomod:embed': no Python module 'nomod'"),
        ("callable:nothing", "unknown target 'callable:nothing'"),
        ("audited_models:red_shar", "unknown attribute of audited_models 'red_shar': did you mean red_share"),
    ],
)
def test_unknown_targets_name_the_nearest(spec, message):
    with pytest.raises(BadInput) as error:
        resolve(spec)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_module_that_fails_on_import_says_so(tmp_path, monkeypatch):
    (tmp_path / "raising_model.py").write_text("raise RuntimeError('out of\\nluck')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="module raising_model could not be imported: RuntimeError: out of;"):
        resolve("raising_model:answer")


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("audited_models:red_share", {"task": "detect"}, "unknown task 'detect': did you mean detection"),
        (
            "audited_models:red_share",
            {"tusk": 1},
            "unknown option of audited_models:red_share 'tusk': did you mean task?",
        ),
        ("audited_models:red_share", {"preprocess": {"siz": 3}}, "preprocess: unknown key 'siz': did you mean size?"),
        ("audited_models:Halves", {"task": "binary"}, "halves is a Target and has its own settings: it takes no task"),
        ("audited_models:number", {}, "expected a function, an object with predict, or a Target, got int"),
    ],
)
def test_options_and_objects_that_do_not_fit(spec, options, message):
    with pytest.raises(BadInput) as error:
        resolve(spec, **options)
    assert str(error.value).startswith(message)


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """Installs a distribution whose entry point `acme` is the `made` of a module with that source."""

    def install(source):
        module = f"acme_{tmp_path.name}_{len(list(tmp_path.iterdir()))}"
        (tmp_path / f"{module}.py").write_text(f"from audited_models import Halves\n{source}\n")
        metadata = tmp_path / "acme_vision-1.0.dist-info"
        metadata.mkdir(exist_ok=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-vision\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[transect.targets]\nacme = {module}:made\n")
        monkeypatch.syspath_prepend(tmp_path)

    return install


FACTORY = """
def made(argument, *, speed):
    target = Halves()
    target.name = f"acme {argument} {speed}"
    return target
"""


class TestPlugIns:
    def test_a_target_a_class_and_a_factory(self, plug_in):
        for source in ("made = Halves()", "made = Halves"):
            plug_in(source)
            assert resolve("acme").name == "halves"
        plug_in(FACTORY)
        assert resolve("acme:model-7", speed=3).name == "acme model-7 3"

    @pytest.mark.integration
    def test_code_of_others_runs_apart_also_by_a_name_alone(self, plug_in, monkeypatch):
        monkeypatch.setattr("transect.targets.resolution.ISOLATE", True)
        plug_in("made = Halves()")
        target = resolve("acme")
        assert isinstance(target, IsolatedTarget)
        assert target.predict(RED).scores.tolist() == [[0.5], [0.5]]
        target.close()
