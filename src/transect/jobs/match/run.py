"""Pairs of real images that differ in one attribute and are similar in the rest: `transect.match`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pyarrow as pa

from transect.datasets.features import FeaturesLike
from transect.designs.matching.sample import MISSING, Metric
from transect.effects.matched_pairs import verdict
from transect.jobs.match import methods
from transect.jobs.match import options as given
from transect.jobs.match.methods import Matched, matched
from transect.jobs.match.options import MatchOptions, Method, Request, check_names, opened, without_identity
from transect.jobs.match.outcomes import (
    CovariateBalance,
    Effects,
    MatchedOutcome,
    MatchNumbers,
    effects_of_sets,
    matched_effects,
    read_experiment,
)
from transect.jobs.match.sample import Prepared, check, crowded_note, prepare
from transect.jobs.match.text import balance_rows, headline
from transect.runs.result import JobResult
from transect.runs.table_inputs import TableLike, as_names

_MOST_LISTED = 20


@final
@dataclass(frozen=True, slots=True)
class MatchResult(JobResult[MatchNumbers]):
    """A matching. table: a, b, distance for each pair (with more than two groups also set and group, with references
    also their rows and difficulties), or row, weight; rows are counted from 0. request, prepared, matched: the inputs
    and steps behind the numbers, which the page draws.
    """

    JOB: ClassVar[str] = "match"

    request: Request = field(repr=False)
    prepared: Prepared = field(repr=False)
    matched: Matched = field(repr=False)

    @property
    def table(self) -> pa.Table:
        """The rows that `--out` writes."""
        return self.matched.rows

    def report(self, path: str | Path) -> Path:
        """Write match.html and match.json into the folder `path`; returns the page's path.

        Raises BadInput for a cell of `options.pictures` that is not a picture.
        """
        from transect.jobs.match.content import content_of
        from transect.jobs.match.page import write

        return write(content_of(self), Path(path))

    def headline(self) -> str:
        """How many pairs of how many images, and whether they are balanced."""
        return f"{headline(self.numbers)}; {self.numbers.verdict}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Standardized mean differences of the covariates that differed most before matching."""
        return ("covariate", "SMD before", "SMD after"), balance_rows(self.numbers)


def match(
    features: FeaturesLike | Sequence[FeaturesLike] | None,
    treatment: str,
    table: TableLike | None = None,
    *,
    method: Method = "greedy",
    metric: Metric = "euclidean",
    exact: str | Sequence[str] = (),
    caliper: float | None = None,
    identity: str | None = None,
    covariates: str | Sequence[str] = (),
    outcomes: str | Sequence[str] = (),
    seed: int = 0,
    options: MatchOptions | None = None,
) -> MatchResult:
    """Pairs of images that differ in `treatment` and are similar in the features, and how balanced they are.

    Matching makes groups comparable in what was measured; a difference between matched groups is an association.

    features: where distance is measured: an array [images, ...], a .npy file, or a table of numeric or list columns
    (path, Arrow, data frame, columns by name), or an inversion; a list or tuple puts several side by side; None where
    `options.pairs` gives the pairs. treatment: column of the
    table with 0 and 1, two names, up to 30 groups, or with `options.dose_gap` numbers. table: a row per image; by
    default the features, where they are a table. method: greedy (nearest pair first, Singh et al. 2021), optimal,
    propensity (Austin 2011), propensity-published, mahalanobis or overlap. exact: columns in which a pair is equal.
    caliper: largest distance of a pair (propensity: in standard deviations of log
    odds). identity: column of people, each in one pair at most. covariates: columns whose balance is measured, by
    default all numeric ones. outcomes: columns that are compared within pairs and that no method sees.

    Returns MatchResult: numbers (MatchNumbers), table (pairs, sets or weights), report.

    Raises BadInput for inputs or options that cannot be used, and where no pair keeps the constraints, with what would
    leave one; UnknownName for a column, method or group that does not exist.

    >>> images = {"age": [30.0, 50.0, 31.0, 70.0], "hat": [1, 1, 0, 0]}
    >>> result = match(images, "hat", caliper=5.0)
    >>> result.table.to_pylist(), dict(result.numbers.refused)
    ([{'a': 0, 'b': 2, 'distance': 1.0}], {'caliper': 1})
    """
    started = time.perf_counter()
    paired = options is not None and options.pairs is not None
    blocks, rows, root = opened(features, table, paired=paired)
    request = Request(
        blocks=blocks,
        treatment=treatment,
        table=rows,
        root=root,
        method=method,
        metric=metric,
        exact=as_names(exact),
        caliper=caliper,
        identity=identity,
        covariates=as_names(covariates),
        outcomes=as_names(outcomes),
        seed=seed,
        options=options or MatchOptions(),
    )
    check_names(request)
    prepared = prepare(request)
    check(request, prepared)
    experiment = _experiment(request)
    result = matched(request, prepared)
    numbers = _numbers(request, prepared, result, experiment, started)
    return MatchResult(numbers, request, prepared, result)


def _experiment(request: Request) -> Effects:
    folder = request.options.experiment
    if folder is None:
        return []
    return read_experiment(Path(folder), request.options.experiment_attribute or request.treatment, request.outcomes)


def _numbers(
    request: Request, prepared: Prepared, result: Matched, experiment: Effects, started: float
) -> MatchNumbers:
    sample = prepared.sample
    missing = sorted(row for row, reason in sample.ineligible.items() if reason == MISSING)
    known = sample.treatment[np.isfinite(sample.treatment)]
    outcomes = _outcomes(request, prepared, result, experiment)
    adjusted = [(each.adjusted.covariates, each.adjusted.n_pairs) for each in outcomes]
    crowded = list(dict.fromkeys(note for counts in adjusted for note in crowded_note(*counts)))
    notes = [*_equal_images(request, result), *without_identity(request, result.rows), *crowded]
    return MatchNumbers(
        treatment=request.treatment,
        groups=result.groups,
        method=result.method,
        treated=len(known) if sample.dose_gap else int((known == 1).sum()),
        control=len(known) if sample.dose_gap else int((known == 0).sum()),
        pairs=0 if result.weights is not None else result.rows.num_rows,
        sets=None if result.sets is None else len(result.sets.rows),
        weighted=None if result.weights is None else result.rows.num_rows,
        dose_gap=sample.dose_gap or None,
        mean_distance=result.mean_distance,
        missing=len(missing),
        missing_rows=tuple(missing[:_MOST_LISTED]),
        refused=result.refused,
        notes=(
            *prepared.notes,
            *given.notes(request),
            *methods.notes(request),
            *filter(None, [prepared.apart]),
            *notes,
        ),
        verdict=verdict(result.balance, request.options.gate),
        balance=tuple(CovariateBalance.of(row) for row in result.balance),
        outcomes=outcomes,
        references=result.difficulty,
        facts=result.facts,
        seconds=round(time.perf_counter() - started, 3),
        peak_mb=_peak_megabytes(),
    )


def _outcomes(request: Request, prepared: Prepared, result: Matched, experiment: Effects) -> tuple[MatchedOutcome, ...]:
    if result.sets is not None:
        sets = result.sets
        return effects_of_sets(prepared, sets.groups, sets.rows, seed=request.seed)
    if result.pairs is None:
        return ()
    pairs = result.pairs.a, result.pairs.b
    return matched_effects(prepared, pairs, experiment, seed=request.seed)


def _equal_images(request: Request, result: Matched) -> list[str]:
    """A note on pairs at distance 0."""
    count = 0 if result.pairs is None else int((result.pairs.distance == 0).sum())
    if not count or request.method.startswith("propensity"):
        return []
    pairs = "1 pair has" if count == 1 else f"{count} pairs have"
    return [f"{pairs} distance 0: the same image twice, or features that do not tell images apart"]


def _peak_megabytes() -> float:
    """The process's largest resident memory so far, mapped files included; 0 where the system does not report it.
    Linux's own count first: getrusage also counts what the process was before, a copy of the one that started it.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    except (OSError, IndexError, ValueError):  # no Linux
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
