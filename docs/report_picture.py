"""Pictures the first page of a report in Chromium: docs/images/report.png of README.

python docs/report_picture.py [REPORT] [PICTURE]

REPORT is by default runs/demo/report.html, which `make demo` writes. Needs Debian's chromium and the extra dev.
"""

# ruff: noqa: E402 -- Chromium is started as the tests do it

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browsers import CHROMIUM, FLAGS
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 940, 1983


def main() -> None:
    """Write the picture."""
    report = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "runs" / "demo" / "report.html"
    picture = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "images" / "report.png"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.absolute().as_uri())
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
