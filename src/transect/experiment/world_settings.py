"""Where the images of a job come from, as one record: the generator, its population, and what sets its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from transect.experiment.worlds import open_world
from transect.protocols import Generator, World


@final
@dataclass(frozen=True, slots=True)
class WorldSettings:
    """A generator and its settings.

    generator: a name, a network's file, or an object with the contract of Generator and Controls, which has its own
    size, population and device. population: a shipped name or a TOML file; default "balanced". image_size: pixels;
    default 128, or a network's own. device: default "cpu". directions: fitted directions that set the attributes of a
    learned generator. latents: inverted photographs, which then are the subjects. photographs, mask: the folder or
    READER:PATH of what was inverted, and the part of each in which the generator's image stands; outside the mask the
    photograph is put back.
    """

    generator: str | Path | Generator = "faceworld"
    population: str | None = None
    image_size: int | None = None
    device: str | None = None
    directions: Path | None = None
    latents: Path | None = None
    photographs: str | Path | None = None
    mask: str | None = None

    def open(self) -> World:
        """The world. Raises BadInput, UnknownName or MissingExtra as `open_world`."""
        generator = str(self.generator) if isinstance(self.generator, Path) else self.generator
        return open_world(
            generator,
            self.image_size,
            self.population,
            self.device,
            self.directions,
            self.latents,
            self.photographs,
            self.mask,
        )
