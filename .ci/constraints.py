"""Write constraints.txt: the version of everything that Transect and its extras install, as found in this environment.

Run it in the environment in which the whole check has just passed: `.venv/bin/python .ci/constraints.py`.
"""

import sys
from typing import Final

from dependencies import ROOT, environment, needed, project

FILE: Final = ROOT / "constraints.txt"
UNTESTED: Final = ("faiss-cpu", "timm")
"""Libraries that the check lacks: one is not installed by any test, the other needs torchvision."""
HEAD: Final = """\
# Versions that the whole check has passed with, on Python {python}: pip install 'transect[http]' -c constraints.txt
# Written by .ci/constraints.py. Left out, as the check lacks them: {untested}.
"""


def installed() -> dict[str, str]:
    """Versions by name, of Transect's dependencies and of theirs, without those of the tests."""
    described = project()
    extras = [lines for name, lines in described["optional-dependencies"].items() if name != "test"]
    there = {name: each for name, each in environment().items() if name not in UNTESTED}
    found = needed([line for lines in (described["dependencies"], *extras) for line in lines], described, there)
    if missing := sorted(found.absent - set(UNTESTED)):
        raise SystemExit(f"expected every library of pyproject.toml, got none of {', '.join(missing)}; run make test")
    return {name: found.libraries[name].version.partition("+")[0] for name in sorted(found.libraries)}


def text() -> str:
    """The file's content."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    head = HEAD.format(python=python, untested=", ".join(UNTESTED))
    return head + "".join(f"{name}=={version}\n" for name, version in installed().items())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
