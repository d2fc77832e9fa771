"""What opens a study's world, check and targets again in a worker, by text alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from transect.experiment import costs
from transect.experiment.audit_request import CheckSettings
from transect.experiment.edits import EditCheck, named
from transect.experiment.opened_targets import give_name
from transect.experiment.worlds import WorldSettings
from transect.protocols import Target, TargetLike, World
from transect.runs.capabilities import for_attributes
from transect.spoken_answers import AskedSpec
from transect.targets.capabilities import is_metered


@final
@dataclass(frozen=True, slots=True)
class WorldRecipe:
    """How the world of a study is opened.

    dataset: labelled photographs in place of the generator of `settings`, and how many may be left out. steps: the
    attribute that is moved in steps, as --steps has it, and what a step is. lines: whether subjects are lines.
    varied: levels of attributes that are set, on which it depends who the subjects are.
    """

    settings: WorldSettings
    dataset: str | None = None
    max_unreadable: int | None = None
    steps: str = ""
    step_unit: str = ""
    lines: bool = False
    varied: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether it is texts alone; a generator may be an object."""
        return self.dataset is not None or is_plain(self.settings.generator)

    def open(self) -> World:
        """The world. Raises as opening it for the first time."""
        from transect.designs.steps import Lines, parse_steps

        if self.dataset is not None:
            from transect.datasets import open_dataset

            return open_dataset(self.dataset, image_size=self.settings.image_size, max_unreadable=self.max_unreadable)
        world = for_attributes(self.settings.open(), self.varied)
        if self.steps:
            ((stepped, _),) = parse_steps([self.steps], world, self.step_unit)
            return stepped
        return Lines(world) if self.lines else world


@final
@dataclass(frozen=True, slots=True)
class TargetRecipe:
    """How a target is opened: its spec, its options, and the user's own name ("" for none)."""

    spec: str
    options: Mapping[str, Any]
    name: str = ""

    def open(self) -> Target:
        """The target. Raises as resolving it for the first time."""
        from transect.targets import resolve

        target = resolve(self.spec, **self.options)
        if self.name:
            give_name(target, self.name, self.spec)
        return target


@final
@dataclass(frozen=True, slots=True)
class StudyRecipe:
    """How the world, the targets and the check of a study are opened. None: asked in the process of the run."""

    world: WorldRecipe
    targets: tuple[TargetRecipe | None, ...] = ()
    check: CheckSettings | None = field(default_factory=CheckSettings)

    @property
    def apart(self) -> bool:
        """Whether a worker can make the images."""
        return self.world.plain and self.check is not None


def is_plain(value: object) -> bool:
    """Whether a value is texts, numbers and paths, in lists and mappings.

    >>> is_plain({"labels": ["no", "yes"], "file": Path("a.toml")}), is_plain(print)
    (True, False)
    """
    if isinstance(value, Mapping):
        return all(is_plain(key) and is_plain(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, str | int | float | Path)


def recipe_of_target(
    given: object, opened: Target, options: Mapping[str, object], name: str = ""
) -> TargetRecipe | None:
    """How a worker opens a target; None for an object, a function, and one that counts its calls."""
    if isinstance(given, AskedSpec):
        options = {**options, **given.settings()}
        given = given.source
    session = isinstance(given, str) and given.removeprefix("callable:").startswith("__main__:")
    if not isinstance(given, str) or session or is_metered(opened) or not is_plain(options):
        return None
    return TargetRecipe(given, dict(options), name)


def recipe_of_check(given: CheckSettings, opened: EditCheck) -> CheckSettings | None:
    """How a worker opens a check; None where this process must ask one of its targets, as `recipe_of_target` has it."""
    readers = given.attributes if isinstance(given.attributes, Mapping) else named(given.attributes)
    pairs = [(spec, opened.attributes[name]) for name, spec in readers.items()]
    for spec, target in (*pairs, (given.identity, opened.identity), (given.realism, opened.realism)):
        if target is not None and recipe_of_target(spec, target, {}) is None:
            return None
    return given


def embedding_target(target: TargetLike, preprocess: object) -> Target:
    """The target of a spec or object; one that does not state its task embeds."""
    from transect.targets import as_target, resolve
    from transect.targets.isolated import is_model
    from transect.targets.resolution import is_python, takes

    if not isinstance(target, str):
        states_task = isinstance(target, Target) or inspect.isclass(target)
        return as_target(target, preprocess=preprocess, task=None if states_task else "embedding")
    if takes(target, "task") and not is_python(target):
        return resolve(target, task="embedding", preprocess=preprocess)
    resolved = resolve(target, preprocess=preprocess)
    if is_model(resolved):
        costs.close([resolved])
        return resolve(target, task="embedding", preprocess=preprocess)
    return resolved


@final
@dataclass(frozen=True, slots=True)
class EmbeddingRecipe:
    """How a worker opens the target of `embedding_target`: by its spec, and how pictures are prepared for it."""

    spec: str
    preprocess: object

    def open(self) -> Target:
        """The target. Raises as opening it for the first time."""
        return embedding_target(self.spec, self.preprocess)


def recipe_of_embedding(given: object, opened: Target, preprocess: object) -> EmbeddingRecipe | None:
    """How a worker opens a target; None where this process must ask it, as `recipe_of_target` has it."""
    recipe = recipe_of_target(given, opened, {"preprocess": preprocess})
    return None if recipe is None else EmbeddingRecipe(recipe.spec, preprocess)
