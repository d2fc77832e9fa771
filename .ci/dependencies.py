"""What Transect and its extras install: the libraries of pyproject.toml, and theirs, as an environment has them."""

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]


def normal(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def project() -> dict[str, Any]:
    """The table [project] of pyproject.toml."""
    described: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return described


def environment(folders: Sequence[str | Path] = ()) -> dict[str, Distribution]:
    """The libraries of this environment by name, and those of more folders, which come first."""
    found = list(importlib.metadata.distributions(path=[str(folder) for folder in folders])) if folders else []
    return {normal(each.name): each for each in reversed([*found, *importlib.metadata.distributions()])}


@dataclass(frozen=True, slots=True)
class Needed:
    """Libraries by name, and the names of those that are needed and not there."""

    libraries: dict[str, Distribution] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)


def needed(lines: Iterable[str], described: Mapping[str, Any], there: Mapping[str, Distribution]) -> Needed:
    """All libraries that requirements lead to, extras of the project among them.

    lines: as in pyproject.toml. described: the project's table. there: libraries by name.
    """
    found, done = Needed(), set[tuple[str, str]]()
    left = [pair for line in lines for pair in _wanted(line, "")]
    while left:
        name, extra = pair = left.pop()
        if pair in done:
            continue
        done.add(pair)
        if name == described["name"]:
            own = described["optional-dependencies"][extra] if extra else []
        elif name in there:
            found.libraries[name] = there[name]
            own = there[name].requires or []
        else:
            found.absent.add(name)
            own = []
        left += [other for line in own for other in _wanted(line, extra)]
    return found


def _wanted(line: str, extra: str) -> list[tuple[str, str]]:
    """The library that a line names, by itself and with each extra of it; none where its marker excludes it."""
    requirement = Requirement(line)
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
        return []
    return [(normal(requirement.name), wanted) for wanted in ("", *map(normal, requirement.extras))]
