"""The pages of the site with every public Python name: its signature and its docstring, drawn by mkdocstrings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import transect
import transect.effects

TABLES: Final = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
PAGES: Final = {"Jobs and their settings": "jobs", "Generators, targets and attributes": "generators",
                "Matching and mitigation": "matching", "Estimators": "effects"}  # fmt: skip
"""Sections of reference/python.md with a table of names, and the pages that show these names."""
_OF_A_JOB: Final = "\n      members: false"
"""The function of a declared job is shown by the record that it takes the fields of."""
HEAD: Final = """# Every Python name

Signatures and docstrings of the public names, read from the program. For what to call when, begin with
[the Python interface](../python.md).

"""


def sections() -> dict[str, list[tuple[str, Any]]]:
    """Names as a reader writes them, with what they name, by section. Estimators are all of the package's."""
    found = {
        title: list(_names(text))
        for title, text in re.findall(
            r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TABLES.read_text(encoding="utf-8"), re.M | re.S
        )
        if title in PAGES
    }
    every = [(f"transect.effects.{name}", getattr(transect.effects, name)) for name in transect.effects.__all__]
    found["Estimators"] = every
    return found


def _names(section: str) -> Iterator[tuple[str, Any]]:
    """The names in the first column of a table: `transect.a.b(…)`, or `from a import b, c`."""
    for row in re.findall(r"^\| (`.+?) \| ", section, re.M):
        for span in re.findall("`(.+?)`", row):
            if imported := re.match(r"from ([\w.]+) import (.+)", span):
                module = importlib.import_module(imported[1])
                for name in re.split(r",\s*", imported[2]):
                    yield f"{imported[1]}.{name}", getattr(module, name)
            else:
                words = span.split("(")[0].split(".")[1:]
                value: Any = transect
                for word in words:
                    value = getattr(value, word)
                yield ".".join(["transect", *words]), value


def page(title: str, names: list[tuple[str, Any]]) -> str:
    """The page of one section; a name of several rows stands once, and a constant without a docstring does not."""
    shown = {_path(value): name for name, value in reversed(names) if _documented(value)}
    of_jobs = {_path(value) for _, value in names if hasattr(value, "job")}
    entries = [
        f"::: {path}\n    options:\n      heading: {name}{_OF_A_JOB if path in of_jobs else ''}"
        for path, name in reversed(shown.items())
    ]
    return "\n\n".join([f"# {title}", *entries]) + "\n"


def _path(value: Any) -> str:
    """Where a value is defined; of the function of a declared job, where its record is."""
    found = getattr(value, "job", value)
    return f"{found.__module__}.{found.__qualname__}"


def _documented(value: Any) -> bool:
    return hasattr(value, "__qualname__") and bool(value.__doc__)


def write(folder: Path) -> None:
    """Write a page for each section, and index.md."""
    folder.mkdir(parents=True, exist_ok=True)
    found = sections()
    (folder / "index.md").write_text(
        HEAD + "".join(f"- [{title}]({PAGES[title]}.md): {len(names)} names\n" for title, names in found.items()),
        encoding="utf-8",
    )
    for title, names in found.items():
        (folder / f"{PAGES[title]}.md").write_text(page(title, names), encoding="utf-8")
