"""PyTorch models: their files, what they get and what they must not do."""

import pickle
import warnings
import zipfile

import audited_models
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.torch import save_file

from transect.errors import BadInput, UnknownName
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


def test_a_module_without_weights_and_an_object():
    for target in (resolve(MODULE), as_target(audited_models.Brightness()), as_target(audited_models.Brightness)):
        assert_allclose(target.predict(GRAY).scores[:, 0], [0, 0.2, 1], rtol=1e-6)
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
    with pytest.raises(BadInput, match=r"holds more than tensors, or is damaged .*: save model.state_dict\(\)"):
        resolve(f"{MODULE}@{path}")
    assert not touched.exists()


def test_a_bare_pickle_is_not_unpickled(tmp_path):
    touched, path = tmp_path / "touched", tmp_path / "weights.pt"
    path.write_bytes(pickle.dumps(Payload(touched)))
    with pytest.raises(BadInput, match="holds more than tensors"):
        resolve(f"{MODULE}@{path}")
    assert not touched.exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"<!doctype html>", "an HTML or XML page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ],
)
def test_weights_of_another_kind(tmp_path, content, found):
    path = tmp_path / "weights.pt"
    path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        resolve(f"{MODULE}@{path}")
    assert str(error.value).startswith(f"{path}: expected a state_dict or safetensors, found {found}")
    with pytest.raises(BadInput) as error:
        resolve(f"torch:{path}")
    assert str(error.value).startswith(f"model file {path}: expected a TorchScript archive, found {found}")


def test_weights_given_as_torch_script_and_the_reverse(tmp_path, script):
    with pytest.raises(BadInput, match="expected a state_dict or safetensors, found a TorchScript archive"):
        resolve(f"{MODULE}@{script}")
    path = tmp_path / "weights.pt"
    torch.save(STATE, path)
    with pytest.raises(
        BadInput, match=r"found a PyTorch checkpoint .* name the module: torch:module:attribute@weights"
    ):
        resolve(f"torch:{path}")


def test_damaged_files(tmp_path, script):
    path = tmp_path / "damaged.pt"
    path.write_bytes(script.read_bytes()[:-200])
    with pytest.raises(BadInput, match="expected a TorchScript archive, found an unknown kind of file"):
        resolve(f"torch:{path}")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/constants.pkl", b"")
    with pytest.raises(BadInput, match=r"damaged.pt: TorchScript that does not load"):
        resolve(f"torch:{path}")
    save_file(STATE, path)
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(BadInput, match=r"damaged.pt: expected a safetensors file, found a damaged one"):
        resolve(f"{MODULE}@{path}")


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"weight": torch.ones(())}, "expected the weights of this network, but it lacks bias"),
        ({**STATE, "extra": torch.ones(1)}, "expected the weights of this network, but it has an unexpected extra"),
        (
            {"extra": torch.ones(1)},
            "expected the weights of this network, but it lacks weight and has 2 more differences",
        ),
        (
            {**STATE, "bias": torch.ones(2)},
            "expected the weights of this network, but it has bias of shape [2] instead of []",
        ),
        ([torch.ones(1)], "expected a state_dict of tensors, found list"),
        ({"weight": 3.0}, "expected a state_dict of tensors, found dict"),
    ],
)
def test_weights_that_do_not_fit(tmp_path, state, fault):
    path = tmp_path / "weights.pt"
    torch.save(state, path)
    with pytest.raises(BadInput) as error:
        resolve(f"{MODULE}@{path}")
    assert str(error.value).startswith(f"{path}: {fault}")


def test_modules_that_are_none():
    with pytest.raises(BadInput, match="expected an nn.Module or what makes one, got int"):
        resolve("torch:audited_models:number")
    with pytest.raises(BadInput, match="calling it without arguments raised TypeError"):
        resolve("torch:audited_models:Needy")
    with pytest.raises(UnknownName, match="unknown attribute of audited_models 'Brightnes': did you mean Brightness"):
        resolve("torch:audited_models:Brightnes")
    with pytest.raises(BadInput, match="expected module:attribute, got 'audited_models'"):
        resolve("torch:audited_models")


@pytest.mark.parametrize("content", [b"\x80\x02I" + b"9" * 5000 + b"\n.", b"\x80\x02}q\x00.", b"\x80\x02K"])
def test_messages_about_a_damaged_file_are_our_own(tmp_path, content):
    """Python advised to call sys.set_int_max_str_digits, PyTorch to load the file unsafely."""
    from transect.generators.stylegan2.reading import read_pickle
    from transect.runs.model_files import read_weights

    path = tmp_path / "x.pkl"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_weights(path, pytorch=True)
    assert str(caught.value) == (
        f"{path}: holds more than tensors, or is damaged (no reader understands it): save model.state_dict(), or use safetensors"
    )
    if content.endswith(b"q\x00."):
        return
    with pytest.raises(BadInput, match=r"found a damaged or hostile one \(\w+\)$|the file is truncated or damaged$"):
        read_pickle(path)
