"""One study alone: an experiment, or the population as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transect.analysis import publication, reporting
from transect.designs import population_design, transect_design
from transect.effects.truth import Truth
from transect.errors import BadInput
from transect.experiment import edits, verification, worlds
from transect.experiment.edits import EditCheck
from transect.experiment.study import Study, resolve_targets, run, run_control
from transect.experiment.worlds import open_world, population_of, truth_attributes
from transect.protocols import World
from transect.ratings import gates as required
from transect.ratings.seen import check as check_ratings
from transect.records import Design
from transect.runs import error_conditions
from transect.runs.capabilities import check_subjects, usual_levels
from transect.runs.folder import slug
from transect.targets.limits import Limits


def audit(
    targets: Any,
    *,
    vary: Iterable[str] | Mapping[str, Iterable[float] | None] = (),
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

    targets: a spec string (see `transect targets`), a callable, an object with `predict`, or a list of them. vary:
    texts as on the command line, or levels by attribute. With `images` instead of `vary`, an observational study of
    `population`, by what to `compare` (default: every attribute). control: also ask about something that cannot
    matter, where that is cheap. generator: a name, with image_size (128), population ("balanced") and device ("cpu"),
    or an object that generates and controls, which has its own. directions: a file of fitted directions, which set the
    attributes of a learned generator; latents: inverted photographs. perceived, ratings, prune: what was seen on the
    images and rules about it, see `rate`. by: attributes whose combinations errors are counted by. check_edits: what
    measures whether images became what was set; with directions they are checked with what the generator knows even
    without. false_match_rate, within: of embedding targets, the rate that finds the threshold of verification, and
    varied attributes that are no edits of a subject but say who is shown (`effects.verification`). require_validation:
    raters' validation, see `required`. Returns the Result, whose `effects` are records and `report` the page's path.

    Raises BadInput, UnknownName or MissingExtra before all; after TooManyFailures or Interrupted the same call goes on.
    """
    check_ratings(perceived, prune, ratings)
    world = open_world(generator, image_size, population, device, directions, latents)
    design = _design(world, vary, subjects, images, hold, seed)
    resolved = resolve_targets(targets, target_options)
    rule = verification.chosen(resolved, design, false_match_rate, within)
    known = truth_attributes(world)
    stated = None if truth is None else Truth.parse(truth, known)
    worlds.check_hold(world, design)
    chosen = worlds.compared_of(compare, world) if images is not None else ()
    study = Study(name, world, design, tuple(resolved), stated, tuple(outcomes), limits or Limits(), chosen, rule=rule)
    study = replace(study, edits=edits.for_world(world, design, check_edits))
    crossed = error_conditions.check(by, [study.counted_by])
    gates = required.given(require_validation, [(study.world, design.levels)])
    folder = Path(out) if out is not None else Path("runs") / slug(resolved[0].name)
    run(study, folder, quiet=quiet)
    if control:
        run_control(study, folder, quiet=quiet)
    reporting.rate(folder, perceived, prune, ratings)
    error_conditions.keep(folder, crossed)
    required.keep(folder, gates)
    return reporting.report(folder)


def _design(
    world: World,
    vary: Iterable[str] | Mapping[str, Iterable[float] | None],
    subjects: int,
    images: int | None,
    hold: Sequence[str],
    seed: int,
) -> Design:
    check_subjects(world, subjects if images is None else images)
    population, usual = population_of(world), usual_levels(world)
    if images is None:
        options: dict[str, Any] = {"subjects": subjects, "seed": seed, "population": population, "hold": hold}
        return transect_design(vary, world.attributes, usual=usual, **options)
    if vary or hold:
        raise BadInput("--images observes a population as it comes: drop --vary and --hold, or use --subjects")
    return population_design(population, images=images, seed=seed)
