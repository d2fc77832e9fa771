"""The command `transect study`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from transect.console.common_options import Json
from transect.console.printing import table
from transect.console.results import Block, show
from transect.errors import BadInput
from transect.studies import SHIPPED
from transect.texts import say

if TYPE_CHECKING:
    from transect.studies.result import StudyResult

WAITING: Final = 4
"""The exit code of a study that waits for people: not finished, and no error."""


def study(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help=f"A TOML file, or a study that ships: {', '.join(SHIPPED)}.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="paper: the published numbers; small: minutes, simulated raters. Default: the first."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE: replace a variable of the profile; repeat.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the steps; default runs/NAME.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command of each step, and stop.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the studies that ship, and stop.")] = False,
    write: Annotated[
        tuple[str, Path] | None,
        typer.Option(metavar="NAME FILE", help="Copy a study that ships to a file of yours, and stop."),
    ] = None,
    json: Json = False,
) -> None:
    """Run a protocol step by step, from a study file. Rerun the command to resume.

    It stops with exit code 4 where people must rate images, and says how; finished steps are not run again.
    """
    from transect.cli.study import study as run_study
    from transect.studies.variables import parsed

    if list_:
        _list(json)
        return
    if write is not None:
        _write(*write)
        return
    if file is None:
        raise BadInput("expected a study file or a name, got none; see: transect study --list")
    result = run_study(file, profile=profile, out=out, variables=parsed(settings or ()), dry_run=dry_run)
    page = None if dry_run else Path(result.numbers.out) / "study.html"
    show(result, json, *_blocks(result, dry_run), page=page)
    if result.waiting:
        raise typer.Exit(WAITING)


def _blocks(result: StudyResult, dry_run: bool) -> list[Block]:
    if dry_run:
        lacking: list[Block] = [f"--set {name}=…: {what}" for name, what in result.numbers.unset.items()]
        return lacking + [
            line for step in result.numbers.steps for line in _planned(step.name, step.state, step.note, step.command)
        ]
    blocks: list[Block] = [result.headline(), result.rows()]
    return [*blocks, result.claim_rows()] if result.numbers.claims else blocks


def _planned(name: str, state: str, note: str, command: str) -> list[str]:
    return [f"# {name}: {state}{f' ({note})' if note else ''}", command]


def _list(as_json: bool) -> None:
    from transect.studies.file import read_study

    rows = []
    for name in SHIPPED:
        study_file, _ = read_study(name)
        rows.append([name, study_file.title, ", ".join(study_file.profiles), str(len(study_file.step))])
    table(["study", "title", "profiles", "steps"], rows, as_json)


def _write(name: str, file: Path) -> None:
    from transect.runs.folder import write_atomically
    from transect.studies.file import shipped_text

    text = shipped_text(name)
    if file.exists():
        raise BadInput(f"--write {file}: expected a new file, found one; choose another name")
    write_atomically(file, text)
    say(f"{file}: edit it, then run: transect study {file}")
