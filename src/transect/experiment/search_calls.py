"""The calls of a search: points are chosen, rendered as new subjects, and answered by the target.

The run folder holds images and predictions as an audit's does, and `calls`: the point, the outcome and why there is
none, one part per batch. A resumed search reads its calls back and repeats none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.designs.search import History, Suggestions
from transect.designs.search.rules import find_rules
from transect.designs.search.space import Space
from transect.effects.outcomes import FACE, compute
from transect.experiment import costs
from transect.experiment.search_plan import SearchPlan, answers_table_of, failed, with_texts
from transect.protocols import Target
from transect.records import Latents, Predictions, Task
from transect.runs import tables as columns
from transect.runs.capabilities import truths
from transect.runs.folder import RunFolder, canonical_json, slug, write_atomically
from transect.runs.json_records import record_in
from transect.runs.parts import Progress
from transect.runs.tables import answers_table
from transect.runs.wording import counted
from transect.targets.capabilities import box_convention_of, positive_of, threshold_of
from transect.targets.guard import FailureBudget, guarded
from transect.texts import say


@final
@dataclass(frozen=True, slots=True)
class _Metering:
    """What was spent, calls and money, before a batch."""

    part: int
    spent: tuple[float, ...]


def best_rule(space: Space, history: History) -> str:
    """The rule that separates failures best, in words, for a progress line: it is chosen on these very calls."""
    rules = find_rules(history, space.thresholds)
    if not rules:
        return ""
    inside = rules[0].holds(history.points) & np.isfinite(history.failures)
    return f"{space.words(rules[0])} ({int(history.failed[inside].sum())} of {int(inside.sum())})"


def progress_label(search: SearchPlan, history: History, calls: int, money: float) -> str:
    """The progress line: failures, calls paid, and the region that looks best until now."""
    spent = f", {money:.9g} spent" if money else f", {counted(calls, 'call')} paid" if calls else ""
    best = best_rule(search.space, history)
    return f"search: {counted(int(history.failed.sum()), 'failure')}{spent}{f', best region {best}' if best else ''}"


def paid(folder: RunFolder, parts: int) -> tuple[int, float]:
    """Calls and money of all batches, of every program that took part."""
    batches = [_paid_for(folder, part) for part in range(parts) if folder.has_part("calls", part)]
    return sum(calls for calls, _ in batches), round(sum(money for _, money in batches), 9)


def _paid_for(folder: RunFolder, part: int) -> tuple[int, float]:
    rows = folder.read_part("calls", part)
    return int(rows["paid_calls"][0].as_py()), float(rows["paid"][0].as_py())


def conduct(search: SearchPlan, folder: RunFolder, budget: FailureBudget, progress: Progress) -> tuple[History, int]:
    """All calls of a search and the number of their parts. Errors that stop it keep what is done."""
    history, part = History.empty(len(search.space.attributes)), 0
    calls, money = 0, 0.0
    while len(history) < search.budget:
        history = next_batch(search, folder, part, history, budget)
        more, cost = _paid_for(folder, part)
        calls, money = calls + more, money + cost
        progress.label = progress_label(search, history, calls, round(money, 9))
        progress.advance(len(history) - progress.done)
        part += 1
    return history, part


def next_batch(search: SearchPlan, folder: RunFolder, part: int, history: History, budget: FailureBudget) -> History:
    """The history with one more batch: read back where it is there, else chosen, rendered and answered."""
    if folder.has_part("calls", part):
        rows = folder.read_part("calls", part)
        reasons, failures = rows["reason"].to_pylist(), rows["failed"].to_pylist()
        budget.add([reason if failed else "" for reason, failed in zip(reasons, failures, strict=True)])
        points = np.array(rows["point"].to_pylist(), dtype=np.float64).reshape(len(rows), history.dimensions)
        calls = Suggestions(points, np.array(rows["explored"].to_pylist(), dtype=np.bool_))
        return history.with_answers(calls, rows["failure"].to_numpy().astype(np.float64))
    chosen = search.strategy.suggest(history, min(search.batch, search.budget - len(history)))
    calls = Suggestions(search.space.snapped(chosen.points), chosen.explored)
    images = _images(search, folder, part, len(history), calls.points)
    before = _before(search, folder, part)
    answers = _predictions(search, folder, part, images, budget)
    cost = np.array(_spent(search.target)) - before
    values, reasons = _outcome(search, images, answers)
    table = {
        "id": images["id"].to_pylist(),
        "point": pa.array(calls.points.tolist(), pa.list_(pa.float64())),
        "explored": calls.explored,
        "failure": pa.array(values, pa.float64()),
        "reason": reasons,
        "failed": answers.failed,
        # of the whole batch, in its first row
        "paid_calls": pa.array([round(cost[0])] + [0] * (len(calls) - 1), pa.int64()),
        "paid": pa.array([round(float(cost[1]), 9)] + [0.0] * (len(calls) - 1), pa.float64()),
    }
    folder.write_part("calls", part, pa.table(table))
    return history.with_answers(calls, values)


def _spent(target: Target) -> tuple[float, float]:
    """Calls and money so far, of all programs where the target states them, else of this one; 0 if it is free."""
    spent = costs.spent_by_all(target) or costs.spent([target])
    return (float(spent.calls), float(spent.cost)) if spent else (0.0, 0.0)


def _before(search: SearchPlan, folder: RunFolder, part: int) -> Float[np.ndarray, " 2"]:
    """What was spent before a batch, stored on disk so that a killed program's part of it counts.

    A target that counts this program's calls alone starts again at 0 in the next program, so nothing is stored.
    """
    if costs.spent_by_all(search.target) is None:
        return np.array(_spent(search.target))
    path = folder.path / "metering.json"
    if path.exists():
        stored = record_in(path, _Metering)
        if stored.part == part:
            return np.array(stored.spent, dtype=np.float64)
    spent = _spent(search.target)
    write_atomically(path, canonical_json({"part": part, "spent": spent}))
    return np.array(spent)


def _images(search: SearchPlan, folder: RunFolder, part: int, start: int, points: Float[np.ndarray, "m d"]) -> pa.Table:
    if not folder.has_part("images", part):
        seeds = search.design.subject_seeds(start, start + len(points))
        latents = search.space.subjects(search.world, seeds, points)
        rows = columns.images_table(search.design, seeds, _known(search, latents), search.world.render(latents))
        folder.write_part("images", part, rows)
    return folder.read_part("images", part)


def _known(search: SearchPlan, latents: Latents) -> pa.Table:
    """What the world reads, and the truth where it knows that of its images without setting it, as a label."""
    read, name = search.world.read(latents), FACE if search.truth is None else search.truth.attribute
    if name == FACE or name in read.column_names:
        return read
    return read.append_column(name, truths(search.world, latents)[name])


def _predictions(
    search: SearchPlan, folder: RunFolder, part: int, images: pa.Table, budget: FailureBudget
) -> Predictions:
    table, limits, ids = f"predictions/{slug(search.target.name)}", search.limits, images["id"].to_pylist()
    if not folder.has_part(table, part):
        answers = guarded(
            search.target, columns.images_of(images), timeout=limits.timeout, batch=limits.batch, budget=budget
        )
        if answers.said is not None:
            folder.write_part(answers_table_of(search.target), part, answers_table(ids, answers.said))
        folder.write_part(table, part, columns.predictions_table(ids, answers))
    predictions = columns.predictions_of(folder.read_part(table, part), Task(search.target.task))
    return with_texts(search.target, predictions, folder, part, ids)


def _outcome(search: SearchPlan, images: pa.Table, answers: Predictions) -> tuple[Float[np.ndarray, " m"], list[str]]:
    """1 for a failure, 0 for none, NaN with a reason."""
    true = columns.columns_of(images, "true")
    convention = box_convention_of(search.target)
    faces = columns.face_boxes_of(images)
    threshold = threshold_of(search.target)
    outcomes = compute(
        search.outcome,
        answers,
        truth=None if search.truth is None else search.truth.of({**true, "": np.zeros(len(answers))}),
        threshold=0.5 if threshold is None else float(threshold),
        positive=positive_of(search.target),
        expected_boxes=None if convention is None or faces is None else convention.expected_box(faces),
    )
    values = outcomes.values if answers.said is None else failed(outcomes.values)
    return values, [str(reason) for reason in outcomes.reasons]


def announce(search: SearchPlan) -> None:
    """Print on standard error how many calls the search makes, and what they cost."""
    names = ", ".join(attribute.name for attribute in search.space.attributes)
    say(f"search: {search.budget} calls to {search.target.name} over {names}", error=True)
    for line in costs.lines([search.target], search.budget, int(search.world.image_size)):
        say(line, error=True)
