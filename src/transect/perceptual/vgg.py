"""VGG16's convolutions from a file that you supply, in torchvision's layout; nothing is downloaded.

Sources: Simonyan and Zisserman 2015, arXiv:1409.1556, configuration D; Zhang et al. 2018, arXiv:1801.03924 (the five
stages that perceptual distances compare, and their linear heads).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transect.errors import BadInput
from transect.perceptual.network import resized
from transect.runs.weights import read_weights

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
        raise BadInput("vgg16: expected a file of its weights, got none; give torchvision's vgg16 with --weights")
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
                raise BadInput(f"{source}: {name}: expected finite weights, found NaN or infinity; get the file again")
            pair.append(tensor.float().to(device).requires_grad_(False))
        convolutions.append((pair[0], pair[1]))
    return convolutions
