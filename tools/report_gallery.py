"""Makes the gallery of the documentation site: small real reports, and the page that lists them.

    python -m tools.report_gallery FOLDER

The runs are those of example_runs.py at small sizes, so that they take under a minute and are the same each time. What
small runs conclude is uncertain, and the page says so.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.example_runs import SAMPLE, SCREENS, words_of, write_files
from transect.cli.app import app

SMALL: Final = {"--subjects": 24, "--size": 64, "--budget": 120}
"""The largest value that each option of the runs gets."""
FEW_PEOPLE: Final = "--people 120"
DEMO: Final = (
    "audit opencv:haarcascade_frontalface_default --truth face --vary skin_tone=1:10:3 --vary light_level=-6,0 "
    "--vary 'glasses=none,thick frame' --subjects 24 --size 96 --no-control --out runs/demo"
)
"""The first study of `transect demo` with fewer levels and subjects."""


class Shown(NamedTuple):
    """A report of the gallery: the name of its run, and the question that it answers."""

    name: str
    question: str


REPORTS: Final = (
    Shown("audit", "What do skin tone, light and glasses cause in a face detector?"),
    Shown("photographs", "How do a smile detector's errors differ between groups of photographs?"),
    Shown("compare", "Which of two detectors is better, and on whom?"),
    Shown("search", "Where does a detector fail? Found with few calls."),
    Shown("recognition", "Does a recognizer err more often on one group?"),
    Shown("match", "Do errors differ between people who are alike in everything but one attribute?"),
    Shown("leakage", "What do labels and predictions give away about an attribute?"),
    Shown("raters", "What do people see in the images? Simulated raters."),
    Shown("neighbours", "Which attributes does a distance between faces keep?"),
)


def commands_of(name: str) -> tuple[tuple[str, ...], str]:
    """The commands of a run at small sizes, and the page that they write."""
    screen = next(screen for screen in SCREENS if screen.name == name)
    if name == "audit":
        return (DEMO,), "runs/demo/report.html"
    return tuple(smaller(command) for command in screen.commands), screen.page


def smaller(command: str) -> str:
    """The command with no option above its largest value.

    >>> smaller("audit a --subjects 150 --size 32")
    'audit a --subjects 24 --size 32'
    """
    words = shlex.split(command)
    for place, option in enumerate(words[:-1]):
        if option in SMALL:
            words[place + 1] = str(min(int(words[place + 1]), SMALL[option]))
    return shlex.join(words)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """In that folder, whose modules can be imported here and in processes of targets."""
    before = os.environ.get("PYTHONPATH", "")
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [before])])
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.path.remove(str(folder))
        os.environ["PYTHONPATH"] = before


def call(command: str) -> None:
    """Run `transect COMMAND` in this process, or a script in another, and print nothing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if command.startswith("python "):
            subprocess.run([sys.executable, *words_of(command)], check=True, capture_output=True)  # noqa: S603
        else:
            app(shlex.split(command), standalone_mode=False)


def write(folder: Path) -> None:
    """Write NAME.html for each report, and index.md, which links to them."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        write_files(place)
        with inside(place):
            call(f"{SAMPLE} {FEW_PEOPLE}")
            for shown in REPORTS:
                commands, page = commands_of(shown.name)
                for command in commands:
                    call(command)
                shutil.copyfile(page, folder / f"{shown.name}.html")
    write_index(folder)


def write_index(folder: Path) -> None:
    """Write index.md, with a link to each report that is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = frozenset(path.stem for path in folder.glob("*.html"))
    parts = [HEAD, *(_entry(shown, shown.name in made) for shown in REPORTS)]
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


HEAD: Final = f"""# Reports to look at

Real reports, made when this site was built: open one and read it as you would read your own. The runs are small, so
that they take seconds; what they conclude is uncertain, and each report says how much. The faces are rendered, and the
models are stock detectors or toys. The jobs on photographs read the data of `transect {SAMPLE} {FEW_PEOPLE}`. The
pictures below are of [larger runs](../research/first-screens.md)."""


def _entry(shown: Shown, made: bool) -> str:
    """The question, the picture, the link to the report if it was made, and the commands."""
    picture = f"![First screen of the report](../images/first-screens/{shown.name}.jpg){{ loading=lazy }}"
    page = f"{shown.name}.html"
    link = f"[{picture}]({page})\n\n[Open the report]({page}){{ .md-button }}" if made else picture
    commands = "\n".join(f"transect {command}" for command in commands_of(shown.name)[0])
    return f"## {shown.question}\n\n{link}\n\n```sh\n{commands}\n```"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
