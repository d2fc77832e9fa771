"""The experiment repeated in other generators: a study for each, with the attributes that its world has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from transect.designs import transect_design
from transect.errors import BadInput
from transect.experiment import worlds
from transect.experiment.recipes import StudyRecipe, WorldRecipe
from transect.experiment.study import Study
from transect.experiment.world_settings import WorldSettings
from transect.jobs.audit.request import AuditRequest, Levels
from transect.protocols import Generator, World
from transect.runs.capabilities import check_subjects, for_attributes, generator_entry, usual_levels
from transect.runs.folder import slug
from transect.texts import say

EDITED: Final = "photographs-edited"
REPEATED: Final = "repeat-"
"""What the names of these studies begin with: experiments on photographs, and in any other world."""
_OF_PHOTOGRAPHS: Final = "photographs:"


def check(request: AuditRequest) -> None:
    """Raises BadInput where there is no experiment to repeat."""
    if request.replicate and not request.vary:
        raise BadInput("--replicate repeats an experiment: give --vary, or drop it")


def is_one(study: Study) -> bool:
    """Whether a study repeats the experiment in another world."""
    return study.name.startswith((EDITED, REPEATED))


def photographs(request: AuditRequest) -> str | None:
    """The data set whose photographs are edited, as READER:PATH: they are observed as they are, too; None without."""
    given = [str(spec) for spec in request.replicate if _edited(spec)]
    return given[0].removeprefix(_OF_PHOTOGRAPHS) if given else None


def _edited(spec: str | Path | Generator) -> bool:
    return isinstance(spec, str) and spec.startswith(_OF_PHOTOGRAPHS)


def studies(request: AuditRequest, first: World | None) -> Iterator[Study]:
    """A study for each generator. first: the experiment's own world.

    Raises BadInput for a world that has none of the attributes, or is given twice.
    """
    names: set[str] = set()
    own = None if first is None else generator_entry(first)
    for spec in request.replicate:
        settings = _settings(request.world, spec)
        world = settings.open()
        if generator_entry(world) == own:
            raise BadInput(
                f"--replicate {world.name}: expected another world, got that of the experiment, whose subjects these "
                "would be again; name another"
            )
        name = _name(world.name, several=sum(map(_edited, request.replicate)) > 1)
        if name in names:
            raise BadInput(
                f"--replicate {world.name}: expected another world each time, got two of that name; leave one out, or "
                "rename its folder"
            )
        names.add(name)
        yield _study(request, settings, world, name)


def _name(world: str, several: bool) -> str:
    """The study's name, which stands in sentences and is a folder. several: there are other photographs, too.

    >>> _name("photographs:folder:faces", several=False), _name("photographs:folder:faces", several=True)
    ('photographs-edited', 'photographs-edited-folder-faces')
    >>> _name("reference", several=False)
    'repeat-reference'
    """
    if not world.startswith(_OF_PHOTOGRAPHS):
        return REPEATED + slug(world)
    return f"{EDITED}-{slug(world.removeprefix(_OF_PHOTOGRAPHS))}" if several else EDITED


def _settings(first: WorldSettings, spec: str | Path | Generator) -> WorldSettings:
    """The other world at its own size where it has one; populations, directions and latents are of the first alone."""
    if not isinstance(spec, str | Path):
        return WorldSettings(spec)
    size = first.image_size if str(spec).startswith(("faceworld", _OF_PHOTOGRAPHS)) else None
    return WorldSettings(spec, image_size=size, device=first.device)


def _study(request: AuditRequest, settings: WorldSettings, world: World, name: str) -> Study:
    design = transect_design(
        _known(request.vary, world),
        world.attributes,
        usual=usual_levels(world),
        subjects=request.subjects,
        seed=request.seed,
        population=worlds.population_of(world),
        hold=request.hold,
    )
    worlds.check_hold(world, design)
    varied = tuple(design.levels)
    world = for_attributes(world, varied)
    check_subjects(world, request.subjects)
    return Study(name, world, design, (), recipe=StudyRecipe(WorldRecipe(settings, varied=varied)))


def _known(vary: Levels, world: World) -> Levels:
    """The attributes that the other world has too. Raises BadInput where it has none of them."""
    has = {attribute.name for attribute in world.attributes}
    named = [str(text).partition("=")[0].strip() for text in vary]
    left = [name for name in named if name not in has]
    if len(left) == len(named):
        raise BadInput(f"--replicate {world.name}: expected one of {', '.join(named)}, got none; vary one that it has")
    for name in left:
        say(f"{world.name}: it has no {name}, so that this is not repeated there", error=True)
    if isinstance(vary, Mapping):
        return {name: levels for name, levels in vary.items() if name in has}
    return [text for text, name in zip(vary, named, strict=True) if name in has]
