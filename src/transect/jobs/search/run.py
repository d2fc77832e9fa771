"""One search for failures: points are chosen, rendered as fresh subjects, asked about, and what was found is said.

The run folder holds images and predictions as an audit's does, and `calls`: the point, the outcome and why there is
none, a part per batch. A search that was killed reads its calls back and goes on; nothing is asked twice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.analysis.required import section_of
from transect.analysis.sections import steady
from transect.designs.search import History, Interrogation, Strategy, Suggestions, Thompson, eager
from transect.designs.search.confirmation import ConfirmedSearch
from transect.designs.search.space import Space
from transect.designs.search.testing import Phases
from transect.effects.outcomes import compute
from transect.effects.truth import FACE, Truth
from transect.errors import BadInput, Interrupted, UnknownName
from transect.experiment import costs
from transect.experiment.canaries import keep_canaries, watch
from transect.experiment.outcome_choice import choose_outcomes, rehearse
from transect.jobs.search import page
from transect.jobs.search.errors import error_tables, mean_faces
from transect.jobs.search.results import best_rule, summary
from transect.protocols import Target, World
from transect.ratings import gates as required
from transect.records import Design, Predictions, Task
from transect.report.records import Section
from transect.runs import error_conditions
from transect.runs import tables as columns
from transect.runs.capabilities import generator_entry, world_entry
from transect.runs.folder import RunFolder, canonical_json, slug, write_atomically
from transect.runs.progress import Progress
from transect.runs.provenance import versions
from transect.runs.search_spec import SearchedAttribute, SearchMethod, SearchSpec
from transect.runs.spec import LimitsEntry, StatedTruth, TargetDescription
from transect.targets.boxes import BoxConvention
from transect.targets.limits import Limits

GOALS: Final = ("regions", "failures", "rate")
METHODS: Final = ("ours", "mcduff2019")
BATCH: Final = 8
SMALLEST: Final = 20


@final
@dataclass(frozen=True, slots=True)
class Search:
    """What is searched: where `target` errs by `truth` on subjects of `world`, over `space`, with `budget` calls.

    by: attributes whose combinations errors are counted by; gates: raters' validation that it requires; neither is part
    of the spec, since they change no call.
    """

    world: World
    target: Target
    space: Space
    truth: Truth
    outcome: str
    budget: int
    goal: str = "regions"
    seed: int = 0
    population: str = "balanced"
    limits: Limits = field(default_factory=Limits)
    method: str = "ours"
    alpha: float = 0.6
    by: tuple[str, ...] = ()
    gates: required.Required | None = None

    @property
    def batch(self) -> int:
        """Calls that are chosen at once: one after the other as McDuff et al. 2019 do, else eight."""
        return BATCH if self.method == "ours" else 1

    @property
    def design(self) -> Design:
        """Each call shows a subject of its own."""
        return Design({}, self.budget, self.seed, self.population)

    @property
    def strategy(self) -> Strategy:
        """How the goal is searched for."""
        if self.method == "mcduff2019":
            return Interrogation(self.seed, self.alpha, self.space.steps)
        own = Thompson(self.space.steps, self.seed) if self.space.conditions_alone else None
        if self.goal == "regions":
            return ConfirmedSearch(self.seed, self.budget, self.space.thresholds, own=own)
        if self.goal == "rate":
            return Phases(self.seed, self.budget, self.space.thresholds, own=own)
        return eager(self.seed) if own is None else own

    def spec(self) -> SearchSpec:
        """What recreates the run."""
        from transect.targets import describe

        return SearchSpec(
            versions=versions(),
            name="search",
            generator=generator_entry(self.world),
            world=world_entry(self.world),
            goal=self.goal,
            budget=self.budget,
            seed=self.seed,
            batch=self.batch,
            method=SearchMethod(self.method, self.alpha if self.method == "mcduff2019" else None),
            space=tuple(
                SearchedAttribute(
                    attribute,
                    float(row[0]),
                    float(np.median(row)),
                    float(row[-1]),
                    tuple(np.unique(row).tolist()) if attribute.name in self.space.stepped else None,
                )
                for attribute, row in zip(self.space.attributes, self.space.ranked, strict=True)
            ),
            truth=StatedTruth(self.truth.text, self.truth.attribute, self.truth.comparison, self.truth.value),
            outcome=self.outcome,
            target=TargetDescription(describe(self.target)),
            limits=LimitsEntry(self.limits.timeout, self.limits.batch),
        )


def search_for(
    world: World,
    target: Target,
    space: Space,
    *,
    truth: str | None = None,
    budget: int = 400,
    goal: str = "regions",
    seed: int = 0,
    population: str = "balanced",
    limits: Limits | None = None,
    method: str = "ours",
    alpha: float = 0.6,
    by: Sequence[str] = (),
    require_validation: str | Path | None = None,
) -> Search:
    """The search, checked before anything is made.

    truth: what is right; default for a detector that every image shows a face. method: ours, or that of McDuff et al.
    2019 with its α, which has the goal `failures` alone. by: searched attributes whose
    combinations errors are counted by. require_validation: raters' validation that the generator and all that is
    searched must have passed (`required`). Raises BadInput for fewer than 20 calls, a bad seed or α, or a
    target whose errors are not yes or no or whose truth is not stated; UnknownName for another goal or method.
    """
    _check_method(method, goal, alpha)
    if budget < SMALLEST:
        raise BadInput(f"expected a --budget of at least {SMALLEST} calls, got {budget}")
    if not 0 <= seed < 1 << 31:
        raise BadInput(f"expected a --seed from 0 to {(1 << 31) - 1}, got {seed}")
    task = Task(target.task)
    if task in (Task.REGRESSION, Task.EMBEDDING):
        raise BadInput(f"a search needs answers that are right or wrong; {target.name} is a {task} target")
    text = truth or (FACE if task is Task.DETECTION else None)
    if text is None:
        raise BadInput("a search needs to know what is right, got no truth; give --truth, for example 'smile>0.5'")
    known = {attribute.name: attribute for attribute in world.attributes}
    stated = Truth.parse(text, known)
    crossed = error_conditions.check(by, [[one.name for one in space.attributes]])
    outcome = "miss" if stated.text == FACE else "error"
    rehearse(target, choose_outcomes(task, text, (outcome,)), stated, known)
    return Search(
        world,
        target,
        space,
        stated,
        outcome,
        budget,
        goal,
        seed,
        population,
        limits or Limits(),
        method=method,
        alpha=alpha,
        by=crossed,
        gates=_gates(require_validation, world, space),
    )


def _gates(path: str | Path | None, world: World, space: Space) -> required.Required | None:
    """Raters' validation, met by the generator, by all levels searched and over all ranges searched."""
    found = required.given(path, [(world, {})])
    generator = generator_entry(world)
    latent = () if space.latent is None else space.latent.attributes
    for one, row in zip(space.attributes, space.ranked, strict=True):
        if found is None or one in latent:
            continue
        if space.by_level(one):
            required.check(found, generator, {one.name: np.unique(row).tolist()})
        else:
            required.check_range(found, generator, one.name, float(row[0]), float(row[-1]))
    return found


def _check_method(method: str, goal: str, alpha: float) -> None:
    if goal not in GOALS:
        raise UnknownName("goal", goal, GOALS)
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if method == "mcduff2019" and goal != "failures":
        raise BadInput(f"--method mcduff2019 looks for failures alone, got the goal {goal}; give --goal failures")
    if not 0 <= alpha <= 1:
        raise BadInput(f"expected an --alpha from 0 to 1, got {alpha:g}")


def run(search: Search, out: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Ask until the budget is spent, and write `search.json` and `search.html`; calls made before are read back.

    Returns what search.json holds. Raises TooManyFailures, BudgetSpent and Interrupted, which keep what is done.
    """
    from transect.targets.guard import FailureBudget

    budget = FailureBudget(search.target.name, search.budget, limit_share=search.limits.max_failures)
    watch([search.target])
    history, part = History.empty(len(search.space.attributes)), 0
    with RunFolder(out, search.spec().to_json()) as folder, Progress("search", search.budget, quiet=quiet) as progress:
        try:
            while len(history) < search.budget:
                history = _batch(search, folder, part, history, budget)
                progress.label = _label(search, folder, history)
                progress.advance(len(history) - progress.done)
                part += 1
        except KeyboardInterrupt:
            message = f"interrupted; what is done is kept in {out}, and the same command goes on"
            raise Interrupted(message) from None
        for line in keep_canaries(out, [search.target]):
            print(line, file=sys.stderr)
        errors = error_tables(search, history, _reasons(folder, part), search.by)
        faces = mean_faces(search, history, errors["shown"], part, lambda number: _pixels(folder, number), search.by)
        told = [*steady.sections(out), *_gate_sections(search)]
        found = {**summary(search, history, _paid(folder, part), told), "errors": errors}
        write_atomically(out / "search.html", page.build(found, faces).encode())
        write_atomically(out / "search.json", page.to_json(found).encode())
    return found


def _gate_sections(search: Search) -> list[Section]:
    gates = search.gates
    return [] if gates is None else [section_of(gates, "search", generator_entry(search.world))]


def _reasons(folder: RunFolder, parts: int) -> list[str]:
    """Why calls have no outcome, in their order; "" where they have one."""
    return [str(reason) for part in range(parts) for reason in folder.read_part("calls", part)["reason"].to_pylist()]


def _pixels(folder: RunFolder, part: int) -> UInt8[np.ndarray, "m h w 3"]:
    return columns.images_of(folder.read_part("images", part)).pixels


def _label(search: Search, folder: RunFolder, history: History) -> str:
    """What the progress says: found, spent, and the region that looks best until now."""
    calls, money = _paid(folder, len(history) // search.batch + 1)
    spent = f", {money:.9g} spent" if money else f", {calls} calls paid" if calls else ""
    best = best_rule(search.space, history)
    return f"search: {int(history.failed.sum())} failures{spent}{f', best region {best}' if best else ''}"


def _paid(folder: RunFolder, parts: int) -> tuple[int, float]:
    """Calls and money of all batches, of every program that took part."""
    rows = [folder.read_part("calls", part) for part in range(parts) if folder.has_part("calls", part)]
    calls = sum(int(one["paid_calls"][0].as_py()) for one in rows)
    return calls, round(sum(float(one["paid"][0].as_py()) for one in rows), 9)


def _batch(search: Search, folder: RunFolder, part: int, history: History, budget: Any) -> History:
    """The history with one batch more: read back where it is there, else chosen, rendered and asked about."""
    if folder.has_part("calls", part):
        rows = folder.read_part("calls", part)
        budget.add([reason if failed else "" for reason, failed in zip(*_answers(rows), strict=True)])
        points = np.array(rows["point"].to_pylist(), dtype=np.float64).reshape(len(rows), history.dimensions)
        asked = Suggestions(points, np.array(rows["explored"].to_pylist(), dtype=np.bool_))
        return history.told(asked, rows["failure"].to_numpy().astype(np.float64))
    chosen = search.strategy.suggest(history, min(search.batch, search.budget - len(history)))
    asked = Suggestions(search.space.snapped(chosen.points), chosen.explored)
    images = _images(search, folder, part, len(history), asked.points)
    before = _before(search, folder, part)
    answers = _predictions(search, folder, part, images, budget)
    paid = np.array(_spent(search.target)) - before
    values, reasons = _outcome(search, images, answers)
    table = {
        "id": images["id"].to_pylist(),
        "point": pa.array(asked.points.tolist(), pa.list_(pa.float64())),
        "explored": asked.explored,
        "failure": pa.array(values, pa.float64()),
        "reason": reasons,
        "failed": answers.failed,
        # of the whole batch, in its first row
        "paid_calls": pa.array([round(paid[0])] + [0] * (len(asked) - 1), pa.int64()),
        "paid": pa.array([round(float(paid[1]), 9)] + [0.0] * (len(asked) - 1), pa.float64()),
    }
    folder.write_part("calls", part, pa.table(table))
    return history.told(asked, values)


def _spent(target: Target) -> tuple[float, float]:
    """Calls and money that a metered target ever spent; 0 for the others."""
    quote = target.quote(0) if hasattr(target, "quote") else {}
    return float(quote.get("calls_spent", 0)), float(quote.get("money_spent", 0.0))


def _before(search: Search, folder: RunFolder, part: int) -> Float[np.ndarray, " 2"]:
    """What was spent before a batch, kept on disk: a killed program's part of it is not lost."""
    path = folder.path / "metering.json"
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["part"] == part:
            return np.array(kept["spent"], dtype=np.float64)
    spent = _spent(search.target)
    if any(spent) or hasattr(search.target, "quote"):
        write_atomically(path, canonical_json({"part": part, "spent": spent}).encode())
    return np.array(spent)


def _answers(rows: pa.Table) -> tuple[list[str], list[bool]]:
    return rows["reason"].to_pylist(), rows["failed"].to_pylist()


def _images(search: Search, folder: RunFolder, part: int, start: int, points: Float[np.ndarray, "m d"]) -> pa.Table:
    if not folder.has_part("images", part):
        seeds = search.design.subject_seeds(start, start + len(points))
        latents = search.space.subjects(search.world, seeds, points)
        rows = columns.images_table(search.design, seeds, search.world.read(latents), search.world.render(latents))
        folder.write_part("images", part, rows)
    return folder.read_part("images", part)


def _predictions(search: Search, folder: RunFolder, part: int, images: pa.Table, budget: Any) -> Predictions:
    from transect.targets.guard import guarded

    table, limits = f"predictions/{slug(search.target.name)}", search.limits
    if not folder.has_part(table, part):
        pixels = columns.images_of(images)
        answers = guarded(search.target, pixels, timeout=limits.timeout, batch=limits.batch, budget=budget)
        folder.write_part(table, part, columns.predictions_table(images["id"].to_pylist(), answers))
    return columns.predictions_of(folder.read_part(table, part), Task(search.target.task))


def _outcome(search: Search, images: pa.Table, answers: Predictions) -> tuple[Float[np.ndarray, " m"], list[str]]:
    """1 for a failure, 0 for none, NaN with a reason."""
    true = columns.columns_of(images, "true")
    convention = getattr(search.target, "box_convention", None)
    faces = columns.face_boxes_of(images)
    threshold = getattr(search.target, "threshold", None)
    made = compute(
        search.outcome,
        answers,
        truth=search.truth.of({**true, "": np.zeros(len(answers))}),
        threshold=0.5 if threshold is None else float(threshold),
        positive=getattr(search.target, "positive", None),
        expected_boxes=convention.expected_box(faces)
        if isinstance(convention, BoxConvention) and faces is not None
        else None,
    )
    return made.values, [str(reason) for reason in made.reasons]


def announce(search: Search) -> None:
    """Say on standard error what the search will ask."""
    names = ", ".join(attribute.name for attribute in search.space.attributes)
    print(f"search: {search.budget} calls to {search.target.name} over {names}", file=sys.stderr)
    for line in costs.lines([search.target], search.budget):
        print(line, file=sys.stderr)
