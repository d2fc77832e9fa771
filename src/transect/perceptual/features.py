"""The feature network that ships, and its outputs: features, attributes, identity.

It was trained on FaceWorld alone (see weights/README.md): good for comparing what looks like FaceWorld, and no
substitute for a network that has seen photographs where photographs are compared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.perceptual.answers import Answer, answers_of, columns_of
from transect.perceptual.network import FEATURES, FeatureNetwork
from transect.records import Images
from transect.runs.tensor_files import Arrays, Facts, read_content

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
            remedy="leave the path out to take the one that ships",
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

    >>> features(np.zeros((2, 80, 80, 3), dtype=np.uint8)).shape
    (2, 128)
    """
    network = load(path, device).network
    return _in_parts(pixels, network.features, FEATURES, device)


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


def identities(pixels: np.ndarray, *, path: Path = WEIGHTS, device: str = "cpu") -> Float[np.ndarray, "n traits"]:
    """The network's estimates of the identity code, in spreads, float64 [n, traits]."""
    taught = load(path, device)
    outputs = _in_parts(pixels, taught.network, columns_of(taught.answers), device).astype(np.float64)
    return outputs[:, [answer.start for answer in taught.answers if answer.name.startswith("identity.")]]


def identity_distance(embeddings: Float[np.ndarray, "n d"], other: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """1 - cosine of the angle between embeddings, row by row: 0 the same, 1 unrelated, 2 opposite; NaN without length.

    >>> identity_distance(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 3.0]])).tolist()
    [0.0, 1.0]
    """
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
