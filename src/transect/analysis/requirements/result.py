"""Checked requirements as a result: what `transect check` and `transect audit --check` return, print and write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.analysis.publication import CHECKS
from transect.analysis.requirements import judging, other_jobs
from transect.analysis.requirements.outputs import MARKS, badge, junit, markdown, overall, summary
from transect.analysis.requirements.records import Checked, Requirement
from transect.effects.requirements import Status
from transect.reports.short_page import ShortPageResult
from transect.runs import mounts
from transect.runs.folder import write_atomically, write_json
from transect.runs.plain_json import plain
from transect.texts import say

EXIT_CODES: Final[dict[Status, int]] = {"met": 0, "violated": 1, "not shown": 4}
STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


@final
@dataclass(frozen=True, slots=True)
class CheckNumbers:
    """The run that was checked, the status of all requirements together, and each of them."""

    run: str
    status: Status
    requirements: tuple[Checked, ...]


@final
@dataclass(frozen=True, slots=True)
class CheckResult(ShortPageResult[CheckNumbers]):
    """Checked requirements. `numbers.status` is met, violated or not shown."""

    JOB: ClassVar[str] = "check"
    TITLE: ClassVar[str] = "Requirements"
    TABLE: ClassVar[str] = "Requirements"

    @property
    def exit_code(self) -> int:
        """0 where all are met, 1 where one is violated, 4 where one is not shown."""
        return EXIT_CODES[self.numbers.status]

    @property
    def table(self) -> pa.Table:
        """A row per requirement and model."""
        return pa.Table.from_pylist([dict(plain(row)) for row in self.numbers.requirements])

    def headline(self) -> str:
        """How many requirements are met, violated and not shown."""
        return summary(self.numbers.requirements)

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per requirement and model: status, requirement, model and what the run shows."""
        rows = [
            [f"{MARKS[row.status]} {row.status}", row.name, row.target, row.text] for row in self.numbers.requirements
        ]
        return ["status", "requirement", "model", "what the run shows"], rows


def check_run(folder: Path, requirements: Sequence[Requirement]) -> CheckResult:
    """Judge the requirements on a finished run and store what was found in it as checks.json."""
    judge = other_jobs.judge if other_jobs.numbers_in(folder) else judging.judge
    rows = judge(folder, requirements)
    numbers = CheckNumbers(mounts.name_of(folder), overall(rows), rows)
    write_json(folder / CHECKS, plain(numbers))
    return CheckResult(numbers)


def write_outputs(
    result: CheckResult,
    *,
    junit_file: Path | None = None,
    summary_file: Path | None = None,
    badge_file: Path | None = None,
) -> None:
    """Write JUnit XML, a Markdown summary and a badge where a path is given."""
    rows = result.numbers.requirements
    texts = {junit_file: junit(rows, result.numbers.run), summary_file: markdown(rows), badge_file: badge(rows)}
    for path, text in texts.items():
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
    if step := os.environ.get(STEP_SUMMARY):
        try:
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(markdown(rows))
        except OSError as error:
            say(f"the step summary {step} cannot be written ({error.strerror})", error=True)
