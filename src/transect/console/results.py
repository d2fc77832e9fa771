"""A job's result on the terminal."""

from __future__ import annotations

from pathlib import Path

from transect.console.printing import table
from transect.runs.plain_json import dumps
from transect.runs.result import JobResult


def show(result: JobResult[object], as_json: bool, page: Path | None = None) -> None:
    """The result as a short table and where its page is, or as JSON."""
    if as_json:
        print(dumps(result.to_json()))
        return
    table(*result.rows(), False)
    print("".join(f"{line}\n" for line in result.warning_lines()), end="")
    if page is not None:
        print(f"report: {page}")
