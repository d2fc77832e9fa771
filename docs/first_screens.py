"""Pictures the first screen of every page that a command writes: docs/images/first-screens.

    python docs/first_screens.py [--runs FOLDER] [--only NAME …]

Makes the runs anew, on rendered people, in about a quarter of an hour; with --runs they are kept in FOLDER, and a later
call makes only those that are missing. Writes what the terminal prints into docs/explanation/first-screens.md. Says
which pages are wider than a phone. Needs Debian's chromium and the extras dev, opencv and view.
"""

# ruff: noqa: E402, S603 -- Chromium is started as the tests do it; the commands are those below

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browsers import CHROMIUM, FLAGS
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import transect

PICTURES = ROOT / "docs" / "images" / "first-screens"
PAGE = ROOT / "docs" / "explanation" / "first-screens.md"
WIDE, PHONE = (1280, 900), (390, 844)
MOST_BYTES = 150_000

MODELS = '''"""Models to try commands on: each is uint8 [n, height, width, 3] to one answer an image."""

import numpy as np


def _brightness(pixels):
    return pixels.astype(np.float64).mean(axis=tuple(range(1, pixels.ndim))) / 255


def background(pixels):
    """Yes where the corners are bright: it looks at no face."""
    return (_brightness(pixels[:, :6, :6]) > 0.5).astype(np.float64)


def bright_faces(pixels):
    """Boxes [m, 5], left, top, right, bottom, score: one where the middle of the picture is bright enough."""
    return _boxes(pixels, 0.3)


def retrained(pixels):
    """The same from a third less light on."""
    return _boxes(pixels, 0.2)


def _boxes(pixels, least):
    side = pixels.shape[1]
    low, high = side // 3, 2 * side // 3
    bright = _brightness(pixels[:, low:high, low:high]) > least
    return [np.array([[low, low, high, high, 1.0]] if seen else np.zeros((0, 5))) for seen in bright]


def embed(pixels):
    """A weak recognizer: 16 x 16 gray pixels of a 64 x 64 picture."""
    n = len(pixels)
    gray = pixels.mean(axis=3).reshape(n, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(n, -1)
    gray = gray - gray.mean(axis=1, keepdims=True)
    return gray / np.linalg.norm(gray, axis=1, keepdims=True)
'''

MITIGATIONS = """seeds = [0, 1, 2]
attackers = ["logistic"]
rounds = 1

[data]
population = "celebrity-like"
size = 32
train = 1000
check = 200
test = 600

[training]
epochs = 6
patience = 6
batch = 64
rate = 2e-3

[audit]
subjects = 40

[[mitigations]]
kind = "noise"
name = "noise"
levels = [1, 4]

[[mitigations]]
kind = "balanced"
name = "balanced data"
"""

REQUIREMENTS = """[[require]]
attribute = "glasses"
outcome = "miss"
margin = 0.03

[[require]]
outcome = "miss"
max_rate = 0.04
by = ["skin_tone"]

[[require]]
attribute = "skin_tone"
outcome = "miss"
margin = 0.02
"""

FILES = {"models.py": MODELS, "mitigate.toml": MITIGATIONS, "requirements.toml": REQUIREMENTS}


class Screen(NamedTuple):
    """A first screen: its name, the commands that make it one after the other, and the page that they write."""

    name: str
    commands: tuple[str, ...]
    page: str
    dark: bool = False


_COMPARED = (
    "--task detection --truth face --vary skin_tone=1:10:3 --vary light_level=-6,0 --subjects 150 --size 64 "
    "--no-control"
)
SCREENS = (
    Screen("audit", ("demo --out runs/demo",), "runs/demo/report.html", dark=True),
    Screen(
        "photographs",
        ("audit opencv:haarcascade_smile --dataset folder:data/faces --truth 'smile>0.5' --out runs/photographs",),
        "runs/photographs/report.html",
    ),
    Screen(
        "nothing-found",
        (
            "audit models:background --task binary --vary smile=0,1 --vary 'glasses=none,thick frame' --subjects 200 "
            "--size 64 --no-control --margin score=0.02 --out runs/nothing-found",
        ),
        "runs/nothing-found/report.html",
    ),
    Screen(
        "compare",
        (
            f"audit models:bright_faces {_COMPARED} --out runs/bright_faces",
            f"audit models:retrained {_COMPARED} --out runs/retrained",
            "compare runs/bright_faces runs/retrained --margin 0.02 --out runs/compare",
        ),
        "runs/compare/compare.html",
    ),
    Screen(
        "search",
        (
            "search models:bright_faces --task detection --truth face --budget 240 --size 64 --vary skin_tone=1:10 "
            "--vary light_level=-6:0 --vary smile --out runs/search",
        ),
        "runs/search/search.html",
    ),
    Screen(
        "recognition",
        (
            "recognition models:embed --table data/recognition.parquet --pictures picture --identity person "
            "--group skin --false-match-rate 0.05 --out runs/recognition",
        ),
        "runs/recognition/recognition.html",
    ),
    Screen(
        "match",
        (
            "match --features data/features.npy --table data/people.parquet --treatment face --caliper 1 "
            "--outcome error --pictures picture --out pairs.parquet --report runs/match",
        ),
        "runs/match/match.html",
    ),
    Screen(
        "leakage",
        (
            "leakage --labels data/labels.parquet --label smile --label lipstick --label hair_length "
            "--label hair_color --protected face --split split --predictions data/predictions.parquet "
            "--prediction 'score_*' --attacker logistic --out runs/leakage",
        ),
        "runs/leakage/leakage.html",
    ),
    Screen("mitigate", ("mitigate mitigate.toml --out runs/mitigate",), "runs/mitigate/mitigate.html"),
    Screen(
        "raters",
        (
            "audit opencv:haarcascade_smile --vary smile=0,0.5,1 --subjects 30 --size 96 --no-control --out runs/rated",
            "annotate simulate runs/rated --raters 5",
            "annotate report runs/rated --scale unit",
        ),
        "runs/rated/annotations/annotate.html",
    ),
    Screen(
        "neighbours",
        (
            "neighbours --features data/features.npy --table data/people.parquet --attribute age "
            "--attribute skin_tone --attribute face --pictures picture --report runs/neighbours",
        ),
        "runs/neighbours/neighbours.html",
    ),
)
VIEW = Screen("view", (), "runs/demo")
SAMPLE = "sample-data data"
TERMINAL = {
    "check": "check runs/demo/studies/face --requirements requirements.toml",
    "runs": "runs runs",
}


def call(command: str, folder: Path) -> str:
    """What the command prints on standard output and standard error."""
    search_path = os.pathsep.join((str(folder), *sys.path))
    words = [sys.executable, "-m", "transect", *shlex.split(command)]
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
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
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
