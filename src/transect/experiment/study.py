"""Runs a study: renders a design and collects the answers of targets to its images, part by part.

The spec (run.json) and the tables hold everything that a later analysis needs; `report` needs no target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from transect.designs import transect_latents
from transect.effects.truth import Truth
from transect.effects.verification import NO_RULE, Rule
from transect.errors import BadInput, TooManyFailures
from transect.experiment import calls, costs, edits, negative_control, verification
from transect.experiment.canaries import keep_canaries, watch
from transect.experiment.edits import EditCheck
from transect.experiment.outcome_choice import choose_outcomes, rehearse
from transect.experiment.target_names import check_names, give_name
from transect.experiment.worlds import truth_attributes
from transect.protocols import Target, World
from transect.records import Design, Images, Task
from transect.runs import tables as columns
from transect.runs.capabilities import generator_entry, readings, truths, world_entry
from transect.runs.folder import RunFolder, slug
from transect.runs.parts import Background, resumable
from transect.runs.places import CONTROL
from transect.runs.progress import Progress
from transect.runs.provenance import versions
from transect.runs.spec import LimitsEntry, RunSpec, StatedTruth, TargetDescription, TargetEntry
from transect.targets.capabilities import is_metered
from transect.targets.limits import Limits
from transect.texts import say

if TYPE_CHECKING:
    from transect.targets.guard import FailureBudget

IMAGES_PER_PART = 256
PIXELS_PER_PART = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class Study:
    """One design put to some targets.

    compared: attributes or nuisances by which sampled images are compared; every attribute where it is empty. It
    only chooses what is shown: adjustments hold every attribute equal. edits: how images of a transect are checked
    for what was set and what was not; None where attributes are set exactly. rule: when embedding targets take two
    images for one person.
    """

    name: str
    world: World
    design: Design
    targets: tuple[Target, ...]
    truths: Mapping[str, Truth] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    compared: tuple[str, ...] = ()
    edits: EditCheck | None = None
    rule: Rule = NO_RULE

    def __post_init__(self) -> None:
        slugs = [slug(target.name) for target in self.targets]
        for name in slugs:
            if slugs.count(name) > 1:
                raise BadInput(f"two targets are named {name!r}: give each a different name")

    @property
    def subjects_per_part(self) -> int:
        """Whole subjects in a part: at most 256 images and 16 million pixels, at least one subject."""
        images = min(IMAGES_PER_PART, PIXELS_PER_PART // int(self.world.image_size) ** 2)
        return max(1, images // self.design.n_cells)

    @property
    def n_parts(self) -> int:
        """Parts of each table."""
        return -(-self.design.subjects // self.subjects_per_part)

    @property
    def counted_by(self) -> tuple[str, ...]:
        """Attributes that errors may be counted by; none of steps λ."""
        if generator_entry(self.world).steps is not None:
            return ()
        everything = [attribute.name for attribute in self.world.attributes if attribute.role == "attribute"]
        return tuple(self.design.levels) or tuple(dict.fromkeys([*everything, *self.compared]))

    def subjects_of(self, part: int) -> range:
        """Which subjects a part holds."""
        start = part * self.subjects_per_part
        return range(start, min(start + self.subjects_per_part, self.design.subjects))

    def spec(self) -> RunSpec:
        """What recreates the run; max_failures is left out, since it only sets when to stop."""
        design = self.design
        known = {attribute.name: attribute for attribute in self.world.attributes}
        everything = [name for name, attribute in known.items() if attribute.role == "attribute"]
        shown = list(design.levels) or list(self.compared) or everything
        # Set attributes need no adjustment; of sampled images every attribute is adjusted for, compared or not.
        held = [] if design.levels else [name for name in everything if name not in shown]
        return RunSpec(
            versions=versions(),
            name=self.name,
            generator=generator_entry(self.world),
            world=world_entry(self.world),
            readings=readings(self.world, shown),
            attributes=tuple(known[name] for name in shown),
            held=tuple(known[name] for name in held),
            # What ratings of attributes that were not varied mean: names in no order are no numbers.
            nominal=tuple(attribute for attribute in known.values() if attribute.nominal),
            design=design,
            subjects_per_part=self.subjects_per_part,
            targets=tuple(self._target_entry(target) for target in self.targets),
            limits=LimitsEntry(self.limits.timeout, self.limits.batch),
            edits=None if self.edits is None else self.edits.entry(),
            verification=verification.spec_entry(self.rule, self.targets, self.design, self.world.attributes),
        )

    def _target_entry(self, target: Target) -> TargetEntry:
        from transect.targets import describe

        task, truth = Task(target.task), self.truths.get(target.name)
        verifies = verification.verifies(target, self.design, self.rule)
        outcomes = choose_outcomes(task, truth and truth.text, self.outcomes, verifies=verifies)
        rehearse(target, outcomes, truth, truth_attributes(self.world))
        stated = truth and StatedTruth(truth.text, truth.attribute, truth.comparison, truth.value)
        description = TargetDescription(describe(target))
        return TargetEntry(target.name, slug(target.name), task, tuple(outcomes), description, stated)


def run_control(study: Study, out: Path, *, quiet: bool = False) -> None:
    """Ask the targets of a finished study about a negative control, into a separate folder next to the tables.

    Does nothing where the study has no affordable one; where too many images fail, its incomplete folder is ignored.
    """
    design = negative_control.control_design(study.design, study.world, study.targets)
    if design is None:
        return
    name = f"{study.name}: negative control"
    try:
        outcomes = tuple(outcome for outcome in study.outcomes if outcome != verification.NON_MATCH)
        control = replace(study, name=name, design=design, edits=None, outcomes=outcomes, rule=NO_RULE)
        run(control, out / CONTROL, quiet=quiet)
    except TooManyFailures as error:
        say(f"{name} left out: {error}", error=True)


def resolve_targets(
    targets: object, options: Mapping[str, Any] | None = None, names: Sequence[str] = ()
) -> list[Target]:
    """The targets that specs, callables or objects name. names: the user's own names, in their order."""
    from transect.targets import as_target, resolve

    named = [targets] if isinstance(targets, str) or not isinstance(targets, Sequence) else list(targets)
    settings, given = dict(options or {}), check_names(names, len(named))
    opened = [
        resolve(target, **settings) if isinstance(target, str) else as_target(target, **settings) for target in named
    ]
    for target, name, source in zip(opened, given, named, strict=False):  # no names at all, or one each
        give_name(target, name, source)
    return opened


def run(study: Study, out: Path, *, quiet: bool = False) -> None:
    """Render images and collect answers, part by part, into the run folder `out`; finished parts are skipped."""
    if not study.targets:
        raise BadInput("expected at least one target, got none; see: transect targets")
    fill(study, out, quiet=quiet)


def fill(study: Study, out: Path, *, quiet: bool = False) -> None:
    """As `run`; a study without targets has its images alone."""
    spec = study.spec()
    with RunFolder(out, spec.to_json()) as folder, resumable(out):
        watch(study.targets)
        costs.announce(study, folder, quiet=quiet)
        _make_parts(study, folder, quiet)
        for line in keep_canaries(out, study.targets):
            say(line, error=True)
        calls.keep(out, study.targets)


def _make_parts(study: Study, folder: RunFolder, quiet: bool) -> None:
    from transect.targets.guard import FailureBudget

    budgets = [
        FailureBudget(t.name, study.design.n_images, limit_share=study.limits.max_failures) for t in study.targets
    ]

    keeper = edits.gatekeeper(study.edits, study.world, study.design, folder) if study.edits else None

    def stage(part: int) -> None:
        started = time.monotonic()
        storing.keep_up(1 + len(study.targets))  # at most the pieces of one part: one is stored, one is made
        images = _image_part(study, folder, part, keeper, storing)
        for target, budget in zip(study.targets, budgets, strict=True):
            _prediction_part(study, folder, part, target, budget, images, storing)
        storing.submit(lambda: finish(part, len(images.ids), started))

    def finish(part: int, images: int, started: float) -> None:
        progress.advance(images)
        folder.log("part", part=part, images=images, seconds=round(time.monotonic() - started, 3))

    # A metered target is not called for an estimate: the first part tells how long all will take.
    quote = int(any(is_metered(target) for target in study.targets) and study.n_parts > 1)
    counting = Progress(study.name, study.design.n_images, quiet=quiet, quote=quote)
    with counting as progress, Background() as storing:
        for part in range(study.n_parts):
            stage(part)


@final
@dataclass(frozen=True, slots=True)
class _PartImages:
    """Identifiers of a part's images, and the images: as rendered, or decoded once from a finished part if needed."""

    ids: list[str]
    images: Callable[[], Images]


def _image_part(
    study: Study, folder: RunFolder, part: int, keeper: edits.Gatekeeper | None, storing: Background
) -> _PartImages:
    if folder.has_part("images", part):
        rows = folder.read_part("images", part)
        return _PartImages(rows["id"].to_pylist(), cache(lambda: columns.images_of(rows)))
    span = study.subjects_of(part)
    seeds = study.design.subject_seeds(span.start, span.stop)
    if keeper is None:
        latents = transect_latents(study.design, study.world.sample(seeds), study.world)
        images = study.world.render(latents)
    else:
        seeds, latents, images, checked = edits.passing(keeper, seeds, span.start)
        folder.write_part(edits.EDITS, part, checked)
    images = Images(images.pixels.copy(), images.face_boxes)  # a generator may reuse its array
    true = truths(study.world, latents)
    storing.submit(lambda: folder.write_part("images", part, columns.images_table(study.design, seeds, true, images)))
    return _PartImages(columns.image_ids(study.design, seeds), lambda: images)


def _prediction_part(
    study: Study,
    folder: RunFolder,
    part: int,
    target: Target,
    budget: FailureBudget,
    images: _PartImages,
    storing: Background,
) -> None:
    from transect.targets.guard import guarded

    table = f"predictions/{slug(target.name)}"
    if folder.has_part(table, part):
        budget.add(folder.read_part(table, part)["reason"].to_pylist())
        return
    limits = study.limits
    answers = guarded(target, images.images(), timeout=limits.timeout, batch=limits.batch, budget=budget)
    storing.submit(lambda: folder.write_part(table, part, columns.predictions_table(images.ids, answers)))
