"""Write constraints.txt: the version of everything that Transect and its extras install, as found in this environment.

Run it in the environment in which the whole check has just passed: `.venv/bin/python .ci/constraints.py`.
"""

import importlib.metadata
import re
from pathlib import Path

from packaging.requirements import Requirement

FILE = Path(__file__).parents[1] / "constraints.txt"
HEAD = """\
# Versions that the whole check has passed with, on Python 3.11: pip install 'transect[http]' -c constraints.txt
# Written by .ci/constraints.py. Left out, as the check lacks them: faiss-cpu, mlflow-skinny, resvg-py, timm, wandb.
"""
UNTESTED = {"faiss-cpu", "timm"}


def normal(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed() -> dict[str, str]:
    """Versions by name, of Transect's dependencies and of theirs."""
    extras = importlib.metadata.metadata("transect").get_all("Provides-Extra") or []
    left = [("transect", extra) for extra in ("", *extras) if extra != "test"]
    done: set[tuple[str, str]] = set()
    versions: dict[str, str] = {}
    while left:
        name, extra = pair = left.pop()
        if pair in done or name in UNTESTED:
            continue
        done.add(pair)
        package = importlib.metadata.distribution(name)
        versions[name] = package.version.partition("+")[0]
        for line in package.requires or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                left += [(normal(requirement.name), wanted) for wanted in ("", *requirement.extras)]
    del versions["transect"]
    return versions


if __name__ == "__main__":
    lines = [f"{name}=={version}\n" for name, version in sorted(installed().items())]
    FILE.write_text(HEAD + "".join(lines), encoding="utf-8")
