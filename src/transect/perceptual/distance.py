"""Perceptual distances of pairs of images: differences of a network's activations, or of pixels.

Activations are divided by their length, and their squared differences are averaged over places and added up over
stages. With φ an image's vector of all activations so divided, the distance is |φ(x) - φ(y)|², so that φ of fixed
images is computed once. Sources: Zhang et al. 2018, arXiv:1801.03924, eq. 1 (the stages that are compared, and
their linear heads); Simonyan and Zisserman 2015, arXiv:1409.1556, configuration D (VGG16, from a file that you
supply, in torchvision's layout; nothing is downloaded).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transect.errors import BadInput, UnknownName
from transect.perceptual.features import FeatureNetwork, resized
from transect.runs.model_files import read_weights

Appearance: TypeAlias = Callable[[Tensor], Tensor]
"""From images [b, 3, h, w] in 0..1 to vectors [b, d], differentiable; a distance is their squared difference."""

_SMALLEST = 1e-10


@final
class StageAppearance:
    """φ of a network: normalized activations of all stages in one vector. heads: LPIPS's weight per channel of each
    stage.
    """

    def __init__(self, network: FeatureNetwork | VGG16, heads: Sequence[Tensor] | None = None) -> None:
        self.network, self.heads = network, heads

    def __call__(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """The vectors; each image's depends on that image alone."""
        stages = []
        for index, x in enumerate(self.network.stages(images)):
            length = (x.square().sum(dim=1, keepdim=True) + _SMALLEST).sqrt()
            unit = x / length / math.sqrt(x.shape[2] * x.shape[3])
            if self.heads is not None:
                unit = unit * self.heads[index].to(unit).clamp(min=0).sqrt()[:, None, None]
            stages.append(unit.flatten(1))
        return torch.cat(stages, dim=1)


@final
class PixelAppearance:
    """φ of the pixels themselves: the distance is the mean squared difference of values in 0..1."""

    def __call__(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """The pixels, scaled."""
        flat = images.flatten(1)
        return flat / math.sqrt(flat.shape[1])


def distance(appearance: Appearance, images: Float[Tensor, "b 3 h w"], other: Float[Tensor, "b 3 h w"]) -> Tensor:
    """|φ(x) - φ(y)|² of each pair, 0 or more, float [b].

    >>> black, grey = torch.zeros(1, 3, 4, 4), torch.full((1, 3, 4, 4), 0.5)
    >>> round(distance(PixelAppearance(), black, grey).item(), 6)
    0.25
    """
    return (appearance(images) - appearance(other)).square().sum(dim=1)


DISTANCES = {
    "features": "the built-in feature network, trained on FaceWorld",
    "vgg16": "VGG16 from a file of yours in torchvision's layout, with --weights",
    "pixels": "mean squared difference of pixels alone",
}
"""The perceptual distances by name."""


def appearance_of(name: str, weights: Path | None = None, heads: Path | None = None, device: str = "cpu") -> Appearance:
    """The φ of that name. weights: of VGG16 or of another feature network; heads: LPIPS's, for VGG16."""
    if name == "pixels":
        return PixelAppearance()
    if name == "features":
        from transect.perceptual.features import WEIGHTS, load

        return StageAppearance(load(weights or WEIGHTS, device).network)
    if name == "vgg16":
        network = load_vgg16(weights, device)
        return StageAppearance(network, None if heads is None else load_heads(heads, device))
    raise UnknownName("distance", name, DISTANCES)


STAGES = ((0, 2), (5, 7), (10, 12, 14), (17, 19, 21), (24, 26, 28))
"""Numbers of the convolutions in torchvision's `features`; a stage is the output of its last rectifier."""

CHANNELS = (64, 128, 256, 512, 512)
LARGEST, SMALLEST = 256, 32
"""Images beyond are resized, as the projector of StyleGAN2 does; smaller ones do not reach the last stage."""

_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@final
class VGG16:
    """The five stages of VGG16. Raises BadInput for missing or misshapen convolutions, or those that are not finite."""

    def __init__(self, tensors: Mapping[str, Tensor], source: str = "VGG16", device: str = "cpu") -> None:
        self._layers = [_convolutions(tensors, numbers, stage, source, device) for stage, numbers in enumerate(STAGES)]
        self._mean, self._spread = (torch.tensor(row, device=device).view(3, 1, 1) for row in (_MEAN, _SPREAD))

    def stages(self, images: Float[Tensor, "b 3 h w"]) -> list[Tensor]:
        """The activations [b, c, h, w] of every stage of images in 0..1, resized to between 32 and 256 pixels."""
        side = min(max(*images.shape[2:], SMALLEST), LARGEST)
        x = (resized(images, side) - self._mean) / self._spread
        stages = []
        for index, layers in enumerate(self._layers):
            if index:
                x = functional.max_pool2d(x, 2)
            for weight, bias in layers:
                x = torch.relu(functional.conv2d(x, weight, bias, padding=1))
            stages.append(x)
        return stages


def load_vgg16(path: Path | None, device: str = "cpu") -> VGG16:
    """VGG16 of a file with torchvision's names. Raises BadInput for none or another."""
    if path is None:
        raise BadInput("vgg16 needs a file of its weights; give torchvision's vgg16 with --weights")
    return VGG16(read_weights(path, pytorch=True), str(path), device)


def load_heads(path: Path, device: str = "cpu") -> list[Tensor]:
    """The linear heads of LPIPS for VGG16 from a file with its names (lin0.model.1.weight ...), five of [c]."""
    tensors, heads = read_weights(path, pytorch=True), []
    for index, channels in enumerate(CHANNELS):
        name = f"lin{index}.model.1.weight"
        head = tensors.get(name)
        if head is None or head.numel() != channels:
            shape = "none" if head is None else list(head.shape)
            raise BadInput(f"{path}: {name}: expected {channels} weights, got {shape}; give LPIPS's heads for VGG")
        heads.append(head.flatten().float().to(device))
    return heads


def _convolutions(
    tensors: Mapping[str, Tensor], numbers: tuple[int, ...], stage: int, source: str, device: str
) -> list[tuple[Tensor, Tensor]]:
    convolutions = []
    for number in numbers:
        first = number == numbers[0]
        inputs = (3, *CHANNELS)[stage] if first else CHANNELS[stage]
        shapes = {"weight": (CHANNELS[stage], inputs, 3, 3), "bias": (CHANNELS[stage],)}
        pair = []
        for part, shape in shapes.items():
            name = f"features.{number}.{part}"
            tensor = tensors.get(name)
            if tensor is None or tuple(tensor.shape) != shape:
                actual = "none" if tensor is None else list(tensor.shape)
                raise BadInput(
                    f"{source}: {name}: expected shape {list(shape)}, got {actual}; give torchvision's vgg16"
                )
            if not bool(torch.isfinite(tensor).all()):
                raise BadInput(
                    f"{source}: {name}: expected finite weights, found NaN or infinity; download the file again"
                )
            pair.append(tensor.float().to(device).requires_grad_(False))
        convolutions.append((pair[0], pair[1]))
    return convolutions
