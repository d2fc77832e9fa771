"""The encoder E of a generator: from a picture to the latent that would make it (Denton et al. 2019, equation 2)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput
from transect.generators.stylegan2.network import check_axes
from transect.records import Images, Latents
from transect.runs import model_files
from transect.runs.model_files import check_weights

KIND = "transect.encoder"
SPACES = ("z", "w")
_SHOWN = 200


class Block(nn.Module):
    """Two convolutions parallel to a shortcut, to half the size."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv0 = nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False)
        self.norm0 = nn.BatchNorm2d(outputs)
        self.conv1 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        inner = self.norm1(self.conv1(torch.relu(self.norm0(self.conv0(x)))))
        return torch.relu(inner + self.skip(functional.avg_pool2d(x, 2)))


class Network(nn.Module):
    """size: what pictures are averaged down to; widths: channels of the stages, which halve; outputs: coordinates."""

    def __init__(self, size: int, widths: Sequence[int], outputs: int) -> None:
        super().__init__()
        self.size = size
        self.stem = nn.Conv2d(3, widths[0], 3, 1, 1)
        self.blocks = nn.ModuleList(Block(a, b) for a, b in itertools.pairwise(widths))
        side = size >> (len(widths) - 1)
        self.head = nn.Linear(widths[-1] * side**2, outputs)

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """Latents of pictures in -1..1."""
        x = functional.adaptive_avg_pool2d(images, self.size)
        x = torch.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        latents: Tensor = self.head(x.flatten(1))
        return latents


@final
class Encoder:
    """A trained encoder of one generator. space: of its latents, z or w. Raises BadInput for other weights.

    It cannot recover what the picture does not show: the length of z, where the generator normalizes z.
    """

    def __init__(
        self, tensors: dict[str, Tensor], space: str, size: int, device: str = "cpu", name: str = "encoder"
    ) -> None:
        if space not in SPACES:
            raise BadInput(
                f"{name}: expected an encoder to {' or '.join(SPACES)}, found {space[:_SHOWN]!r}; retrain it"
            )
        widths = _widths(tensors, name)
        if size < 1 or size & (size - 1) or not size >> (len(widths) - 1):
            raise BadInput(
                f"{name}: expected an encoder for a power of two that can be halved {len(widths) - 1} times, found"
                f" {size}"
            )
        self.name, self.space, self.image_size, self.device = name, space, size, torch.device(device)
        with torch.device("meta"):  # the shapes alone: a few bytes of a file can ask for more than the memory
            self.network = Network(size, widths, len(tensors["head.bias"]))
        expected = self.network.state_dict()
        check_weights(tensors, expected, name)
        weights = {key: value.to(self.device, expected[key].dtype, copy=True) for key, value in tensors.items()}
        self.network.load_state_dict(weights, assign=True)
        self.network.requires_grad_(False).eval()

    @classmethod
    def from_file(cls, file: str | Path, device: str = "cpu") -> Encoder:
        """The encoder of a file that `transect train encoder` wrote. Raises BadInput for another file."""
        path = Path(file)
        tensors, metadata = model_files.read_safetensors(path)
        if metadata.get("kind") != KIND or not re.fullmatch(r"[1-9]\d{0,3}", metadata.get("size", ""), re.ASCII):
            raise BadInput(f"{path}: expected an encoder, found something else; make one: transect train encoder")
        return cls(tensors, metadata.get("space", "z"), int(metadata["size"]), device, path.stem)

    def encode(self, images: Images, seeds: Sequence[int] | None = None) -> Latents:
        """Z = E(X): float64 latents, each from its own picture alone; seeds name the rows (default: 0, 1, ...)."""
        rows = [self(torch.from_numpy(np.array(image))[None])[0] for image in images.pixels]
        values = torch.stack(rows).double().cpu().numpy() if rows else np.empty((0, self.network.head.out_features))
        return Latents(np.arange(len(rows)) if seeds is None else np.asarray(seeds), values, self.space)

    def __call__(self, pixels: Tensor) -> Float[Tensor, "b d"]:
        """Latents of pixels uint8 [b, h, w, 3]."""
        images = pixels.to(self.device).permute(0, 3, 1, 2).float() / 127.5 - 1
        with torch.inference_mode():
            latents: Tensor = self.network(images)
            return latents


def _widths(tensors: dict[str, Tensor], name: str) -> list[int]:
    blocks = sum(key.endswith(".conv0.weight") for key in tensors)
    names = ["stem.weight", "head.bias", *(f"blocks.{index}.conv0.weight" for index in range(blocks))]
    if missing := [key for key in names if key not in tensors]:
        raise BadInput(f"{name}: expected an encoder's {', '.join(missing)}, which the file lacks; give an encoder")
    check_axes(tensors, name, 1, "head.bias")
    check_axes(tensors, name, 4, "stem.weight", *names[2:])
    return [len(tensors["stem.weight"]), *(len(tensors[key]) for key in names[2:])]
