"""The encoder E of a generator: from a picture to the latent that would make it (Denton et al. 2019, equation 2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect import model_files
from transect.errors import BadInput
from transect.records import Images, Latents

KIND = "transect.encoder"


class Block(nn.Module):
    """Two convolutions beside a shortcut, to half the size."""

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
    """A trained encoder of one generator. space: what it answers in, z or w. Raises BadInput for other weights.

    What it cannot say is what the picture does not show: of a generator that normalises z, its length.
    """

    def __init__(
        self, tensors: dict[str, Tensor], space: str, size: int, device: str = "cpu", name: str = "encoder"
    ) -> None:
        widths = _widths(tensors, name)
        self.name, self.space, self.image_size, self.device = name, space, size, torch.device(device)
        self.network = Network(size, widths, len(tensors["head.bias"]))
        try:
            self.network.load_state_dict(tensors)
        except RuntimeError as error:
            line = str(error).splitlines()[-1].strip()[:200]
            raise BadInput(f"{name}: expected an encoder for {size} pixels, found other weights ({line})") from None
        self.network.requires_grad_(False).to(self.device).eval()

    @classmethod
    def from_file(cls, file: str | Path, device: str = "cpu") -> Encoder:
        """The encoder of a file that `transect train encoder` wrote. Raises BadInput for another file."""
        path = Path(file)
        tensors, metadata = model_files.read_safetensors(path)
        if metadata.get("kind") != KIND or not metadata.get("size", "").isdigit():
            raise BadInput(f"{path}: expected an encoder, found another file; make one: transect train encoder")
        return cls(tensors, metadata.get("space", "z"), int(metadata["size"]), device, path.stem)

    def encode(self, images: Images, seeds: Sequence[int] | None = None) -> Latents:
        """Z = E(X): float64 latents, each from its own picture alone; seeds name the rows (default: 0, 1, ...)."""
        rows = [self(torch.from_numpy(np.array(one))[None])[0] for one in images.pixels]
        values = torch.stack(rows).double().cpu().numpy() if rows else np.empty((0, self.network.head.out_features))
        return Latents(np.arange(len(rows)) if seeds is None else np.asarray(seeds), values, self.space)

    def __call__(self, pixels: Any) -> Float[Tensor, "b d"]:
        """Latents of pixels uint8 [b, h, w, 3]."""
        images = pixels.to(self.device).permute(0, 3, 1, 2).float() / 127.5 - 1
        with torch.inference_mode():
            latents: Tensor = self.network(images)
            return latents


def _widths(tensors: dict[str, Tensor], name: str) -> list[int]:
    blocks = sum(key.endswith(".conv0.weight") for key in tensors)
    wanted = ["stem.weight", "head.bias", *(f"blocks.{index}.conv0.weight" for index in range(blocks))]
    if missing := [key for key in wanted if key not in tensors]:
        raise BadInput(
            f"{name}: expected an encoder's {', '.join(missing)}, which the file lacks; it is of another kind"
        )
    return [len(tensors["stem.weight"]), *(len(tensors[key]) for key in wanted[2:])]
