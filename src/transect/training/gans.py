"""From a plan to a training: the three architectures, their sizes, and how they grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, final

import torch

from transect import options
from transect.errors import BadInput, UnknownName
from transect.generators.progressive.generator import Shape
from transect.generators.stylegan2.network import Configuration
from transect.training.distillation import TAUGHT_MAPPING, Distillation, Likeness, Pairs, teacher_of
from transect.training.loop import Data, Processes, Recipe, Run, check_folder, claim, train
from transect.training.options import GanOptions
from transect.training.pictures import Balanced, Condition, Pictures, Source, levels_of, parse
from transect.training.recipes import PRECISIONS, Growth, ProgressiveRecipe, StyleGAN2Recipe, even

ARCHITECTURES: Final = {
    "stylegan2": "StyleGAN2 (Karras et al. 2020): non-saturating loss, R1, path length",
    "progressive": "progressive GAN (Karras et al. 2018) with WGAN-GP, as Denton et al. 2019",
    "conditional": "the same with a condition next to the latent and a class head, as McDuff et al. 2019",
}
_PRIOR: Final = {"stylegan2": 512, "progressive": 128, "conditional": 100}

OBJECTIVE: Final = "class head and projection"
"""Of a conditional training: a folder of another objective is refused."""
_WEIGHT: Final = 10.0
"""Of the distance from a teacher's picture, beside an adversarial loss of weight 1."""
_ABOVE_ZERO: Final = ("rate", "teacher_weight", "half_life")


@final
@dataclass(frozen=True, slots=True)
class Plan(GanOptions):
    """What is trained, and for how long, with the options. Raises BadInput or UnknownName for what does not fit."""

    arch: str
    images: int
    seed: int = 0
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        options.check(self)
        for name in _ABOVE_ZERO:
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise BadInput(f"--{name.replace('_', '-')}: expected a number above 0, got {value}")
        if self.arch not in ARCHITECTURES:
            raise UnknownName("architecture", self.arch, ARCHITECTURES)
        if self.precision not in PRECISIONS:
            raise UnknownName("precision", self.precision, PRECISIONS)
        if (self.arch == "conditional") != bool(self.conditions):
            expected = "at least one --condition" if self.arch == "conditional" else "no --condition"
            raise BadInput(
                f"{self.arch}: expected {expected}, got {len(self.conditions)}; see: transect train gan --help"
            )
        self._check_teacher()
        names = [text.partition("=")[0] for text in self.conditions]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInput(f"--condition: {twice[0]} is given twice; put its cuts into one")

    def _check_teacher(self) -> None:
        if self.distil is None:
            if given := [name for name in ("blend", "teacher_weight") if getattr(self, name) is not None]:
                raise BadInput(f"--{given[0].replace('_', '-')} needs --distil; add --distil IMAGES")
            return
        if self.arch != "stylegan2":
            raise BadInput(f"--distil: expected --arch stylegan2, got {self.arch}")
        if self.mirror:
            raise BadInput("--distil cannot be combined with --mirror: a mirrored picture has a different latent")


def fit(
    plan: Plan, data: Pictures, out: Path, crew: Processes, *, quiet: bool = False, likeness: Likeness | None = None
) -> Path:
    """Train as planned on those pictures, or go on; the path of the averaged generator.

    Everything that can be refused is checked before anything is rendered or written. likeness: with `distil`, what is
    compared beside pixels. Raises BadInput for what does not fit, and RunFolderError for a folder of another training.
    """
    crew.check(plan.batch)
    plan = taught(plan, data.source)
    spec = _spec(plan, data, likeness)
    run = Run(plan.images, plan.batch, out, spec, plan.every, plan.seed, crew.device, plan.mirror, quiet=quiet)
    check_folder(run)
    chosen: Data = data
    conditions: list[Condition] = []
    if plan.conditions:
        chosen = balanced = Balanced(data, plan.conditions, data.source.attributes)
        run, conditions = replace(run, classes=balanced.classes), balanced.conditions
    elif plan.distil is not None:
        chosen = Pairs(data)
    recipe = recipe_of(plan, data.size, crew.device, conditions, likeness)
    with crew.in_turn():
        claim(run)
        data.prepare()
    return train(recipe, chosen, run, crew)


def taught(plan: Plan, source: object) -> Plan:
    """The plan with the latents of the world that it distils, if it does. Raises BadInput where these do not fit."""
    if plan.distil is None:
        return plan
    dimension = teacher_of(source).latent_dim
    if plan.z_dim not in (None, dimension):
        raise BadInput(f"--z-dim: expected the teacher's {dimension} with --distil, got {plan.z_dim}; leave it out")
    return replace(plan, z_dim=dimension)


def _spec(plan: Plan, data: Pictures, likeness: Likeness | None) -> dict[str, object]:
    """The settings that identify a training. The number of images is not one, unless it stretches the published growth.

    Settings at their default are left out, so that a folder stays usable when options are added.
    """
    settings = {name: value for name, value in asdict(plan).items() if value is not None and name != "every"}
    settings["conditions"] = list(plan.conditions)
    if plan.grow is not None or plan.arch == "stylegan2":
        del settings["images"]
    if plan.conditions:
        settings["objective"] = OBJECTIVE
    if plan.distil is not None and likeness is not None:
        settings |= {"likeness": likeness.name, "mapping_rate": TAUGHT_MAPPING}
    return {"plan": settings, "data": data.settings, "pictures": len(data)}


def check(plan: Plan, source: Source) -> None:
    """Raise the errors of `fit`, before any picture is drawn."""
    plan = taught(plan, source)
    conditions = [
        (attribute.name, levels_of(attribute, cuts))
        for attribute, cuts in (parse(text, source.attributes) for text in plan.conditions)
    ]
    with torch.device("meta"):
        recipe_of(plan, source.image_size, "meta", conditions)


def recipe_of(
    plan: Plan,
    size: int,
    device: str,
    conditions: Sequence[tuple[str, Sequence[str]]] = (),
    likeness: Likeness | None = None,
) -> Recipe:
    """Networks and objective of a plan, for pictures of that size. Raises BadInput for a size or channels that fail."""
    channels = _channels(plan, size)
    z_dim = _PRIOR[plan.arch] if plan.z_dim is None else plan.z_dim
    growth = None if plan.grow is None else growth_of(plan.grow, size, plan.fade)
    if plan.arch == "stylegan2":
        shape = Configuration(z_dim, z_dim, 0, plan.mapping_layers, channels)
        return StyleGAN2Recipe(shape, plan, growth, _distillation(plan, likeness), plan.seed, device)
    classes = math.prod(len(levels) for _, levels in conditions) if conditions else 0
    growth = growth or even(sorted(channels), plan.images)
    return ProgressiveRecipe(Shape(z_dim, classes, channels), plan, growth, conditions, plan.seed, device)


def _channels(plan: Plan, size: int) -> dict[int, int]:
    """By the size of a layer's picture. Raises BadInput where that cannot be."""
    if size < 8 or size & (size - 1):
        raise BadInput(f"size: expected a power of two of at least 8, got {size}; choose 64 or 128")
    channels = {4 << i: min(plan.channels // (4 << i), plan.max_channels) for i in range(size.bit_length() - 2)}
    if min(channels.values()) < 1:
        raise BadInput(f"channels: expected at least {size} for pictures of {size} pixels, got {plan.channels}")
    return channels


def _distillation(plan: Plan, likeness: Likeness | None) -> Distillation | None:
    if plan.distil is None:
        return None
    blend = plan.distil // 2 if plan.blend is None else plan.blend
    return Distillation(plan.distil, blend, _WEIGHT if plan.teacher_weight is None else plan.teacher_weight, likeness)


def growth_of(text: str, size: int, fade: int | None = None) -> Growth:
    """Phases of SIZE:IMAGES,SIZE:IMAGES up to the pictures' own size; fade: None for a quarter of the shortest."""
    try:
        phases = [tuple(int(part) for part in phase.split(":")) for phase in text.split(",")]
        sizes, shown = zip(*phases, strict=True)
    except ValueError:
        raise BadInput(f"grow: expected SIZE:IMAGES,SIZE:IMAGES, got {text!r}; for example 16:50000,32:50000") from None
    if not all(side >= 8 for side in sizes):
        raise BadInput(f"grow: expected sizes of at least 8, got {text!r}; start with 8 or 16")
    return Growth((*sizes, size), tuple(shown), min(shown) // 4 if fade is None else fade)
