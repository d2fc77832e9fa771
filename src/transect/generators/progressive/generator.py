"""The progressive GAN as a generator: from a latent through ever larger sizes, each with a separate color layer.

Sources: Karras et al. 2018, Progressive growing of GANs, arXiv:1710.10196, table 2 (as published: nearest
neighbours, pixel norm, equalised learning rate); McDuff et al. 2019, arXiv:1906.11891, section 3 (the condition).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput
from transect.generators.faceworld.chance import check_seeds, exogenous_noise
from transect.generators.requests import requested_columns
from transect.generators.stylegan2.network import Dense, normalize
from transect.protocols import Table
from transect.records import Attribute, Images, Kind, Latents
from transect.runs import model_files
from transect.runs.json_records import loads
from transect.runs.model_files import check_weights

_HE = math.sqrt(2)
_SLOPE = 0.2


@dataclass(frozen=True, slots=True)
class Shape:
    """z_dim: coordinates of the latent; classes: of the condition, 0 for none; channels: by the size of a layer."""

    z_dim: int
    classes: int
    channels: dict[int, int]

    @property
    def image_size(self) -> int:
        """Width and height of the image."""
        return max(self.channels)


class Convolution(nn.Module):
    """A convolution whose weights are scaled at run time by He's constant, so that all learn at one rate."""

    def __init__(self, inputs: int, outputs: int, size: int, gain: float = _HE) -> None:
        super().__init__()
        self.gain = gain / math.sqrt(inputs * size**2)
        self.weight = nn.Parameter(torch.randn(outputs, inputs, size, size))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """The output, of the input's size and precision."""
        kernel, bias = (self.weight * self.gain).to(x.dtype), self.bias.to(x.dtype)
        return functional.conv2d(x, kernel, bias, padding=self.weight.shape[-1] // 2)


def rectify(x: Tensor) -> Tensor:
    """Leaky rectifier, not scaled."""
    return functional.leaky_relu(x, _SLOPE)


class Block(nn.Module):
    """One size: two convolutions, each followed by pixel norm; the smallest starts with a dense layer."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.first = size == 4
        self.conv0: nn.Module = Dense(inputs, outputs * 16) if self.first else Convolution(inputs, outputs, 3)
        self.conv1 = Convolution(outputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        if self.first:
            # He's constant for 16 outputs a pixel, as published: a gain of sqrt(2) / 4 over 1 / sqrt(inputs).
            x = (self.conv0(x) * (_HE / 4)).view(len(x), -1, 4, 4)
        else:
            x = self.conv0(functional.interpolate(x, scale_factor=2))
        x = normalize(rectify(x))
        return normalize(rectify(self.conv1(x)))


class Network(nn.Module):
    """Latent and condition ► image."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.sizes = sorted(shape.channels)
        widths = [shape.z_dim + shape.classes, *(shape.channels[size] for size in self.sizes)]
        self.blocks = nn.ModuleDict(
            {str(size): Block(widths[i], widths[i + 1], size) for i, size in enumerate(self.sizes)}
        )
        self.torgb = nn.ModuleDict({str(size): Convolution(shape.channels[size], 3, 1, gain=1) for size in self.sizes})

    def forward(
        self,
        z: Float[Tensor, "b z"],
        c: Float[Tensor, "b k"] | None = None,
        growth: tuple[int, float] | None = None,
        precision: torch.dtype = torch.float32,
    ) -> Float[Tensor, "b 3 s s"]:
        """Images float32 in about -1..1. c: one-hot. growth: while it grows, the size, and its share by now."""
        last, share = growth or (self.sizes[-1], 1.0)
        x = normalize(z) if c is None else torch.cat([normalize(z), c], dim=1)
        image: Tensor | None = None
        for size in self.sizes:
            if size > last:
                break
            x = self.blocks[str(size)](x).to(precision)
            if size == last:
                color = self.torgb[str(size)](x).float()
                image = (
                    color if image is None else torch.lerp(functional.interpolate(image, scale_factor=2), color, share)
                )
            elif 2 * size == last and share < 1:
                image = self.torgb[str(size)](x).float()
        if image is None:
            raise AssertionError("a network has the size that it grows to")
        return image


ARCHITECTURE = "progressive"
SPACE = "z"
_SHOWN = 200
_MOST_TEXT, _MOST_CLASSES, _LARGEST = 65_536, 4_096, 4_096
"""Limits of a file: characters of its conditions, their combinations, pixels of a side."""


@final
class Progressive:
    """A progressive GAN from its weights.

    conditions: of a conditional network, each a name and its levels; its classes are their combinations, the last
    name's levels running fastest. A latent is z, then the level of each condition. device: where it computes; a picture
    is the same in every batch on one device. Raises BadInput for weights of another network.
    """

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        *,
        conditions: Sequence[tuple[str, Sequence[str]]] = (),
        name: str = ARCHITECTURE,
        device: str = "cpu",
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.name, self.facts, self.device = name, dict(facts or {}), torch.device(device)
        self.attributes = tuple(_attribute(label, levels) for label, levels in conditions)
        classes = math.prod(len(attribute.levels) for attribute in self.attributes) if conditions else 0
        self.shape = _shape(tensors, classes, name)
        with torch.device("meta"):  # the shapes alone: a few bytes of a file can ask for more than the memory
            self._network = Network(self.shape)
        check_weights(tensors, self._network.state_dict(), name)
        weights = {key: value.to(self.device, torch.float32, copy=True) for key, value in tensors.items()}
        self._network.load_state_dict(weights, assign=True)
        self._network.requires_grad_(False).eval()

    @classmethod
    def from_file(cls, path: Path, device: str = "cpu") -> Progressive:
        """The network of a safetensors file that `transect train gan` wrote. Raises BadInput for another file."""
        tensors, metadata = model_files.read_safetensors(path)
        if metadata.get("architecture") != ARCHITECTURE:
            architecture = metadata.get("architecture", "no architecture")
            raise BadInput(f"{path}: expected the architecture {ARCHITECTURE} in the metadata, found {architecture}")
        try:
            conditions = _conditions(metadata.get("conditions", "[]"))
        except (ValueError, TypeError, RecursionError):
            architecture = metadata["conditions"][:_SHOWN]
            raise BadInput(
                f"{path}: metadata conditions: expected names with levels, found {architecture!r}; train it again"
            ) from None
        facts = {"weights_sha256": model_files.sha256(path)}
        return cls(tensors, conditions=conditions, name=path.stem, device=device, facts=facts)

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""
        return self.shape.image_size

    @property
    def latent_dim(self) -> int:
        """Coordinates of a latent: those of z, and one a condition."""
        return self.shape.z_dim + len(self.attributes)

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[object]) -> Latents:
        """Z ~ N(0, I) and conditions drawn evenly, float64 [n, latent_dim], from each seed alone."""
        numbers = check_seeds(seeds)
        noise = exogenous_noise(numbers, self.latent_dim)
        for place, attribute in enumerate(self.attributes, start=self.shape.z_dim):
            share = torch.special.ndtr(torch.from_numpy(noise[:, place])).numpy()
            noise[:, place] = np.minimum(np.floor(share * len(attribute.levels)), len(attribute.levels) - 1)
        return Latents(numbers, noise, SPACE)

    def read(self, latents: Latents) -> pa.Table:
        """The condition of every row: the intended one, float64 columns; no columns without a condition."""
        values = self._rows(latents)[:, self.shape.z_dim :]
        return pa.table({attribute.name: values[:, place] for place, attribute in enumerate(self.attributes)})

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """The same z under other conditions. Raises UnknownName, and BadInput for what is no level or held and set."""
        values_by_row = self._rows(latents).copy()
        names = [attribute.name for attribute in self.attributes]
        for name, column in requested_columns(self.attributes, values, hold, len(values_by_row)).items():
            values_by_row[:, self.shape.z_dim + names.index(name)] = column
        return replace(latents, values=values_by_row)

    def render(self, latents: Latents) -> Images:
        """Pixels uint8 [n, h, w, 3]; none of no rows. Raises BadInput for latents of another space or width."""
        rows = self._rows(latents)
        pixels = np.empty((len(rows), self.image_size, self.image_size, 3), dtype=np.uint8)
        for index, row in enumerate(rows):
            image = self.generate(torch.from_numpy(row[None, : self.shape.z_dim]), self._codes(row[None]))[0]
            pixels[index] = (image * 127.5 + 128).clamp(0, 255).to(torch.uint8).permute(1, 2, 0).cpu().numpy()
        return Images(pixels)

    def generate(self, z: Float[Tensor, "b z"], c: Float[Tensor, "b k"] | None = None) -> Float[Tensor, "b 3 h w"]:
        """Images float32 in about -1..1, not cut; differentiable. c: one-hot classes of a conditional network."""
        code = None if c is None else c.to(self.device, torch.float32)
        images: Tensor = self._network(z.to(self.device, torch.float32), code)
        return images

    def describe(self) -> dict[str, object]:
        """What recreates the pictures, for a run's spec."""
        conditions = [[attribute.name, list(attribute.levels)] for attribute in self.attributes]
        description = {"architecture": ARCHITECTURE, "image_size": self.image_size, "conditions": conditions}
        return {"name": self.name, **description, **self.facts}

    def _codes(self, rows: Float[np.ndarray, "b d"]) -> Tensor | None:
        if not self.attributes:
            return None
        levels = rows[:, self.shape.z_dim :].astype(np.int64)
        places = np.ravel_multi_index(tuple(levels.T), [len(attribute.levels) for attribute in self.attributes])
        return functional.one_hot(torch.from_numpy(places), self.shape.classes).float()

    def _rows(self, latents: Latents) -> Float[np.ndarray, "n d"]:
        values = np.asarray(latents.values, dtype=np.float64)
        if latents.space != SPACE or values.shape[1:] != (self.latent_dim,):
            got = f"{latents.space} with shape {list(values.shape)}"
            raise BadInput(f"latents: expected space {SPACE} with [n, {self.latent_dim}], got {got}; sample them here")
        for place, attribute in enumerate(self.attributes, start=self.shape.z_dim):
            for value in np.unique(values[:, place]):
                attribute.check(float(value))
        return values


def _conditions(text: str) -> list[tuple[str, list[str]]]:
    """Names with levels. Raises ValueError, TypeError or RecursionError for anything else, or too much of it."""
    if len(text) > _MOST_TEXT:
        raise ValueError("too long")
    conditions = [(label, levels) for label, levels in loads(text)]
    names = [label for label, _ in conditions]
    lists = [names, *(levels for _, levels in conditions)]
    if not all(isinstance(levels, list) and all(isinstance(word, str) for word in levels) for levels in lists):
        raise TypeError("no lists of words")
    if any(len(set(levels)) < len(levels) for levels in lists) or any(len(levels) < 2 for _, levels in conditions):
        raise ValueError("repeated, or without a choice")
    if math.prod(len(levels) for _, levels in conditions) > _MOST_CLASSES:
        raise ValueError("too many classes")
    return conditions


def _attribute(name: str, levels: Sequence[str]) -> Attribute:
    kind: Kind = "binary" if len(levels) == 2 else "categorical"
    meaning, source = f"{name}, as the network was asked for", "the condition that the network was trained with"
    return Attribute(name, kind, meaning, levels=tuple(levels), source=source)


def _shape(tensors: Mapping[str, Tensor], classes: int, source: str) -> Shape:
    named = (re.fullmatch(r"blocks\.([1-9]\d{0,4})\.conv1\.bias", name, re.ASCII) for name in tensors)
    sizes = sorted(int(match[1]) for match in named if match)
    first = tensors.get("blocks.4.conv0.weight")
    if not sizes or sizes != [4 << index for index in range(len(sizes))] or first is None or sizes[-1] > _LARGEST:
        shown = str(sizes or "none")[:_SHOWN]
        raise BadInput(f"{source}: expected a progressive GAN with blocks of 4, 8, 16 ... pixels, found {shown}")
    biases = {size: tensors[f"blocks.{size}.conv1.bias"] for size in sizes}
    if first.dim() != 2 or any(bias.dim() != 1 or not len(bias) for bias in biases.values()):
        raise BadInput(f"{source}: expected biases of one axis and a dense layer of two; the file is damaged")
    width = first.shape[1]
    if not classes < width:
        raise BadInput(f"{source}: expected a latent wider than its {classes} classes, found {width}; it is damaged")
    return Shape(width - classes, classes, {size: len(bias) for size, bias in biases.items()})
