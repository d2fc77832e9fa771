"""What the protocols share: settings, steps that run once, a stop where people answer, and a closing page."""

from __future__ import annotations

import argparse
import ast
import html
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from transect.annotation.assignment import answers_by_item
from transect.annotation.database import NotCreated
from transect.annotation.project import open_project
from transect.annotation.schema import items
from transect.errors import BadInput

WAITING = 4
"""The exit code where people must answer: not finished, and no error."""
SIMULATED = "SIMULATED RATERS: nobody rated. What follows shows that the protocol runs, and nothing about people."
RATERS = Path(__file__).parents[1] / "simulated_raters.py"

Figure = tuple[str, str, object]
"""What it is, as published, and here."""


def call(words: Sequence[str]) -> str:
    """Standard output of a command; leaves with its exit code where it fails."""
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Options as on a command line: a list repeats one, a tuple gives several values, and what is empty is left out."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, tuple):
            words += [flag, *map(str, value)]
        else:
            given = value if isinstance(value, list) else [value]
            words += [word for each in given if str(each) not in ("", "None", "False") for word in (flag, str(each))]
    return words


def missing_answers(run: Path, each: int) -> str:
    """What is missing until every item of a run without a known answer has `each` answers; "" where nothing is.

    An item that the questions' own rule closed wants no more. Raises BadInput where the questions ask for fewer than
    `each`, so that raters would never get there.
    """
    try:
        project = open_project(run, create=False)
    except NotCreated:
        return f"{each} answers to each question"
    given = answers_by_item()
    query = sa.select(sa.func.coalesce(given.c.answers, 0)).where(items.c.gold.is_(None), items.c.done.is_(False))
    try:
        with project.database.reading() as connection:
            counts = connection.execute(
                query.select_from(items.outerjoin(given, given.c.item_id == items.c.id))
            ).scalars()
            missing = sum(max(each - count, 0) for count in counts)
    finally:
        project.database.close()
    wanted = project.questionnaire.plan.ratings
    if missing and each > wanted:
        raise BadInput(
            f"{run}: expected questions that ask for {each} answers to each item, got {wanted}; wait for {wanted} "
            f"(raters = {wanted}), or write ratings = {each} below [plan] in a questions file"
        )
    return f"{missing:,} more" if missing else ""


class Protocol:
    """One run of a protocol in a folder. `settings` are those of the profile, with what --set replaces."""

    def __init__(self, script: str, title: str, profiles: Mapping[str, Mapping[str, Any]]) -> None:
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--profile", choices=list(profiles), default="paper", help="small: minutes, nobody rates")
        parser.add_argument("--out", type=Path, help="the folder; rerun with it to resume (default runs/NAME)")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="replace a setting; repeat"
        )
        parser.add_argument("--dry-run", action="store_true", help="print the command of each step")
        given = parser.parse_args()
        settings = {**profiles["paper"], **profiles[given.profile]}
        for name, _, value in (text.partition("=") for text in given.set):
            if name not in settings:
                parser.error(f"--set {name}: expected one of {', '.join(settings)}")
            settings[name] = value if isinstance(settings[name], str | None) else ast.literal_eval(value)
        if lacking := [name for name, value in settings.items() if value is None]:
            parser.error(f"expected {', '.join(f'--set {name}=…' for name in lacking)}; see examples/studies/README.md")
        self.title, self.dry = title, given.dry_run
        self.out: Path = given.out or Path("runs") / Path(script).stem
        self.settings = SimpleNamespace(**settings)
        self._again = shlex.join(["python", *sys.argv])

    def folder(self, step: str) -> Path:
        """Where a step writes."""
        return self.out / step

    def run(self, step: str, command: str, *arguments: object, **options: object) -> Any:
        """What `transect command … --json` prints, which runs once; {} in a dry run. An empty argument is left out."""
        words = [*command.split(), *(str(each) for each in arguments if each != ""), *words_of(options)]
        return self._once(step, ["-m", "transect", *words], "--json")

    def simulate(self, step: str, run: Path, **options: object) -> None:
        """Have simulated raters answer about a run."""
        self._once(step, [os.path.relpath(RATERS), str(run), *words_of(options)])

    def rated(self, run: Path, raters: int, *questions: str, photographs: str = "") -> None:
        """Leave with exit code 4, and say what to do, until each image of a run has its answers.

        Once there were enough, answers that come later change nothing.
        """
        serve = shlex.join(["transect", "annotate", "serve", str(run), *words_of({"questions": [*questions]})])
        serve += shlex.join(["", "--photographs", photographs]) if photographs else ""
        done = run.with_name(f"{run.name}.rated")
        if self.dry:
            print(f"# {raters} people answer each question about each image:\n{serve}")
        elif not done.exists():
            missing = missing_answers(run, raters)
            if missing:
                print(f"{run} waits for people: {missing}. Serve the questions, and rerun this script:")
                print(f"  {serve}\n  {self._again}")
                sys.exit(WAITING)
            done.touch()

    def finish(self, effect: str, figures: Iterable[Figure], pages: Mapping[str, Path], *, simulated: bool) -> None:
        """Print the paper's main effect and its figures beside those found here, and write them to index.html."""
        table = [
            (name, published, f"{here:.4g}" if isinstance(here, float) else str(here))
            for name, published, here in figures
        ]
        lines = [SIMULATED] * simulated + [effect]
        cells = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row) for row in table)
        links = "".join(
            f'<li><a href="{html.escape(os.path.relpath(page, self.out))}">{html.escape(name)}</a>'
            for name, page in pages.items()
        )
        (self.out / "index.html").write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(self.title)}</title>'
            + "".join(f"<p><strong>{html.escape(line)}</strong></p>" for line in lines)
            + f"<h1>{html.escape(self.title)}</h1><table><tr><th>figure<th>paper<th>here{cells}</table>"
            + f"<ul>{links}</ul></html>\n",
            encoding="utf-8",
        )
        print(*lines, *(f"{name}: {published} (paper), {here} (here)" for name, published, here in table), sep="\n")
        print(self.out / "index.html")

    def _once(self, step: str, words: list[str], *printing: str) -> Any:
        """Run a command unless the step's record is there; refuse a record of other words."""
        if self.dry:
            print(shlex.join(["python", *words]))
            return {}
        record = self.out / f"{step}.json"
        if record.exists():
            before = json.loads(record.read_text(encoding="utf-8"))
            if before["command"] != words:
                sys.exit(f"{record}: expected {shlex.join(words)}\ngot {shlex.join(before['command'])}\n"
                         "Put the setting back, or choose another --out.")  # fmt: skip
            return before["answer"]
        print(f"{step}: {shlex.join(words)}", file=sys.stderr)
        self.out.mkdir(parents=True, exist_ok=True)
        text = call([*words, *printing])
        answer = json.loads(text) if printing else text
        unfinished = record.with_suffix(".tmp")
        unfinished.write_text(json.dumps({"command": words, "answer": answer}, indent=1), encoding="utf-8")
        unfinished.replace(record)
        return answer
