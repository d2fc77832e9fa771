"""PyTorch models: their files, what they get and what they must not do."""

import pickle
import warnings

import audited_models
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.torch import save_file

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import Preprocess, as_target, describe, resolve
from transect.testing import check_target

MODULE = "torch:audited_models:Brightness"
GRAY = Images(np.stack([np.full((8, 8, 3), value, np.uint8) for value in (0, 51, 255)]))
STATE = {"weight": torch.tensor(0.5), "bias": torch.tensor(0.25)}
# Means 0, .2 and 1: .5 m + .25.
SCORES = [0.25, 0.35, 0.75]


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "model.pt"
    module = audited_models.Brightness().eval()
    module.load_state_dict(STATE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.trace(module, torch.zeros(2, 3, 8, 8)).save(path)
    return path


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        ("Brightness", "safetensors"), ("make_brightness", "pt"), ("instance", "legacy"), ("Brightness", "checkpoint"),
        ("Brightness", "data parallel"),
    ],
)  # fmt: skip
def test_weights_of_every_kind_and_every_kind_of_attribute(tmp_path, attribute, kind):
    path = tmp_path / f"weights.{kind[:11]}"
    if kind == "safetensors":
        save_file(STATE, path)
    elif kind == "data parallel":
        torch.save({f"module.{key}": value for key, value in STATE.items()}, path)
    else:
        state = {"state_dict": STATE, "epoch": 3} if kind == "checkpoint" else STATE
        torch.save(state, path, _use_new_zipfile_serialization=kind != "legacy")
    target = resolve(f"torch:audited_models:{attribute}@{path}")
    assert_allclose(target.predict(GRAY).scores[:, 0], SCORES, rtol=1e-6)
    assert describe(target)["file"] == path.name
    assert len(describe(target)["sha256"]) == 64


def test_a_torch_script_file(script):
    target = resolve(f"torch:{script}")
    assert_allclose(target.predict(GRAY).scores[:, 0], SCORES, rtol=1e-6)
    check_target(target)


def test_it_is_run_without_gradients_in_evaluation_mode():
    seen = {}

    class Spy(torch.nn.Module):
        def forward(self, x):
            seen.update(training=self.training, gradients=torch.is_grad_enabled(), shape=tuple(x.shape), kind=x.dtype)
            return x.mean((1, 2, 3))

    as_target(Spy().train(), preprocess=Preprocess(size=(4, 6))).predict(GRAY)
    assert seen == {"training": False, "gradients": False, "shape": (3, 3, 4, 6), "kind": torch.float32}


@pytest.mark.parametrize("as_mapping", [False, True])
def test_logits_in_an_object_or_a_mapping(as_mapping):
    target = as_target(audited_models.Wrapped(as_mapping), task="multiclass", output="logit", labels=["r", "g", "b"])
    assert_allclose(target.predict(GRAY).scores, np.full((3, 3), 1 / 3), rtol=1e-6)


def test_detections_come_back_in_pixels_of_the_image():
    class Detector(torch.nn.Module):
        def forward(self, x):
            box = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
            return [{"boxes": box, "scores": torch.tensor([0.75]), "labels": torch.tensor([1])} for _ in x]

    # 8 pixels given as 4: a box of the input is twice as large in the image.
    target = as_target(Detector(), task="detection", preprocess=Preprocess(size=(4, 4)))
    answer = target.predict(GRAY)
    assert target.task is Task.DETECTION
    assert_array_equal(answer.boxes[2], [[2, 4, 6, 8, 0.75]])


class Payload:
    """Touches a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("legacy", [False, True])
def test_nothing_is_unpickled(tmp_path, legacy):
    touched, path = tmp_path / "touched", tmp_path / "weights.pt"
    torch.save({"weight": Payload(touched)}, path, _use_new_zipfile_serialization=not legacy)
    with pytest.raises(BadInput, match=r"holds more than tensors or is damaged .*: save model.state_dict\(\)"):
        resolve(f"{MODULE}@{path}")
    assert not touched.exists()


def test_a_bare_pickle_is_not_unpickled(tmp_path):
    touched, path = tmp_path / "touched", tmp_path / "weights.pt"
    path.write_bytes(pickle.dumps(Payload(touched)))
    with pytest.raises(BadInput, match="holds more than tensors"):
        resolve(f"{MODULE}@{path}")
    assert not touched.exists()


def test_files_of_another_kind(tmp_path, script):
    path = tmp_path / "weights.pt"
    path.write_bytes(b"<!doctype html>")
    for spec, message in (
        (f"{MODULE}@{path}", "expected a state_dict or safetensors, found an HTML"),
        (f"torch:{path}", "expected a TorchScript archive, found an HTML"),
        (f"{MODULE}@{script}", "expected a state_dict or safetensors, found a TorchScript archive"),
    ):
        with pytest.raises(BadInput, match=message):
            resolve(spec)
    save_file(STATE, path)
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(BadInput, match="expected a safetensors file, found a damaged one"):
        resolve(f"{MODULE}@{path}")


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"weight": torch.ones(())}, "expected the weights of this network, but it lacks bias"),
        ({**STATE, "extra": torch.ones(1)}, "expected the weights of this network, but it has an unexpected extra"),
        ({**STATE, "bias": torch.ones(2)}, "expected the weights of this network, but it has bias of shape [2]"),
        ({"weight": 3.0}, "expected a state_dict of tensors, found dict"),
    ],
)
def test_weights_that_do_not_fit(tmp_path, state, fault):
    path = tmp_path / "weights.pt"
    torch.save(state, path)
    with pytest.raises(BadInput) as error:
        resolve(f"{MODULE}@{path}")
    assert str(error.value).startswith(f"{path}: {fault}")
