"""The calls of a search: points are chosen, rendered as new subjects, and answered by the target.

The run folder holds images and predictions as an audit's does, and `calls`: the point, the outcome and why there is
none, one part per batch. A resumed search reads its calls back and repeats none.

`transect.search`: find where a target fails, with few calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.analysis.sections import canary_drift
from transect.analysis.sections.exclusion_comparison import required_section
from transect.designs.search import History, Suggestions
from transect.effects.outcomes import FACE, compute
from transect.experiment import costs
from transect.experiment.canaries import keep_canaries
from transect.jobs.search import page
from transect.jobs.search.page import failure_pictures
from transect.jobs.search.request import Search, SearchOptions, answers_table_of, failed, prepare, with_texts
from transect.jobs.search.results import (
    AnswerFaces,
    FailurePicture,
    SearchNumbers,
    best_rule,
    error_tables,
    lines,
    mean_faces,
    percent,
    summary,
)
from transect.protocols import Generator, Target, TargetLike
from transect.records import Latents, Predictions, Task
from transect.runs import tables as columns
from transect.runs.capabilities import generator_entry, truths
from transect.runs.folder import RunFolder, canonical_json, slug, write_atomically
from transect.runs.json_records import record_in
from transect.runs.parts import Progress, resumable
from transect.runs.result import JobResult
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


def pixels_of(folder: RunFolder, part: int) -> UInt8[np.ndarray, "m h w 3"]:
    """The pictures of one batch."""
    return columns.images_of(folder.read_part("images", part)).pixels


def progress_label(search: Search, history: History, calls: int, money: float) -> str:
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


def conduct(search: Search, folder: RunFolder, budget: FailureBudget, progress: Progress) -> tuple[History, int]:
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


def next_batch(search: Search, folder: RunFolder, part: int, history: History, budget: FailureBudget) -> History:
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


def _before(search: Search, folder: RunFolder, part: int) -> Float[np.ndarray, " 2"]:
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


def _images(search: Search, folder: RunFolder, part: int, start: int, points: Float[np.ndarray, "m d"]) -> pa.Table:
    if not folder.has_part("images", part):
        seeds = search.design.subject_seeds(start, start + len(points))
        latents = search.space.subjects(search.world, seeds, points)
        rows = columns.images_table(search.design, seeds, _known(search, latents), search.world.render(latents))
        folder.write_part("images", part, rows)
    return folder.read_part("images", part)


def _known(search: Search, latents: Latents) -> pa.Table:
    """What the world reads, and the truth where it knows that of its images without setting it, as a label."""
    read, name = search.world.read(latents), FACE if search.truth is None else search.truth.attribute
    if name == FACE or name in read.column_names:
        return read
    return read.append_column(name, truths(search.world, latents)[name])


def _predictions(search: Search, folder: RunFolder, part: int, images: pa.Table, budget: FailureBudget) -> Predictions:
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


def _outcome(search: Search, images: pa.Table, answers: Predictions) -> tuple[Float[np.ndarray, " m"], list[str]]:
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


@final
@dataclass(frozen=True)
class SearchResult(JobResult[SearchNumbers]):
    """Where a target fails: `numbers` holds regions, the overall rate, maps and error tables.

    folder: the run folder, with `search.html` and `search.json`. faces: mean pictures of right and wrong answers;
    pictures: of failures.
    """

    JOB: ClassVar[str] = "search"

    folder: Path
    faces: tuple[AnswerFaces, ...]
    pictures: tuple[FailurePicture, ...]
    _calls: pa.Table

    @property
    def table(self) -> pa.Table:
        """The calls in order: searched attributes, explored (drawn whatever the answers), failure, reason.

        failure: 1 or 0, NaN for a call without an outcome, whose `reason` states why.
        """
        return self._calls

    def report(self, path: str | Path) -> Path:
        """Write `search.html` and `search.json` into a folder."""
        return page.write(self.numbers, self.faces, self.pictures, Path(path))

    def headline(self) -> str:
        """The first region, or the overall rate where there is none."""
        return lines(self.numbers)[1]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Regions and the overall rate."""
        regions = [(region.rule, percent(region), str(region.n)) for region in self.numbers.regions]
        estimate = self.numbers.estimate
        return ("region", "failures", "images"), [*regions, ("overall", percent(estimate), str(estimate.n))]


def search(
    target: TargetLike,
    *,
    truth: str | None = None,
    budget: int = 400,
    goal: str = "regions",
    vary: str | Sequence[str] = (),
    population: str | None = None,
    generator: str | Generator = "faceworld",
    seed: int = 0,
    options: SearchOptions | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> SearchResult:
    """Find where a target fails, with few calls: regions in words, as many failures as possible, or the overall rate.

    target: a spec, a function of uint8 images [n, h, w, 3], a Target. truth: the right answer, as "smile>0.5"; by
    default detectors are expected to find a face on every image. budget: calls in all, 20 or more. goal: "regions"
    (rules, confirmed on fresh images), "failures" (as many as possible, no rules) or "rate". vary: attributes to
    search along, as "age", "age=20:60" or "age=20,40"; by default every continuous one. options: everything else. out:
    the run folder, by default runs/search-TARGET; a stopped search resumes there and repeats no call. quiet: no
    progress on standard error.

    Rates come from calls that were drawn for them, never from the search's follow-ups. Without a failure there are no
    regions, and `numbers.regions_reason` states why.

    Returns the result; `search.html` and `search.json` are in the folder. Raises BadInput for settings that do not fit,
    UnknownName for an unknown target, goal or attribute, TooManyFailures where more images fail than allowed.

    ```python
    result = transect.search(model, truth="smile>0.5", vary=["skin_tone", "age"], budget=200)
    result.numbers.regions[0].rule, result.numbers.estimate.rate
    ```

    Source: docs/concepts/search.md; the method "mcduff2019" is that of McDuff et al. 2019 (NeurIPS).
    """
    request = prepare(
        target,
        truth=truth,
        budget=budget,
        goal=goal,
        vary=vary,
        population=population,
        generator=generator,
        seed=seed,
        options=options,
    )
    if not quiet:
        announce(request)
    try:
        folder = Path("runs") / f"search-{slug(request.target.name)}" if out is None else Path(out)
        return run(request, folder, quiet=quiet)
    finally:
        if isinstance(target, str):
            costs.close([request.target])


def run(search: Search, out: Path, *, quiet: bool = False) -> SearchResult:
    """Call the target until the budget is spent, and write the page; finished calls are read back."""
    budget = FailureBudget(search.target.name, search.budget, limit_share=search.limits.max_failures)
    with RunFolder(out, search.spec().to_json()) as folder, Progress("search", search.budget, quiet=quiet) as progress:
        with resumable(out):
            history, part = conduct(search, folder, budget, progress)
        for line in keep_canaries(out, [search.target]):
            say(line, error=True)
        costs.keep_calls(out, [search.target])
        result = _result(search, folder, out, history, part)
        result.report(out)
    return result


def _result(search: Search, folder: RunFolder, out: Path, history: History, parts: int) -> SearchResult:
    reasons = [str(reason) for part in range(parts) for reason in folder.read_part("calls", part)["reason"].to_pylist()]
    errors = error_tables(search, history, reasons, search.by)
    faces = mean_faces(search, history, errors.shown, parts, lambda part: pixels_of(folder, part), search.by)
    pictures = failure_pictures(search.space, history, parts, lambda part: pixels_of(folder, part))
    sections = [*canary_drift.call_sections(out), *canary_drift.canary_sections(out)]
    if search.gates is not None:
        sections.append(required_section(search.gates, "search", generator_entry(search.world)))
    numbers = replace(summary(search, history, paid(folder, parts), sections), errors=errors)
    columns = {**search.space.values(history.points), "explored": history.explored, "failure": history.failures}
    return SearchResult(numbers, out, tuple(faces), tuple(pictures), pa.table({**columns, "reason": reasons}))


def announce(search: Search) -> None:
    """Print on standard error how many calls the search makes, and what they cost."""
    names = ", ".join(attribute.name for attribute in search.space.attributes)
    say(f"search: {search.budget} calls to {search.target.name} over {names}", error=True)
    for line in costs.lines([search.target], search.budget, int(search.world.image_size)):
        say(line, error=True)
