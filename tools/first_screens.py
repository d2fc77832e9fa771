"""Pictures the first screen of every page that a command writes: docs/images/first-screens.

    python -m tools.first_screens [--runs FOLDER] [--only NAME …]

Makes the runs anew, on rendered people, in about a quarter of an hour; with --runs they are kept in FOLDER, and a later
call makes only those that are missing. Writes what the terminal prints into docs/research/first-screens.md. Says
which pages are wider than a phone. Needs Debian's chromium and the extras dev, opencv and view.
"""

# ruff: noqa: E402, S603 -- Chromium is started as the tests do it; the commands are those below

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browsers import CHROMIUM, FLAGS
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import transect
from tools.example_runs import SAMPLE, SCREENS, Screen, words_of, write_files

PICTURES = ROOT / "docs" / "images" / "first-screens"
PAGE = ROOT / "docs" / "research" / "first-screens.md"
WIDE, PHONE = (1280, 900), (390, 844)
MOST_BYTES = 150_000
VIEW = Screen("view", (), "runs/demo")
TERMINAL = {
    "check": "check runs/demo/studies/face --requirements requirements.toml",
    "runs": "list runs runs",
}


def call(command: str, folder: Path) -> str:
    """What the command prints on standard output and standard error."""
    search_path = os.pathsep.join((str(folder), *sys.path))
    words = [sys.executable, *words_of(command)]
    variables = os.environ | {"PYTHONPATH": search_path, "COLUMNS": "130", "NO_COLOR": "1"}
    done = subprocess.run(
        words, cwd=folder, env=variables, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode not in {0, 1, 4}:  # of check: a requirement is violated, or not shown
        raise SystemExit(f"transect {command}\n{done.stdout}")
    return done.stdout


def make(folder: Path, wanted: tuple[Screen, ...]) -> None:
    """The pages that are missing, and `printed/NAME.txt` with what the commands of each printed."""
    printed = folder / "printed"
    printed.mkdir(parents=True, exist_ok=True)
    write_files(folder)
    if not (folder / "data").exists():
        call(SAMPLE, folder)
    for screen in wanted:
        if not (folder / screen.page).exists():
            print(screen.name, flush=True)
            said = [call(command, folder) for command in screen.commands]
            (printed / f"{screen.name}.txt").write_text("".join(said), encoding="utf-8")


def photograph(browser: Browser, address: str, name: str, dark: bool) -> None:
    """The first screen of a page at both widths as JPEG; says where a page is wider than its window."""
    for size, scheme, ending in [(WIDE, "light", ""), (PHONE, "light", "-phone"), *[(WIDE, "dark", "-dark")] * dark]:
        tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        tab.goto(address)
        tab.wait_for_load_state("networkidle")
        drawn = PICTURES / f"{name}{ending}.png"
        tab.screenshot(path=drawn)
        width, height = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        tab.close()
        picture = compressed(drawn)
        wider = f", WIDER than {size[0]}: {width}" if width > size[0] else ""
        print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} KB; the page is {height:,} px high{wider}")


def compressed(drawn: Path) -> Path:
    """The picture as JPEG of the best quality that is small enough, in place of the PNG."""
    picture = drawn.with_suffix(".jpg")
    for quality in range(80, 30, -5):
        Image.open(drawn).convert("RGB").save(picture, quality=quality, optimize=True, progressive=True)
        if picture.stat().st_size < MOST_BYTES:
            drawn.unlink()
            return picture
    raise SystemExit(f"{drawn}: not under {MOST_BYTES:,} bytes")


def with_texts(page: str, texts: Mapping[str, str]) -> str:
    """The page with each text in a block between the marks of its name, without the lines of progress."""
    for name, text in texts.items():
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        block = "\n".join(["```text", *lines, "```"])
        page = re.sub(
            f"(<!-- {name} -->).*?(<!-- end -->)", lambda m, b=block: f"{m[1]}\n\n{b}\n\n{m[2]}", page, flags=re.S
        )
    return page


def answer(text: str) -> str:
    """What is printed once the work is done: the verdicts and the path, without progress and table."""
    marks = tuple("▲?=✓!")
    return "\n".join(line for line in text.splitlines() if line.startswith((*marks, "report:")))


def main() -> None:
    """Write the pictures and the texts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=[*(screen.name for screen in SCREENS), VIEW.name])
    asked = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    wanted = tuple(screen for screen in SCREENS if asked.only is None or screen.name in asked.only)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.runs or Path(scratch)).absolute()
        make(folder, wanted)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            for screen in wanted:
                photograph(browser, (folder / screen.page).as_uri(), screen.name, screen.dark)
            if asked.only is None or VIEW.name in asked.only:
                with transect.view(folder / VIEW.page) as served:
                    photograph(browser, served.url, VIEW.name, VIEW.dark)
            browser.close()
        if asked.only is None:
            texts = {name: call(command, folder) for name, command in TERMINAL.items()}
            texts["demo"] = answer((folder / "printed" / "audit.txt").read_text(encoding="utf-8"))
            PAGE.write_text(with_texts(PAGE.read_text(encoding="utf-8"), texts), encoding="utf-8")


if __name__ == "__main__":
    main()
