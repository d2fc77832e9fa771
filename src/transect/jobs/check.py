"""Check a run against requirements. Exit code 0: all are met; 1: one is violated; 4: one is not shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, final

import pyarrow as pa

from transect.analysis.requirements import records
from transect.analysis.requirements.records import Requirement
from transect.analysis.requirements.result import (
    CheckNumbers,
    check_run,
    requirements_picture,
    requirements_table,
    summary,
    write_outputs,
)
from transect.job import Content, Job, Option, function
from transect.runs import working_folders
from transect.runs.json_records import plain


@final
@dataclass(frozen=True)
class Check(Job[CheckNumbers]):
    """Check a run against requirements: each is met, violated, or not shown because there are too few subjects.

    The result has the status of each, and of all together (`numbers.status`); the run folder keeps it as checks.json.
    A requirement is met only where the data show it: at a true difference of exactly the limit it passes in at most
    5 % of runs.

    Raises BadInput or UnknownName for a folder without a finished run, or a requirement that does not fit it.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False

    folder: Annotated[
        str | Path,
        Option(
            "A finished run of an audit, or the folder of a recognition or leakage analysis, or an address such as "
            "s3://….",
            str,
            metavar="DIR",
            argument=True,
            opens="data",
        ),
    ]
    requirements: Annotated[
        str | Path | Requirement | Sequence[Requirement],
        Option("A TOML file of requirements, such as the study file.", Path, metavar="FILE", opens="data"),
    ]
    _: KW_ONLY
    junit: Annotated[
        str | Path | None, Option("Write the requirements as JUnit XML.", metavar="FILE", opens="write")
    ] = None
    summary: Annotated[str | Path | None, Option("Write a summary in Markdown.", metavar="FILE", opens="write")] = None
    badge: Annotated[str | Path | None, Option("Write an SVG badge.", metavar="FILE", opens="write")] = None

    def compute(self) -> CheckNumbers:
        """The status of each requirement; the files that are asked for are written."""
        chosen = self.requirements
        if isinstance(chosen, str | Path):
            chosen = records.read(chosen)
        numbers = check_run(
            working_folders.opened(self.folder), [chosen] if isinstance(chosen, Requirement) else chosen
        )
        write_outputs(numbers, junit=self.junit, summary=self.summary, badge=self.badge)
        return numbers

    def exit_code(self, numbers: CheckNumbers) -> int:
        """0 where all are met, 1 where one is violated, 4 where one is not shown."""
        return numbers.exit_code

    def content(self, numbers: CheckNumbers) -> Content:
        """How many requirements are met, and a row for each and each model."""
        return Content(
            title=f"Requirements of {Path(numbers.run).name}",
            picture=requirements_picture(numbers.requirements),
            answer=[summary(numbers.requirements)],
            table=requirements_table(numbers.requirements),
            rows=pa.Table.from_pylist([dict(plain(row)) for row in numbers.requirements]),
        )


check = function(Check)
