"""Trains an encoder on images of its generator: min E‖z - E(G(z))‖ (Denton et al. 2019, equation 2).

Every step draws new latents, so that no picture is memorised. For a StyleGAN2, w in place of z: many z give one w.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from transect.errors import BadInput
from transect.generators.encoder import KIND, SPACES, Network
from transect.generators.progressive.generator import Progressive
from transect.generators.stylegan2.generator import StyleGAN2
from transect.protocols import Generator
from transect.training.recipe import Batch, Share, descend, follow, in_parts, replacements

Make = Callable[[Tensor], Tensor]


@final
class Generated:
    """Stands in for pictures, for a training that generates its own."""

    def __len__(self) -> int:
        """One row, which is empty."""
        return 1

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Empty pictures."""
        return np.zeros((len(rows), 1, 1, 3), dtype=np.uint8)


@final
@dataclass
class EncoderRecipe:
    """An encoder for a generator. images: of the whole training, over which the rate falls to 0 as a cosine."""

    generator: Generator
    images: int
    space: str = "z"
    size: int = 64
    widths: tuple[int, ...] = (16, 32, 64, 128, 128)
    rate: float = 0.002
    half_life: float = 2_000.0
    seed: int = 0
    parts: dict[str, nn.Module] = field(init=False)
    optimizers: dict[str, torch.optim.Adam] = field(init=False)

    def __post_init__(self) -> None:
        self._latents, self._make, coordinates, self._device = _of(self.generator, self.space)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = Network(self.size, self.widths, coordinates)
        network = network.to(self._device)
        self.parts = {"encoder": network, "average": copy.deepcopy(network).eval().requires_grad_(False)}
        self.optimizers = {"encoder": torch.optim.Adam(network.parameters(), lr=self.rate)}

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """One step; the distance is of the averaged network, on pictures that it has not seen."""
        count = len(batch.images)
        with torch.no_grad():
            latents = self._latents(batch.normal(count, self.generator.latent_dim))
            pictures = self._make(latents)
            held_out = _distance(self.parts["average"](pictures), latents)
        for group in self.optimizers["encoder"].param_groups:
            group["lr"] = self.rate * 0.5 * (1 + math.cos(math.pi * min(1.0, batch.shown / self.images)))
        loss = _distance(self.parts["encoder"](pictures), latents)
        replaced = descend(self.optimizers["encoder"], loss, share)
        after = batch.shown + batch.whole
        follow(self.parts["average"], self.parts["encoder"], batch.whole, after, self.half_life)
        return {"distance": loss.item(), "held_out_distance": held_out.item(), **replacements("encoder", replaced)}

    def draw(self, seeds: Sequence[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """Pictures, and below each the picture of the latent that the encoder read from it."""
        del shown
        z = torch.from_numpy(self.generator.sample(list(seeds)[: len(seeds) // 2]).values).float()
        with torch.no_grad():
            parts = in_parts(z.to(self._device))
            first = torch.cat([self._make(self._latents(part)) for part in parts])
            second = torch.cat([self._make(self.parts["average"](part)) for part in in_parts(first)])
        rows = [half[i : i + 8] for i in range(0, len(first), 8) for half in (first, second)]
        return torch.cat(rows)

    def metadata(self) -> dict[str, str]:
        """The metadata of the encoder's file."""
        facts, options = getattr(self.generator, "facts", {}), getattr(self.generator, "options", {})
        return {
            "kind": KIND,
            "space": self.space,
            "size": str(self.size),
            "generator_sha256": str(facts.get("weights_sha256", "")),
            **({"generator_options": json.dumps(options, sort_keys=True)} if options else {}),
        }


def _distance(latents: Tensor, wanted: Tensor) -> Tensor:
    """The mean length of the difference."""
    lengths: Tensor = (latents - wanted).norm(dim=1)
    return lengths.mean()


def _of(generator: Generator, space: str) -> tuple[Make, Make, int, torch.device]:
    """From z to the space's latent; from that to pictures; its number of coordinates; where both compute."""
    if space not in SPACES:
        raise BadInput(f"space: expected one of {', '.join(SPACES)}, got {space!r}; change it")
    if isinstance(generator, StyleGAN2):
        if space == "w":
            return (
                lambda z: generator.map(z)[:, 0],
                lambda w: generator.synthesize(w.unsqueeze(1).repeat(1, generator.layers, 1)),
                generator.shape.w_dim,
                generator.device,
            )
        return lambda z: z, lambda z: generator.synthesize(generator.map(z)), generator.latent_dim, generator.device
    if isinstance(generator, Progressive) and space == "z" and not generator.attributes:
        return lambda z: z, generator.generate, generator.latent_dim, generator.device
    got = f"{type(generator).__name__} in space {space}" + (
        " with conditions" if isinstance(generator, Progressive) and generator.attributes else ""
    )
    raise BadInput(f"generator: expected a StyleGAN2, or a progressive GAN without conditions in space z, got {got}")
