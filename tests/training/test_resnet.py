"""Residual networks: torchvision's layout, weights to start from, and files that are never unpickled."""

import pickle

import pytest
import torch

from transect.errors import BadInput
from transect.runs.model_files import read_weights
from transect.training.classifier import ResNet, new_resnet, start_from


# torchvision documents these numbers of parameters for 1000 classes; a state has 5 tensors per normalization, one per
# convolution, two for the last layer: 20 convolutions and normalizations of 18 layers are 122, 36 of 34 are 218, 53 of
# 50 are 320.
@pytest.mark.parametrize(
    ("name", "parameters", "tensors"),
    [("resnet18", 11_689_512, 122), ("resnet34", 21_797_672, 218), ("resnet50", 25_557_032, 320)],
)
def test_the_layout_is_torchvisions(name, parameters, tensors):
    with torch.device("meta"):
        network = ResNet(name, 1000)
    state = network.state_dict()
    assert sum(value.numel() for value in network.parameters()) == parameters
    assert len(state) == tensors
    assert state["conv1.weight"].shape == (64, 3, 7, 7)
    assert state["layer2.0.downsample.1.running_mean"].shape == (512 if name == "resnet50" else 128,)
    assert "layer1.0.bn2.num_batches_tracked" in state
    assert state["fc.weight"].shape == (1000, 2048 if name == "resnet50" else 512)
    assert ("layer1.0.downsample.0.weight" in state) == (name == "resnet50")


def test_a_trained_network_can_be_started_from_and_another_is_refused(tmp_path):
    given_weights = new_resnet("resnet18", 1000, seed=1).state_dict()
    network = new_resnet("resnet18", 1, seed=0)
    head = network.fc.weight.clone()
    start_from(network, given_weights, tmp_path)
    assert torch.equal(network.layer4[1].conv2.weight, given_weights["layer4.1.conv2.weight"])
    assert torch.equal(network.fc.weight, head)  # of a thousand other classes
    without = {name: value for name, value in given_weights.items() if name != "layer3.0.conv1.weight"}
    for changed, message in (
        (without, r"it lacks layer3\.0\.conv1\.weight"),
        ({**given_weights, "bn1.weight": torch.full((64,), torch.nan)}, r"has NaN or infinity in bn1\.weight"),
    ):
        with pytest.raises(BadInput, match=message):
            start_from(network, changed, tmp_path)


def test_weights_that_are_no_safetensors_are_never_unpickled(tmp_path):
    class Hostile:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    bad = tmp_path / "weights.pth"
    bad.write_bytes(pickle.dumps(Hostile(), 2))
    with pytest.raises(BadInput, match="expected safetensors, found a Python pickle"):
        read_weights(bad)
    assert not (tmp_path / "ran").exists()
