"""Set attributes, ask the models, estimate what each attribute causes, and write the report.

Rerun the command to resume; the output is byte-identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.options import on_command_line, with_options
from transect.console.results import show
from transect.errors import BadInput
from transect.experiment.audit_request import AuditRequest, with_settings
from transect.options import read
from transect.texts import say

if TYPE_CHECKING:
    from transect.analysis.requirements.records import Requirement


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
            help="Judge the run by the requirements in the --config file. Exit code 1: one is violated; 4: not shown.",
        ),
    ] = False,
    **given: object,
) -> None:
    """An audit with the settings of a preset, over these those of a file, over these those of the command line."""
    from transect.experiment.audit_file import read_settings
    from transect.experiment.presets import with_preset
    from transect.jobs.audit.run import audit, audit_cost

    typed = read(AuditRequest, on_command_line(context, given))
    stored = {} if config is None else read_settings(config)
    request = with_settings(AuditRequest(), with_preset({**stored, **typed}))
    required = _required(config, request) if check else ()
    if request.run.dry_run:
        from transect.experiment import costs

        costs.show(audit_cost(None, request).numbers, request.run.json)
        return
    result = audit(None, request)
    show(result, request.run.json, *result.blocks(), page=result.page)
    if required:
        _check(result.folder, required, request.run.json)


def _required(config: Path | None, request: AuditRequest) -> Sequence[Requirement]:
    """The requirements beside the settings. Raises BadInput or UnknownName before anything is rendered."""
    from transect.analysis.requirements import records

    if config is None:
        raise BadInput("--check: expected --config FILE with tables [[require]], got no file; give --config")
    required = records.read(config)
    if request.images is None and request.observe is None and request.dataset is None and not request.steps:
        varied = [str(text).partition("=")[0].strip() for text in request.vary]
        records.check_attributes(required, varied)
    return required


def _check(folder: Path, required: Sequence[Requirement], as_json: bool) -> None:
    from transect.analysis.requirements.result import check_run, write_outputs

    result = check_run(folder, required)
    write_outputs(result)
    if as_json:
        say(result.headline(), error=True)
    else:
        show(result, False, result.headline(), result.rows())
    raise typer.Exit(result.exit_code)
