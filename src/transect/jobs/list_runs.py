"""List the runs in a folder: model, question, verdict and date of each, newest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

import pyarrow as pa
from markupsafe import Markup

from transect.errors import BadInput, TransectError
from transect.job import Content, Job, Option, function
from transect.reports.builder import NUMBERS
from transect.reports.columns import Column, Table
from transect.reports.entries import kind_of
from transect.reports.wording import short_name, verdict_words
from transect.runs import working_folders
from transect.runs.folder import FinishedRun, slug
from transect.runs.json_records import plain, read_json
from transect.runs.layout import is_run, places_of
from transect.runs.spec import RunSpec
from transect.runs.wording import counted, shortened, spaced
from transect.texts import one_line, words_of

_OWN_PAGE: Final = "list-runs.html"
_FOUND: Final = ("found", "unsized")
_OPEN: Final = ("not judged", "cannot tell", "no difference")
"""Kinds of verdicts that are counted beside those found."""
DEEPEST: Final = 4
"""Folders below the one that is listed that are looked into."""
_LARGEST_PAGE: Final = 1 << 19
"""Bytes of a page that are read: its first screen."""
_OURS: Final = re.compile(r'<meta name="generator" content="Transect [^"]*">')
_TITLE: Final = re.compile(r"<title>(.*?)(?:, \d+ \w{3} \d{4})?</title>", re.DOTALL)
_ANSWER: Final = re.compile(r'<div class="answer">\s*<p[^>]*>(.*?)</p>', re.DOTALL)
"""The first sentence of the answer of a page."""
_ADVICE: Final = "write it again: transect report"


@final
@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. date: when its results were written, in UTC; "" where it has none yet. verdict: what was found."""

    folder: str
    job: str
    targets: tuple[str, ...]
    question: str
    verdict: str
    date: str


def runs_below(folder: Path, depth: int = DEEPEST, *, of_a_job: bool = False) -> Iterator[RunRow]:
    """The runs in a folder and below, not those within a run or (of_a_job) a job's; links are not followed."""
    pages = list(_pages(folder))
    if is_run(folder):
        yield from _run(folder, pages, of_a_job)
        return
    yield from pages
    try:
        below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError as error:
        yield _unreadable(folder, "", error)
        return
    for path in below if depth else ():
        if not path.name.startswith("."):
            yield from runs_below(path, depth - 1, of_a_job=of_a_job or bool(pages))


def _unreadable(folder: Path, job: str, error: Exception) -> RunRow:
    return RunRow(working_folders.name_of(folder), job, (), "", one_line(f"cannot be read: {words_of(error)}"), "")


def _run(folder: Path, pages: list[RunRow], of_a_job: bool) -> Iterator[RunRow]:
    """An audit, or the page of another job that keeps its answers as a run does."""
    row, others = _audit(folder), [page for page in pages if page.job != "report"]
    if row.targets or not (others or of_a_job):
        yield row
    else:
        yield from others


def _audit(folder: Path) -> RunRow:
    try:
        runs = [FinishedRun(place) for place in places_of(folder)]
        specs = [run.spec for run in runs]
    except TransectError as error:
        return _unreadable(folder, "audit", error)
    targets = tuple(dict.fromkeys(target.name for spec in specs for target in spec.targets))
    question = "; ".join(dict.fromkeys(_question(spec) for spec in specs))
    results = folder / "results.json"
    verdict, date = (_verdict(folder), _date(results)) if results.is_file() else (_progress(runs), "")
    return RunRow(working_folders.name_of(folder), "audit", targets, question, verdict, date)


def _question(spec: RunSpec) -> str:
    names = ", ".join(spaced(attribute.name) for attribute in spec.attributes)
    kind = "varied" if spec.design.levels else "observed"
    return f"{names} {kind}, {counted(spec.design.subjects, 'subject')}"


def _progress(runs: list[FinishedRun]) -> str:
    """How much of a run without results is done."""
    done = wanted = 0
    for run in runs:
        for target in run.spec.targets:
            wanted += run.spec.parts
            done += run.finished_parts(f"predictions/{slug(target.name)}", run.spec.parts)
    if done < wanted:
        return f"not finished: {done} of {counted(wanted, 'part')}; rerun the command to resume"
    return "no report; write it: transect report"


def _verdict(folder: Path) -> str:
    try:
        results = read_json(folder / "results.json", "the results of an audit", _ADVICE)
        kinds = [kind_of(row["verdict"], check=row["check"]) for row in results["verdicts"]]
        texts = [str(row["text"]) for row, kind in zip(results["verdicts"], kinds, strict=True) if kind in _FOUND]
        texts += [str(row["text"]) for row in results["found_interactions"]]
        warnings = len(results["warnings"])
    except (TransectError, KeyError, TypeError) as error:
        return one_line(f"results cannot be read: {words_of(error)}")
    counts = {"found": len(texts)} | {kind: kinds.count(kind) for kind in _OPEN}
    words = [f"{n} {verdict_words(kind)}" for kind, n in counts.items() if n]
    passed = "all checks passed" if kinds and all(kind == "check" for kind in kinds) else "nothing estimable"
    told = [", ".join(words) or passed, *(text.rstrip(".") for text in texts[:1])]
    told += [counted(warnings, "warning")] if warnings else []
    return one_line(". ".join([*told, *_requirements(folder)]))


def _requirements(folder: Path) -> list[str]:
    """The status of the requirements that were checked, where there are any."""
    path = folder / "checks.json"
    if not path.is_file():
        return []
    try:
        checks: dict[str, object] = read_json(path, "checked requirements", "check them again")
        return [f"requirements {checks['status']}"]
    except (TransectError, KeyError, TypeError):
        return ["requirements cannot be read"]


def _pages(folder: Path) -> Iterator[RunRow]:
    """A row for each page of another job in a folder."""
    for path in sorted(page for page in folder.glob("*.html") if not page.name.endswith((_OWN_PAGE, NUMBERS))):
        try:
            row = None if path.is_symlink() or not path.is_file() else _page(folder, path)
        except (OSError, ValueError) as error:
            row = _unreadable(folder, path.stem, error)
        if row is not None:
            yield row


def _page(folder: Path, path: Path) -> RunRow | None:
    """The row of a page of Transect; None for another page."""
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LARGEST_PAGE)
    if not _OURS.search(text):
        return None
    found = (pattern.search(text) for pattern in (_TITLE, _ANSWER))
    title, answer = (one_line(Markup(each[1]).striptags()) if each else "" for each in found)  # noqa: S704 - only text
    return RunRow(working_folders.name_of(folder), path.stem, (), title, shortened(answer), _date(path))


def _date(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M")


_FILES: Final = ("run.json", "results.json", "checks.json")


@final
@dataclass(frozen=True, slots=True)
class ListNumbers:
    """The runs in a folder, the newest first; those without results come first."""

    folder: str
    runs: tuple[RunRow, ...]


@final
@dataclass(frozen=True)
class ListRuns(Job[ListNumbers]):
    """The runs in a folder and in those below it, with the model, the question, the verdict and the date of each.

    An audit is summarized by its verdicts, another job by the answer of its page. A run that is not finished says how
    far it is. Raises BadInput where there is no such folder.
    """

    KEPT: ClassVar = False

    folder: Annotated[
        str | Path,
        Option("Folder of your runs, or an address such as s3://….", str, metavar="DIR", argument=True, opens="data"),
    ] = "runs"

    def compute(self) -> ListNumbers:
        """The runs, the newest first."""
        path = working_folders.opened(self.folder, _told)
        if not path.is_dir():
            raise BadInput(f"{path}: no such folder; give the folder that --out names")
        rows = sorted(runs_below(path), key=lambda row: (row.date == "", row.date), reverse=True)
        return ListNumbers(working_folders.name_of(path), tuple(rows))

    def content(self, numbers: ListNumbers) -> Content:
        """How many runs there are, and a row for each."""
        return Content(
            title="Runs",
            answer=[f"{counted(len(numbers.runs), 'run')} in {working_folders.display_name(numbers.folder)}"],
            table=Table("Runs", numbers.runs, RUNS),
            rows=pa.Table.from_pylist([dict(plain(row)) for row in numbers.runs]),
        )


list_runs = function(ListRuns)

RUNS: Final[Sequence[Column[RunRow]]] = (
    Column("folder", "folder"),
    Column("job", "job"),
    Column("model", lambda row: ", ".join(map(short_name, row.targets))),
    Column("question", "question"),
    Column("verdict", "verdict"),
    Column("date (UTC)", "date"),
)


def _told(name: str) -> bool:
    """Whether the list is made from this file; the pages of an audit tell nothing that its results do not."""
    return name.rpartition("/")[2] in _FILES or (name.endswith(".html") and not name.endswith(("report.html", NUMBERS)))
