"""Networks of timm, where it can be imported; what its data config says, and refusals, where it cannot."""

import numpy as np
import pytest
import tiny_open_models as tiny

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import describe, resolve
from transect.targets.kinds import kind_of
from transect.targets.timm_model import preprocess_of
from transect.testing import check_target

PIXELS = tiny.photographs()


@pytest.fixture
def timm():
    try:
        return pytest.importorskip("timm")
    except RuntimeError as error:  # torchvision built for another PyTorch
        pytest.skip(f"timm cannot be imported: {error}")


def weights(timm, path, classes):
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    network = timm.create_model("resnet10t", num_classes=classes).eval()
    save_file(network.state_dict(), path)
    return network


def test_a_network_answers_as_timm_does(timm, tmp_path):
    import torch
    from PIL import Image

    network = weights(timm, tmp_path / "own.safetensors", 3)
    target = resolve(f"timm:resnet10t@{tmp_path / 'own.safetensors'}", labels=["none", "weak", "broad"])
    assert (target.name, target.task) == ("timm:resnet10t@own.safetensors", Task.MULTICLASS)
    settings = timm.data.resolve_data_config({}, model=network)
    ready = timm.data.create_transform(**settings)
    with torch.inference_mode():
        expected = network(torch.stack([ready(Image.fromarray(one)) for one in PIXELS])).softmax(dim=1).numpy()
    np.testing.assert_allclose(target.predict(Images(PIXELS)).scores, expected, atol=0.02)  # it crops after resizing
    check_target(target)


def test_a_config_beside_the_weights_names_the_classes(timm, tmp_path):
    weights(timm, tmp_path / "own.safetensors", 3)
    overlay = '{"input_size": [3, 64, 64], "crop_pct": 0.5, "mean": [0.5, 0.5, 0.5]}'
    text = f'{{"architecture": "resnet10t", "label_names": ["a", "b", "c"], "pretrained_cfg": {overlay}}}'
    (tmp_path / "config.json").write_text(text)
    target = resolve(f"timm:resnet10t@{tmp_path / 'own.safetensors'}")
    assert target.labels == ("a", "b", "c")
    facts = describe(target)["preprocess"]
    assert (facts["size"], facts["crop"], facts["mean"]) == ([64, 64], 0.5, [0.5] * 3)


@pytest.mark.skipif(not kind_of("timm:x")[0].is_installed, reason="timm is not installed")
def test_pickled_weights_are_refused(tmp_path):
    (tmp_path / "own.pt").write_bytes(b"\x80\x04.")
    with pytest.raises(BadInput, match="expected safetensors, found a Python pickle"):
        resolve(f"timm:resnet18@{tmp_path / 'own.pt'}")


def test_a_data_config_in_words():
    """Resize to 256 and crop 224: a central square of .875."""
    settings = {"input_size": (3, 224, 224), "crop_pct": 0.875, "interpolation": "bicubic", "mean": (0.5,) * 3}
    made = preprocess_of({**settings, "std": (0.25,) * 3, "crop_mode": "center"})
    assert (made.size, made.crop, made.filter, made.mean, made.std) == (
        (224, 224), 0.875, "bicubic", (0.5,) * 3, (0.25,) * 3,
    )  # fmt: skip
    assert preprocess_of({**settings, "crop_mode": "squash"}).crop is None
    assert preprocess_of({"input_size": (1, 28, 28)}).channel_order == "gray"
