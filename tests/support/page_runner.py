"""Runs the commands and code blocks of a documentation page from the top, in one folder, at small sizes."""

import contextlib
import io
import re
import shlex
import traceback
from pathlib import Path

from transect.cli.app import app

SMALL = {
    "--subjects": 3,
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

BLOCK = re.compile(r"^```(sh|python|toml)\n(.*?)^```", re.M | re.S)
FILE = re.compile(r"^# ([\w.-]+\.toml)\s*$", re.M)
"""A TOML block that begins with its file's name is written under that name."""


def lines_of(block: str) -> list[str]:
    """The commands of a shell block: continued lines joined, comments dropped."""
    joined = block.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def smaller(words: list[str], largest: dict[str, int]) -> list[str]:
    """The command's words with sizes cut to the largest allowed.

    >>> smaller(["audit", "x", "--subjects", "100", "--images", "12"], {"--subjects": 3, "--images": 24})
    ['audit', 'x', '--subjects', '3', '--images', '12']
    """
    shown = list(words)
    for place, word in enumerate(words[:-1]):
        if word in largest and words[place + 1].isdecimal():
            shown[place + 1] = str(min(int(words[place + 1]), largest[word]))
    return shown


def run_command(line: str, largest: dict[str, int], added: str = "") -> None:
    """Run one `transect …` line in this process, with options added. Raises AssertionError if it fails."""
    words = shlex.split(line, comments=True)
    assert words[0] == "transect", f"{line}: neither run nor skipped with a reason"
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = app([*smaller(words[1:], largest), *shlex.split(added)], standalone_mode=False)
    except Exception as error:
        raise AssertionError(
            f"{line}\n{error}\n{printed.getvalue()[-1500:]}\n{traceback.format_exc()[-800:]}"
        ) from None
    assert not code, f"{line}\n{printed.getvalue()[-1500:]}"


def run_page(
    page: Path, *, skip: dict[str, str], small: dict[str, int] | None = None, extra: dict[str, str] | None = None
) -> list[str]:
    """Run every block of a page in the current folder; the commands and files that were run or written.

    skip: beginnings of commands that are not run, each with the reason. A beginning that no command of the page has is
    an error, so that the list stays true. small: largest values that replace or add to `SMALL`. extra: beginnings of
    commands, and options that are added to them.
    """
    done, unused = [], set(skip) | set(extra or {})
    largest = SMALL | (small or {})
    names: dict[str, object] = {"__name__": "page"}
    for kind, block in BLOCK.findall(page.read_text()):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, page.name, "exec"), names)  # the project's own page
            done.append("python")
        elif kind == "toml":
            if named := FILE.search(block):
                Path(named[1]).write_text(block)
                done.append(named[1])
        else:
            for line in lines_of(block):
                if reasons := [start for start in skip if line.startswith(start)]:
                    unused -= set(reasons)
                    continue
                added = [(start, options) for start, options in (extra or {}).items() if line.startswith(start)]
                unused -= {start for start, _ in added}
                run_command(line, largest, " ".join(options for _, options in added))
                done.append(line)
    assert not unused, f"{page.name}: no command begins with {sorted(unused)}"
    return done
