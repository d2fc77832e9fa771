"""What people type and hand over that is not what a command takes: one line, exit code 2, with a fix to type."""

import numpy as np
import pytest
import replicas
from typer.testing import CliRunner

from transect.cli.app import app
from transect.errors import TransectError
from transect.targets import resolution

MODELS = """
def named(pixels): return ["yes"] * len(pixels)
def mapped(pixels): return {"score": [0.1] * len(pixels)}
def alone(pixels): return 0.5
def nothing(pixels): return None
def bright(pixels): return pixels.mean(axis=(1, 2, 3)) / 255
"""
SERVER = """
preset = "openai-chat"
[request]
url = "http://127.0.0.1:9/v1/chat/completions"
model = "m"
[limits]
first_wait = 0.01
longest_wait = 0.01
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(resolution, "ISOLATE", False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refused_models.py").write_text(MODELS)
    (tmp_path / "down.toml").write_text(SERVER)
    for name, text in {"lacking_library": "import no_such_library", "broken_code": "1 / 0"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    hub = tmp_path / "binonly"
    hub.mkdir()
    for name in ("config.json", "preprocessor_config.json", "pytorch_model.bin"):
        (hub / name).write_text("{}")
    for name, labels in {
        "semicolons": "file;smile\na.png;1\n",
        "decimals": 'file,age\na.png,"0,5"\nb.png,"1,5"\n',
    }.items():
        replicas.put(tmp_path / name / "a.png", size=(64, 64))
        replicas.put(tmp_path / name / "b.png", size=(64, 64))
        (tmp_path / name / "labels.csv").write_text(labels)
    return tmp_path


CHECK = ("targets", "check")
AUDIT = ("audit", "refused_models:bright", "--subjects", "2")
REFUSED = {
    "address": ((*CHECK, "http://127.0.0.1:9/predict"), "under [request] in api.toml"),
    "provider": ((*CHECK, "gpt-4o"), 'model = "gpt-4o"'),
    "file-and-name": ((*CHECK, "m.py:label"), "m:label"),
    "path-and-name": ((*CHECK, "models/m.py:label"), "models.m:label"),
    "file": ((*CHECK, "smilenet.py"), "smilenet:NAME"),
    "h5": ((*CHECK, "model.h5"), "tf2onnx"),
    "hdf5": ((*CHECK, "model.hdf5"), "tf2onnx"),
    "tflite": ((*CHECK, "model.tflite"), "check the path"),
    "state-dict": ((*CHECK, "state.pt"), "torch:module:attribute@state.pt"),
    "weights": ((*CHECK, "state.safetensors"), "torch:module:attribute@state.safetensors"),
    "bin": ((*CHECK, "pytorch_model.bin"), "save_pretrained"),
    "bin-folder": ((*CHECK, "binonly"), "pytorch_model.bin, which is pickled and never read"),
    "texts": ((*CHECK, "refused_models:named"), "texts, as 'yes'; return one score for each image"),
    "dict": ((*CHECK, "refused_models:mapped"), "a dict with score; return one score for each image"),
    "scalar": ((*CHECK, "refused_models:alone"), "one number for all; return one for each"),
    "none": ((*CHECK, "refused_models:nothing"), "got None; return one score"),
    "server-down": ((*CHECK, "down.toml"), "start the server, or correct its address"),
    "library": ((*CHECK, "lacking_library:model"), "No module named 'no_such_library', which it imports; install"),
    "text-as-picture": (("render", "--subjects", "1", "--out", "refused_models.py"), "that ends in .png"),
    "code": ((*CHECK, "broken_code:model"), "ZeroDivisionError"),
    "semicolons": (("datasets", "show", "folder:semicolons"), "got ';'; save it with commas"),
    "decimals": ((*AUDIT, "--dataset", "folder:decimals"), "decimal comma, as 0,5; write them with a point"),
    "smile-of-photographs": (
        (*AUDIT, "--generator", "photographs:folder:decimals", "--vary", "smile=0,1"),
        "applies to rendered faces",
    ),
}  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_what_to_type(case):
    arguments, words = REFUSED[case]
    error = CliRunner().invoke(app, list(arguments)).exception
    assert isinstance(error, TransectError), error
    assert error.exit_code == 2
    assert words in str(error)
    assert "\n" not in str(error)


def test_scores_are_taken_as_arrays_lists_and_columns():
    images = np.zeros((2, 8, 8, 3), np.uint8)
    from transect.records import Images
    from transect.targets import as_target, guarded

    for answer in ([0.1, 0.2], np.array([[0.1], [0.2]]), (0.1, 0.2)):
        found = guarded(as_target(lambda _, answer=answer: answer, name="m"), Images(images), timeout=5, batch=2)
        assert found.scores[:, 0].tolist() == [0.1, 0.2]
