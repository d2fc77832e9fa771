"""A study: what it asks, the parts that it makes, here or in workers, and its tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from transect.designs import transect_latents
from transect.designs.pairs import MatchedPairs
from transect.effects.outcomes import Truth, asked_in
from transect.effects.verification import NO_RULE, Rule
from transect.engines.protocol import HERE, Ahead, Engine, check_same, on_gpu
from transect.errors import BadInput, TooManyFailures
from transect.experiment import costs, edits, outcome_choice, small_runs, two_images
from transect.experiment.canaries import keep_canaries
from transect.experiment.edits import EditCheck
from transect.experiment.outcome_choice import choose_outcomes, rehearse
from transect.experiment.recipes import StudyRecipe
from transect.experiment.worlds import truth_attributes
from transect.protocols import Target, World
from transect.records import Design, Images, Predictions, Task
from transect.runs import tables as columns
from transect.runs.capabilities import attributes, generator_entry, landmarks, readings, truths, world_entry
from transect.runs.environment import versions
from transect.runs.folder import RunFolder, canonical_json, slug
from transect.runs.json_records import plain
from transect.runs.layout import CONTROL, tables_of
from transect.runs.parts import Background, Progress, resumable
from transect.runs.spec import LimitsEntry, RunSpec, StatedTruth, TargetDescription, TargetEntry
from transect.runs.tables import answers_table, coded_table
from transect.targets.capabilities import answers_in_words, has_coded_texts, is_metered, wants_landmarks
from transect.targets.guard import Counted, FailureLog, Limits, counted_rows
from transect.targets.words.asked import PairwiseQuestion
from transect.texts import say

if TYPE_CHECKING:
    from transect.targets.guard import FailureBudget


@final
@dataclass(frozen=True, slots=True)
class Rendered:
    """Images of whole subjects, their seeds and true values; checked: the part of the table of edits, if any."""

    seeds: Int[np.ndarray, " s"]
    images: Images
    true: pa.Table
    checked: pa.Table | None

    def ids(self, design: Design) -> list[str]:
        """The identifier of each image."""
        return columns.image_ids(design, self.seeds)

    def table(self, design: Design) -> pa.Table:
        """The part of the table of images."""
        return columns.images_table(design, self.seeds, self.true, self.images)


def render_part(
    world: World, design: Design, keeper: edits.Gatekeeper | None, subjects: range, *, with_landmarks: bool = False
) -> Rendered:
    """Render these subjects of a design; keeper: judges edits, and draws subjects again where asked."""
    seeds = design.subject_seeds(subjects.start, subjects.stop)
    checked = None
    if keeper is None:
        latents = transect_latents(design, world.sample(seeds), world)
        images = world.render(latents)
    else:
        seeds, latents, images, checked = edits.passing(keeper, seeds, subjects.start)
    points = landmarks(world, latents) if with_landmarks else None
    images = Images(images.pixels.copy(), images.face_boxes, points)  # a generator may reuse its array
    return Rendered(seeds, images, truths(world, latents), checked)


@final
@dataclass(frozen=True, slots=True)
class PartTask:
    """One part. start, stop: its subjects."""

    start: int
    stop: int


@final
@dataclass(frozen=True, slots=True)
class PartAnswers:
    """A target's answers as rows of its tables, None where it failed too often; and what was counted, in order."""

    rows: tuple[pa.Table, ...] | None
    counted: Sequence[Counted]


@final
@dataclass(frozen=True, slots=True)
class MadePart:
    """The rows of one part. checked: of the table of edits. answers: None of targets that no worker asks."""

    ids: list[str]
    images: pa.Table
    checked: pa.Table | None
    answers: tuple[PartAnswers | None, ...]


@final
@dataclass(frozen=True, slots=True)
class StudyWork:
    """What a worker needs of a study; facts: of its world and models, which must be the same there."""

    recipe: StudyRecipe
    design: Design
    limits: Limits
    checked: bool
    facts: str
    with_landmarks: bool = False

    @property
    def gpus(self) -> int:
        """One where images or models are computed on a GPU."""
        targets = [each for each in self.recipe.targets if each is not None]
        return on_gpu(self.recipe.world.settings.device, *(each.options.get("device") for each in targets))

    def open(self) -> OpenedStudy:
        """Open the world, the targets and the check."""
        world = self.recipe.world.open()
        targets = [None if each is None else each.open() for each in self.recipe.targets]
        wanted = None if self.recipe.check is None else self.recipe.check.open()
        check = edits.for_world(world, self.design, wanted) if self.checked else None
        check_same(self.facts, facts_of(world, targets, check))
        keeper = edits.gatekeeper(check, world, self.design, None) if check is not None else None
        return OpenedStudy(world, self.design, tuple(targets), self.limits, keeper, self.with_landmarks)


@final
@dataclass(frozen=True, slots=True)
class OpenedStudy:
    """A study as a worker has it open."""

    world: World
    design: Design
    targets: tuple[Target | None, ...]
    limits: Limits
    keeper: edits.Gatekeeper | None
    with_landmarks: bool = False

    def make(self, task: PartTask) -> MadePart:
        """Render one part and ask the targets about it."""
        span = range(task.start, task.stop)
        rendered = render_part(self.world, self.design, self.keeper, span, with_landmarks=self.with_landmarks)
        ids = rendered.ids(self.design)
        answers = tuple(
            None if target is None else self._ask(target, ids, rendered.images, first=task.start == 0)
            for target in self.targets
        )
        return MadePart(ids, rendered.table(self.design), rendered.checked, answers)

    def _ask(self, target: Target, ids: Sequence[str], images: Images, *, first: bool) -> PartAnswers:
        from transect.targets.guard import guarded

        limits = self.limits
        tally = FailureLog(target.name, self.design.n_images, limit_share=limits.max_failures, first=first)
        try:
            answers = guarded(target, images, timeout=limits.timeout, batch=limits.batch, budget=tally)
        except TooManyFailures:
            return PartAnswers(None, tally.counted)
        return PartAnswers(answer_rows(ids, answers, coded=has_coded_texts(target)), tally.counted)

    def close(self) -> None:
        """Close the targets."""
        costs.close([target for target in self.targets if target is not None])


def answer_rows(ids: Sequence[str], answers: Predictions, *, coded: bool = False) -> tuple[pa.Table, ...]:
    """The rows of each table of a target's answers: predictions, what was said in words, and codes of these."""
    predictions = columns.predictions_table(ids, answers)
    if answers.said is None:
        return (predictions,)
    more = (coded_table(ids, answers.said),) if coded else ()
    return (predictions, answers_table(ids, answers.said), *more)


def facts_of_targets(targets: Sequence[Target]) -> str:
    """What targets say of themselves, and the libraries, as canonical JSON."""
    from transect.targets import describe

    return canonical_json({"the libraries": versions(), **{target.name: describe(target) for target in targets}})


def facts_of(world: World, targets: Sequence[Target | None], check: EditCheck | None) -> str:
    """What the world, the targets and the check of a study say of themselves, and the libraries, as canonical JSON."""
    from transect.targets import describe

    return canonical_json(
        {
            "the generator": plain(generator_entry(world)),
            "the check of edits": None if check is None else plain(check.entry()),
            "the libraries": versions(),
            **{target.name: describe(target) for target in targets if target is not None},
        }
    )


IMAGES_PER_PART = 256
PIXELS_PER_PART = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class Study:
    """One design put to some targets.

    compared: attributes or nuisances by which sampled images are compared; every attribute where it is empty. It
    only chooses what is shown: adjustments hold every attribute equal. edits: how images of a transect are checked
    for what was set and what was not; None where attributes are set exactly. rule: when embedding targets take two
    images for one person. recipe: how a worker opens the world and the targets; None where this process makes all.
    pairs: what is asked about two images at once, by this process: of each subject at two cells, or of two
    subjects that are `matched`. counted: outcomes of single targets, by name, in place of `outcomes`.
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
    recipe: StudyRecipe | None = None
    pairs: tuple[PairwiseQuestion, ...] = ()
    matched: MatchedPairs | None = None
    counted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = [*(target.name for target in self.targets), *(asked.name for asked in self.pairs)]
        slugs = [slug(name) for name in named]
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
        everything = [attribute.name for attribute in attributes(self.world) if attribute.role == "attribute"]
        return tuple(self.design.levels) or tuple(dict.fromkeys([*everything, *self.compared]))

    @property
    def with_landmarks(self) -> bool:
        """Whether some target needs the landmarks of faces."""
        return any(map(wants_landmarks, self.targets))

    def subjects_of(self, part: int) -> range:
        """Which subjects a part holds."""
        start = part * self.subjects_per_part
        return range(start, min(start + self.subjects_per_part, self.design.subjects))

    def spec(self) -> RunSpec:
        """What recreates the run; max_failures is left out, since it only sets when to stop."""
        design = self.design
        known = {attribute.name: attribute for attribute in attributes(self.world)}
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
            targets=tuple(map(self._target_entry, self.targets)),
            limits=LimitsEntry(self.limits.timeout, self.limits.batch),
            edits=None if self.edits is None else self.edits.entry(),
            verification=outcome_choice.verification_entry(self.rule, self.targets, self.design, tuple(known.values())),
            pairs=tuple(two_images.entry(asked, self.matched) for asked in self.pairs),
        )

    def _target_entry(self, target: Target) -> TargetEntry:
        from transect.targets import describe

        task, truth = Task(target.task), self.truths.get(target.name)
        verifies = outcome_choice.verifies(target, self.design, self.rule)
        description = TargetDescription(describe(target))
        asked, wanted = asked_in(description.facts), self.counted.get(target.name, self.outcomes)
        outcomes = choose_outcomes(task, truth and truth.text, wanted, verifies=verifies, asked=asked)
        rehearse(target, outcomes, truth, truth_attributes(self.world))
        stated = truth and StatedTruth(truth.text, truth.attribute, truth.comparison, truth.value)
        return TargetEntry(target.name, slug(target.name), task, tuple(outcomes), description, stated)


def run_control(study: Study, out: Path, *, quiet: bool = False, engine: Engine = HERE) -> None:
    """Ask a finished study's targets about a negative control, if affordable; with too many failures it is ignored."""
    design = small_runs.control_design(study.design, study.world, study.targets)
    if design is None:
        return
    name = f"{study.name}: negative control"
    try:
        control = replace(
            study, name=name, design=design, edits=None, outcomes=_without_matches(study.outcomes), rule=NO_RULE,
            pairs=(), counted={target: _without_matches(names) for target, names in study.counted.items()},
        )  # fmt: skip
        run(control, out / CONTROL, quiet=quiet, engine=engine)
    except TooManyFailures as error:
        say(f"{name} left out: {error}", error=True)


def _without_matches(outcomes: Sequence[str]) -> tuple[str, ...]:
    return tuple(outcome for outcome in outcomes if outcome != outcome_choice.NON_MATCH)


def run(study: Study, out: Path, *, quiet: bool = False, engine: Engine = HERE) -> None:
    """Render images and collect answers, part by part, into the run folder `out`; finished parts are skipped."""
    if not study.targets:
        raise BadInput("no target; see: transect list targets")
    fill(study, out, quiet=quiet, engine=engine)


def fill(study: Study, out: Path, *, quiet: bool = False, engine: Engine = HERE) -> None:
    """As `run`; a study without targets has its images alone. From any engine the bytes are the same."""
    spec = study.spec()
    with RunFolder(out, spec.to_json()) as folder, resumable(out):
        costs.announce(study, folder, engine, quiet=quiet)
        with ExitStack() as stack:
            ahead = _ahead(study, folder, engine, quiet)
            _make_parts(study, folder, quiet, None if ahead is None else stack.enter_context(ahead))
        for line in keep_canaries(out, study.targets):
            say(line, error=True)
        costs.keep_calls(out, study.targets)


def _ahead(study: Study, folder: RunFolder, engine: Engine, quiet: bool) -> Ahead[PartTask, MadePart] | None:
    """The parts that the engine's workers make: those of which nothing is stored. None where this process makes all."""
    if not engine.apart:
        return None
    recipe = study.recipe
    if recipe is None or not recipe.apart:
        if not quiet:
            why = "the generator or a check of edits is an object, or the check counts its calls"
            say(f"{study.name}: this process makes all images, since {why}", error=True)
        return None
    here = [target.name for target, known in zip(study.targets, recipe.targets, strict=True) if known is None]
    if here and not quiet:
        say(f"{study.name}: this process asks {', '.join(here)}, and workers render", error=True)
    tables = ["images", *(table for target in study.targets for table in _tables(target))]
    missing = [part for part in range(study.n_parts) if not any(folder.has_part(table, part) for table in tables)]
    asked = [target if known else None for target, known in zip(study.targets, recipe.targets, strict=True)]
    facts = facts_of(study.world, asked, study.edits)

    def task(part: int) -> PartTask:
        span = study.subjects_of(part)
        return PartTask(span.start, span.stop)

    work = StudyWork(recipe, study.design, study.limits, study.edits is not None, facts, study.with_landmarks)
    return Ahead(engine, work, missing, task)


def _make_parts(study: Study, folder: RunFolder, quiet: bool, ahead: Ahead[PartTask, MadePart] | None) -> None:
    source = _Source.of(study, folder, ahead)
    # A metered target is not called for an estimate: the first part tells how long all will take.
    quote = int(any(is_metered(target) for target in study.targets) and study.n_parts > 1)
    counting = Progress(study.name, study.design.n_images, quiet=quiet, quote=quote)
    with counting as progress, Background() as storing:
        for part in range(study.n_parts):
            started = time.monotonic()
            storing.keep_up(
                1 + len(study.targets) + len(study.pairs)
            )  # at most the pieces of one part: one is stored, one is made
            images = source.stage(part, storing)
            storing.submit(partial(_finish, folder, progress, part, images, started))


def _finish(folder: RunFolder, progress: Progress, part: int, images: int, started: float) -> None:
    progress.advance(images)
    folder.log("part", part=part, images=images, seconds=round(time.monotonic() - started, 3))


@final
@dataclass(frozen=True, slots=True)
class _Source:
    """Where a part comes from: workers, the folder, or this process. budgets: of the targets, for the whole run."""

    study: Study
    folder: RunFolder
    ahead: Ahead[PartTask, MadePart] | None
    keeper: edits.Gatekeeper | None
    budgets: tuple[FailureBudget, ...]
    pairs: two_images.Asking

    @staticmethod
    def of(study: Study, folder: RunFolder, ahead: Ahead[PartTask, MadePart] | None) -> _Source:
        """The source of a study's parts."""
        from transect.targets.guard import FailureBudget

        planned, share = study.design.n_images, study.limits.max_failures
        budgets = tuple(
            FailureBudget(target.name, planned, limit_share=share, in_words=answers_in_words(target))
            for target in study.targets
        )
        keeper = edits.gatekeeper(study.edits, study.world, study.design, folder) if study.edits else None
        shown = study.world, study.design, study.matched
        asking = two_images.Asking.of(study.pairs, *shown, study.limits, folder)
        return _Source(study, folder, ahead, keeper, budgets, asking)

    def stage(self, part: int, storing: Background) -> int:
        """Have a part's images and answers stored; how many images it has."""
        images, known = self._images(part, storing)
        for target, budget, answers in zip(self.study.targets, self.budgets, known, strict=True):
            if answers is None:
                _prediction_part(self.study, self.folder, part, target, budget, images, storing)
            else:
                rows = counted_rows(answers.rows, answers.counted, budget)
                storing.submit(partial(_write, self.folder, _tables(target), part, rows))
        self.pairs.fill(part, self.study.subjects_of(part), images.ids, images.images, storing)
        return images.count

    def _images(self, part: int, storing: Background) -> tuple[_PartImages, Sequence[PartAnswers | None]]:
        """A part's images, and the answers of the targets that a worker asked."""
        if self.ahead is not None and part in self.ahead:
            made = self.ahead(part)
            return _stored_images(made, self.folder, part, storing), made.answers
        images = _image_part(self.study, self.folder, part, self.keeper, storing)
        return images, (None,) * len(self.study.targets)


@final
@dataclass(frozen=True, slots=True)
class _PartImages:
    """How many images a part has, and on demand (not where all answers are there) their ids and the images."""

    count: int
    ids: Callable[[], list[str]]
    images: Callable[[], Images]


def _image_part(
    study: Study, folder: RunFolder, part: int, keeper: edits.Gatekeeper | None, storing: Background
) -> _PartImages:
    span, design = study.subjects_of(part), study.design
    count = len(span) * design.n_cells
    if folder.has_part("images", part):
        rows = cache(lambda: folder.read_part("images", part))
        return _PartImages(count, lambda: list(rows()["id"].to_pylist()), cache(lambda: columns.images_of(rows())))
    rendered = render_part(study.world, design, keeper, span, with_landmarks=study.with_landmarks)
    if rendered.checked is not None:
        folder.write_part(edits.EDITS, part, rendered.checked)
    storing.submit(lambda: folder.write_part("images", part, rendered.table(design)))
    return _PartImages(count, lambda: rendered.ids(design), lambda: rendered.images)


def _stored_images(made: MadePart, folder: RunFolder, part: int, storing: Background) -> _PartImages:
    """As `_image_part`, of what a worker made."""
    if made.checked is not None:
        folder.write_part(edits.EDITS, part, made.checked)
    storing.submit(lambda: folder.write_part("images", part, made.images))
    return _PartImages(len(made.ids), lambda: made.ids, cache(lambda: columns.images_of(made.images)))


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

    table, *_ = tables = _tables(target)
    if all(folder.has_part(each, part) for each in tables):
        budget.add(folder.read_part(table, part, only=("reason",))["reason"].to_pylist())
        return
    limits = study.limits
    answers = guarded(target, images.images(), timeout=limits.timeout, batch=limits.batch, budget=budget)
    coded = has_coded_texts(target)
    storing.submit(lambda: _write(folder, tables, part, answer_rows(images.ids(), answers, coded=coded)))


def _tables(target: Target) -> tuple[str, ...]:
    return tables_of(slug(target.name), in_words=answers_in_words(target), coded=has_coded_texts(target))


def _write(folder: RunFolder, tables: Sequence[str], part: int, rows: Sequence[pa.Table]) -> None:
    """Write what is not there yet: a run may have been killed between two tables of one part."""
    for table, of_table in zip(tables, rows, strict=True):
        if not folder.has_part(table, part):
            folder.write_part(table, part, of_table)
