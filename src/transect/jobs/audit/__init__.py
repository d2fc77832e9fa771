"""Set attributes, ask the models, estimate what each attribute causes, and write the report.

Rerun the command to resume; the output is byte-identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, final

import pyarrow as pa
import typer

from transect.console.options import on_command_line, with_options
from transect.console.results import show, table
from transect.errors import BadInput
from transect.experiment.audit_request import AuditRequest, with_settings
from transect.experiment.costs import Cost
from transect.job import Content, Job, function
from transect.options import read
from transect.protocols import TargetLike
from transect.records import Quote
from transect.reports.columns import Column, Table
from transect.runs.wording import counted
from transect.texts import say

if TYPE_CHECKING:
    from transect.analysis.requirements.records import Requirement

RESUMES_FROM: Final = "finished parts"


@with_options(AuditRequest)
def command(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file with any of these settings; options on the command line override it."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Check the run against the requirements in --config. Exit code 1: one is violated; 4: not shown.",
        ),
    ] = False,
    **given: object,
) -> None:
    """An audit with the settings of a preset, over these those of a file, over these those of the command line."""
    from transect.experiment import costs
    from transect.experiment.audit_file import read_settings
    from transect.experiment.presets import with_preset
    from transect.jobs.audit.run import audit

    typed = read(AuditRequest, on_command_line(context, given))
    stored = {} if config is None else read_settings(config)
    request = with_settings(AuditRequest(), with_preset({**stored, **typed}))
    required = _required(config, request) if check else ()
    if request.run.dry_run:
        costs.show(audit_cost(None, request).numbers, request.run.json)
        return
    result = audit(None, request)
    show(result, request.run.json, *result.blocks(), page=result.page)
    if required:
        _check(result.folder, required, request.run.json)


@final
@dataclass(frozen=True)
class AuditCost(Job[Cost]):
    """What an audit would cost at most: images, calls and money by target. No target is called and nothing is written.

    Raises BadInput or UnknownName for what `audit` refuses of the design, the truths and the outcomes.
    """

    KEPT: ClassVar = False

    target: TargetLike | Sequence[TargetLike] | None = None
    request: AuditRequest | None = None
    quiet: bool = field(default=False, init=False)

    def compute(self) -> Cost:
        """The quotes of all targets."""
        from transect.jobs.audit.run import cost

        return cost(self.target, self.request)

    def content(self, numbers: Cost) -> Content:
        """Images, calls and money, and a row per target."""
        from transect.experiment.costs import line

        money = "in several currencies" if numbers.cost is None else f"{numbers.cost:.9g} {numbers.currency}".rstrip()
        said = f"{counted(numbers.images, 'image')}; at most {counted(numbers.calls, 'metered call')}; cost {money}"
        columns: list[Column[Quote]] = [Column("target", "target"), Column("cost", line)]
        rows = pa.Table.from_pylist([asdict(quote) for quote in numbers.targets])
        return Content("Cost of an audit", [said], table=Table("Targets", numbers.targets, columns), rows=rows)


audit_cost = function(AuditCost, "audit_cost")


def _required(config: Path | None, request: AuditRequest) -> Sequence[Requirement]:
    """The requirements beside the settings. Raises BadInput or UnknownName before anything is rendered."""
    from transect.analysis.requirements import records

    if config is None:
        raise BadInput("--check needs --config FILE with tables [[require]]")
    required = records.read(config)
    if request.images is None and request.observe is None and request.dataset is None and not request.steps:
        varied = [str(text).partition("=")[0].strip() for text in request.vary]
        records.check_attributes(required, varied)
    return required


def _check(folder: Path, required: Sequence[Requirement], as_json: bool) -> None:
    from transect.analysis.requirements.result import check_run, requirements_table, summary, write_outputs

    numbers = check_run(folder, required)
    write_outputs(numbers)
    say(summary(numbers.requirements), error=as_json)
    if not as_json:
        table(*requirements_table(numbers.requirements).texts())
    raise typer.Exit(numbers.exit_code)
