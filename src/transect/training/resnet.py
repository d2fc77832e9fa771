"""Residual networks of 18, 34 and 50 layers, with the names and shapes that torchvision's weights have.

Sources: He et al. 2016, Deep residual learning for image recognition, arXiv:1512.03385. In the blocks of the 50-layer
network the 3 x 3 convolution has the stride, as in torchvision. Weights start as in He et al. 2015, arXiv:1502.01852.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from transect.errors import UnknownName
from transect.runs.weights import check_weights

LAYERS: Final = {"resnet18": (2, 2, 2, 2), "resnet34": (3, 4, 6, 3), "resnet50": (3, 4, 6, 3)}
"""Blocks of the four stages, by architecture."""

SMALLEST: Final = 32
"""The least width and height of a picture: the last stage then sees one point."""


def _convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class _Basic(nn.Module):
    """Two 3 x 3 convolutions parallel to the identity, or to a projection where the shape changes."""

    widening = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _convolution(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = _convolution(width, width, 3), nn.BatchNorm2d(width)
        self.downsample = _projection(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + (x if self.downsample is None else self.downsample(x)))


class _Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, the last to four times the width."""

    widening = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _convolution(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = _convolution(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = _convolution(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.downsample = _projection(inputs, 4 * width, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


def _projection(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(_convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """From pictures [b, 3, h, w] (normalized; h and w of at least 32) to logits [b, outputs].

    Raises UnknownName for another architecture.
    """

    def __init__(self, architecture: str, outputs: int) -> None:
        super().__init__()
        if architecture not in LAYERS:
            raise UnknownName("architecture", architecture, LAYERS)
        block = _Bottleneck if architecture == "resnet50" else _Basic
        self.conv1, self.bn1 = _convolution(3, 64, 7, 2), nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, inputs = [], 64
        for place, count in enumerate(LAYERS[architecture]):
            width, blocks = 64 << place, []
            for number in range(count):
                blocks.append(block(inputs, width, 2 if place and not number else 1))
                inputs = width * block.widening
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(inputs, outputs)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits; those of a picture do not depend on the others in evaluation mode."""
        x = self.maxpool(torch.relu(self.bn1(self.conv1(pictures))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits: Tensor = self.fc(x.mean(dim=(2, 3)))
        return logits


def new_resnet(architecture: str, outputs: int, seed: int) -> ResNet:
    """A network whose weights come from the seed; PyTorch's own generator is left unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ResNet(architecture, outputs)


def start_from(network: ResNet, weights: Mapping[str, Tensor], path: Path) -> None:
    """Put a trained network's weights in; a last layer of other classes is left unchanged."""
    current = network.state_dict()
    fitting = {
        name: value
        for name, value in weights.items()
        if not name.startswith("fc.") or value.shape == current[name].shape
    }
    body = {name: value for name, value in current.items() if name in fitting or not name.startswith("fc.")}
    check_weights(fitting, body, str(path))
    network.load_state_dict({**current, **fitting})
