"""The built-in feature network: its stages, what it answers, features of images, and who is shown.

Five convolutional stages that halve the image, taught to answer FaceWorld's attributes: plain pairs of 3x3
convolutions, as in VGG (Simonyan and Zisserman 2015, arXiv:1409.1556), since perceptual distances work on such
networks whatever they were trained for (Zhang et al. 2018, arXiv:1801.03924, section 4). Batch norm (Ioffe and
Szegedy 2015, arXiv:1502.03167) helps the training and is folded into the convolutions afterwards. It was trained on
FaceWorld alone (see weights/README.md): good for comparing what looks like FaceWorld, and no substitute for a
network that has seen photographs where photographs are compared. Axes: b images, c channels, h and w pixels.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.records import Images
from transect.runs.model_files import Arrays, Facts, read_content


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and its columns: one, or one per level of a choice."""

    name: str
    levels: int
    """0 for a number, 2 for a switch, more for a choice."""
    start: int

    @property
    def columns(self) -> slice:
        """Its columns among the outputs."""
        return slice(self.start, self.stop)

    @property
    def stop(self) -> int:
        """The first column behind them."""
        return self.start + (self.levels if self.levels > 2 else 1)


def answers_of(text: str) -> tuple[Answer, ...]:
    """The answers of a network, as its file lists them: JSON, names and numbers of levels.

    Raises ValueError for another text.

    >>> [answer.columns for answer in answers_of('[["age", 0], ["hat", 3]]')]
    [slice(0, 1, None), slice(1, 4, None)]
    """
    entries = json.loads(text)
    if not entries or any(not isinstance(name, str) or type(levels) is not int for name, levels in entries):
        raise ValueError("its answers must be a list of names and numbers of levels")
    return in_columns((name, levels) for name, levels in entries)


def columns_of(found: tuple[Answer, ...]) -> int:
    """How many columns those answers have."""
    return found[-1].stop


def in_columns(sizes: Iterable[tuple[str, int]]) -> tuple[Answer, ...]:
    """Answers of those names and numbers of levels, one behind the other."""
    entries: list[Answer] = []
    start = 0
    for name, levels in sizes:
        entries.append(Answer(name, levels, start))
        start = entries[-1].stop
    return tuple(entries)


SIZE = 64
"""Width and height at which the network looks, in pixels."""

CHANNELS = (16, 32, 64, 128, 192)
"""Of the five stages; the first sees every pixel, each further one half as many in both directions."""

FEATURES = 128
"""Numbers that describe an image as a whole."""

_REDUCED = 32
_CENTER, _SPREAD = 0.45, 0.25


class _Unit(nn.Module):
    """A 3x3 convolution, batch norm while it is trained, and a rectifier."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, stride, 1)
        self.norm: nn.Module = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.convolution(x)))

    def fold(self) -> None:
        """Make the convolution do what the norm does in evaluation: y = γ (x - μ) / σ + β."""
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm2d):
            return
        scale = norm.weight / (norm.get_buffer("running_var") + norm.eps).sqrt()
        bias = cast(Tensor, self.convolution.bias)
        with torch.no_grad():
            self.convolution.weight.mul_(scale[:, None, None, None])
            bias.copy_(norm.bias + (bias - norm.get_buffer("running_mean")) * scale)
        self.norm = nn.Identity()


class FeatureNetwork(nn.Module):
    """From images [b, 3, h, w] in 0..1 to stages, features and answers; in evaluation, of each image alone.

    outputs: number of answers. h and w are any; the image is resized to SIZE.
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        units, before = [], 3
        for index, after in enumerate(CHANNELS):
            units.append(nn.Sequential(_Unit(before, after, stride=2 if index else 1), _Unit(after, after)))
            before = after
        self.units = nn.ModuleList(units)
        self.reduce = nn.Conv2d(before, _REDUCED, 1)
        side = SIZE >> (len(CHANNELS) - 1)
        self.hidden = nn.Linear(_REDUCED * side**2, FEATURES)
        self.head = nn.Linear(FEATURES, outputs)

    def stages(self, images: Float[Tensor, "b 3 h w"]) -> list[Tensor]:
        """The activations [b, c, h, w] of every stage, largest first; differentiable in the images."""
        x = (resized(images, SIZE) - _CENTER) / _SPREAD
        stages = []
        for unit in self.units:
            x = unit(x)
            stages.append(x)
        return stages

    def features(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b 128"]:
        """Features of the whole image, zero or more each."""
        return torch.relu(self.hidden(self.reduce(self.stages(images)[-1]).flatten(1)))

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b k"]:
        """The answers."""
        answers: Tensor = self.head(self.features(images))
        return answers

    def folded(self) -> FeatureNetwork:
        """The network with batch norms folded in, for evaluation alone; its answers are the same."""
        for unit in self.modules():
            if isinstance(unit, _Unit):
                unit.fold()
        return self.eval()


def resized(images: Float[Tensor, "b 3 h w"], size: int) -> Float[Tensor, "b 3 s s"]:
    """The images at that size, averaged where they shrink; unchanged where they have it."""
    if images.shape[2:] == (size, size):
        return images
    return functional.interpolate(images, (size, size), mode="bilinear", antialias=True, align_corners=False)


WEIGHTS = Path(__file__).parent / "weights" / "features.safetensors"
KIND = "transect.features"

_MOMENTS = ("center", "scale")
_AT_ONCE = 64


class Taught(NamedTuple):
    """A trained network, its answers, and the mean and spread [answers] of its targets."""

    network: FeatureNetwork
    answers: tuple[Answer, ...]
    center: Float[np.ndarray, " k"]
    scale: Float[np.ndarray, " k"]


@functools.lru_cache(maxsize=4)
def load(path: Path = WEIGHTS, device: str = "cpu") -> Taught:
    """The network of a file that tools/feature_network.py wrote; by default the one that ships.

    Raises BadInput for other files.
    """
    with torch.inference_mode(False):  # kept for later callers, who may need gradients through it
        taught = read_content(
            path,
            {KIND: _parse},
            expected="a feature network's file",
            remedy="leave the path out to use the built-in one",
        )
        return taught._replace(network=taught.network.to(device))


def _parse(arrays: Arrays, facts: Facts) -> Taught:
    weights = {name: torch.from_numpy(array).float() for name, array in arrays.items() if name not in _MOMENTS}
    if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise ValueError("its weights are not finite")
    answers = answers_of(facts["answers"])
    network = FeatureNetwork(columns_of(answers)).folded()
    network.load_state_dict(weights)
    return Taught(network.requires_grad_(False), answers, *(arrays[name] for name in _MOMENTS))


def as_tensor(pixels: np.ndarray, device: str = "cpu") -> Float[Tensor, "n 3 h w"]:
    """Images 0..255 as float32 in 0..1. Raises BadInput for anything but images."""
    images = Images(pixels).pixels
    return torch.from_numpy(np.ascontiguousarray(images)).to(device).permute(0, 3, 1, 2).float() / 255


def features(pixels: np.ndarray, *, path: Path = WEIGHTS, device: str = "cpu") -> Float[np.ndarray, "n 128"]:
    """What describes each image as a whole: float32 [n, 128], zero or more, for `fid`, `kid`, `precision_recall`.

    pixels: uint8 [n, h, w, 3] of any size, resized to 64 pixels; what is finer does not count. No images give no rows.
    Raises BadInput for anything but images.
    """
    return _in_parts(pixels, load(path, device).network.features, FEATURES, device)


def read(pixels: np.ndarray, *, path: Path = WEIGHTS, device: str = "cpu") -> dict[str, Float[np.ndarray, " n"]]:
    """The network's estimates of FaceWorld's attributes: float64 [n] by name, in the attribute's own unit.

    Numbers as they are, not cut to their range; switches as the probability of "on"; choices as the index of the most
    likely level. weights/README.md states the accuracy of each. Identity: see `identities`.
    """
    network, answers, center, scale = load(path, device)
    outputs = _in_parts(pixels, network, columns_of(answers), device).astype(np.float64)
    columns_by_name = {}
    for index, answer in enumerate(answers):
        columns = outputs[:, answer.columns]
        if answer.name.startswith("identity."):
            continue
        if answer.levels > 2:
            columns_by_name[answer.name] = columns.argmax(axis=1).astype(np.float64)
        elif answer.levels:
            columns_by_name[answer.name] = 1 / (1 + np.exp(-columns[:, 0]))
        else:
            columns_by_name[answer.name] = center[index] + scale[index] * columns[:, 0]
    return columns_by_name


def identities(pixels: np.ndarray) -> Float[np.ndarray, "n traits"]:
    """The network's estimates of the identity code, in spreads, float64 [n, traits]."""
    taught = load()
    outputs = _in_parts(pixels, taught.network, columns_of(taught.answers), "cpu").astype(np.float64)
    return outputs[:, [answer.start for answer in taught.answers if answer.name.startswith("identity.")]]


def identity_distance(embeddings: Float[np.ndarray, "n d"], other: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """1 - cosine of the angle between embeddings, by row: 0 the same, 1 unrelated, 2 opposite; NaN without length."""
    lengths = np.linalg.norm(embeddings, axis=1) * np.linalg.norm(other, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        distance: np.ndarray = 1 - (embeddings * other).sum(axis=1) / np.where(lengths > 0, lengths, np.nan)
    return distance


def _in_parts(
    pixels: np.ndarray, answer: Callable[[Tensor], Tensor], width: int, device: str
) -> Float[np.ndarray, "n k"]:
    Images(pixels)
    outputs = np.empty((len(pixels), width), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(pixels), _AT_ONCE):
            images = as_tensor(pixels[start : start + _AT_ONCE], device)
            outputs[start : start + len(images)] = answer(images).cpu().numpy()
    return outputs
