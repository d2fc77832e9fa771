"""Serves a small run of rendered faces, has five simulated raters answer, and pictures the pages in Chromium.

python -m tools.annotation_pages [FOLDER]

Writes the pictures of docs/how-to/rate-with-people.md, by default into docs/images. Needs Debian's chromium and the
extras annotate and dev.
"""

# ruff: noqa: E402 -- the pages are served as the tests do it

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browsers import CHROMIUM, FLAGS
from playwright.sync_api import sync_playwright
from served import PASSWORD, serving

import transect
from transect.annotation.assignment import Submitted, answer, next_tasks
from transect.annotation.project import default_database, open_project
from transect.annotation.raters import consent, invite, set_state
from transect.experiment.audit_request import AuditRequest

RATERS, IMAGES_EACH = 5, 90
SHOWN = "html[data-shown]"
"""Set once the image and its question are on the screen."""


def brightness(images: np.ndarray) -> np.ndarray:
    """The model under audit: how bright an image is, 0 to 1."""
    return np.asarray(images, dtype=np.float64).mean(axis=(1, 2, 3)) / 255


def rate(run: Path) -> str:
    """Raters answer, one of them by chance, who is shut out; returns the token of one who has not begun."""
    project = open_project(run, default_database(run), ("paper",))
    raters = invite(project.database, RATERS + 1, time.time())
    rng = np.random.default_rng(0)
    for number in range(1, RATERS + 1):
        consent(project.database, number, time.time())
        for k in range(IMAGES_EACH):
            held = next_tasks(project, number, time.time(), count=1)
            if not held:
                break
            levels = len(project.questionnaire.named(held[0].question).levels)
            seen = sum(map(ord, held[0].first)) % levels  # the same for all: what the image shows
            said = int(rng.integers(levels)) if number == RATERS or rng.random() < 0.2 else seen
            milliseconds = int(rng.gamma(4, 600))
            answer(project, number, Submitted(held[0].id, f"{number}-{k:08d}", said, None, milliseconds), time.time())
    set_state(project, RATERS, "excluded")
    project.database.close()
    return raters[-1].token


def main() -> None:
    """Write the pictures."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = Path(folder) / "faces"
        request = AuditRequest(vary=["smile=0,1"], subjects=8, control=False)
        transect.audit(brightness, request, image_size=256, out=run, quiet=True)
        token = rate(run)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        with serving(run, examples=True) as (_, base):
            wide = browser.new_page(viewport={"width": 1100, "height": 720})
            wide.goto(f"{base}/invite/{token}")
            wide.click("text=I agree")
            wide.wait_for_selector(SHOWN, state="attached")
            wide.wait_for_load_state("networkidle")
            wide.screenshot(path=out / "rating.jpg", quality=85, type="jpeg")
            narrow = browser.new_page(viewport={"width": 390, "height": 780})
            narrow.context.add_cookies(wide.context.cookies())
            narrow.goto(base)
            narrow.wait_for_selector(SHOWN, state="attached")
            narrow.wait_for_load_state("networkidle")
            narrow.screenshot(path=out / "rating-phone.jpg", quality=85, type="jpeg")
            organiser = browser.new_page(viewport={"width": 1100, "height": 900})
            organiser.goto(f"{base}/admin")
            organiser.fill("#password", PASSWORD)
            organiser.click("button.primary")
            organiser.wait_for_selector("#dashboard")
            organiser.screenshot(path=out / "rating-dashboard.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
