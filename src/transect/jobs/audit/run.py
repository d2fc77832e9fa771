"""One audit of one study or several: an experiment, steps λ, observation, photographs, in one report.

With one question asked the run folder is the study's own, as `study.audit` makes it; with several each study has a
folder under OUT/studies, and the report sets them side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from transect.analysis import publication, reporting
from transect.designs import population_design, transect_design
from transect.designs.lines import Lines, lines_design
from transect.designs.steps import Steps, parse_steps
from transect.effects.truth import Truth
from transect.errors import BadInput, UnknownName
from transect.experiment import costs, edits, interpolation, study, verification, worlds
from transect.experiment.edits import EditCheck
from transect.experiment.study import Study
from transect.jobs.audit import one_study
from transect.protocols import Target, World
from transect.ratings import gates as required
from transect.ratings.seen import check as check_ratings
from transect.runs import boundary, error_conditions
from transect.runs.capabilities import check_subjects, usual_levels
from transect.runs.folder import STUDIES, slug
from transect.targets.limits import Limits

EXPERIMENT: Final = "experiment"
OBSERVATION: Final = "observation"

SMILE_NEIGHBORS = 20
"""As the smile cascade is commonly used: with the detectors' default of 3 it says yes to almost every face."""


def audit(
    targets: Any,
    *,
    vary: Iterable[str] | Mapping[str, Iterable[float] | None] = (),
    steps: Iterable[str] = (),
    dataset: str | None = None,
    observe: int | None = None,
    lines: int | None = None,
    subjects: int = 100,
    images: int | None = None,
    compare: Sequence[str] = (),
    population: str | None = None,
    hold: Sequence[str] = (),
    truth: str | None = None,
    outcomes: Sequence[str] = (),
    generator: Any = "faceworld",
    image_size: int | None = None,
    device: str | None = None,
    seed: int = 0,
    target_options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    name: str = "audit",
    control: bool = True,
    near: tuple[float, float] | None = None,
    perceived: str | Path | None = None,
    ratings: str | Path | None = None,
    prune: Sequence[str] = (),
    by: Sequence[str] = (),
    directions: str | Path | None = None,
    latents: str | Path | None = None,
    check_edits: EditCheck | None = None,
    false_match_rate: float | None = None,
    within: Sequence[str] = (),
    require_validation: str | Path | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> publication.Result:
    """Set attributes, ask the targets, estimate what each attribute causes, and write the report.

    targets: a spec string (see `transect targets`), a callable, an object with `predict`, or a list of them.
    vary: texts as on the command line, or levels by attribute: the experiment. steps: attributes to move in steps λ
    from each subject's own value, one study each (NAME, or NAME=-1:1:5): sensitivity. observe: beside them, so many
    images of the population as they come. dataset: READER:PATH, labelled photographs as they are; image_size is then
    the side that they are fitted into. lines: so many lines between two subjects, to see whether the images between
    keep the class of both ends. compare: attributes or nuisances to compare images by that come as they are, beside
    those that vary (default: every attribute, no nuisance). With `images` instead of all these, an observational study
    of `population`. generator: a name, with image_size (128), population ("balanced") and device ("cpu"), or an object
    that generates and controls, which has its own. control: also ask about something that cannot matter, where that is
    cheap, beside the experiment or else the first study in steps. near: with steps, the scores between which a subject
    is near the decision boundary (0.3 and 0.7).

    directions: a file of fitted directions, which set the attributes of a learned generator. latents: a file of
    inverted photographs (`transect invert`), which are the subjects then. check_edits: what measures
    whether their images became what was set, beside what the generator knows.
    by: attributes whose combinations errors are counted by too, of one study at least.
    require_validation: the file of `transect annotate validate`, whose gates the generator and every level that is set
    must have met; the report says so (`required`).
    false_match_rate, within: how embedding targets verify the experiment's images, as `study.audit` has them.
    perceived, ratings, prune: what was seen on each image, people's single answers, and rules by which images are left
    out, as `study.rate` has them; an audit that is finished is not made again for them.

    Returns the Result, whose `effects` are records and whose `report` is the page's path.

    Raises BadInput, UnknownName or MissingExtra before anything is made; TooManyFailures and Interrupted keep what is
    done, and the same call goes on.
    """
    moved = list(steps)
    check_ratings(perceived, prune, ratings)
    if boundary.check(near) is not None:
        boundary.of_steps(bool(moved))
    if compare and not (dataset or observe or images):
        raise BadInput("--compare is of images as they come: give --observe, --images or --dataset, or drop it")
    if not (moved or dataset or observe or lines is not None):
        return one_study.audit(
            targets,
            vary=vary,
            subjects=subjects,
            images=images,
            compare=compare,
            population=population,
            hold=hold,
            truth=truth,
            outcomes=outcomes,
            generator=generator,
            image_size=image_size,
            device=device,
            seed=seed,
            target_options=target_options,
            limits=limits,
            name=name,
            control=control,
            perceived=perceived,
            ratings=ratings,
            prune=prune,
            by=by,
            directions=directions,
            latents=latents,
            check_edits=check_edits,
            false_match_rate=false_match_rate,
            within=within,
            require_validation=require_validation,
            out=out,
            quiet=quiet,
        )
    if images is not None:
        raise BadInput("--images observes a population by itself: drop it, or give --observe beside --vary or --steps")
    resolved = study.resolve_targets(targets, target_options)
    made_up = vary or moved or observe
    world = worlds.open_world(generator, image_size, population, device, directions, latents) if made_up else None
    interpolation.check(lines, resolved, world=world is not None)
    made = _studies(list_of(vary), moved, dataset, observe, subjects, hold, world, image_size, seed)
    folder = Path(out) if out is not None else Path("runs") / slug(resolved[0].name)
    asked = [_asked(one, resolved, truth, tuple(outcomes), limits) for one in _comparing(made, compare)]
    if false_match_rate is not None or within:
        asked = _verifying(asked, resolved, false_match_rate, within)
    if check_edits is not None and not check_edits.empty and not any(one.design.levels for one in asked):
        raise BadInput("--check-… and --redraw are of images whose attributes are set: give --vary or --steps")
    asked = [
        replace(one, edits=edits.for_world(one.world, one.design, check_edits)) if one.design.levels else one
        for one in asked
    ]
    crossed = error_conditions.check(by, [one.counted_by for one in asked])
    gates = required.given(require_validation, [(one.world, one.design.levels) for one in asked])
    joined = None if lines is None or world is None else _lines(world, lines, seed, resolved, limits)
    controlled = next((one for one in asked if one.design.levels), None) if control else None
    for one in asked:
        place = folder if len(asked) == 1 else folder / STUDIES / one.name
        study.run(one, place, quiet=quiet)
        if one is controlled:
            study.run_control(replace(one, world=_plain(one.world)), place, quiet=quiet)
        required.keep(place, None if one.name == "photographs" else gates)
    if joined is not None:
        study.run(joined, folder / interpolation.FOLDER, quiet=quiet)
    boundary.keep(folder, near)
    error_conditions.keep(folder, crossed)
    reporting.rate(folder, perceived, prune, ratings)
    return reporting.report(folder)


def cost(
    targets: Sequence[Target],
    *,
    vary: Iterable[str] | Mapping[str, Iterable[float] | None] = (),
    steps: Iterable[str] = (),
    dataset: str | None = None,
    observe: int | None = None,
    lines: int | None = None,
    subjects: int = 100,
    images: int | None = None,
    population: str | None = None,
    hold: Sequence[str] = (),
    generator: Any = "faceworld",
    image_size: int | None = None,
    device: str | None = None,
    directions: str | Path | None = None,
    latents: str | Path | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """What an audit with these settings would ask and cost at most, as JSON has it; nobody is asked, nothing is made.

    Raises BadInput or UnknownName for what `audit` would refuse.
    """
    moved, varied = list(steps), list_of(vary)
    asked = observe or images
    made_up = varied or moved or asked
    world = worlds.open_world(generator, image_size, population, device, directions, latents) if made_up else None
    interpolation.check(lines, targets, world=world is not None and images is None)
    made = _studies(varied, moved, dataset, asked, subjects, hold, world, image_size, seed)
    if not made:
        raise BadInput("nothing to compare: give --vary ATTRIBUTE, or --population P --images N")
    made += [] if lines is None or world is None else [_lines(world, lines, seed)]
    return costs.total(costs.quotes(targets, sum(one.design.n_images for one in made)))


def list_of(vary: Iterable[str] | Mapping[str, Iterable[float] | None]) -> Any:
    """The levels asked for, so that they can be looked at twice.

    >>> list_of(text for text in ["glasses"])
    ['glasses']
    """
    return vary if isinstance(vary, str | Mapping) else list(vary)


def _studies(
    vary: Any,
    steps: Sequence[str],
    dataset: str | None,
    observe: int | None,
    subjects: int,
    hold: Sequence[str],
    world: World | None,
    image_size: int | None,
    seed: int,
) -> list[Study]:
    """Names, worlds and designs of what was asked for; the targets come later."""
    made: list[Study] = []
    if world is not None:
        origin = worlds.population_of(world)
        check_subjects(world, max(subjects if vary or steps else 0, observe or 0))
        options: dict[str, Any] = {"subjects": subjects, "seed": seed, "population": origin, "hold": hold}
        if vary:
            usual = usual_levels(world)
            made.append(Study(EXPERIMENT, world, transect_design(vary, world.attributes, usual=usual, **options), ()))
            worlds.check_hold(world, made[-1].design)
        for stepped, levels in parse_steps(steps, world):
            design = transect_design({stepped.own.name: levels}, stepped.attributes, **options)
            made.append(Study(f"steps-{stepped.own.name}", stepped, design, ()))
        if observe:
            made.append(Study(OBSERVATION, world, population_design(origin, images=observe, seed=seed), ()))
    if dataset:
        from transect.datasets import open_dataset

        labelled = open_dataset(dataset, image_size=image_size)
        for line in labelled.notes():
            print(f"{labelled.name}: {line}", file=sys.stderr)
        design = population_design(labelled.name, images=len(labelled))
        made.append(Study("photographs", labelled, design, ()))
    return made


def _lines(world: World, lines: int, seed: int, targets: Sequence[Target] = (), limits: Limits | None = None) -> Study:
    """Lines between subjects of the world, of whose images no truth is asked."""
    check_subjects(world, 2 * lines)
    joined = Lines(world)
    design = lines_design(joined, lines, seed=seed, population=worlds.population_of(world))
    classes = tuple(target for target in targets if interpolation.has_classes(target.task))
    return Study(interpolation.FOLDER, joined, design, classes, outcomes=("answer",), limits=limits or Limits())


def _comparing(made: Sequence[Study], compare: Sequence[str]) -> list[Study]:
    """The studies; where images come as they are, with what they are compared by: what is varied, and `compare`.

    A name need not be known to all of them. Raises UnknownName for one that none knows, BadInput where one knows none.
    """
    if not compare:
        return list(made)
    observed = {one.name: {a.name: a for a in one.world.attributes} for one in made if not one.design.levels}
    varied = [name for one in made if one.name == EXPERIMENT for name in one.design.levels]
    everywhere = {name: attribute for known in observed.values() for name, attribute in known.items()}
    for name in compare:
        if name not in everywhere:
            raise UnknownName("attribute", name, everywhere, hint="see: transect attributes")
    studies = []
    for one in made:
        chosen = [name for name in dict.fromkeys([*varied, *compare]) if name in observed.get(one.name, {})]
        if one.name in observed and not chosen:
            raise BadInput(f"--compare: {one.world.name} has none of {', '.join(compare)}; name one that it has")
        studies.append(replace(one, compared=tuple(chosen)))
    return studies


def _asked(
    one: Study, targets: Sequence[Any], truth: str | None, outcomes: tuple[str, ...], limits: Limits | None
) -> Study:
    """The study with its targets; the truth is read in the terms of its own world."""
    known = worlds.truth_attributes(_plain(one.world))
    stated = None if truth is None else Truth.parse(truth, known)
    return replace(one, targets=tuple(targets), truth=stated, outcomes=outcomes, limits=limits or Limits())


def _verifying(
    asked: Sequence[Study], targets: Sequence[Target], false_match_rate: float | None, within: Sequence[str]
) -> list[Study]:
    """The studies, of which the experiment is verified. Raises BadInput where there is none."""
    if not any(one.name == EXPERIMENT for one in asked):
        raise BadInput("--false-match-rate and --within are of images that --vary makes: give --vary, or drop them")
    return [
        replace(one, rule=verification.chosen(targets, one.design, false_match_rate, within))
        if one.name == EXPERIMENT
        else one
        for one in asked
    ]


def _plain(world: World) -> World:
    """The world itself where it is moved in steps: truths and controls are in the attributes' own units."""
    return world.world if isinstance(world, Steps) else world


def demo(out: Path, *, seed: int = 0, device: str = "cpu", quiet: bool = False) -> publication.Result:
    """The main job: OpenCV's face cascade over skin tone, light and glasses; its smile cascade over smile and beard."""
    from transect.targets import resolve

    world = worlds.open_world("faceworld", 96, None, device)
    known = {attribute.name: attribute for attribute in world.attributes}

    def asked(name: str, target: Target, vary: Sequence[str], truth: str | None) -> Study:
        design = transect_design(vary, world.attributes, subjects=150, seed=seed)
        return Study(name, world, design, (target,), Truth.parse(truth, known) if truth else None)

    face = resolve("opencv:haarcascade_frontalface_default")
    smile = resolve("opencv:haarcascade_smile", min_neighbors=SMILE_NEIGHBORS)
    studies = [
        asked("face", face, ["skin_tone=1:10:3", "light_level=-6:0:3", "glasses"], "face"),
        asked("smile", smile, ["smile=0,1", "facial_hair=0,1"], None),
    ]
    for one in studies:
        study.run(one, out / STUDIES / one.name, quiet=quiet)
        study.run_control(one, out / STUDIES / one.name, quiet=quiet)
    return reporting.report(out)
