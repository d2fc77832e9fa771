"""A job's result on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from transect.console.printing import table
from transect.runs.plain_json import dumps
from transect.texts import say

if TYPE_CHECKING:
    from transect.runs.result import JobResult

Block: TypeAlias = "str | tuple[Sequence[str], Sequence[Sequence[str]]]"
"""A line, or the headings and rows of a table."""


def show(result: JobResult[object], as_json: bool, *blocks: Block, page: Path | None = None) -> None:
    """Print lines and tables, by default the result's short table, and where its page is; or the result as JSON."""
    if as_json:
        say(dumps(result.to_json()))
    else:
        for block in blocks or (result.rows(),):
            if isinstance(block, str):
                say(block)
            else:
                table(*block)
        say("".join(f"{line}\n" for line in result.warning_lines()), end="")
    if page is not None:
        say(f"report: {page}", error=as_json)
