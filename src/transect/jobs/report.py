"""Analyse a finished run again from its tables, with different populations, and write its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, final

import pyarrow as pa
import typer

from transect.analysis import rater_report, reporting
from transect.analysis.audit_result import AuditResult, FolderResult
from transect.console.options import Json, on_command_line, with_options
from transect.console.results import show
from transect.errors import BadInput
from transect.experiment.audit_request import PERCEIVED, PRUNE, RATINGS, REQUIRE_VALIDATION
from transect.job import Option, function
from transect.options import built, read
from transect.ratings import gates
from transect.runs import bounds, working_folders
from transect.runs.folder import FinishedRun, unfinished_sentences
from transect.runs.json_records import loads
from transect.runs.layout import runs_of
from transect.runs.parts import announcing_stages
from transect.runs.report_options import ReportSettings
from transect.runs.spec import RunSpec
from transect.runs.table_inputs import TableLike, as_names
from transect.texts import say

RESUMES_FROM: Final = "the run's tables"


@final
@dataclass(frozen=True)
class Report:
    """Analyse a finished run again from its tables and write its report; no generator and no target is needed.

    shares: populations' shares to project the rates to, as files (CSV, TOML), Arrow tables, data frames or columns by
    name. perceived, ratings, prune: perceived attributes, people's ratings, and rules by which images are left out; the
    first two are paths, Arrow tables, data frames or columns by name. settings: how errors are counted, as an audit's.
    All but folder and shares are stored with the run. quiet: no stages on standard error; a line there says where the
    audit was stopped before its end.

    Raises BadInput or UnknownName for a folder without a finished run or settings that do not fit it.
    """

    folder: Annotated[
        str | Path,
        Option("A finished run, a folder of studies, or an address such as s3://….", str, metavar="DIR", argument=True),
    ]
    _: KW_ONLY
    shares: Annotated[
        Sequence[TableLike],
        Option("A population's shares (CSV or TOML) to project the rates to; repeatable.", list[Path]),
    ] = ()
    perceived: Annotated[TableLike | None, replace(PERCEIVED, rare=False)] = None
    ratings: Annotated[TableLike | None, replace(RATINGS, rare=False)] = None
    prune: Annotated[str | Sequence[str], replace(PRUNE, rare=False)] = ()
    reference: Annotated[
        str | None,
        Option(
            "For a run without a truth: take it from the raters' mean or majority, such as 'gender>=0.5'; stored with "
            "the run."
        ),
    ] = None
    settings: ReportSettings | None = None
    require_validation: Annotated[str | Path | None, replace(REQUIRE_VALIDATION, rare=False)] = None
    quiet: bool = False

    def result(self) -> AuditResult:
        """The report, written."""
        path = working_folders.opened(self.folder)
        reporting.rate(path, self.perceived, as_names(self.prune), self.ratings)
        if self.reference is not None:
            rater_report.judge(path, self.reference)
        if self.require_validation is not None:
            gates.attach(path, gates.read(Path(self.require_validation)))
        for line in unfinished_sentences(path):
            say(f"warning: {line}", error=True)
        with announcing_stages(quiet=self.quiet):
            return reporting.report(path, shares=self.shares, settings=self.settings)


report = function(Report)


@with_options(Report)
def command(context: typer.Context, json: Json = False, **given: object) -> None:
    """As the function."""
    typed = read(Report, on_command_line(context, given))
    result = replace(built(Report, typed), quiet=json).result()
    show(result, json, *result.blocks(), page=result.page)


@final
@dataclass(frozen=True, slots=True)
class OpenStudy:
    """One finished study. images: a row per image without its pixels; predictions: a row per target and image.

    answers: of targets that answer in words, a row per text that was sent; None without such targets. coded: what a
    judge model and functions made of free texts, a row for each code and score; None without either.
    """

    folder: Path
    spec: RunSpec
    images: pa.Table = field(repr=False)
    predictions: pa.Table = field(repr=False)
    answers: pa.Table | None = field(repr=False, default=None)
    coded: pa.Table | None = field(repr=False, default=None)


@final
@dataclass(frozen=True, slots=True)
class OpenRun(FolderResult):
    """A finished run, read back. effects: with the columns of effects.parquet; results: results.json."""

    folder: Path
    studies: tuple[OpenStudy, ...]
    effects: pa.Table = field(repr=False)
    results: dict[str, Any] = field(repr=False)

    @property
    def study(self) -> OpenStudy:
        """The study of a run that has one. Raises BadInput where there are several."""
        if len(self.studies) != 1:
            raise BadInput(f"{self.folder}: expected one study, got {len(self.studies)}; choose one of .studies")
        return self.studies[0]

    @property
    def spec(self) -> RunSpec:
        """What recreates the run. Raises BadInput where there are several studies."""
        return self.study.spec

    @property
    def images(self) -> pa.Table:
        """The images of the only study: id, subject, cell, intended.* and true.* values. Raises as `study`."""
        return self.study.images

    @property
    def predictions(self) -> pa.Table:
        """The predictions of the only study, with the name of the target. Raises as `study`."""
        return self.study.predictions

    @property
    def answers(self) -> pa.Table | None:
        """What was said in words in the only study; None where no target answers so. Raises as `study`."""
        return self.study.answers


def open_run(folder: str | Path) -> OpenRun:
    """Read a finished run, in a folder or at an address: its spec, images, predictions, effects and results.

    Raises BadInput for a folder without a finished run, CorruptedPart for a table that does not read back.
    """
    path = working_folders.opened(folder)
    studies = tuple(_open_study(place) for place in runs_of(path))
    try:
        effects = bounds.read_parquet(path / "effects.parquet")
        results = loads((path / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, pa.ArrowException):
        raise BadInput(
            f"{path}: expected results.json and effects.parquet; write them: transect report {path}"
        ) from None
    return OpenRun(path, studies, effects, results)


def _open_study(folder: Path) -> OpenStudy:
    finished = FinishedRun(folder)
    spec = finished.spec
    images = finished.read_table("images", spec.parts, without=("image",))
    found: dict[str, list[pa.Table]] = {"predictions": [], "answers": [], "coded": []}
    for target in spec.targets:
        for table in target.tables:
            rows = finished.read_table(table, spec.parts)
            named = rows.add_column(0, "target", pa.array([target.name] * len(rows), pa.string()))
            found[table.partition("/")[0]].append(named)
    predictions = pa.concat_tables(found["predictions"], promote_options="permissive")
    said, coded = (pa.concat_tables(found[name]) if found[name] else None for name in ("answers", "coded"))
    return OpenStudy(folder, spec, images, predictions, said, coded)
