"""A study's parts as work for an engine: rendered, checked and asked about in one worker, so that no pixels travel.

What comes back are the rows of the tables, which the process of the run alone writes, and the failures in the order in
which they were counted: its budget counts them again, part by part, so that a run stops where it would have stopped
without workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import pyarrow as pa

from transect.engines.facts import check_same, on_gpu
from transect.errors import TooManyFailures
from transect.experiment import costs, edits
from transect.experiment.edits import EditCheck
from transect.experiment.recipes import StudyRecipe
from transect.experiment.rendering import render_part
from transect.protocols import Target, World
from transect.records import Design, Images, Predictions
from transect.runs import tables as columns
from transect.runs.answer_tables import answers_table
from transect.runs.capabilities import generator_entry
from transect.runs.coded_tables import coded_table
from transect.runs.folder import canonical_json
from transect.runs.plain_json import plain
from transect.runs.provenance import versions
from transect.targets.capabilities import has_coded_texts
from transect.targets.limits import Limits
from transect.targets.tally import Counted, Tally


@final
@dataclass(frozen=True, slots=True)
class PartTask:
    """One part. start, stop: its subjects. first: whether it is the study's first."""

    start: int
    stop: int
    first: bool


@final
@dataclass(frozen=True, slots=True)
class PartAnswers:
    """A target's answers as rows of its tables, None where it failed too often; and what was counted, in order."""

    rows: tuple[pa.Table, ...] | None
    counted: tuple[Counted, ...]


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
    """What a worker needs of a study. facts: what its world and models say of themselves, which must be the same there.

    planned: images of the study, of which limits.max_failures may fail. checked: whether edits are checked.
    with_landmarks: whether a target needs the landmarks of faces.
    """

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
        check = edits.for_world(world, self.design, self._check()) if self.checked else None
        check_same(self.facts, facts_of(world, targets, check))
        keeper = edits.gatekeeper(check, world, self.design, None) if check is not None else None
        return OpenedStudy(world, self.design, tuple(targets), self.limits, keeper, self.with_landmarks)

    def _check(self) -> EditCheck | None:
        return None if self.recipe.check is None else self.recipe.check.open()


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
            None if target is None else self._ask(target, ids, rendered.images, task.first) for target in self.targets
        )
        return MadePart(ids, rendered.table(self.design), rendered.checked, answers)

    def _ask(self, target: Target, ids: Sequence[str], images: Images, first: bool) -> PartAnswers:
        from transect.targets.guard import guarded

        limits = self.limits
        tally = Tally(target.name, self.design.n_images, limit_share=limits.max_failures, first=first)
        try:
            answers = guarded(target, images, timeout=limits.timeout, batch=limits.batch, budget=tally)
        except TooManyFailures:
            return PartAnswers(None, tally.counted)
        return PartAnswers(answer_rows(ids, answers, coded=has_coded_texts(target)), tally.counted)

    def close(self) -> None:
        """Close the targets."""
        costs.close([target for target in self.targets if target is not None])


def answer_rows(ids: Sequence[str], answers: Predictions, *, coded: bool = False) -> tuple[pa.Table, ...]:
    """The rows of each table of a target's answers: predictions, and what was said in words where it answers so.

    coded: whether a judge or functions look at its texts, so that there is a third.
    """
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
