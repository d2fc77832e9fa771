"""`transect.list_runs`: the runs in a folder, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.errors import BadInput
from transect.jobs.list_runs.reading import RunRow, runs_below
from transect.reports.short_page import ShortPageResult
from transect.reports.wording import short_name
from transect.runs import mounts
from transect.runs.plain_json import plain
from transect.runs.wording import counted

_FILES: Final = ("run.json", "results.json", "checks.json")


@final
@dataclass(frozen=True, slots=True)
class ListNumbers:
    """The runs in a folder, the newest first; those without results come first."""

    folder: str
    runs: tuple[RunRow, ...]


@final
@dataclass(frozen=True, slots=True)
class ListResult(ShortPageResult[ListNumbers]):
    """The runs in a folder."""

    JOB: ClassVar[str] = "list-runs"
    TITLE: ClassVar[str] = "Runs"
    TABLE: ClassVar[str] = "Runs"

    @property
    def table(self) -> pa.Table:
        """A row per run."""
        return pa.Table.from_pylist([dict(plain(row)) for row in self.numbers.runs])

    def headline(self) -> str:
        """How many runs there are."""
        return f"{counted(len(self.numbers.runs), 'run')} in {self.numbers.folder}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per run: folder, job, model, question, verdict and date."""
        rows = [
            [row.folder, row.job, ", ".join(map(short_name, row.targets)), row.question, row.verdict, row.date]
            for row in self.numbers.runs
        ]
        return ["folder", "job", "model", "question", "verdict", "date (UTC)"], rows


def _told(name: str) -> bool:
    """Whether the list is made from this file; the page of an audit tells nothing that its results do not."""
    return name.rpartition("/")[2] in _FILES or (name.endswith(".html") and not name.endswith("report.html"))


def list_runs(folder: str | Path = "runs") -> ListResult:
    """The runs in a folder and in those below it, with the model, the question, the verdict and the date of each.

    An audit is summarized by its verdicts, another job by the answer of its page. A run that is not finished says how
    far it is. folder: on this machine or an address, as "s3://bucket/runs". Raises BadInput where there is no such
    folder.
    """
    path = mounts.opened(folder, _told)
    if not path.is_dir():
        raise BadInput(f"{path}: expected a folder of runs, found none; give the folder that --out names")
    rows = sorted(runs_below(path), key=lambda row: (row.date == "", row.date), reverse=True)
    return ListResult(ListNumbers(mounts.name_of(path), tuple(rows)))
