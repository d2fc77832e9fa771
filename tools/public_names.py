"""The public names: the stub that lists them, and the tables of the reference that say what each is.

`python -m tools.generate` writes both. A function that a job's file makes with `job.function` is public, unless the
file declares a group of commands. A line of the stub for anything else is written by hand, and kept.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from transect.cli.declared import declared

ROOT: Final = Path(__file__).parents[1]
STUB: Final = ROOT / "src" / "transect" / "__init__.pyi"
PAGE: Final = ROOT / "docs" / "reference" / "python.md"
_LINE: Final = re.compile(r"^from (\.[\w.]+) import (\w+) as \w+$", re.MULTILINE)
_SECTION: Final = re.compile(r"(?<=^## Jobs and their settings\n\n).+?(?=^## )", re.MULTILINE | re.DOTALL)
_NOTE: Final = "<!-- Written by `python -m tools.generate` from the docstrings; do not edit by hand. -->\n"


def stub() -> str:
    """The stub: a line for each function of a job, and the lines of all other names as they are."""
    lines = STUB.read_text(encoding="utf-8").splitlines()
    imports = {line for line in lines if line.startswith("from ") and not _is_gone(line)}
    others = [line for line in lines if line and not line.startswith("from ")]
    return "\n".join([*sorted(imports | _of_jobs()), "", *others]) + "\n"


def _of_jobs() -> set[str]:
    loaded = {name: import_module(f"transect.jobs.{name}") for name in declared()}
    return {
        f"from .jobs.{place} import {name} as {name}"
        for place, module in loaded.items()
        for name, call in vars(module).items()
        if inspect.isfunction(call) and hasattr(call, "job") and not hasattr(module, "COMMANDS")
    }


def _is_gone(line: str) -> bool:
    """Whether what a line of the stub imports from a job is no longer there."""
    found = _LINE.match(line)
    if found is None or not found[1].startswith(".jobs."):
        return False
    try:
        return not hasattr(import_module(found[1], "transect"), found[2])
    except ModuleNotFoundError:
        return True


def page() -> str:
    """The page of the reference with its first section, which lists the functions of jobs, then records."""
    found = sorted(_LINE.findall(stub()), key=lambda pair: pair[1])
    public = {name: getattr(import_module(module, "transect"), name) for module, name in found}
    functions = [_row(_call(name, value), value) for name, value in public.items() if inspect.isfunction(value)]
    records = [_row(f"transect.{name}", value) for name, value in public.items() if inspect.isclass(value)]
    head = "| name | what it is |\n| --- | --- |\n"
    section = f"{_NOTE}\n{head}{''.join(functions)}\n{head}{''.join(records)}\n"
    return _SECTION.sub(lambda _: section, PAGE.read_text(encoding="utf-8"))


def _row(shown: str, value: object) -> str:
    first = re.split(r"(?<=[.?])\s", " ".join((inspect.getdoc(value) or "").split()))[0]
    meaning = first.replace("|", "\\|")
    return f"| `{shown}` | {meaning} |\n"


def _call(name: str, call: Callable[..., Any]) -> str:
    """A call with what it takes by place; `…` for the rest."""
    taken = [each for each in inspect.signature(call).parameters.values() if each.name != "quiet"]
    placed = [each.name for each in taken if each.kind is each.POSITIONAL_OR_KEYWORD]
    more = ["…"] if len(placed) < len(taken) else []
    return f"transect.{name}({', '.join([*placed, *more])})"
