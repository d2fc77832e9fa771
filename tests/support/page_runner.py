"""Runs the commands and code blocks of a documentation page from the top, in one folder, at small sizes."""

import contextlib
import csv
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import time
import tomllib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
from places import ROOT

from transect.cli.app import app

SMALL = {
    "--subjects": 5,
    "--images": 24,
    "--observe": 24,
    "--interpolate": 2,
    "--size": 48,
    "--budget": 24,
    "--count": 60,
    "--epochs": 1,
    "--steps-each": 2,
    "--resamples": 50,
}
"""The largest value that each option gets, so that a page runs in seconds. Smaller values of the page stay."""

BLOCK = re.compile(r"^```([\w-]*)\n(.*?)^```", re.M | re.S)
FILE = re.compile(r"\A# ([\w.-]+\.toml)\b")
"""A TOML block that begins with its file's name is written under that name."""

LANGUAGES = {"sh", "python", "toml", "csv", "text"}
"""Blocks that are run, written, or compared with the output (text) of the blocks above them."""

NOT_RUN = {
    "nginx": "the configuration of another program, which is not installed here",
    "yaml": "a workflow that GitHub runs",
}
"""Languages of blocks that are not run, and why."""


@dataclass
class Page:
    """What a page needs to run.

    skip: beginnings of commands that are not run, each with the reason. made: make the reader's files; a context manager
    is entered, and gives more replacements. small: largest sizes. extra: beginnings of commands, and options that are
    added. replace: texts of blocks, and what a test has instead. after: beginnings of commands, and what is called with
    their output. compare: small sizes print the same words. full: a slow test also runs the page at its own sizes and
    compares the whole output, but for `unseen`: beginnings of commands whose output no block shows, which stay small.
    """

    skip: dict[str, str] = field(default_factory=dict)
    made: tuple[Callable[[], object], ...] = ()
    small: dict[str, int] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    replace: dict[str, str] = field(default_factory=dict)
    after: dict[str, Callable[[str], None]] = field(default_factory=dict)
    compare: bool = True
    full: bool = False
    unseen: tuple[str, ...] = ()


def lines_of(block: str) -> list[str]:
    """The commands of a shell block: continued lines joined, comments dropped."""
    joined = block.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def smaller(words: list[str], largest: dict[str, int]) -> list[str]:
    """The command's words with sizes cut to the largest allowed."""
    shown = list(words)
    for place, word in enumerate(words[:-1]):
        if word in largest and words[place + 1].isdecimal():
            shown[place + 1] = str(min(int(words[place + 1]), largest[word]))
    return shown


def unlike(shown: str, printed: str, *, exact: bool) -> str:
    """The first line of a page's output that was not printed, in order; "" if there is none. `…` is any text.

    exact: numbers count too; else the words alone are compared, since small sizes give other numbers.
    """
    lines = iter(printed.splitlines())
    for line in filter(str.strip, shown.splitlines()):
        wanted = [_plain(part, exact) for part in line.split("…")]
        if not any(_holds(_plain(given, exact), wanted) for given in lines):
            return line
    return ""


def _plain(text: str, exact: bool) -> str:
    return " ".join(text.split() if exact else re.findall(r"[^\W\d]{2,}", text))


def _holds(given: str, parts: list[str]) -> bool:
    places = [given.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


class Reader:
    """A reader who runs a page from the top. done: what was run, written or compared."""

    def __init__(self, path: Path, page: Page, *, full: bool = False) -> None:
        self.path, self.page, self.full = path, page, full
        self.largest = SMALL | page.small
        self.names: dict[str, object] = {"__name__": "page"}
        self.done: list[str] = []
        self.printed = ""
        self.unused = {*page.skip, *page.extra, *page.replace, *page.after, *page.unseen}
        self.replace = dict(page.replace)

    def run(self) -> list[str]:
        """Every block in order. A list of the page (skip, extra …) with an entry that fits nothing is an error."""
        with contextlib.ExitStack() as self.stack:
            self.stack.enter_context(mock.patch.dict(os.environ, COLUMNS="200"))
            for make in self.page.made:
                made = make()
                if hasattr(made, "__enter__"):
                    self.replace |= self.stack.enter_context(made) or {}
            for kind, block in BLOCK.findall(self.path.read_text()):
                self.block(kind, self.replaced(block))
        assert not self.unused, f"{self.path.name}: no block has or begins with {sorted(self.unused)}"
        return self.done

    def replaced(self, block: str) -> str:
        for text, other in self.replace.items():
            if text in block:
                self.unused.discard(text)
                block = block.replace(text, other)
        return block

    def block(self, kind: str, block: str) -> None:
        assert kind in LANGUAGES | set(NOT_RUN), f"{self.path.name}: a block of language {kind!r} is never run"
        if kind in NOT_RUN:
            return
        began = time.process_time()
        {"sh": self.shell, "python": self.python, "toml": self.toml, "csv": self.table, "text": self.output}[kind](
            block
        )
        if "PAGE_TIMES" in os.environ:
            print(f"{time.process_time() - began:6.1f} s  {kind}: {block.splitlines()[0][:120]}", file=sys.__stderr__)

    def python(self, block: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, self.path.name, "exec"), self.names)  # the project's own page
        self.printed += printed.getvalue()
        self.done.append("python")

    def toml(self, block: str) -> None:
        tomllib.loads(block)
        if named := FILE.search(block):
            Path(named[1]).write_text(block)
            self.done.append(named[1])

    def table(self, block: str) -> None:
        header, *rows = csv.reader(io.StringIO(block))
        assert rows, f"{self.path.name}: a table without rows"
        assert all(len(row) == len(header) for row in rows), f"{self.path.name}: {block}"
        self.done.append("csv")

    def output(self, block: str) -> None:
        if not (self.page.compare or self.full):
            return
        missing = unlike(block, self.printed, exact=self.full)
        assert not missing, f"{self.path.name} shows\n{missing}\nwhich was not printed:\n{self.printed[-8000:]}"
        self.done.append("text")
        self.printed = ""

    def shell(self, block: str) -> None:
        for line in lines_of(block):
            if reasons := [start for start in self.page.skip if line.startswith(start)]:
                self.unused -= set(reasons)
                continue
            printed = self.command(line, self.added(line))
            self.printed += printed
            for start, call in self.page.after.items():
                if line.startswith(start):
                    self.unused.discard(start)
                    call(printed)
            self.done.append(line)

    def added(self, line: str) -> str:
        fitting = {start: options for start, options in self.page.extra.items() if line.startswith(start)}
        self.unused -= set(fitting)
        return "" if self.exact(line) else " ".join(fitting.values())

    def exact(self, line: str) -> bool:
        """Whether a command runs at the page's own sizes."""
        unseen = {start for start in self.page.unseen if line.startswith(start)}
        self.unused -= unseen
        return self.full and not unseen

    def command(self, line: str, added: str) -> str:
        exact = self.exact(line)
        largest = {} if exact else self.largest
        words = with_options(smaller(shlex.split(line, comments=True), largest), shlex.split(added))
        if words[0] == "export":
            os.environ.update(word.replace("…", "a secret of the reader").split("=", 1) for word in words[1:])
        elif words[:2] == ["pip", "install"]:
            check_extras(words[2:])
        elif words[0] in ("make", "pytest"):
            check_command(line)
        elif words[0] == "python":
            return run_script(line, words[1:])
        elif words[:3] == ["transect", "annotate", "serve"]:
            return self.serve(words, ["--port", "0", "--no-examples"])
        elif words[:2] == ["transect", "view"]:
            return self.serve(words, ["--port", "0", "--no-browser"])
        else:
            assert words[0] == "transect", f"{line}: neither run nor skipped with a reason"
            if not exact:
                words += defaults_made_small(words)
            return run_command(line, words[1:])
        return ""

    def serve(self, words: list[str], options: list[str]) -> str:
        """A server in the background, on a free port, until the page ends."""
        call = [sys.executable, "-m", *with_options(words, options)]
        process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.stack.callback(process.stdout.close)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        said: list[str] = []
        for line in iter(process.stdout.readline, ""):  # stages come before the address
            said.append(line)
            if "http://" in line:
                return line
        raise AssertionError("".join(said))


def with_options(words: list[str], added: list[str]) -> list[str]:
    """The command with options that replace its own of the same name; of an option that is added twice, the last."""
    for place, name in enumerate(added):
        if name.startswith("--"):
            value = [word for word in added[place + 1 : place + 2] if not word.startswith("--")]
            if name in words:
                start = words.index(name)
                words = words[:start] + words[start + 1 + len(value) :]
            words = [*words, name, *value]
    return words


def defaults_made_small(words: list[str]) -> list[str]:
    """Options for sizes that a command leaves at their defaults."""
    more, job = [], words[1]
    if job in ("audit", "search") and not {"--size", "--generator"} & set(words):
        more += ["--size", "48"]
    if job == "audit" and "--subjects" not in words and {"--vary", "--steps"} & set(words):
        more += ["--subjects", "5"]
    if job == "search" and "--budget" not in words:
        more += ["--budget", "24"]
    return more


def check_extras(words: list[str]) -> None:
    """What `pip install` is asked for is this project with extras that it has; nothing is installed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (named,) = [word for word in words if not word.startswith("-")]
    (wanted,) = re.fullmatch(r"transect\[([\w,]+)\]", named).groups()
    assert set(wanted.split(",")) <= set(extras), named


def check_command(line: str) -> None:
    """A command of a page is one that there is, with options that it has; it is not run. Other programs are let be."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), line
    elif words[0] == "pytest":
        assert all((ROOT / word).exists() for word in words if word.endswith(".py")), line
    elif words[:2] == ["python", "-m"]:
        place = ROOT / words[2].replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), line
    elif words[0] == "transect":
        command: Any = typer.main.get_command(app)
        rest = words[1:]
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            assert rest[0] in command.commands, f"{line}: no command {rest[0]}"
            command, rest = command.commands[rest[0]], rest[1:]
        try:
            command.make_context("transect", [*rest])
        except (typer.Exit, SystemExit):
            return
        except Exception as error:
            raise AssertionError(f"{line}: {getattr(error, 'message', error)}") from None


def run_command(line: str, words: list[str]) -> str:
    """What a `transect …` line prints, run in this process. Raises AssertionError if it fails."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = app(words, standalone_mode=False)
    except Exception as error:
        raise AssertionError(
            f"{line}\n{error}\n{printed.getvalue()[-1500:]}\n{traceback.format_exc()[-800:]}"
        ) from None
    assert not code, f"{line}\n{printed.getvalue()[-1500:]}"
    return printed.getvalue()


def run_script(line: str, words: list[str]) -> str:
    """What a script of the repository prints, run in this process."""
    printed = io.StringIO()
    code: object = None
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(printed):
        try:
            if words[0] == "-m":
                sys.argv = words[1:]
                runpy.run_module(words[1], run_name="__main__")
            else:
                runpy.run_path(str(ROOT / words[0]), run_name="__main__")
        except SystemExit as ended:
            code = ended.code
    assert not code, f"{line}\n{printed.getvalue()[-1500:]}"
    return printed.getvalue()
