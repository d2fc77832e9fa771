"""The rendered people: their pictures, and what each shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8

from transect.experiment.worlds import WorldSettings
from transect.protocols import World
from transect.records import SUBJECTS_PER_SEED, Latents
from transect.runs.parts import Progress

SIZE: Final = 64
SHOTS: Final = 3
"""Pictures of each person for recognition."""
POPULATION: Final = "celebrity-like"
"""A confounded one: age, make-up and glasses go along with the shape of the face."""
_AT_ONCE: Final = 64
_LABELLED: Final = ("skin_tone", "age", "glasses", "smile")
_MOVED: Final = {"yaw": (-20.0, 20.0), "pitch": (-8.0, 8.0), "light_level": (-4.0, 0.0), "smile": (0.0, 1.0)}
"""What differs between two pictures of a person, and its range."""


@final
@dataclass(frozen=True, slots=True)
class Faces:
    """Rendered pictures, a row each: ids, numbers of the persons, uint8 pixels [n, h, w, 3], and FaceWorld's values."""

    ids: list[str]
    persons: Int[np.ndarray, " n"]
    pixels: UInt8[np.ndarray, "n h w 3"]
    values: pa.Table

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """The values of one attribute, as FaceWorld has them."""
        return np.asarray(self.values[name].to_numpy(), dtype=np.float64)

    def bits(self, name: str) -> Int[np.ndarray, " n"]:
        """1 where the attribute is above one half, as a label says it."""
        return (self.column(name) > 0.5).astype(np.int64)

    def face(self) -> Sequence[str]:
        """How the shape of the face looks: the protected attribute of the tables."""
        return ["masculine" if value > 0.5 else "feminine" for value in self.column("face_shape")]

    def skin(self) -> Sequence[str]:
        """Light up to the middle of the Monk scale, else dark."""
        return ["light" if value <= 5.5 else "dark" for value in self.column("skin_tone")]

    def files(self, folder: str) -> list[str]:
        """Where each picture is."""
        return [f"{folder}/{name}.png" for name in self.ids]

    def numbers(self, names: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
        """Attributes by name, to four decimals."""
        return {name: np.round(self.column(name), 4) for name in names}

    def labels(self) -> pa.Table:
        """What `--dataset folder:` reads: file, and a column per attribute."""
        values = self.numbers(_LABELLED)
        values["glasses"], values["smile"] = (self.bits(name) for name in ("glasses", "smile"))
        return pa.table({"file": [f"{name}.png" for name in self.ids], **values})


def people_of(count: int, seed: int, progress: Progress) -> Faces:
    """As many people, each on one picture."""
    world = _world(POPULATION)
    people = np.arange(count)
    latents = world.sample(people + seed * SUBJECTS_PER_SEED)
    return Faces([f"{person:04d}" for person in people], people, _pixels(world, latents, progress), world.read(latents))


def shots_of(count: int, seed: int, progress: Progress) -> Faces:
    """As many people on three pictures each, which differ in pose, light and smile; half of them have dark skin."""
    world = _world("balanced")
    persons = np.repeat(np.arange(count), SHOTS)
    drawn = np.random.Generator(np.random.Philox(seed))
    settings = {name: drawn.uniform(low, high, len(persons)) for name, (low, high) in _MOVED.items()}
    tone = drawn.uniform(1, 5.5, count) + 4.5 * (np.arange(count) % 2)
    settings["skin_tone"] = tone[persons]
    latents = world.set(world.sample(persons + seed * SUBJECTS_PER_SEED), settings)
    ids = [f"{person:04d}-{shot}" for person, shot in zip(persons, np.tile(np.arange(SHOTS), count), strict=True)]
    return Faces(ids, persons, _pixels(world, latents, progress), world.read(latents))


def _world(population: str) -> World:
    return WorldSettings("faceworld", population, SIZE).open()


def _pixels(world: World, latents: Latents, progress: Progress) -> UInt8[np.ndarray, "n h w 3"]:
    parts = []
    for start in range(0, len(latents), _AT_ONCE):
        parts.append(world.render(latents.take(slice(start, start + _AT_ONCE))).pixels)
        progress.advance(len(parts[-1]))
    return np.concatenate(parts)
