"""From a request to its studies: an experiment, steps λ, observation, photographs, and interpolation.

A request for one study puts it into the run folder itself; for several, each study has a folder under OUT/studies,
and the report sets them side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from transect.designs import population_design, transect_design
from transect.designs.identities import unknown_attribute
from transect.designs.lines import Lines, lines_design
from transect.designs.steps import Steps, parse_steps
from transect.effects.truth import FACE, Truth, truths_of
from transect.errors import BadInput
from transect.experiment import edits, interpolation, verification, worlds
from transect.experiment.edits import EditCheck
from transect.experiment.outcome_choice import shared_out
from transect.experiment.recipes import CheckRecipe, StudyRecipe, WorldRecipe, recipe_of_check, recipe_of_target
from transect.experiment.study import Study
from transect.jobs.audit import replicated_worlds
from transect.jobs.audit.matched import with_matched
from transect.jobs.audit.request import AuditRequest
from transect.protocols import Target, World
from transect.records import Attribute, Design, Task
from transect.runs import boundary
from transect.runs.capabilities import (
    check_subjects,
    for_attributes,
    generator_entry,
    truth_attributes,
    usual_levels,
)
from transect.runs.inputs import as_names
from transect.runs.places import INTERPOLATION
from transect.targets.words.paired import AskedOfTwo
from transect.texts import say

AUDIT: Final = "audit"
EXPERIMENT: Final = "experiment"
OBSERVATION: Final = "observation"
PHOTOGRAPHS: Final = "photographs"
"""Names of studies; AUDIT is that of a single experiment or observation."""


def check(request: AuditRequest) -> None:
    """Raises BadInput for settings that exclude each other."""
    if boundary.check(request.report.boundary) is not None:
        boundary.of_steps(bool(request.steps))
    observed = request.dataset or request.observe or request.images
    if request.compare and not observed:
        raise BadInput("--compare is of observed images: give --observe, --images or --dataset, or drop it")
    if request.max_unreadable is not None and not request.dataset:
        raise BadInput("--max-unreadable is of photographs: give --dataset, or drop it")
    if request.interpolate is not None and request.world.photographs is not None:
        raise BadInput("--interpolate: nothing lies between two backgrounds; leave it or --photographs out")
    replicated_worlds.check(request)
    if request.images is None:
        return
    if request.steps or request.dataset or request.observe or request.interpolate is not None:
        raise BadInput("--images cannot be combined with --steps, --dataset, --observe or --interpolate: drop one")
    if request.vary or request.hold:
        raise BadInput("--images observes a population: drop --vary and --hold, or use --subjects")


def designs(request: AuditRequest, targets: Sequence[Target]) -> tuple[list[Study], Study | None]:
    """Names, worlds and designs of the studies, without targets; and the interpolation, if it is asked for."""
    check(request)
    photographs = request.dataset is not None
    generated = bool(request.vary or request.steps or request.observe or request.images)
    interpolation.check(request.interpolate, targets, world=generated)
    world = request.world.open() if generated or not photographs else None
    studies = [] if world is None else list(_generated(request, world))
    studies += replicated_worlds.studies(request, world)
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
    pairs: tuple[AskedOfTwo, ...] = (),
) -> list[Study]:
    """The studies with their targets, truth and checks; experiments with what is asked about two images.

    Raises BadInput or UnknownName for what does not fit them.
    """
    if not check_edits.empty and not any(study.design.levels for study in studies):
        raise BadInput("--check-… and --redraw are of images whose attributes are set: give --vary or --steps")
    rule = request.verification
    if (rule.false_match_rate is not None or rule.within) and not any(map(_verifiable, studies)):
        raise BadInput("--false-match-rate and --within are of images that --vary makes: give --vary, or drop them")
    if request.pairs is not None and not pairs:
        raise BadInput(
            "--pairs: expected --questions with a question of the kind pair, got none; add one, or give --questions "
            "pairs"
        )
    if pairs and not any(map(shows_pairs, studies)):
        names = ", ".join(dict.fromkeys(each.question.name for each in pairs))
        say(
            f"{names} left out: two images at once are of one subject at two levels, or of two matched subjects; give "
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


def plain(world: World) -> World:
    """The world itself where it is moved in steps: truths and controls are in the attributes' own units."""
    return world.world if isinstance(world, Steps) else world


def of_plain_world(study: Study) -> Study:
    """The study on the world itself where it is moved in steps."""
    recipe = study.recipe and replace(study.recipe, world=study.recipe.world.without_steps())
    return replace(study, world=plain(study.world), recipe=recipe)


def _generated(request: AuditRequest, world: World) -> Iterator[Study]:
    """Studies of generated images: the experiment, one for each attribute in steps, and the observation."""
    _check_photographs(request, world)
    population = worlds.population_of(world)
    observed = request.observe or request.images
    if observed is None or request.vary or request.steps:
        check_subjects(world, request.subjects)
    if observed is not None:
        check_subjects(world, observed)
    if request.vary or not (request.steps or request.observe or request.images):
        yield _experiment(request, world, population)
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
                f"--vary {name}: expected an edit, got what is known of the photographs, which cannot be set; see: "
                "transect attributes --generator photographs; compare by a label with --dataset READER:PATH --compare "
                f"{name}"
            )
    if request.steps:
        raise BadInput(
            "--steps: photographs begin at the level as it is of every edit, so steps are levels; give --vary"
        )
    if request.observe or request.images:
        raise BadInput(
            f"--observe: {world.name} has nothing of its own to compare images by; compare photographs by their labels:"
            " --dataset READER:PATH"
        )
    if request.interpolate is not None:
        raise BadInput("--interpolate: nothing lies between two photographs, got some; leave it out")


def _experiment(request: AuditRequest, world: World, population: str) -> Study:
    usual = usual_levels(world)
    design = transect_design(request.vary, world.attributes, usual=usual, **_shared(request, population))
    worlds.check_hold(world, design)
    varied = tuple(design.levels)
    world = for_attributes(world, varied)
    check_subjects(world, request.subjects)
    several = request.steps or request.observe or request.dataset or request.replicate
    several = several or request.interpolate is not None
    return Study(EXPERIMENT if several else AUDIT, world, design, (), recipe=_recipe(request, varied=varied))


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
    asked = request.checks
    given = CheckRecipe(asked.attributes, asked.identity, asked.realism, asked.redraw, asked.shipped)
    return replace(study.recipe, check=recipe_of_check(given, opened))


def _shared(request: AuditRequest, population: str) -> dict[str, Any]:
    return {"subjects": request.subjects, "seed": request.seed, "population": population, "hold": request.hold}


def is_of_photographs(study: Study) -> bool:
    """Whether a study observes photographs as they are."""
    return not study.design.levels and study.name.startswith(PHOTOGRAPHS)


def _observed_as_they_are(request: AuditRequest) -> dict[str, Study]:
    """The studies of photographs as they are, by READER:PATH: those that are edited, then --dataset, each once."""
    studies: dict[str, Study] = {}
    for dataset, called in replicated_worlds.photographs(request).items():
        if dataset != request.dataset:
            study = _as_they_are(dataset, request, called)
            studies |= {} if study is None else {dataset: study}
    if request.dataset:
        studies[request.dataset] = _photographs(request.dataset, request)
    return studies


def _say_not_repeated(request: AuditRequest, studies: Sequence[Study], observed: Mapping[str, Study]) -> None:
    """Which attributes other worlds do not set, and whether labels of photographs stand beside them."""
    edited = iter(replicated_worlds.photographs(request))
    for study in filter(replicated_worlds.is_one, studies):
        beside = observed.get(next(edited)) if replicated_worlds.is_edited(study) else None
        for line in replicated_worlds.not_repeated(request.vary, study, beside):
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
    design = lines_design(lines, pairs, seed=request.seed, population=worlds.population_of(world))
    classes = tuple(target for target in targets if interpolation.has_classes(target.task))
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
            raise unknown_attribute(name, known, "see: transect attributes")
    varied = [name for study in studies if study.name == EXPERIMENT for name in study.design.levels]
    names = list(dict.fromkeys([*varied, *compare]))
    return [_compared_by(study, names, compare) for study in studies]


def _compared_by(study: Study, names: Sequence[str], compare: Sequence[str]) -> Study:
    if study.design.levels:
        return study
    known = {attribute.name for attribute in study.world.attributes}
    chosen = tuple(name for name in names if name in known)
    if not chosen:
        raise BadInput(f"--compare: {study.world.name} has none of {', '.join(compare)}; name one that it has")
    return replace(study, compared=chosen)


def _verifiable(study: Study) -> bool:
    """Whether embeddings may be verified on a study's images: those of an experiment, or of a study by itself."""
    return study.name in (AUDIT, EXPERIMENT) or replicated_worlds.is_one(study)


def _check_face(truths: Mapping[str, Truth], targets: Sequence[Target]) -> None:
    """Refuse "every image shows a face" as the truth of a number, or of an embedding."""
    for target in targets:
        truth = truths.get(target.name)
        if truth is not None and truth.attribute == FACE and target.task in (Task.REGRESSION, Task.EMBEDDING):
            raise BadInput(
                f"--truth face: expected a target that says yes or no, got the {target.task} of {target.name}; state "
                f"what it should answer, such as --truth '{target.name}=age', or leave it out"
            )


def _complete(study: Study, request: AuditRequest, targets: Sequence[Target], check_edits: EditCheck) -> Study:
    known = worlds.truth_attributes(plain(study.world))
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
            complete, rule=verification.chosen(targets, study.design, rule.false_match_rate, rule.within)
        )
    checked = _edit_check(study.world, study.design, check_edits)
    if checked is not None:
        complete = replace(complete, recipe=_with_check(complete, request, check_edits))
    return replace(complete, edits=checked)


def _edit_check(world: World, design: Design, check_edits: EditCheck) -> EditCheck | None:
    return edits.for_world(world, design, check_edits) if design.levels else None


def places(studies: Sequence[Study], folder: Path, several: str) -> list[Path]:
    """The folder of each study: the run folder itself where there is one, else one by name under `several`."""
    return [folder if len(studies) == 1 else folder / several / study.name for study in studies]
