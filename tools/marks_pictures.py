"""The rendered faces from which the network of marks is taught: pixels, exact points and exact masks, kept in parts.

Half of the subjects are as the population `balanced` makes them, and half have every attribute drawn evenly over its
whole range, since a network that is taught on renderings carries over to photographs where the renderings vary more
than photographs do (Wood et al. 2021, arXiv:2109.15102, section 4; Tobin et al. 2017, arXiv:1703.06907).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int, UInt8

from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.world import FaceWorld
from transect.records import Latents
from transect.runs.folder import spec_hash, write_atomically
from transect.runs.parts import Progress

SIZE: Final = 144
PARTS: Final = ("skin", "hair", "face", "eyes", "mouth", "glasses", "person", "hat")
"""The masks, in the order of their bits."""
PER_PART: Final = 250
_NARROWER: Final = {
    "light_level": (-3.0, 1.0),
    "exposure": (0.0, 0.0),
    "noise": (0.0, 2.0),
    "blur": (0.0, 1.5),
    "jpeg_quality": (30.0, 100.0),
}
"""Ranges within which pictures still show a face; exposure follows from the light. No masks are taught."""


@final
@dataclass(frozen=True, slots=True)
class Lessons:
    """Pictures uint8 [n, s, s, 3], points float32 [n, 68, 2] in pixels, bits uint8 [n, s, s] of PARTS, tones [n]."""

    pixels: UInt8[np.ndarray, "n h w 3"]
    points: Float[np.ndarray, "n 68 2"]
    bits: UInt8[np.ndarray, "n h w"]
    tones: Float[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.pixels)


def subjects(world: FaceWorld, seeds: Int[np.ndarray, " n"]) -> Latents:
    """The subjects of those seeds; of odd seeds every attribute is drawn evenly over its range."""
    latents = world.sample(seeds)
    drawn = np.stack([np.random.Generator(np.random.Philox(int(seed))).random(len(ATTRIBUTES)) for seed in seeds])
    as_made = world.read(latents)
    values = {}
    for column, attribute in enumerate(ATTRIBUTES):
        if attribute.name in ("exposure", "face_mask"):
            continue
        low, high = _NARROWER.get(attribute.name, attribute.bounds)
        if attribute.optional:  # half of them wear none
            even = np.floor(
                np.maximum(2 * drawn[:, column] - 1, 0) * (len(attribute.levels) - 1) + (drawn[:, column] >= 0.5)
            )
        elif attribute.discrete:
            even = np.floor(drawn[:, column] * len(attribute.levels))
        else:
            even = low + (high - low) * drawn[:, column]
        values[attribute.name] = np.where(seeds % 2 == 1, even, as_made[attribute.name].to_numpy())
    return world.set(latents, values)


def lessons(folder: Path, first_seed: int, count: int, *, quiet: bool = False) -> Lessons:
    """The subjects first_seed, first_seed + 1, ...; rendered unless the folder holds them."""
    world, parts = FaceWorld(image_size=SIZE, threads=1), []
    with Progress(f"pictures from seed {first_seed}", count, quiet=quiet) as progress:
        for start in range(0, count, PER_PART):
            seeds = first_seed + np.arange(start, min(start + PER_PART, count))
            parts.append(_part(folder, world, seeds))
            progress.advance(len(seeds))
    return Lessons(*(np.concatenate([part[name] for part in parts]) for name in ("pixels", "points", "bits", "tones")))


def drawn(world: FaceWorld, latents: Latents) -> dict[str, np.ndarray]:
    """Pixels, points, bits and tones of subjects."""
    masks = world.masks(latents, further=("hat",))
    bits = sum((masks[name].astype(np.uint8) << bit for bit, name in enumerate(PARTS)), np.uint8(0))
    return {
        "pixels": world.render(latents).pixels,
        "points": world.landmarks(latents).astype(np.float32),
        "bits": np.asarray(bits, dtype=np.uint8),
        "tones": world.read(latents)["skin_tone"].to_numpy(),
    }


def _part(folder: Path, world: FaceWorld, seeds: Int[np.ndarray, " n"]) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file, save

    key = spec_hash({"world": world.describe(), "first": int(seeds[0]), "count": len(seeds)})
    file = folder / f"marks-{key[:16]}.safetensors"
    if not file.exists():
        write_atomically(file, save(drawn(world, subjects(world, seeds))))
    loaded: dict[str, np.ndarray] = load_file(file)
    return loaded
