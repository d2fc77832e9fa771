"""Worlds by name and settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

from transect.errors import BadInput
from transect.options import Option
from transect.protocols import Controls, Generator, World
from transect.records import Attribute, Design
from transect.runs import capabilities

_BACKGROUND: Final = (
    "--photographs and --mask need --latents FILE, whose photographs keep their background; give it, or leave them out"
)


def generator_of(
    generator: object, image_size: int | None, population: str | None, device: str | None, *, learned: bool
) -> Generator:
    """The generator alone, whether or not it sets anything; learned: its latents are moved along directions."""
    from transect.generators import load

    if isinstance(generator, str):
        # Directions are of latents that a learned generator has: FaceWorld's are those of its latent view.
        name = "faceworld-latent" if learned and generator == "faceworld" else generator
        return load(name, image_size=image_size, population=population or "balanced", device=device or "cpu")
    if not (isinstance(generator, Generator) and (learned or isinstance(generator, Controls))):
        members = "name, image_size, latent_dim, sample and render, attributes, read and set"
        raise BadInput(f"generator: expected a name, or an object with {members}, got {type(generator).__name__}")
    if not (image_size is None and population is None and device is None):
        raise BadInput("generator: an object has its own image_size, population and device; set them on the object")
    return generator


def truth_attributes(world: World) -> dict[str, Attribute]:
    """By name, what a truth may be about: what the world knows of its images, or else what it sets."""
    return {attribute.name: attribute for attribute in capabilities.truth_attributes(world)}


def check_hold(world: World, design: Design) -> None:
    """Refuse to hold what no varied attribute changes: the report would call a total effect direct."""
    if not design.hold:
        return
    subjects = world.sample(design.subject_seeds(0, 4))
    from transect.designs import transect_latents

    free = world.read(transect_latents(replace(design, hold=()), subjects, world))
    unvaried = world.read(subjects.repeat(design.n_cells))
    for name in design.hold:
        if free[name].equals(unvaried[name]):
            raise BadInput(f"--hold {name}: no varied attribute changes {name}; drop it")


@final
@dataclass(frozen=True, slots=True)
class WorldSettings:
    """A generator and its settings.

    generator: a name, a network's file, or an object with the contract of Generator and Controls, which has its own
    size, population and device. population: a built-in name or a TOML file; default "balanced". image_size: pixels;
    default 128, or a network's own. device: default "cpu". directions: fitted directions that set the attributes of a
    learned generator. latents: inverted photographs, which then are the subjects. photographs, mask: the folder or
    READER:PATH of what was inverted, and the part of each in which the generator's image stands; outside the mask the
    photograph is put back.
    """

    PANEL: ClassVar = "Images"

    generator: Annotated[
        str | Path | Generator,
        Option("The image generator: a name, or a network's FILE.safetensors.", str, opens="model"),
    ] = "faceworld"
    population: Annotated[
        str | None,
        Option(
            "Where subjects are drawn from: a built-in population or a TOML file. Default balanced.",
            opens="data",
        ),
    ] = None
    image_size: Annotated[
        int | None,
        Option(
            "Width and height of each image in pixels; default 128, or that of the network or photographs.",
            names=("--size",),
        ),
    ] = None
    device: Annotated[
        str | None,
        Option("Where a learned generator computes: cpu, cuda, cuda:1, … Default cpu.", rare=True, opens="value"),
    ] = None
    directions: Annotated[
        Path | None,
        Option(
            "Fitted directions that set the attributes of a learned generator; see: transect directions fit.",
            rare=True,
            opens="data",
        ),
    ] = None
    latents: Annotated[
        Path | None,
        Option(
            "Inverted photographs as subjects, edited along --directions; see: transect invert.",
            rare=True,
            opens="data",
        ),
    ] = None
    photographs: Annotated[
        str | Path | None,
        Option(
            "For --latents: the inverted photographs, a folder or READER:PATH, kept bitwise outside --mask.",
            str,
            rare=True,
            opens="data",
        ),
    ] = None
    mask: Annotated[
        str | None,
        Option(
            "For --photographs: the area of the generator's image, such as face@dataset, ellipse:X,Y,RX,RY or "
            "folder:PATH.",
            metavar="MASK",
            rare=True,
            opens="data",
        ),
    ] = None

    def open(self) -> World:
        """The world, with fitted directions as its controls if a file is given. Raises as `generators.load`."""
        generator = str(self.generator) if isinstance(self.generator, Path) else self.generator
        directions, latents = self.directions, self.latents
        if isinstance(generator, str) and generator.partition("?")[0] == "reference" and directions is None:
            from transect.generators.reference import DIRECTIONS

            directions = DIRECTIONS
        if latents is None and (self.photographs is not None or self.mask is not None):
            raise BadInput(_BACKGROUND)
        learned = directions is not None
        opened = generator_of(generator, self.image_size, self.population, self.device, learned=learned)
        if directions is not None:
            from transect.controls.learned import LearnedWorld, read_directions

            if latents is not None:
                from transect.inversion.pictures import InvertedPhotographs

                opened = InvertedPhotographs.open(opened, latents, self.photographs, self.mask)
            return LearnedWorld(opened, read_directions(Path(directions)))
        if latents is not None:
            raise BadInput("--latents needs --directions FILE, along which photographs are edited")
        if not (isinstance(opened, World) and opened.attributes):
            raise BadInput(
                f"generator {opened.name}: expected attributes that can be set, got only latents; give --directions "
                "FILE, made by: transect directions fit"
            )
        return opened
