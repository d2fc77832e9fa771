"""`transect.compare_searches`: how many failures each way of searching finds, by calls (McDuff et al. 2019, Fig. 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pyarrow as pa

from transect.analysis.sections import calling, steady
from transect.designs.search import APART, History, apart
from transect.errors import BadInput
from transect.experiment import calls, costs
from transect.experiment.canaries import keep_canaries, watch
from transect.jobs.search import comparison_page
from transect.jobs.search.calls import conduct, paid, pixels_of, stored_answers
from transect.jobs.search.comparison import (
    CONFIDENCE,
    Arm,
    ArmNumbers,
    ComparisonNumbers,
    Repeated,
    SearchComparison,
    best_two,
    clear_of_zero,
    curve_of,
    more_repeats,
    paired,
    repeated,
)
from transect.jobs.search.gallery import failure_pictures
from transect.jobs.search.numbers import FailurePicture
from transect.jobs.search.request import Search, SearchOptions, prepare
from transect.jobs.search.results import searched
from transect.jobs.search.shared import SharedAnswers
from transect.protocols import Generator, TargetLike
from transect.runs.folder import RunFolder, slug
from transect.runs.parts import resumable
from transect.runs.progress import Progress
from transect.runs.result import JobResult
from transect.runs.wording import counted
from transect.targets.guard import FailureBudget
from transect.texts import say

PICTURES = 8
"""Failures of the first repeat of each search that the page shows."""


@final
@dataclass(frozen=True)
class ComparisonResult(JobResult[ComparisonNumbers]):
    """How many failures each search finds: `numbers` holds the counts and curves of all repeats.

    folder: a run folder per search and repeat, with `comparison.html` and `comparison.json`. pictures: failures of the
    first repeat of each search.
    """

    JOB: ClassVar[str] = "search-comparison"

    folder: Path
    pictures: tuple[tuple[FailurePicture, ...], ...]

    @property
    def table(self) -> pa.Table:
        """A row per search and repeat: name, method, alpha, repeat, failures, apart."""
        rows = [
            {"name": arm.name, "method": arm.method, "alpha": arm.alpha, "repeat": i, "failures": count, "apart": far}
            for arm in self.numbers.arms
            for i, (count, far) in enumerate(zip(arm.failures.repeats, arm.apart.repeats, strict=True))
        ]
        return pa.Table.from_pylist(rows)

    def report(self, path: str | Path) -> Path:
        """Write `comparison.html` and `comparison.json` into a folder."""
        return comparison_page.write(self.numbers, self.pictures, Path(path))

    def headline(self) -> str:
        """Which searches find more or fewer failures than random points, of the best two which, and what was asked."""
        pictures = f"{counted(self.numbers.pictures, 'picture')}, each asked about once"
        answers = f"{counted(self.numbers.answers, 'answer')} from {pictures}"
        return "; ".join([*_against_random(self.numbers), *_of_the_best(self.numbers), *_alone(self.numbers), answers])

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Failures of each search: the mean over repeats, and the fewest and the most."""
        rows = [
            (arm.name, _text(arm.failures), _text(arm.apart), _text(arm.more_than_random)) for arm in self.numbers.arms
        ]
        return ("search", "failures: mean (fewest to most)", "far apart", "more than random"), rows


def compare_searches(
    target: TargetLike,
    comparison: SearchComparison | None = None,
    *,
    truth: str | None = None,
    budget: int = 400,
    vary: str | Sequence[str] = (),
    population: str | None = None,
    generator: str | Generator = "faceworld",
    seed: int = 0,
    options: SearchOptions | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> ComparisonResult:
    """Compare how many failures several searches find with the same number of calls (McDuff et al. 2019, Fig. 4).

    comparison: methods, the weights alpha of mcduff2019, and repeats. budget: calls of each search, 20 or more; a
    picture that several searches show is asked about once. out: the folder, by default runs/compare-TARGET; rerun to
    resume, or with more repeats or weights to extend. The other arguments are those of `transect.search`, with the goal
    "failures".

    From six repeats on, medians over repeats have intervals, 95 % each by itself; with fewer they are NaN with the
    reason. Raises as `transect.search`, and as `SearchComparison`.

    ```python
    compared = transect.compare_searches(model, truth="smile>0.5", vary=["skin_tone", "age"], budget=80)
    compared.numbers.arms[0].failures.mean
    ```

    Source: McDuff et al. 2019, Fig. 4.
    """
    comparison, options = comparison or SearchComparison(), options or SearchOptions()
    if options.questions is not None:
        raise BadInput("--compare: expected a target that is asked no --questions; search it once with each --method")
    request = prepare(
        target, truth=truth, budget=budget, goal="failures", vary=vary, population=population, generator=generator,
        seed=seed, options=replace(options, method="ours"),
    )  # fmt: skip
    folder = Path("runs") / f"compare-{slug(request.target.name)}" if out is None else Path(out)
    try:
        return run(request, comparison, options.alpha_weighs, folder, quiet=quiet)
    finally:
        if isinstance(target, str):
            costs.close([request.target])


@dataclass(frozen=True, slots=True)
class _Trial:
    """One finished search."""

    history: History
    digests: frozenset[str]
    paid: tuple[int, float]
    pictures: tuple[FailurePicture, ...]


def run(
    search: Search, comparison: SearchComparison, weighs: str, out: Path, *, quiet: bool = False
) -> ComparisonResult:
    """Run every search and repeat, share their answers, and write the page; finished calls are read back."""
    arms = comparison.arms(weighs)
    total = search.budget * len(arms) * comparison.repeats
    if not quiet:
        announce(search, len(arms) * comparison.repeats)
    watch([search.target])
    shared = _stored(search, comparison, arms, out)
    trials: list[list[_Trial]] = [[] for _ in arms]
    with Progress("searches", total, quiet=quiet) as progress, resumable(out):
        for repeat in range(comparison.repeats):
            for arm, done in zip(arms, trials, strict=True):
                done.append(_trial(_search_of(search, arm, repeat), out / _folder(arm, repeat), shared, progress))
    for line in keep_canaries(out, [search.target]):
        say(line, error=True)
    calls.keep(out, [search.target])
    numbers = _numbers(search, comparison, weighs, arms, trials, out)
    result = ComparisonResult(numbers, out, tuple(done[0].pictures for done in trials))
    result.report(out)
    return result


def _stored(search: Search, comparison: SearchComparison, arms: Sequence[Arm], out: Path) -> SharedAnswers:
    """The answers that the folders have, of all searches, so that a search new to the list pays for none of them."""
    shared = SharedAnswers()
    for repeat, arm in itertools.product(range(comparison.repeats), arms):
        path, repeated = out / _folder(arm, repeat), _search_of(search, arm, repeat)
        if (path / "run.json").exists():
            with RunFolder(path, repeated.spec().to_json()) as folder:
                stored_answers(repeated, folder, shared)
    return shared


def announce(search: Search, searches: int) -> None:
    """Print on standard error how many calls the comparison makes at most, and what they cost."""
    most = searches * search.budget
    say(
        f"search: {counted(searches, 'search', 'searches')} of {counted(search.budget, 'call')}, at most "
        f"{counted(most, 'call')} to {search.target.name}; a picture that several searches show is asked about once",
        error=True,
    )
    for line in costs.lines([search.target], most, int(search.world.image_size)):
        say(line, error=True)


def _search_of(search: Search, arm: Arm, repeat: int) -> Search:
    alpha = search.alpha if arm.diversity is None else arm.diversity
    return replace(search, method=arm.method, alpha=alpha, seed=search.seed + repeat)


def _folder(arm: Arm, repeat: int) -> str:
    weight = "" if arm.diversity is None else f"-{arm.diversity:g}"
    return f"{arm.method}{weight}-repeat-{repeat + 1}"


def _trial(search: Search, out: Path, shared: SharedAnswers, progress: Progress) -> _Trial:
    budget = FailureBudget(search.target.name, search.budget, limit_share=search.limits.max_failures)
    with RunFolder(out, search.spec().to_json()) as folder:
        history, parts = conduct(search, folder, budget, progress, shared)
        digests = (folder.read_part("images", part)["sha256"].to_pylist() for part in range(parts))
        pictures = failure_pictures(search.space, history, parts, lambda part: pixels_of(folder, part), PICTURES)
        different = frozenset(digest for part in digests for digest in part)
        return _Trial(history, different, paid(folder, parts), tuple(pictures))


def _numbers(
    search: Search,
    comparison: SearchComparison,
    weighs: str,
    arms: Sequence[Arm],
    trials: Sequence[Sequence[_Trial]],
    out: Path,
) -> ComparisonNumbers:
    everything = [trial for done in trials for trial in done]
    random = next((done for arm, done in zip(arms, trials, strict=True) if arm.method == "random"), None)
    compared = tuple(
        _arm(arm, [trial.history for trial in done], None if random is None else [t.history for t in random])
        for arm, done in zip(arms, trials, strict=True)
    )
    return ComparisonNumbers(
        target=search.target.name,
        outcome=search.outcome,
        budget=search.budget,
        repeats=comparison.repeats,
        seed=search.seed,
        confidence=CONFIDENCE,
        alpha_weighs=weighs,
        answers=sum(len(trial.history) for trial in everything),
        pictures=len(frozenset().union(*(trial.digests for trial in everything))),
        paid_calls=sum(trial.paid[0] for trial in everything),
        cost=round(sum(trial.paid[1] for trial in everything), 9),
        space=searched(search.space),
        arms=compared,
        best_two=best_two(compared),
        sections=(*calling.sections(out), *steady.sections(out)),
    )


def _arm(arm: Arm, histories: Sequence[History], random: Sequence[History] | None) -> ArmNumbers:
    found = [float(history.failed.sum()) for history in histories]
    more = None
    if random is not None and arm.method != "random":
        chance = [float(history.failed.sum()) for history in random]
        more = paired(found, chance)
    curve, fewest, most = curve_of(np.array([history.failed.cumsum() for history in histories], dtype=np.float64))
    return ArmNumbers(
        name=arm.name,
        method=arm.method,
        alpha=arm.alpha,
        diversity=arm.diversity,
        failures=repeated(found),
        apart=repeated([float(len(apart(history.found, APART))) for history in histories]),
        more_than_random=more,
        failed=sum(int(np.isnan(history.failures).sum()) for history in histories),
        curve=curve,
        fewest=fewest,
        most=most,
    )


def _against_random(numbers: ComparisonNumbers) -> Iterator[str]:
    found = [(arm.name, arm.more_than_random) for arm in numbers.arms if arm.more_than_random is not None]
    for sign, words in ((1, "more failures than random points"), (-1, "fewer failures than random points")):
        if clear := [f"{name} {_median(more)}" for name, more in found if clear_of_zero(more) == sign]:
            yield f"{words}: {', '.join(clear)}"
    if open_ := [f"{name} {_median(more)}" for name, more in found if not clear_of_zero(more)]:
        yield f"not decided against random points: {', '.join(open_)}; {_advice(numbers)}"


def _of_the_best(numbers: ComparisonNumbers) -> Iterator[str]:
    if (best := numbers.best_two) is None:
        return
    if clear_of_zero(best.more):
        yield f"{best.first} finds more than {best.second}: {_median(best.more)}"
    else:
        between = f"not decided between the best two, {best.first} and {best.second}: {_median(best.more)}"
        yield f"{between}; {_advice(numbers)}"


def _alone(numbers: ComparisonNumbers) -> Iterator[str]:
    """Several intervals against random points do not hold together."""
    if sum(arm.more_than_random is not None and not arm.more_than_random.reason for arm in numbers.arms) > 1:
        yield f"each {100 * numbers.confidence:g} % interval by itself"


def _advice(numbers: ComparisonNumbers) -> str:
    return f"{more_repeats(numbers.repeats)} (had {numbers.repeats})"


def _median(difference: Repeated) -> str:
    """A median difference with its interval, where it has one."""
    text = f"{difference.median:+.4g}"
    return text if difference.reason else f"{text} ({difference.low:+g} to {difference.high:+g})"


def _text(numbers: Repeated | None) -> str:
    if numbers is None:
        return "-"
    values = numbers.repeats
    return f"{numbers.mean:.4g} ({min(values):g} to {max(values):g})"
