"""`transect.replicate`: the same effects in several worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.analysis.compared.conclusions import interval
from transect.analysis.replicated.conclusions import (
    MARKS,
    Finding,
    ReplicateNumbers,
    about,
    lacking,
    models,
    size,
    verdict,
)
from transect.analysis.replicated.replicating import replicate_runs
from transect.reports.columns import probability
from transect.runs import report_options, working_folders
from transect.runs.json_records import plain
from transect.runs.result import JobResult


@final
@dataclass(frozen=True, slots=True)
class ReplicateResult(JobResult[ReplicateNumbers]):
    """Effects in several worlds, and whether they replicate."""

    JOB: ClassVar[str] = "replicate"

    @property
    def table(self) -> pa.Table:
        """A row per effect and world: the estimate, its interval, and the verdict on the effect."""
        rows = []
        for finding in self.numbers.findings:
            head = {
                name: getattr(finding, name) for name in ("target", "attribute", "levels", "outcome", "unit", "verdict")
            }
            rows += [{**head, **dict(plain(world))} for world in finding.worlds]
        return pa.Table.from_pylist(rows)

    def headline(self) -> str:
        """How many effects replicate, differ, or are open."""
        return self.numbers.answer[0]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per effect, with its model where there are several."""
        called = models(self.numbers.findings)
        worlds = (world.name for world in self.numbers.worlds)
        headings = ["verdict", *["model"] * (len(called) > 1), "effect", "seen in", *worlds, "difference", "p", "needs"]
        return headings, [self._row(finding, called[finding.digest]) for finding in self.numbers.findings]

    def _row(self, finding: Finding, model: str) -> list[str]:
        sizes = {world.world: size(world.estimate, finding.unit) for world in finding.worlds}
        ends = f" ({interval(finding.low, finding.high, finding.unit)})" if finding.first else ""
        return [
            f"{MARKS[finding.verdict][0]} {verdict(finding)}", *[model] * bool(model), about(finding),
            f"{len(finding.seen_in)} of {len(finding.worlds)}",
            *(sizes.get(world.name, "") for world in self.numbers.worlds),
            f"{size(finding.difference, finding.unit)}{ends}", probability(finding.p_adjusted),
            lacking(finding),
        ]  # fmt: skip

    def warning_lines(self) -> Sequence[str]:
        """What was not compared and why, and how levels were mapped."""
        return self.numbers.notes

    def report(self, path: str | Path) -> Path:
        """Write replicate.html and replicate.json into the folder `path`; return the page's path."""
        from transect.jobs.replicate.page import write

        return write(self.numbers, working_folders.opened(path))


def replicate(
    runs: Sequence[str | Path], *, margin: float | str | Sequence[str] = (), combine: bool = False
) -> ReplicateResult:
    """The same effects of one model in several worlds, and whether they replicate.

    runs: folders or addresses of finished runs: audits of rendered images, edited photographs or a learned generator,
    audits of images as they are (whose unadjusted associations are compared), and `match` pairs. margin: the largest
    difference between worlds that does not matter, as 0.05 for all rates or "miss=0.02" for one outcome; by default
    that of the first run, else two points of a rate. combine: of two runs with subjects in common, rendered images
    first, also the effects on the photographs of the second with the help of the renderings.

    Returns for each effect the estimates side by side, a test that all worlds have one effect (p corrected over all
    effects, Holm), the difference of the two worlds that differ most, and the verdict: replicates (every world shows it
    in one direction, and they are shown to differ by less than the margin), has the same direction with sizes not shown
    alike, agrees within the margin, differs, cannot tell (with the subjects that would), or not estimable.

    Raises BadInput for a folder without results, fewer than two worlds, no effect in common, total beside direct
    effects, or with `combine` generators that nothing links, or no subject in common.
    """
    folders = [working_folders.opened(run) for run in runs]
    return ReplicateResult(replicate_runs(folders, report_options.listed_margins(margin), combine=combine))
