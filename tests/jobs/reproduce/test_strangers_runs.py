"""What a stranger's run names is opened nowhere in a rerun: not by an option, and not by a file that it brings."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transect
from transect.errors import BadInput
from transect.runs import command_record, trust
from transect.targets import kinds

SRC = Path(transect.__file__).parent
OPENERS = {"import_object", "from_pretrained", "hf_hub_download", "snapshot_download", "shape_predictor"}
OPENERS |= {"InferenceSession"}
"""What runs named code, opens a model or asks a hub; with PyTorch's `jit.load` and the client of HTTP."""


def resolve(spec):
    from transect.targets.resolution import resolve

    return resolve(spec)


def speaker(spec):
    from transect.targets.words.speakers import shared

    return shared(spec, {})


def scorer(spec):
    from transect.targets.words.coding import scorer_named

    return scorer_named(spec)


def text_images(spec):
    from transect.targets.hf.opening import open_text_images

    return open_text_images(spec)


def generator(spec):
    from transect.generators import load

    return load(spec)


def backbone(spec):
    from transect.mitigation.networks import new_backbone

    return new_backbone(spec, 2, 0)


def finder(spec):
    from transect.marks.finding import open_marks

    return open_marks(spec)


def landmarks(spec):
    from transect.targets.face_readers import FaceLandmarks

    return FaceLandmarks(spec)


LISTED = {spec for kind in kinds.kinds() if kind.trust != "shipped" for spec, _, _ in kind.listed}
DOORS = {
    resolve: ("payload:f", "callable:os:abort", "model.onnx", "hf:a/b", "a-plugin", *sorted(LISTED)),
    speaker: ("vlm:folder", "chat.toml", "payload:f"),
    scorer: ("payload:f",),
    text_images: ("hf:a/b",),
    generator: ("net.safetensors", "diffusers:folder", "photographs:folder:faces?marks=dlib:FILE"),
    backbone: ("transformers:a/b", "timm:resnet18"),
    landmarks: ("shape_predictor.dat",),
    finder: ("dlib:FILE", "network+onnx:FILE", "mediapipe:FILE"),
}  # fmt: skip
BEHIND = {
    "generators/diffusion/generator.py": (generator,),
    "marks/outside_finders.py": (finder,),
    "mitigation/networks.py": (backbone,),
    "targets/face_readers.py": (landmarks,),
    "targets/hf/loading.py": (resolve, text_images, speaker),
    "targets/http/asking.py": (resolve, speaker),
    "targets/words/coding.py": (scorer,),
    "targets/words/speakers.py": (speaker,),
}
"""The modules that open what a text names, and the doors, with a guard, that lead to them."""
KINDS = {f"targets/{kind.module.replace('.', '/')}.py" for kind in kinds.kinds()}
"""The modules of kinds of target, all behind `resolve`."""


@pytest.mark.parametrize(("door", "spec"), [(door, spec) for door, specs in DOORS.items() for spec in specs])
def test_a_rerun_opens_no_model_that_its_reader_did_not_name(door, spec):
    with trust.only([]), pytest.raises(BadInput, match="only the record names this model"):
        door(spec)


@pytest.mark.integration
def test_no_module_opens_models_without_a_door():
    """A new place that imports named code or asks a hub fails here, until it stands behind a guarded door."""
    found = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""
            if named.rpartition(".")[2] in OPENERS or named in ("torch.jit.load", "httpx2.Client"):
                found.add(path.relative_to(SRC).as_posix())
    assert found - KINDS == set(BEHIND)
    assert {door for doors in BEHIND.values() for door in doors} <= set(DOORS)


def test_trusted_and_shipped_models_open():
    with trust.only(["builtins:len", "net.onnx"]):
        trust.check_trusted("reference?label=3")
        for spec in ("builtins:len", "onnx:net.onnx", "opencv:haarcascade_frontalface_default"):
            kinds.may_open(spec)
        with pytest.raises(BadInput):
            kinds.may_open("torch:net.onnx")


def python(code, environment):
    line = [sys.executable, "-c", code]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_process_of_a_rerun_has_no_network_and_no_secrets(monkeypatch):
    monkeypatch.setenv("ACME_TOKEN", "correct-horse-battery")
    monkeypatch.setenv("PYTHONPATH", str(SRC.parent))
    code = """
import os, socket
from transect.runs.trust import cut_off
cut_off()
assert "ACME_TOKEN" not in os.environ
here = socket.create_server(("127.0.0.1", 0))
for ask in (lambda: socket.create_connection(("192.0.2.1", 80), 1), lambda: socket.getaddrinfo("example.org", 443),
            lambda: socket.create_connection(here.getsockname())):
    try:
        ask()
    except PermissionError:
        continue
    raise SystemExit("a rerun reached the network")
"""
    done = python(code, trust.environment([]))
    assert done.returncode == 0, done.stderr


def crafted(folder, job, *words):
    """A folder whose record a stranger wrote."""
    folder.mkdir()
    (folder / f"{job}.json").write_text("{}")
    command_record.write(folder, job, words)
    return folder


@pytest.mark.integration
@pytest.mark.parametrize(
    "network",
    ['backbone = "transformers:stranger/model"\npretrained = true', 'backbone = "timm:resnet18"\npretrained = true'],
)
def test_a_file_that_the_folder_brings_asks_no_hub(network, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SRC.parent))
    settings = f"""
seeds = [0]
attackers = ["logistic"]
rounds = 1
data = {{ source = "faceworld", size = 32, train = 60, check = 40, test = 40 }}
training = {{ epochs = 1, batch = 20 }}
mitigations = [{{ kind = "noise", name = "noise", levels = [1.0] }}]
[network]
{network}
"""
    (tmp_path / "mitigate.toml").write_text(settings)
    from transect.runs.model_files import digest_of_input

    word = command_record.Word("", "mitigate.toml", digest_of_input(tmp_path / "mitigate.toml"))
    run = crafted(tmp_path / "run", "mitigate", word)
    with pytest.raises(BadInput, match="only the record names this model"):
        transect.reproduce(run, quiet=True)


def test_the_four_attacks_end_in_one_line(tmp_path, monkeypatch):
    """An address with variables, TorchScript that writes files, any Python module, and a hub with the user's token."""
    monkeypatch.setenv("TOKEN", "correct-horse-battery")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "api.toml").write_text('[request]\nurl = "http://192.0.2.1"\nheaders = { X = "${TOKEN}" }\n')
    (tmp_path / "payload.py").write_text("open('ran', 'w')\n")
    shutil.copy(tmp_path / "api.toml", tmp_path / "model.pt")
    images = command_record.Word("", "folder:photographs")
    for number, spec in enumerate(("api.toml", "payload:f", "torch:model.pt", "hf:stranger/model")):
        detector = command_record.Word("--detector", spec)
        for job, words in (("match readings", (detector, images)), ("search", (command_record.Word("", spec),)),
                           ("retrieve", (command_record.Word("--model", spec), command_record.Word("--allow-download"))),
                           ("recognition", (command_record.Word("", spec),))):  # fmt: skip
            run = crafted(tmp_path / f"{job}{number}", job, *words)
            with pytest.raises(BadInput, match=r"calls may cost money|only the record names|names a file here"):
                transect.reproduce(run, quiet=True)
    assert not (tmp_path / "ran").exists()
