"""Runs that the documentation shows, each as commands: its pictures are made by first_screens.py, its reports by
report_gallery.py at smaller sizes. All are on rendered people, and the models are stock detectors or toys.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

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
_FACES = "opencv:haarcascade_frontalface_default --truth face"
_EDITED = "photographs:folder:data/faces"
_BOTH = "--vary skin_tone=5:7:3 --vary exposure=-3,0 --subjects 100"
SCREENS = (
    Screen("audit", ("demo --out runs/demo",), "runs/demo/report.html", dark=True),
    Screen(
        "photographs",
        ("audit opencv:haarcascade_smile --dataset folder:data/faces --truth 'smile>0.5' --out runs/photographs",),
        "runs/photographs/report.html",
    ),
    Screen("edited", (f"audit {_FACES} --generator {_EDITED} {_BOTH} --out runs/edited",), "runs/edited/report.html"),
    Screen(
        "replicate",
        (f"audit {_FACES} --size 64 --replicate {_EDITED} {_BOTH} --out runs/both",),
        "runs/both/report.html",
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
            "python examples/simulated_raters.py runs/rated --raters 5",
            "annotate report runs/rated --scale unit",
        ),
        "runs/rated/annotations/annotate.html",
    ),
    Screen(
        "neighbours",
        (
            "match neighbours --features data/features.npy --table data/people.parquet --attribute age "
            "--attribute skin_tone --attribute face --pictures picture --report runs/neighbours",
        ),
        "runs/neighbours/neighbours.html",
    ),
)
SAMPLE = "datasets sample data"


def words_of(command: str) -> list[str]:
    """What Python is called with for a command: one of transect, or a script of the repository."""
    words = shlex.split(command)
    script = Path(__file__).parents[1] / words[1]
    return [str(script), *words[2:]] if words[0] == "python" else ["-m", "transect", *words]


def write_files(folder: Path) -> None:
    """The files that the commands read: models, mitigations and requirements."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
