"""`transect.search`: find where a target fails, with few calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.analysis.required import section_of
from transect.analysis.sections import calling, steady
from transect.designs.search import History
from transect.experiment import calls, costs
from transect.experiment.canaries import keep_canaries, watch
from transect.jobs.search import page
from transect.jobs.search.calls import conduct, paid, pixels_of, reasons_of
from transect.jobs.search.errors import error_tables, mean_faces
from transect.jobs.search.gallery import failure_pictures
from transect.jobs.search.numbers import AnswerFaces, FailurePicture, SearchNumbers
from transect.jobs.search.request import Search, SearchOptions, prepare
from transect.jobs.search.results import lines, percent, summary
from transect.protocols import Generator, TargetLike
from transect.reports.records import Section
from transect.runs.capabilities import generator_entry
from transect.runs.folder import RunFolder, slug
from transect.runs.parts import resumable
from transect.runs.progress import Progress
from transect.runs.result import JobResult
from transect.targets.guard import FailureBudget
from transect.texts import say


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
        return run(request, default_folder(request) if out is None else Path(out), quiet=quiet)
    finally:
        if isinstance(target, str):
            costs.close([request.target])


def default_folder(search: Search) -> Path:
    """The run folder where none is named."""
    return Path("runs") / f"search-{slug(search.target.name)}"


def run(search: Search, out: Path, *, quiet: bool = False) -> SearchResult:
    """Call the target until the budget is spent, and write the page; finished calls are read back.

    Raises TooManyFailures, BudgetSpent and Interrupted, which keep what is done.
    """
    budget = FailureBudget(search.target.name, search.budget, limit_share=search.limits.max_failures)
    watch([search.target])
    with RunFolder(out, search.spec().to_json()) as folder, Progress("search", search.budget, quiet=quiet) as progress:
        with resumable(out):
            history, part = conduct(search, folder, budget, progress)
        for line in keep_canaries(out, [search.target]):
            say(line, error=True)
        calls.keep(out, [search.target])
        result = _result(search, folder, out, history, part)
        result.report(out)
    return result


def _result(search: Search, folder: RunFolder, out: Path, history: History, parts: int) -> SearchResult:
    reasons = reasons_of(folder, parts)
    errors = error_tables(search, history, reasons, search.by)
    faces = mean_faces(search, history, errors.shown, parts, lambda part: pixels_of(folder, part), search.by)
    pictures = failure_pictures(search.space, history, parts, lambda part: pixels_of(folder, part))
    sections = [*calling.sections(out), *steady.sections(out), *_gate_sections(search)]
    numbers = replace(summary(search, history, paid(folder, parts), sections), errors=errors)
    columns = {**search.space.values(history.points), "explored": history.explored, "failure": history.failures}
    return SearchResult(numbers, out, tuple(faces), tuple(pictures), pa.table({**columns, "reason": reasons}))


def _gate_sections(search: Search) -> list[Section]:
    gates = search.gates
    return [] if gates is None else [section_of(gates, "search", generator_entry(search.world))]


def announce(search: Search) -> None:
    """Print on standard error how many calls the search makes, and what they cost."""
    names = ", ".join(attribute.name for attribute in search.space.attributes)
    say(f"search: {search.budget} calls to {search.target.name} over {names}", error=True)
    for line in costs.lines([search.target], search.budget, int(search.world.image_size)):
        say(line, error=True)
