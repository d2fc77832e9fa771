"""The pages of the site with every public Python name: its signature and its docstring, drawn by mkdocstrings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import transect
import transect.effects

TABLES: Final = Path(__file__).parents[1] / "docs" / "reference" / "python.md"


class Shown(NamedTuple):
    """A page: its file, its title, and the sections of reference/python.md with a table of the names that it shows."""

    name: str
    title: str
    sections: tuple[str, ...]


PAGES: Final = (
    Shown("jobs", "Jobs and their settings", ("Jobs and their settings",)),
    Shown("generators", "Generators, targets and attributes", ("Generators, targets and attributes",)),
    Shown("effects", "Matching, mitigation and estimators", ("Matching and mitigation", "Estimators")),
)
_OF_A_JOB: Final = "\n      members: false"
"""The function of a declared job is shown by the record that it takes the fields of."""


def sections() -> dict[str, list[tuple[str, Any]]]:
    """Names as a reader writes them, with what they name, by section. Estimators are all of the package's."""
    found = {
        title: list(_names(text))
        for title, text in re.findall(
            r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TABLES.read_text(encoding="utf-8"), re.M | re.S
        )
        if any(title in shown.sections for shown in PAGES)
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
    """A page with these names; a name of several rows stands once, and a constant without a docstring does not."""
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
    """Write the pages into a folder beside python.md, and link the sections of python.md to them."""
    folder.mkdir(parents=True, exist_ok=True)
    found = sections()
    tables = folder.parent / TABLES.name
    text = tables.read_text(encoding="utf-8")
    for shown in PAGES:
        names = [pair for section in shown.sections for pair in found[section]]
        (folder / f"{shown.name}.md").write_text(page(shown.title, names), encoding="utf-8")
        for section in shown.sections:
            link = f"[Signatures and docstrings]({folder.name}/{shown.name}.md)"
            text = text.replace(f"\n## {section}\n", f"\n## {section}\n\n{link}\n", 1)
    tables.write_text(text, encoding="utf-8")
