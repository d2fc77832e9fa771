"""Draws docs/images/view.jpg: python -m tools.view_page. Makes the demo's run first, in about a minute."""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import transect

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "view.jpg"
CHROMIUM = "/usr/bin/chromium"
QUERY = "run=face&where.light_level=-6&sort=effect%3Askin_tone&down=1"


def main() -> None:
    """Serve the demo's run, and photograph the page in Chromium."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "demo"
        if not run.exists():
            subprocess.run([sys.executable, "-m", "transect", "demo", "--out", str(run)], check=True)  # noqa: S603
        drawn = Path(folder) / "page.png"
        with transect.view(run) as page, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(f"{page.url}&{QUERY}")
            tab.wait_for_selector("#tiles img[src]")
            tab.wait_for_load_state("networkidle")
            tab.screenshot(path=drawn)
            browser.close()
        Image.open(drawn).convert("RGB").save(PICTURE, quality=62, optimize=True)


if __name__ == "__main__":
    main()
