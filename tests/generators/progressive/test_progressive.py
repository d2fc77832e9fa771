"""The progressive generator: its contract, its file, its condition, and an oracle written from the paper."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from transect.errors import BadInput
from transect.generators import load
from transect.generators.progressive.generator import Network, Progressive, Shape
from transect.records import Latents
from transect.testing import check_controls, check_generator

CHANNELS = {4: 6, 8: 5, 16: 4}
CONDITIONS = [("hat", ["off", "on"]), ("hair", ["short", "mid", "long"])]


def tensors_of(classes=0):
    torch.manual_seed(3)
    return Network(Shape(7, classes, CHANNELS)).state_dict()


@pytest.fixture
def plain():
    return Progressive(tensors_of())


@pytest.fixture
def conditional():
    return Progressive(tensors_of(6), conditions=CONDITIONS)


@pytest.mark.integration
def test_it_keeps_the_contracts(plain, conditional):
    check_generator(plain)
    check_generator(conditional)
    check_controls(conditional, conditional.sample(np.arange(6)))


def test_the_network_is_the_papers(plain):
    """Table 2 of Karras et al. 2018, spelled out for one picture with loops in place of layers."""
    weights, z = tensors_of(), torch.randn(1, 7, generator=torch.Generator().manual_seed(0))

    def pixel_norm(x):
        return x / (x.square().mean(dim=1, keepdim=True) + 1e-8).sqrt()

    def convolved(x, name, gain):
        kernel = weights[f"{name}.weight"]
        scale = gain / (kernel.shape[1] * kernel.shape[2] ** 2) ** 0.5
        return torch.nn.functional.conv2d(x, kernel * scale, weights[f"{name}.bias"], padding=kernel.shape[2] // 2)

    def rectified(x):
        return torch.where(x > 0, x, 0.2 * x)

    # The dense layer: 6 channels of 4 x 4, He's gain sqrt(2) over the inputs and the 16 places: sqrt(2) / 4 / sqrt(7).
    x = pixel_norm(z) @ (weights["blocks.4.conv0.weight"] * 2**0.5 / 4 / 7**0.5).T
    x = (x + weights["blocks.4.conv0.bias"] * 2**0.5 / 4).view(1, 6, 4, 4)
    x = pixel_norm(rectified(convolved(pixel_norm(rectified(x)), "blocks.4.conv1", 2**0.5)))
    for size in (8, 16):
        x = x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
        for layer in ("conv0", "conv1"):
            x = pixel_norm(rectified(convolved(x, f"blocks.{size}.{layer}", 2**0.5)))
    assert torch.allclose(plain.generate(z), convolved(x, "torgb.16", 1), atol=1e-5)


def test_growing_blends_the_two_last_sizes():
    torch.manual_seed(0)
    network, z = Network(Shape(7, 0, CHANNELS)), torch.randn(2, 7)
    small, large = network(z, None, (8, 1.0)), network(z, None, (16, 1.0))
    doubled = small.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    assert torch.allclose(network(z, None, (16, 0.25)), 0.75 * doubled + 0.25 * large, atol=1e-6)


@pytest.mark.integration
def test_a_condition_changes_the_picture_and_z_stays(conditional):
    latents = conditional.sample(np.arange(50))
    assert set(conditional.read(latents)["hair"].to_pylist()) == {0.0, 1.0, 2.0}
    moved = conditional.set(latents, {"hat": 1.0})
    assert conditional.read(moved)["hat"].to_pylist() == [1.0] * 50
    assert conditional.read(moved)["hair"] == conditional.read(latents)["hair"]
    assert np.array_equal(moved.values[:, :7], latents.values[:, :7])
    assert not np.array_equal(conditional.render(moved).pixels, conditional.render(latents).pixels)


def test_classes_count_the_last_condition_fastest(conditional):
    # hat on, hair mid is class 1 * 3 + 1 = 4.
    latents = conditional.set(conditional.sample([0]), {"hat": 1.0, "hair": 1.0})
    assert conditional._codes(latents.values).argmax().item() == 4


def test_a_file_comes_back_the_same(tmp_path, conditional):
    path = tmp_path / "made.safetensors"
    save_file(
        tensors_of(6),
        path,
        {"architecture": "progressive", "conditions": '[["hat",["off","on"]],["hair",["short","mid","long"]]]'},
    )
    again, latents = load(path), conditional.sample([1, 2])
    assert np.array_equal(again.render(latents).pixels, conditional.render(latents).pixels)
    assert again.describe()["conditions"] == [["hat", ["off", "on"]], ["hair", ["short", "mid", "long"]]]


@pytest.mark.parametrize(
    "conditions",
    [
        "nonsense",
        '[["hat"]]',
        '[["hat","ab"]]',  # a word is no list of letters
        '[["hat",["a",1]]]',
        '[["hat",["a","a"]]]',
        '[["hat",["a","b"]],["hat",["a","b"]]]',
        "[" * 60_000,
        json.dumps([["hat", ["a", "b" * 70_000]]]),
        json.dumps([[f"c{i}", ["a", "b"]] for i in range(13)]),  # 8,192 classes
    ],
)
def test_metadata_that_says_nothing_is_refused(tmp_path, conditions):
    save_file(tensors_of(), tmp_path / "x.safetensors", {"architecture": "progressive", "conditions": conditions})
    with pytest.raises(BadInput, match="conditions: expected names with levels") as caught:
        load(tmp_path / "x.safetensors")
    assert len(str(caught.value)) < 600 + len(str(tmp_path))


def test_as_many_classes_as_coordinates_leave_no_latent(tmp_path):
    # 7 coordinates in all; three conditions of two levels are 8 classes.
    conditions = json.dumps([[f"c{i}", ["a", "b"]] for i in range(3)])
    save_file(tensors_of(), tmp_path / "x.safetensors", {"architecture": "progressive", "conditions": conditions})
    with pytest.raises(BadInput, match="wider than its 8 classes, found 7"):
        load(tmp_path / "x.safetensors")


def test_a_file_that_asks_for_more_than_the_memory_is_refused_at_once():
    """A bias of a million channels (4 MB) asks for kernels of 36 TB; named and shaped only, they cost nothing."""
    tensors = {"blocks.4.conv0.weight": torch.zeros(16, 7)}
    tensors |= {f"blocks.{size}.conv1.bias": torch.zeros(1_000_000) for size in (4, 8)}
    with pytest.raises(BadInput, match="it lacks"):
        Progressive(tensors)
    large = {"blocks.4.conv0.weight": torch.zeros(16, 7)}
    large |= {f"blocks.{4 << index}.conv1.bias": torch.zeros(1) for index in range(12)}  # to 8,192 pixels
    with pytest.raises(BadInput, match="expected a progressive GAN with blocks"):
        Progressive(large)


@pytest.mark.parametrize("value", [3.0, 0.5, float("nan")])
def test_latents_of_a_condition_that_is_none_are_refused(conditional, value):
    latents = conditional.sample([0, 1])
    values = latents.values.copy()
    values[1, -1] = value
    for ask in (conditional.render, conditional.read):
        with pytest.raises(BadInput, match="hair: expected one of short, mid, long"):
            ask(Latents(latents.seeds, values, "z"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("torgb.16.bias"), "it lacks torgb.16.bias"),
        (lambda t: t.update({"torgb.16.bias": torch.zeros(4)}), r"has torgb.16.bias of shape \[4\] instead of \[3\]"),
        (lambda t: t.update({"torgb.16.bias": torch.full((3,), float("nan"))}), "NaN or infinity"),
        (lambda t: t.update({"torgb.16.bias": torch.zeros(3, dtype=torch.int64)}), "numbers of type torch.int64"),
        (lambda t: t.update({"blocks.4.conv0.weight": torch.zeros(7)}), "a dense layer of two"),
        (lambda t: t.update({"blocks.8.conv1.bias": torch.zeros(0)}), "biases of one axis"),
        (lambda t: t.update({f"blocks.{'9' * 5000}.conv1.bias": torch.zeros(1)}), "an unexpected"),
    ],
)
def test_weights_of_something_else_are_refused(change, message):
    tensors = dict(tensors_of())
    change(tensors)
    with pytest.raises(BadInput, match=message):
        Progressive(tensors)
