"""Backbones of ours, of timm and of transformers, with random weights: names of modules, sizes, files, refusals."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from transect.errors import BadInput
from transect.mitigation import methods, networks
from transect.mitigation.data import TaskData
from transect.mitigation.networks import module_named
from transect.mitigation.settings import Adversarial, Network, Plain, Star, Training
from transect.mitigation.testbed import Bench
from transect.training.classifier import new_resnet


class Noise:
    def pixels(self, rows):
        return np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)[rows]


def bench():
    rng = np.random.default_rng(1)
    data = TaskData(Noise(), rng.random((40, 2)) < 0.5, np.arange(40) % 2, ("a", "b"))
    return Bench(data, np.arange(20), np.arange(20, 30), np.arange(30, 40), ("0", "1"), "class")


def quiet(*_):
    pass


@pytest.fixture(scope="module")
def resnet():
    return networks.new_backbone("resnet18", 3, seed=5)


def test_our_resnets_are_backbones(resnet):
    assert resnet(torch.rand(2, 3, 32, 32)).shape == (2, 3)
    assert module_named(resnet, "body.layer4") is resnet.body.layer4
    with torch.no_grad():
        black = resnet.eval()(torch.zeros(1, 3, 32, 32))
        features = resnet.body((torch.zeros(1, 3, 32, 32) - resnet.mean) / resnet.spread)
    assert torch.allclose(black, resnet.head(features))
    again = networks.new_backbone("resnet18", 3, seed=5)
    assert all(torch.equal(a, b) for a, b in zip(resnet.parameters(), again.parameters(), strict=True))


def test_weights_come_from_a_file(tmp_path, resnet):
    other = new_resnet("resnet18", 7, seed=8)
    save_file(other.state_dict(), tmp_path / "resnet.safetensors")
    made = networks.new_backbone("resnet18", 3, 5, weights=tmp_path / "resnet.safetensors")
    assert torch.equal(made.body.conv1.weight, other.conv1.weight)
    assert not torch.equal(made.body.conv1.weight, resnet.body.conv1.weight)


@pytest.mark.integration
def test_every_kind_fits_on_a_backbone():
    network = Network(backbone="resnet18", pretrained=False)
    setup = methods.Setup(bench(), network, Training(epochs=1, batch=10, head="head"), 0)
    plain = methods.fit(Plain(name="plain", kind="plain"), setup, None, quiet)
    fresh = networks.new_backbone("resnet18", 2, 0)
    assert torch.equal(plain.network.body.conv1.weight, fresh.body.conv1.weight)  # the head alone learned
    assert not torch.equal(plain.network.head.weight, fresh.head.weight)
    rows = setup.bench.test
    options = {"module": "body.layer4", "epochs": 1, "critic_epochs": 1, "critic_width": 8}
    critic = methods.fit(Adversarial(name="x", kind="adversarial", **options), setup, plain, quiet)
    together = methods.fit(Star(name="x", kind="crf"), setup, None, quiet)
    for one in (critic, together):
        assert one.answer(setup.bench.data.pictures, None, rows).shape == (10, 2)
    assert together.network.pairs.abs().sum() > 0  # pairs learn with the head
    with pytest.raises(BadInput, match=r"module 'layer4': expected one of body\."):
        methods.fit(Adversarial(name="x", kind="adversarial", module="layer4"), setup, plain, quiet)


def test_transformers_of_a_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    settings = transformers.ViTConfig(image_size=32, patch_size=16, **sizes)
    transformers.ViTModel(settings).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]}'
    )
    made, again, random = (
        networks.new_backbone(f"transformers:{tmp_path}", 3, seed, own)
        for seed, own in ((0, True), (1, True), (1, False))
    )
    assert made.mean.flatten().tolist() == [0.5] * 3
    assert made(torch.rand(2, 3, 48, 48)).shape == (2, 3)  # resized to 32
    for one, same in ((again, True), (random, False)):
        pairs = zip(made.body.parameters(), one.body.parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs) == same
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../other.safetensors"}}')
    with pytest.raises(BadInput, match=r"index.json: expected weights named .safetensors next to it"):
        networks.new_backbone(f"transformers:{tmp_path}", 3, 0)


def test_timm_where_it_is(tmp_path):
    try:
        timm = pytest.importorskip("timm")
    except RuntimeError as error:  # a torchvision of another PyTorch
        pytest.skip(f"timm cannot be imported: {error}")
    made = networks.new_backbone("timm:resnet10t", 3, 0, pretrained=False)
    assert made(torch.rand(2, 3, 64, 64)).shape == (2, 3)
    assert module_named(made, "body.layer4") is made.body.layer4
    save_file(timm.create_model("resnet10t").state_dict(), tmp_path / "own.safetensors")
    own = networks.new_backbone("timm:resnet10t", 3, 0, weights=tmp_path / "own.safetensors")
    assert not torch.equal(own.body.conv1[0].weight, made.body.conv1[0].weight)
