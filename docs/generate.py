"""Writes docs/reference/cli.md from the command line itself: python docs/generate.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from transect.cli import app

PAGE = Path(__file__).parent / "reference" / "cli.md"

HEAD = """# The command line

Written by `python docs/generate.py`; do not edit by hand.

Errors are one line on standard error: what was expected, what was found, what to do next. Exit codes: 0 done, 2 bad
input, 3 stopped because more images failed than `--max-failures` allows, 130 interrupted. After 3 and 130 everything
done is kept, and the same command goes on. Progress goes to standard error; results and `--json` go to standard output.
"""


def reference() -> str:
    """The page: every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    pages = [_command("transect", group)]
    pages += [_command(f"transect {name}", command) for name, command in group.commands.items()]
    return HEAD + "".join(pages)


def _command(name: str, command: Any) -> str:
    shown = [p for p in command.params if "--help" not in p.opts]
    rows = "".join(_row(parameter) for parameter in shown)
    table = f"| argument or option | default | meaning |\n| --- | --- | --- |\n{rows}" if rows else ""
    return f"\n## `{name}`\n\n{' '.join((command.help or '').split())}\n\n{table}"


def _row(parameter: Any) -> str:
    argument = parameter.param_type_name == "argument"
    name = parameter.metavar or parameter.name if argument else ", ".join(parameter.opts)
    default = parameter.default
    shown = "" if default is None or default is False or callable(default) else f"`{default}`"
    if parameter.required:
        shown = "required"
    meaning = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| `{name}` | {shown} | {meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
