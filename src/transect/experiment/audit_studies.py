"""From a request to its studies. One goes into the run folder itself; several into OUT/studies, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.datasets.features import as_named
from transect.datasets.folder import UNNAMED
from transect.designs import population_design, transect_design
from transect.designs.levels import unknown_attribute
from transect.designs.pairs import MatchedPairs, matched_pairs
from transect.designs.steps import Lines, lines_design, parse_steps
from transect.effects.outcomes import FACE, Truth, truths_of
from transect.errors import BadInput
from transect.experiment import edits, outcome_choice, small_runs, worlds
from transect.experiment.audit_request import AuditRequest, Levels
from transect.experiment.edits import EditCheck, plain_world
from transect.experiment.opened_targets import check_names
from transect.experiment.outcome_choice import shared_out
from transect.experiment.recipes import StudyRecipe, WorldRecipe, recipe_of_check, recipe_of_target
from transect.experiment.study import Study
from transect.experiment.worlds import WorldSettings
from transect.protocols import Generator, Target, World
from transect.records import Attribute, Design, Task
from transect.runs import report_options
from transect.runs.capabilities import (
    check_subjects,
    for_attributes,
    generator_entry,
    truth_attributes,
    usual_levels,
)
from transect.runs.folder import slug
from transect.runs.layout import INTERPOLATION
from transect.runs.table_inputs import as_names, as_table
from transect.runs.tables import image_ids
from transect.runs.wording import counted
from transect.spoken_answers import AskedSpec
from transect.targets.words.asked import PairwiseQuestion
from transect.targets.words.judging import check
from transect.targets.words.questions import load
from transect.targets.words.speakers import about_two, asked_specs, shared, shared_object
from transect.texts import say


def expanded(request: AuditRequest) -> AuditRequest:
    """The request with a target for each question of each model; itself where it has no questions."""
    if request.questions is None and (request.judge is not None or request.scorers):
        raise BadInput("--judge and --scorer apply to answers in words: give --questions, or drop them")
    if request.questions is None or not request.targets:
        return request
    check(load(request.questions), request.judge, request.scorers)
    given = [request.targets] if isinstance(request.targets, str) else list(request.targets)
    called = check_names(request.names, len(given))
    specs = [source for source in asked_specs(given, request.questions) if isinstance(source, AskedSpec)]
    asked = [replace(source, judge=request.judge, scorers=request.scorers) for source in specs]
    each = len(asked) // len(given)
    own = [f"{called[place // each]}/{one.question}" for place, one in enumerate(asked)] if called else []
    return replace(request, targets=tuple(asked), names=tuple(own))


def model_name(request: AuditRequest, targets: Sequence[Target]) -> str:
    """What the run folder is called after: the first model, whatever it is asked."""
    first = next(iter(request.targets), None)
    name = targets[0].name
    return name.removesuffix(f"/{first.question}") if isinstance(first, AskedSpec) else name


def of_two(request: AuditRequest, targets: Sequence[Target]) -> tuple[PairwiseQuestion, ...]:
    """The questions of the file about two images at once, of each model."""
    if request.questions is None:
        return ()
    models: dict[str, object] = {}
    for source, target in zip(request.targets, targets, strict=True):
        if isinstance(source, AskedSpec):
            models.setdefault(target.name.removesuffix(f"/{source.question}"), source.source)
    questions, options = about_two(request.questions), request.model.options()
    return tuple(
        PairwiseQuestion(shared(source, options) if isinstance(source, str) else shared_object(source), question, name)
        for name, source in models.items()
        for question in questions
    )


def with_matched(studies: Sequence[Study], request: AuditRequest) -> list[Study]:
    """The studies, of which the last that observes images has the pairs; as they are where there are none."""
    if request.pairs is None:
        return list(studies)
    observing = [place for place, study in enumerate(studies) if not study.design.levels]
    if not observing:
        raise BadInput("--pairs applies to observed images: give --dataset, --images or --observe, or drop it")
    compared = as_names(request.compare)
    if len(compared) != 1:
        raise BadInput(
            "--pairs: expected --compare NAME once, the attribute in which the images of a pair differ, got "
            f"{' and '.join(compared) or 'none'}; add one"
        )
    whole = list(studies)
    whole[observing[-1]] = replace(studies[observing[-1]], matched=_matched(studies[observing[-1]], request, *compared))
    return whole


def _matched(study: Study, request: AuditRequest, name: str) -> MatchedPairs:
    source = request.pairs
    called = f"--pairs {source}" if isinstance(source, str | Path) else "--pairs"
    table = as_table(source, "--pairs") if source is not None else pa.table({})
    if not {"a", "b"} <= {*table.column_names} or not table.num_rows:
        raise BadInput(
            f"{called}: expected columns a and b with the images of each pair, got "
            f"{', '.join(table.column_names[:6]) or 'no column'} in {counted(table.num_rows, 'row')}; give the table "
            "that transect match wrote"
        )
    a, b = (_images(table[side], study, called) for side in ("a", "b"))
    known = study.world.read(study.world.sample(study.design.subject_seeds()))
    values = np.asarray(known[name].to_numpy(), dtype=np.float64)
    pairs = list(zip(a, b, strict=True))
    return replace(matched_pairs(name, values, pairs, called), name=file_name(source))


def file_name(source: object) -> str:
    """What the report calls the table: no path of this machine."""
    return Path(source).name if isinstance(source, str | Path) else "a table"


def _images(column: pa.ChunkedArray, study: Study, called: str) -> list[int]:
    """Numbers of images: as they are numbered, or by id."""
    given, n = column.to_pylist(), study.design.subjects
    if pa.types.is_integer(column.type):
        gone = getattr(study.world, "left_out", {})
        if left_out := sum(number for reason, number in gone.items() if reason != UNNAMED):
            raise BadInput(
                f"{called}: expected ids of images in a and b, since {counted(left_out, 'image')} of the data "
                f"set {'is' if left_out == 1 else 'are'} left out, got row numbers; use ids"
            )
        if column.null_count or not all(0 <= row < n for row in given):
            raise BadInput(f"{called}: expected row numbers from 0 to {n - 1}; were the pairs made from these images?")
        return [int(row) for row in given]
    ids = list(getattr(study.world, "ids", None) or image_ids(study.design, study.design.subject_seeds()))
    place = {name: row for row, name in enumerate(ids)}
    wanted = list(dict.fromkeys(given))
    named = dict(zip(wanted, as_named(wanted, ids)[0], strict=True))
    if unknown := [image for image in given if named[image] not in place]:
        raise BadInput(f"{called}: expected ids of images such as {ids[0]!r}, got {unknown[0]!r}")
    return [place[named[image]] for image in given]


EDITED: Final = "photographs-edited"
REPEATED: Final = "repeat-"
"""What the names of these studies begin with: experiments on photographs, and in any other world."""
_OF_PHOTOGRAPHS: Final = "photographs:"


def is_one(study: Study) -> bool:
    """Whether a study repeats the experiment in another world."""
    return study.name.startswith((EDITED, REPEATED))


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


def replicated_worlds_studies(request: AuditRequest, first: World | None) -> Iterator[Study]:
    """A study for each generator but the first; a world that has none of the attributes, or comes twice, is refused."""
    names: set[str] = set()
    called = _called([str(spec) for spec in request.replicate if _edited(spec)])
    own = None if first is None else generator_entry(first)
    for spec in request.replicate:
        settings = _settings(request.world, spec)
        world = settings.open()
        if generator_entry(world) == own:
            raise BadInput(
                f"--replicate {world.name}: this is the experiment's world with the same subjects; choose another"
            )
        name = _name(world.name, called.get(str(spec), "") if len(called) > 1 else "")
        if name in names:
            raise BadInput(f"--replicate {world.name}: two worlds have this name; leave one out, or rename its folder")
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
    world, design = _set(request, world, _known(request.vary, world))
    recipe = StudyRecipe(WorldRecipe(settings, varied=dict(design.levels)))
    return Study(name, world, design, (), recipe=recipe)


def _set(request: AuditRequest, world: World, vary: Levels) -> tuple[World, Design]:
    """The world of subjects on whom these attributes can be set, and the design that sets them."""
    shared = _shared(request, generator_entry(world).population)
    design = transect_design(vary, world.attributes, usual=usual_levels(world), **shared)
    worlds.check_hold(world, design)
    world = for_attributes(world, design.levels)
    check_subjects(world, request.subjects)
    return world, design


def _known(vary: Levels, world: World) -> Levels:
    """The attributes that the other world has too. Raises BadInput where it has none of them."""
    has = {attribute.name for attribute in world.attributes}
    named = _named(vary)
    if not has & {*named}:
        edits = world.name.startswith(_OF_PHOTOGRAPHS)
        labels = edits and "labels as they are are observed with --dataset READER:PATH"
        sets = "an edit of photographs sets" if edits else "it has"
        raise BadInput(
            f"--replicate {world.name}: expected one of {', '.join(named)}, got none that {sets}; vary one"
            f"{f' ({labels})' if labels else ''}"
        )
    if isinstance(vary, Mapping):
        return {name: levels for name, levels in vary.items() if name in has}
    return [text for text, name in zip(vary, named, strict=True) if name in has]


def _named(vary: Levels) -> list[str]:
    return [str(text).partition("=")[0].strip() for text in vary]


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


AUDIT: Final = "audit"
EXPERIMENT: Final = "experiment"
OBSERVATION: Final = "observation"
PHOTOGRAPHS: Final = "photographs"
"""Names of studies; AUDIT is that of a single experiment or observation."""


def check_request(request: AuditRequest) -> None:
    """Raises BadInput for settings that exclude each other."""
    if report_options.check_boundary(request.report.boundary) is not None:
        report_options.check_boundary_has_steps(bool(request.steps))
    observed = request.dataset or request.observe or request.images
    if request.compare and not observed:
        raise BadInput("--compare applies to observed images: give --observe, --images or --dataset, or drop it")
    if request.max_unreadable is not None and not request.dataset:
        raise BadInput("--max-unreadable applies to photographs: give --dataset, or drop it")
    if request.interpolate is not None and request.world.photographs is not None:
        raise BadInput("--interpolate: nothing lies between two backgrounds; leave it or --photographs out")
    if request.replicate and not request.vary:
        raise BadInput("--replicate repeats an experiment: give --vary, or drop it")
    if request.images is None:
        return
    if request.steps or request.dataset or request.observe or request.interpolate is not None:
        raise BadInput("--images cannot be combined with --steps, --dataset, --observe or --interpolate: drop one")
    if request.vary or request.hold:
        raise BadInput("--images observes a population: drop --vary and --hold, or use --subjects")


def designs(request: AuditRequest, targets: Sequence[Target]) -> tuple[list[Study], Study | None]:
    """Names, worlds and designs of the studies, without targets; and the interpolation, if it is asked for."""
    check_request(request)
    photographs = request.dataset is not None
    generated = bool(request.vary or request.steps or request.observe or request.images)
    small_runs.check_interpolation(request.interpolate, targets, world=generated)
    world = request.world.open() if generated or not photographs else None
    studies = [] if world is None else list(_generated(request, world))
    studies += replicated_worlds_studies(request, world)
    observed = _observed_as_they_are(request)
    _say_not_repeated(request, studies, observed)
    studies += observed.values()
    lines = None if request.interpolate is None or world is None else _interpolation(request, world, targets)
    return with_matched(_compared(studies, request.compare), request), lines


def complete(
    studies: Sequence[Study],
    request: AuditRequest,
    targets: Sequence[Target],
    check_edits: EditCheck,
    pairs: tuple[PairwiseQuestion, ...] = (),
) -> list[Study]:
    """The studies with their targets, truth and checks; experiments with what is asked about two images."""
    if not check_edits.empty and not any(study.design.levels for study in studies):
        raise BadInput("--check-… and --redraw apply to images whose attributes are set: give --vary or --steps")
    rule = request.verification
    if (rule.false_match_rate is not None or rule.within) and not any(map(_verifiable, studies)):
        raise BadInput("--false-match-rate and --within apply to images that --vary makes: give --vary, or drop them")
    if request.pairs is not None and not pairs:
        raise BadInput("--pairs: no question of the kind pair in --questions; add one, or give --questions pairs")
    if pairs and not any(map(shows_pairs, studies)):
        names = ", ".join(dict.fromkeys(each.question.name for each in pairs))
        say(
            f"{names} left out: two images at once show one subject at two levels, or two matched subjects; give "
            "--vary, or --pairs with --dataset",
            error=True,
        )
    counted, lines = shared_out(request.outcomes, targets)
    for line in lines:
        say(line, error=True)
    whole = [replace(_complete(study, request, targets, check_edits), counted=counted) for study in studies]
    return [replace(study, pairs=pairs) if shows_pairs(study) else study for study in whole]


def shows_pairs(study: Study) -> bool:
    """Whether two images are shown at once in it: of a subject at two levels that are set, or of matched subjects."""
    return study.matched is not None or (_verifiable(study) and bool(study.design.levels))


def observed(studies: Sequence[Study]) -> dict[str, Attribute]:
    """Attributes of the images of studies that set no level, by name, compared or adjusted for."""
    known: dict[str, Attribute] = {}
    for study in studies:
        if not study.design.levels:
            counted = (*(each.name for each in study.world.attributes if each.role == "attribute"), *study.compared)
            known |= {each.name: each for each in study.world.attributes if each.name in counted}
    return known


def controlled(studies: Sequence[Study], request: AuditRequest) -> Study | None:
    """The study that a negative control stands beside: the first that sets attributes; None without a control."""
    return next((study for study in studies if study.design.levels), None) if request.control else None


def fewer(request: AuditRequest, studies: Sequence[Study]) -> str:
    """The options by which studies have fewer images, as a list in words."""
    set_levels = any(study.design.levels for study in studies)
    options = {
        "--subjects": set_levels,
        "--vary": bool(request.vary),
        "--steps": bool(request.steps),
        "--observe": request.observe is not None,
        "--images": request.images is not None,
        "a limit in --dataset": request.dataset is not None,
        "--interpolate": request.interpolate is not None,
        "--replicate": bool(request.replicate),
    }
    return " or ".join(name for name, used in options.items() if used)


def of_plain_world(study: Study) -> Study:
    """The study on the world itself where it is moved in steps."""
    recipe = study.recipe and replace(study.recipe, world=replace(study.recipe.world, steps=""))
    return replace(study, world=plain_world(study.world), recipe=recipe)


def _generated(request: AuditRequest, world: World) -> Iterator[Study]:
    """Studies of generated images: the experiment, one for each attribute in steps, and the observation."""
    _check_photographs(request, world)
    population = generator_entry(world).population
    observed = request.observe or request.images
    if observed is None or request.vary or request.steps:
        check_subjects(world, request.subjects)
    if observed is not None:
        check_subjects(world, observed)
    if request.vary or not (request.steps or request.observe or request.images):
        yield _experiment(request, world)
    for text, (stepped, levels) in zip(
        request.steps, parse_steps(request.steps, world, request.step_unit), strict=True
    ):
        design = transect_design({stepped.own.name: levels}, stepped.attributes, **_shared(request, population))
        recipe = _recipe(request, steps=text, step_unit=request.step_unit)
        yield Study(f"steps-{stepped.own.name}", stepped, design, (), recipe=recipe)
    if observed is not None:
        design = population_design(population, images=observed, seed=request.seed)
        name = AUDIT if request.images is not None else OBSERVATION
        yield Study(name, world, design, (), recipe=_recipe(request))


def _check_photographs(request: AuditRequest, world: World) -> None:
    """Refuse of photographs what is not about what is set on them."""
    if not generator_entry(world).edits_photographs:
        return
    labels = {each.name for each in truth_attributes(world)} - {each.name for each in world.attributes}
    for text in request.vary:
        if (name := text.partition("=")[0].strip()) in labels:
            raise BadInput(
                f"--vary {name}: this is a label of the photographs and cannot be set; see: transect list "
                "attributes --generator photographs; compare by a label with --dataset READER:PATH --compare "
                f"{name}"
            )
    if request.steps:
        raise BadInput("--steps does not apply to photographs, whose edits have levels; give --vary")
    if request.observe or request.images:
        raise BadInput(
            f"--observe: {world.name} has no attributes to compare images by; compare photographs by their labels: "
            "--dataset READER:PATH"
        )
    if request.interpolate is not None:
        raise BadInput("--interpolate: nothing lies between two photographs; leave it out")


def _experiment(request: AuditRequest, world: World) -> Study:
    world, design = _set(request, world, request.vary)
    several = request.steps or request.observe or request.dataset or request.replicate
    several = several or request.interpolate is not None
    return Study(
        EXPERIMENT if several else AUDIT, world, design, (), recipe=_recipe(request, varied=dict(design.levels))
    )


def _recipe(request: AuditRequest, **world: Any) -> StudyRecipe:
    """How a worker opens the world of the request; `_complete` adds the targets."""
    return StudyRecipe(WorldRecipe(request.world, **world))


def _with_targets(study: Study, request: AuditRequest, asked: Sequence[Target]) -> StudyRecipe | None:
    """The study's recipe with those of its targets; None where the request does not name them all."""
    given = [request.targets] if isinstance(request.targets, str) else list(request.targets)
    if study.recipe is None or len(given) != len(asked):
        return None
    names, options = [*request.names, *[""] * len(given)], request.model.options()
    targets = [
        recipe_of_target(source, target, options, name.strip())
        for source, target, name in zip(given, asked, names, strict=False)  # no names at all, or one each
        if any(target is each for each in study.targets)
    ]
    return replace(study.recipe, targets=tuple(targets))


def _with_check(study: Study, request: AuditRequest, opened: EditCheck) -> StudyRecipe | None:
    """The study's recipe with that of the check of its edits."""
    if study.recipe is None:
        return None
    return replace(study.recipe, check=recipe_of_check(request.checks, opened))


def _shared(request: AuditRequest, population: str) -> dict[str, Any]:
    return {"subjects": request.subjects, "seed": request.seed, "population": population, "hold": request.hold}


def is_of_photographs(study: Study) -> bool:
    """Whether a study observes photographs as they are."""
    return not study.design.levels and study.name.startswith(PHOTOGRAPHS)


def _observed_as_they_are(request: AuditRequest) -> dict[str, Study]:
    """The studies of photographs as they are, by READER:PATH: those that are edited, then --dataset, each once."""
    studies: dict[str, Study] = {}
    for dataset, called in photographs(request).items():
        if dataset != request.dataset:
            study = _as_they_are(dataset, request, called)
            studies |= {} if study is None else {dataset: study}
    if request.dataset:
        studies[request.dataset] = _photographs(request.dataset, request)
    return studies


def _say_not_repeated(request: AuditRequest, studies: Sequence[Study], observed: Mapping[str, Study]) -> None:
    """Which attributes other worlds do not set, and whether labels of photographs stand beside them."""
    edited = iter(photographs(request))
    for study in filter(is_one, studies):
        beside = observed.get(next(edited)) if study.name.startswith(EDITED) else None
        for line in not_repeated(request.vary, study, beside):
            say(line, error=True)


def _photographs(dataset: str, request: AuditRequest, name: str = "") -> Study:
    from transect.datasets import open_dataset

    labelled = open_dataset(dataset, image_size=request.world.image_size, max_unreadable=request.max_unreadable)
    for line in labelled.notes():
        say(f"{labelled.name}: {line}", error=True)
    design = population_design(labelled.name, images=len(labelled))
    recipe = _recipe(request, dataset=dataset, max_unreadable=request.max_unreadable)
    return Study(f"{PHOTOGRAPHS}-{name}" if name else PHOTOGRAPHS, labelled, design, (), recipe=recipe)


def _as_they_are(dataset: str, request: AuditRequest, name: str = "") -> Study | None:
    """The photographs that are edited, observed too where they are labelled. name: what tells them from others."""
    try:
        return _photographs(dataset, request, name)
    except BadInput as error:
        say(f"{dataset}: edited, and not observed as they are: {error}", error=True)
    return None


def _interpolation(request: AuditRequest, world: World, targets: Sequence[Target]) -> Study:
    """Images between pairs of subjects of the world, of which no truth is asked."""
    pairs = request.interpolate or 0
    check_subjects(world, 2 * pairs)
    lines = Lines(world)
    design = lines_design(lines, pairs, seed=request.seed, population=generator_entry(world).population)
    classes = tuple(target for target in targets if small_runs.has_classes(target.task))
    recipe = _recipe(request, lines=True)
    study = Study(INTERPOLATION, lines, design, classes, outcomes=("answer",), limits=request.limits, recipe=recipe)
    return replace(study, recipe=_with_targets(study, request, targets))


def _compared(studies: Sequence[Study], compare: Sequence[str]) -> list[Study]:
    """The studies; observations with what they are compared by: what is varied, and `compare`."""
    if not compare:
        return list(studies)
    observed = [study for study in studies if not study.design.levels]
    known = dict.fromkeys(attribute.name for study in observed for attribute in study.world.attributes)
    for name in compare:
        if name not in known:
            raise unknown_attribute(name, known, "see: transect list attributes")
    varied = [name for study in studies if study.name == EXPERIMENT for name in study.design.levels]
    names = list(dict.fromkeys([*varied, *compare]))
    return [_compared_by(study, names, compare) for study in studies]


def _compared_by(study: Study, names: Sequence[str], compare: Sequence[str]) -> Study:
    if study.design.levels:
        return study
    known = {attribute.name for attribute in study.world.attributes}
    chosen = tuple(name for name in names if name in known)
    if not chosen:
        raise BadInput(f"--compare: {study.world.name} has none of {', '.join(compare)}; choose one that it has")
    return replace(study, compared=chosen)


def _verifiable(study: Study) -> bool:
    """Whether embeddings may be verified on a study's images: those of an experiment, or of a study by itself."""
    return study.name in (AUDIT, EXPERIMENT) or is_one(study)


def _check_face(truths: Mapping[str, Truth], targets: Sequence[Target]) -> None:
    """Refuse "every image shows a face" as the truth of a number, or of an embedding."""
    for target in targets:
        truth = truths.get(target.name)
        if truth is not None and truth.attribute == FACE and target.task in (Task.REGRESSION, Task.EMBEDDING):
            raise BadInput(
                f"--truth face: expected a target that says yes or no, got the {target.task} of "
                f"{target.name}; give what it should answer, such as --truth '{target.name}=age', or leave it "
                "out"
            )


def _complete(study: Study, request: AuditRequest, targets: Sequence[Target], check_edits: EditCheck) -> Study:
    known = worlds.truth_attributes(plain_world(study.world))
    rule = request.verification
    truths = truths_of(as_names(request.truth), [target.name for target in targets], known)
    _check_face(truths, targets)
    complete = replace(
        study,
        targets=tuple(targets),
        truths=truths,
        outcomes=tuple(request.outcomes),
        limits=request.limits,
    )
    complete = replace(complete, recipe=_with_targets(complete, request, targets))
    if _verifiable(study):
        complete = replace(
            complete, rule=outcome_choice.chosen_rule(targets, study.design, rule.false_match_rate, rule.within)
        )
    checked = edits.for_world(study.world, study.design, check_edits) if study.design.levels else None
    if checked is not None:
        complete = replace(complete, recipe=_with_check(complete, request, check_edits))
    return replace(complete, edits=checked)


def places(studies: Sequence[Study], folder: Path, several: str) -> list[Path]:
    """The folder of each study: the run folder itself where there is one, else one by name under `several`."""
    return [folder if len(studies) == 1 else folder / several / study.name for study in studies]
