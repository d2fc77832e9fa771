"""`transect.compare`: models compared on the same images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.analysis.compared.comparing import compare_runs
from transect.analysis.compared.conclusions import (
    MARKS,
    CompareNumbers,
    amount,
    associations,
    compared,
    interval,
    needs,
    number,
)
from transect.reports.columns import probability
from transect.runs import report_options, working_folders
from transect.runs.json_records import plain
from transect.runs.result import JobResult


@final
@dataclass(frozen=True, slots=True)
class CompareResult(JobResult[CompareNumbers]):
    """A comparison of models. pictures: of `numbers.images`, in their order, b"" where the run keeps none."""

    JOB: ClassVar[str] = "compare"

    pictures: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def table(self) -> pa.Table:
        """A row per compared number: rates, gaps, rates at levels and effects, with interval and corrected p."""
        return pa.Table.from_pylist([dict(plain(row)) for row in self.numbers.rows])

    def headline(self) -> str:
        """Who is better on what, a sentence for each model."""
        return " ".join(self.numbers.answer)

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per conclusion."""
        headings = [
            "verdict",
            "model",
            "compared",
            "baseline",
            "model's",
            "difference",
            "interval",
            "p, corrected",
            "needs",
        ]
        shown = []
        for conclusion in self.numbers.conclusions:
            row = self.numbers.rows[conclusion.row]
            shown.append([
                " ".join(MARKS[conclusion.verdict]), row.model, compared(conclusion, row),
                number(row.first, row.unit), number(row.second, row.unit), amount(row.estimate, row.unit, signed=True),
                interval(conclusion.low, conclusion.high, row.unit), probability(row.p_adjusted),
                needs(conclusion).removeprefix("needs ") if conclusion.verdict == "cannot tell" else "",
            ])  # fmt: skip
        return headings, shown

    def warning_lines(self) -> Sequence[str]:
        """What was not compared and why, and what gaps of observed images cannot show."""
        return (*self.numbers.notes, *associations(self.numbers.rows))

    def report(self, path: str | Path) -> Path:
        """Write compare.html and compare.json into the folder `path`; return the page's path."""
        from transect.jobs.compare.page import write

        return write(self.numbers, self.pictures, working_folders.opened(path))


def compare(
    runs: str | Path | Sequence[str | Path],
    *,
    targets: Sequence[str] = (),
    margin: float | str | Sequence[str] = (),
) -> CompareResult:
    """Compare the models of finished audits on the same images, each with the first (in words: of the same question).

    runs: folders or addresses of audits whose generator, design and images are the same, the baseline first; or one
    with several targets. targets: names of those that are compared, all by default. margin: the smallest difference
    that matters, as 0.02 for all rates or "miss=0.01" for one outcome; by default that of the first run.

    Returns who is better on what: differences of rates and of gaps with intervals by subject and p corrected over all
    of them (Holm), and the images on which the models differ.

    Raises BadInput for other images, fewer than two models or no outcome in common; UnknownName for another target.
    """
    folders = [working_folders.opened(run) for run in ([runs] if isinstance(runs, str | Path) else runs)]
    comparison = compare_runs(folders, targets, report_options.listed_margins(margin))
    return CompareResult(comparison.numbers, comparison.pictures)
