"""`transect.study`: run a published protocol, or one of your own, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from transect.studies.commands import Commands
    from transect.studies.result import StudyResult


def study(
    file: str | Path,
    *,
    profile: str | None = None,
    out: str | Path | None = None,
    variables: Mapping[str, object] | None = None,
    dry_run: bool = False,
    quiet: bool = False,
) -> StudyResult:
    """Run a study file: finished steps are skipped, and it stops where people must answer.

    file: a TOML file, or a study that ships (`transect study --list`). profile: by
    default the first of the file. out: the folder, by default runs/NAME; call again to resume. variables: replace
    those of the profile. dry_run: show the steps and their commands, and run none.

    Returns the steps with state, folder, command and page; `waiting` says whether ratings are missing, and
    `numbers.waits_for` which. Raises BadInput or UnknownName, before any step runs, for a file, profile, variable or
    option that does not fit, and where a finished step had other arguments or inputs; else what a step raises.

    ```python
    result = transect.study("balakrishnan2020", profile="small", out="runs/gender")
    result.numbers.steps[0].state
    ```
    """
    from transect.cli.app import app
    from transect.studies.run import Request, open_study, planned, run

    commands = commands_of(app)
    request = Request(file, profile, None if out is None else Path(out), variables)
    opened = open_study(request, commands, lenient=dry_run)
    return planned(opened) if dry_run else run(opened, commands, quiet=quiet)


def commands_of(app: Any) -> Commands:
    """The tree of commands of an app."""
    import typer.main

    from transect.studies.commands import Command, Commands

    return Commands(cast(Command, typer.main.get_command(app)))
