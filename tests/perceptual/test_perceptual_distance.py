"""Perceptual distances: by hand on planted stages, differentiable, of the image alone; VGG16 against PyTorch's layers."""

import zipfile

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from transect.errors import BadInput
from transect.perceptual.distance import (
    _MEAN,
    _SPREAD,
    StageAppearance,
    appearance_of,
    distance,
    load_vgg16,
)

PLAN = (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M")


class Planted:
    """A network of two stages: the image itself, and its mean as one place."""

    def stages(self, images):
        return [images, images.mean(dim=(2, 3), keepdim=True)]


def test_it_is_the_papers_sum_by_hand():
    """Images of 1 x 2 pixels: (3, 4, 0), (1, 0, 0) and (0, 0, 2), (1, 0, 0); units (.6, .8, 0), e1 and e3, e1.

    Stage 1: (|(.6, .8, -1)|² + 0) / 2 = 2 / 2 = 1. Stage 2: means (2, 2, 0) and (.5, 0, 1): units (1, 1, 0) / √2 and
    (.5, 0, 1) / √1.25, squared difference 2 - 2 · .5 / √2.5 = 1.367544.
    """
    first = torch.tensor([[[[3.0, 1.0]], [[4.0, 0.0]], [[0.0, 0.0]]]])
    other = torch.tensor([[[[0.0, 1.0]], [[0.0, 0.0]], [[2.0, 0.0]]]])
    assert distance(StageAppearance(Planted()), first, other).item() == pytest.approx(1 + 2 - 1 / 2.5**0.5, rel=1e-5)


def test_heads_weigh_channels():
    """With weights (0, 0, 1) of the first stage and none of the second, the third channel counts: 1² / 2."""
    first = torch.tensor([[[[3.0, 1.0]], [[4.0, 0.0]], [[0.0, 0.0]]]])
    other = torch.tensor([[[[0.0, 1.0]], [[0.0, 0.0]], [[2.0, 0.0]]]])
    heads = [torch.tensor([0.0, 0.0, 1.0]), torch.zeros(3)]
    assert distance(StageAppearance(Planted(), heads), first, other).item() == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize("size", [32, 100])
def test_the_shipped_one_is_zero_for_itself_symmetric_and_has_gradients(size):
    appearance = appearance_of("features")
    torch.manual_seed(0)
    first, other = torch.rand(2, 3, size, size), torch.rand(2, 3, size, size)
    assert distance(appearance, first, first).abs().max() < 1e-8
    torch.testing.assert_close(distance(appearance, first, other), distance(appearance, other, first))
    moved = first.clone().requires_grad_()
    distance(appearance, moved, other).sum().backward()
    assert torch.isfinite(moved.grad).all()
    assert (moved.grad.abs().amax(dim=(1, 2, 3)) > 0).all()


def test_a_gradient_of_the_shipped_one_is_the_slope_of_a_small_step():
    """Along one direction, (D(x + h v) - D(x - h v)) / 2h within 2 %."""
    appearance = appearance_of("features")
    torch.manual_seed(3)  # a direction in which it is steep
    first, other, step = torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64), torch.randn(1, 3, 64, 64)
    moved = first.clone().requires_grad_()
    distance(appearance, moved, other).sum().backward()
    h = 1e-4  # small enough to cross few of the kinks of its rectifiers
    numeric = (distance(appearance, first + h * step, other) - distance(appearance, first - h * step, other)) / (2 * h)
    assert (moved.grad * step).sum().item() == pytest.approx(numeric.item(), rel=0.02, abs=1e-3)


def vgg_layers(channels):
    """torchvision's VGG16 features, built again from the published table."""
    torch.manual_seed(0)
    layers, before = [], 3
    for width in channels:
        if width == "M":
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
        before = width
    return nn.Sequential(*layers)


@pytest.fixture(scope="module")
def peer():
    return vgg_layers(PLAN)


def named(peer):
    return {f"features.{name}": value.clone() for name, value in peer.state_dict().items()}


def test_vgg16_gives_what_pytorchs_layers_give(peer, tmp_path):
    """Stages are what stands before each pooling, of normalized images, from .safetensors and from .pth."""
    save_file(named(peer), tmp_path / "vgg16.safetensors")
    torch.save(named(peer), tmp_path / "vgg16.pth")
    images = torch.rand(2, 3, 32, 32)
    x = (images - torch.tensor(_MEAN).view(3, 1, 1)) / torch.tensor(_SPREAD).view(3, 1, 1)
    expected = []
    with torch.no_grad():
        for layer in peer:
            if isinstance(layer, nn.MaxPool2d):
                expected.append(x)
            x = layer(x)
    for name in ("vgg16.safetensors", "vgg16.pth"):
        for mine, theirs in zip(load_vgg16(tmp_path / name).stages(images), expected, strict=True):
            torch.testing.assert_close(mine, theirs)


def test_other_files_are_refused(peer, tmp_path):
    missing = {name: value for name, value in named(peer).items() if name != "features.10.bias"}
    save_file(missing, tmp_path / "missing.safetensors")
    with pytest.raises(BadInput, match=r"features\.10\.bias: expected shape \[256\], got none"):
        appearance_of("vgg16", tmp_path / "missing.safetensors")
    unsound = named(peer)
    unsound["features.0.weight"][0, 0, 0, 0] = float("nan")
    save_file(unsound, tmp_path / "nan.safetensors")
    with pytest.raises(BadInput, match=r"features\.0\.weight: expected finite weights"):
        appearance_of("vgg16", tmp_path / "nan.safetensors")


class Hostile:
    """A pickle that would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_hostile_pickle_is_not_run(tmp_path):
    torch.save({"features.0.weight": Hostile(tmp_path / "was_run")}, tmp_path / "hostile.pth")
    assert zipfile.is_zipfile(tmp_path / "hostile.pth")
    with pytest.raises(BadInput, match="holds more than tensors"):
        appearance_of("vgg16", tmp_path / "hostile.pth")
    assert not (tmp_path / "was_run").exists()
