"""Writes the pages that follow from the program: python -m tools.generate.

docs/reference/cli.md from the command line itself; docs/reference/schemas/ from the records of each job's result;
docs/research/faceworld-figures.md and its figure from the facts that ship with FaceWorld;
the first section of docs/reference/question-and-chat-files.md from the records that read question files;
docs/reference/targets.md from what the kinds of target declare; the first section of docs/reference/python.md, and the
stub src/transect/__init__.pyi with the functions of all jobs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from tools import public_names, question_keys, target_kinds
from transect.analysis.audit_result import AuditJson
from transect.cli.app import app
from transect.cli.declared import declared
from transect.generators.faceworld.validity import shipped_facts
from transect.job import jobs_of, name_of, schema
from transect.reports import schema as results_schema
from transect.runs.result import json_schema
from validation import world_page

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
SCHEMAS = Path(__file__).parents[1] / "docs" / "reference" / "schemas"

FIGURES = Path(__file__).parents[1] / "docs" / "research" / "faceworld-figures.md"
PHOTOMETRY = Path(__file__).parents[1] / "docs" / "images" / "photometry.svg"

HEAD = """# The command line

Written by `python -m tools.generate`; do not edit by hand.

Errors are one line on standard error: what was expected, what was found, and how to fix it. Progress goes to standard
error, results and `--json` to standard output.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | `check`, `audit --check`, `reproduce` or `verify run` found a violation or a difference |
| 2 | bad input |
| 3 | more images failed than `--max-failures` allows |
| 4 | `check` or `audit --check`: a requirement is not shown |
| 130, 143 | interrupted, ended by SIGTERM |

After 3, 130 and 143, finished parts are kept: rerun the command to resume.
"""


def reference() -> str:
    """The page: every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    return HEAD + "".join(_pages("transect", group))


def _pages(name: str, command: Any) -> list[str]:
    """The page of a command and, where it is a group, the pages of its commands."""
    within = getattr(command, "commands", {})
    return [_command(name, command)] + [page for key, one in within.items() for page in _pages(f"{name} {key}", one)]


def _command(name: str, command: Any) -> str:
    shown = [p for p in command.params if "--help" not in p.opts]
    rows = "".join(_row(parameter) for parameter in shown)
    table = f"| argument or option | default | meaning |\n| --- | --- | --- |\n{rows}" if rows else ""
    return f"\n## `{name}`\n\n{' '.join((command.help or '').split())}\n\n{table}"


def _row(parameter: Any) -> str:
    argument = parameter.param_type_name == "argument"
    name = (
        parameter.metavar or parameter.name if argument else "`, `".join([*parameter.opts, *parameter.secondary_opts])
    )
    default = parameter.default
    shown = "" if default is None or default is False or callable(default) else f"`{default}`"
    if parameter.required:
        shown = "required"
    meaning = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| `{name}` | {shown} | {meaning} |\n"


def schemas() -> dict[Path, str]:
    """The JSON Schema of `results.json`, and of what each job prints with --json."""
    named = {"results": results_schema(), "audit": json_schema(AuditJson, "audit", 1)}
    named |= {name_of(kind): schema(kind) for module in declared() for kind in jobs_of(module)}
    return {SCHEMAS / f"{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in named.items()}


def pages() -> dict[Path, str]:
    """Every generated file and its text; the figure only where there are facts to draw."""
    facts = shipped_facts()
    figures = {PHOTOMETRY: world_page.figure(facts)} if facts else {}
    records = {question_keys.PAGE: question_keys.page(), target_kinds.PAGE: target_kinds.page()}
    records |= {public_names.STUB: public_names.stub(), public_names.PAGE: public_names.page()}
    return {PAGE: reference(), FIGURES: world_page.page(facts), **records, **figures, **schemas()}


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    for path in set(SCHEMAS.glob("*.json")) - schemas().keys():
        path.unlink()
