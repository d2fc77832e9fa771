"""Runs the commands and Python blocks of a documentation page from the top, in one folder, at small sizes."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

SMALL = {
    "--subjects": "3",
    "--images": "24",
    "--observe": "24",
    "--size": "48",
    "--budget": "24",
    "--steps-per-image": "4",
}
"""Values that stand in for those of the page, so that a page runs in seconds. Smaller values of the page stay."""

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.M | re.S)


def lines_of(block: str) -> list[str]:
    """The commands of a shell block, continued lines joined, comments dropped."""
    joined = block.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def smaller(words: list[str]) -> list[str]:
    """The command's words with sizes replaced by small ones; a number that is smaller already stays.

    >>> smaller(["transect", "audit", "x", "--subjects", "100", "--images", "12"])
    ['transect', 'audit', 'x', '--subjects', '3', '--images', '12']
    """
    shown = list(words)
    for place, word in enumerate(words[:-1]):
        if word in SMALL and words[place + 1].isdecimal():
            shown[place + 1] = str(min(int(words[place + 1]), int(SMALL[word])))
    return shown


def run_page(page: Path, folder: Path, *, skip: dict[str, str]) -> list[str]:
    """Run every block of a page in `folder`; the commands that ran.

    skip: beginnings of commands that are not run, each with the reason why. A reason that no command of the page needs
    is an error, so that the list stays true.
    """
    ran, unused = [], set(skip)
    environment = {**os.environ, "SMOKE": "1", "COLUMNS": "200"}
    for number, (kind, block) in enumerate(BLOCK.findall(page.read_text())):
        if kind == "python":
            script = folder / f"block{number}.py"
            script.write_text(block)
            commands = [[sys.executable, str(script)]]
        else:
            commands = []
            for line in lines_of(block):
                if reasons := [start for start in skip if line.startswith(start)]:
                    unused -= set(reasons)
                    continue
                words = shlex.split(line, comments=True)
                assert words[0] == "transect", f"{page.name}: {line}: neither run nor skipped with a reason"
                commands.append([sys.executable, "-m", *smaller(words)])
        for command in commands:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
            assert done.returncode == 0, (
                f"{page.name}: {shlex.join(command)}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
            )
            ran.append(shlex.join(command[1:]))
    assert not unused, f"{page.name}: nothing on the page begins with {sorted(unused)}"
    return ran
