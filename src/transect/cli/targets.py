"""`transect targets`: what can be audited."""

from __future__ import annotations

import typer

from transect.cli.target_check import check
from transect.console.common_options import Json
from transect.console.printing import table

targets = typer.Typer(name="targets", help="List the targets that can be audited; check what one gets and answers.")


@targets.callback(invoke_without_command=True)
def options(context: typer.Context, json: Json = False) -> None:
    """List the targets that can be audited, and the extra that each needs."""
    if context.invoked_subcommand:
        return
    from transect.targets.catalogue import available

    rows = [
        [t.name, t.task, t.meaning, "" if t.installed else f"pip install 'transect[{t.extra}]'"] for t in available()
    ]
    table(["target", "task", "what it is", "to install"], rows, json)


targets.command()(check)
