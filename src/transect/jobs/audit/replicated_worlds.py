"""The experiment repeated in other generators: a study for each, with the attributes that its world has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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


def is_edited(study: Study) -> bool:
    """Whether it does on photographs."""
    return study.name.startswith(EDITED)


def photographs(request: AuditRequest) -> dict[str, str]:
    """The data sets whose photographs are edited, as READER:PATH, and what tells their studies apart."""
    specs = [str(spec) for spec in request.replicate if _edited(spec)]
    others = {*specs} | ({f"{_OF_PHOTOGRAPHS}{request.dataset}"} if request.dataset else set())
    called = _called(specs) if len(others) > 1 else dict.fromkeys(specs, "")
    return {spec.removeprefix(_OF_PHOTOGRAPHS): name for spec, name in called.items()}


def _called(specs: Sequence[str]) -> dict[str, str]:
    """Each data set by its reader and folder, with as many folders above as tell it from the others.

    >>> list(_called([f"photographs:folder:{place}" for place in ("/a/faces", "/b/faces", "/b/more")]).values())
    ['folder-a-faces', 'folder-b-faces', 'folder-more']
    """
    parts, depths = {spec: _parts(spec) for spec in specs}, dict.fromkeys(specs, 1)
    while True:
        names = {spec: slug("-".join((parts[spec][0], *parts[spec][-depth:]))) for spec, depth in depths.items()}
        counts = Counter(names.values())
        alike = [spec for spec in depths if counts[names[spec]] > 1 and depths[spec] < len(parts[spec]) - 1]
        if not alike:
            return names
        depths |= {spec: depths[spec] + 1 for spec in alike}


def _parts(spec: str) -> tuple[str, ...]:
    """The reader and the folders of photographs:READER:PATH?settings, from the outermost on."""
    reader, _, place = spec.removeprefix(_OF_PHOTOGRAPHS).partition(":")
    whole = Path(place.partition("?")[0]).absolute()  # no link is followed
    return (reader, *whole.parts[1:])


def _edited(spec: str | Path | Generator) -> bool:
    return isinstance(spec, str) and spec.startswith(_OF_PHOTOGRAPHS)


def studies(request: AuditRequest, first: World | None) -> Iterator[Study]:
    """A study for each generator. first: the experiment's own world.

    Raises BadInput for a world that has none of the attributes, or is given twice.
    """
    names: set[str] = set()
    called = _called([str(spec) for spec in request.replicate if _edited(spec)])
    own = None if first is None else generator_entry(first)
    for spec in request.replicate:
        settings = _settings(request.world, spec)
        world = settings.open()
        if generator_entry(world) == own:
            raise BadInput(
                f"--replicate {world.name}: expected another world, got that of the experiment, whose subjects these "
                "would be again; name another"
            )
        name = _name(world.name, called.get(str(spec), "") if len(called) > 1 else "")
        if name in names:
            raise BadInput(
                f"--replicate {world.name}: expected another world each time, got two of that name; leave one out, or "
                "rename its folder"
            )
        names.add(name)
        yield _study(request, settings, world, name)


def _name(world: str, called: str) -> str:
    """The study's name, used in sentences and as a folder's name. called: what distinguishes these photographs, or "".

    >>> _name("photographs:folder:faces", ""), _name("photographs:folder:faces", "folder-a-faces")
    ('photographs-edited', 'photographs-edited-folder-a-faces')
    >>> _name("reference", "")
    'repeat-reference'
    """
    if not world.startswith(_OF_PHOTOGRAPHS):
        return REPEATED + slug(world)
    return f"{EDITED}-{called}" if called else EDITED


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
    named = _named(vary)
    if not has & {*named}:
        labels = world.name.startswith(_OF_PHOTOGRAPHS) and "labels as they are are observed with --dataset READER:PATH"
        raise BadInput(
            f"--replicate {world.name}: expected one of {', '.join(named)}, got none that {_sets(world)}; vary one"
            f"{f' ({labels})' if labels else ''}"
        )
    if isinstance(vary, Mapping):
        return {name: levels for name, levels in vary.items() if name in has}
    return [text for text, name in zip(vary, named, strict=True) if name in has]


def _named(vary: Levels) -> list[str]:
    return [str(text).partition("=")[0].strip() for text in vary]


def _sets(world: World) -> str:
    return "an edit of photographs sets" if world.name.startswith(_OF_PHOTOGRAPHS) else "it has"


def not_repeated(vary: Levels, repeated: Study, observed: Study | None) -> Iterator[str]:
    """A line for each attribute that another world does not set. observed: its photographs as they are, if they are."""
    known = set() if observed is None else {attribute.name for attribute in observed.world.attributes}
    for name in _named(vary):
        if name in repeated.design.levels:
            continue
        if not repeated.world.name.startswith(_OF_PHOTOGRAPHS):
            yield f"{repeated.world.name}: it has no {name}, so that this is not repeated there"
        elif observed is not None and name in known:
            yield (
                f"{repeated.world.name}: no edit sets {name}, so that this is not repeated there; its label is "
                f"observed, as it is: the study {observed.name}"
            )
        else:
            yield f"{repeated.world.name}: no edit sets {name} and no label says it, so that this is not repeated there"
